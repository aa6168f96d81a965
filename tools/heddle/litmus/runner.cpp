// Nothing in this file is instrumented: what the threads of a test do is told to the simulator access by access, as the
// compiler's instrumentation would, and everything else that they touch is unknown to it.
#include <heddle/sim/device.h>
#include <heddle/sim/settings.h>
#include <heddle/sim/verify/search.h>
#include <heddle/tools/litmus/runner.h>
#include <heddle/tools/verify/verification.h>

#include <algorithm>
#include <array>
#include <stdexcept>

// What instrumented code calls before a plain access of four bytes (sim/runtime/instrumentation.cpp).
extern "C" {
void __tsan_read4(void* address);   // NOLINT(bugprone-reserved-identifier)
void __tsan_write4(void* address);  // NOLINT(bugprone-reserved-identifier)
}

namespace heddle::litmus {
namespace {

uint32_t* allocate(size_t count, bool on_device, const std::string& name) {
  return static_cast<uint32_t*>(sim::runtime::allocate(count * sizeof(uint32_t), on_device, name.c_str()));
}

}  // namespace

/// The threads of one test. They outlive its runs; what is in here lies outside of the simulated machine.
class runner::threads {
 public:
  void take(const program& code) {
    code_ = &code;
    words_.assign(code.locations.size(), nullptr);
    state_.registers.assign(code.threads.size(), std::vector<uint32_t>(registers, 0));
    state_.locations.assign(code.locations.size(), 0);
    shape_ = {.blocks = 0, .waves = 0, .lanes = 1};
    hosts_.clear();
    std::vector<uint32_t> waves;  // by block
    for (uint32_t thread = 0; thread < code.threads.size(); ++thread) {
      if (code.places[thread].host) {
        hosts_.push_back(thread);
        continue;
      }
      const uint32_t block = code.places[thread].block;
      if (block >= waves.size()) waves.resize(block + 1);
      shape_.waves = std::max(shape_.waves, ++waves[block]);
    }
    shape_.blocks = static_cast<uint32_t>(waves.size());
    of_wave_.assign(size_t{shape_.blocks} * shape_.waves, no_thread);
    std::fill(waves.begin(), waves.end(), 0);
    for (uint32_t thread = 0; thread < code.threads.size(); ++thread)
      if (const place& at = code.places[thread]; !at.host)
        of_wave_[size_t{at.block} * shape_.waves + waves[at.block]++] = thread;
  }

  void begin_run() {
    for (std::vector<uint32_t>& each : state_.registers) std::fill(each.begin(), each.end(), 0);
  }

  /// The host's main thread: sets up, starts the others, and is the last of the test's host threads itself.
  void main() {
    for (size_t n = 0; n < words_.size(); ++n) words_[n] = allocate(1, code_->on_device[n], code_->locations[n]);
    sim::device device;
    if (shape_.blocks != 0) device.launch(shape_, [this] { run_wave(); });
    // They are not joined: the run ends when all have ended.
    for (size_t n = 0; n + 1 < hosts_.size(); ++n) spawn(hosts_[n]);
    if (!hosts_.empty()) run_thread(hosts_.back());
  }

  /// What they have read so far.
  void tell(sim::state_reader& to) const {
    for (const std::vector<uint32_t>& each : state_.registers)
      for (const uint32_t value : each) to.fact(value);
  }

  /// After a run: memory holds what it was left with.
  const final_state& end_run() {
    for (size_t n = 0; n < words_.size(); ++n) state_.locations[n] = *const_cast<const volatile uint32_t*>(words_[n]);
    return state_;
  }

 private:
  static constexpr uint32_t no_thread = ~uint32_t{0};

  struct host_thread {
    threads* of;
    uint32_t thread;
  };
  void spawn(uint32_t thread) {
    static constexpr sim::fiber_body body = {
        .size_bytes = sizeof(host_thread),
        .move_to = [](void* to, void* from) { new (to) host_thread(*static_cast<host_thread*>(from)); },
        .invoke =
            [](void* self) {
              static_cast<host_thread*>(self)->of->run_thread(static_cast<host_thread*>(self)->thread);
            },
    };
    host_thread started = {.of = this, .thread = thread};
    sim::runtime::spawn_host("host", body, &started);
  }

  void run_wave() {
    const uint32_t thread = of_wave_[sim::runtime::wave_id()];
    if (thread != no_thread) run_thread(thread);
  }

  void run_thread(uint32_t thread) {
    for (const instruction& each : code_->threads[thread]) perform(each, state_.registers[thread]);
  }

  void perform(const instruction& what, std::vector<uint32_t>& own) {
    uint32_t* const word = words_.empty() ? nullptr : words_[what.location];
    constexpr uint32_t size_bytes = sizeof *word;
    namespace runtime = sim::runtime;
    switch (what.kind) {
      case instruction_kind::load:
        if (what.weak) {
          __tsan_read4(word);
          own[what.reg] = *static_cast<volatile uint32_t*>(word);
        } else {
          own[what.reg] = static_cast<uint32_t>(runtime::load(word, size_bytes, what.order, what.reach));
        }
        return;
      case instruction_kind::store:
        if (what.weak) {
          __tsan_write4(word);
          *static_cast<volatile uint32_t*>(word) = what.value;
        } else {
          runtime::store(word, size_bytes, what.value, what.order, what.reach);
        }
        return;
      case instruction_kind::exchange:
      case instruction_kind::add: {
        const auto kind = what.kind == instruction_kind::add ? runtime::rmw_kind::add : runtime::rmw_kind::exchange;
        own[what.reg] = static_cast<uint32_t>(
            runtime::read_modify_write(kind, word, size_bytes, what.value, what.order, what.reach));
        return;
      }
      case instruction_kind::compare_exchange: {
        uint64_t found = what.value;
        runtime::compare_exchange(word, size_bytes, &found, what.desired, what.order, what.reach);
        own[what.reg] = static_cast<uint32_t>(found);
        return;
      }
      case instruction_kind::drain_buffers:
        if (what.weak) return runtime::store_fence();
        [[fallthrough]];
      case instruction_kind::fence:
        runtime::fence(what.order, what.reach);
        return;
    }
  }

  const program* code_ = nullptr;
  launch_shape shape_;
  std::vector<uint32_t> of_wave_;  ///< the thread of each wave, or none
  std::vector<uint32_t> hosts_;    ///< the threads on the host
  std::vector<uint32_t*> words_;   ///< by location
  final_state state_;
};

runner::runner(std::unique_ptr<scheduler::strategy> deciding)
    : deciding_(std::move(deciding)), threads_(std::make_unique<threads>()) {}
runner::~runner() = default;

parameters machine_settings(const test& tested, const std::vector<std::string>& settings) {
  parameters made(sim::machine_parameters());
  const auto set = [&](const std::string& assignment) {
    if (const auto wrong = made.set(assignment)) throw std::invalid_argument(*wrong);
  };
  const auto key_of = [](const std::string& assignment) { return assignment.substr(0, assignment.find('=')); };
  const auto overridden = [&](const std::string& key) {
    return std::any_of(settings.begin(), settings.end(), [&](const std::string& each) { return key_of(each) == key; });
  };
  for (const std::string& each : tested.settings)
    if (!overridden(key_of(each))) set(each);
  // Races are part of many tests: they are counted, and the run goes on.
  if (!overridden("races")) set("races=count");
  // Threads of a wave are threads as others: each takes its own steps.
  if (!overridden("step")) set("step=lane");
  for (const std::string& each : settings) set(each);
  // What a test is under its own fidelity says nothing under another one.
  for (const parameter& each : made.definitions())
    if (!overridden(each.key) && sim::without_effect(made, each.key)) set(each.key + "=" + each.default_value());
  if (const auto wrong = sim::without_effect(made))
    throw std::invalid_argument("test " + tested.full_name() + ": " + *wrong);
  return made;
}

test_result runner::run(const test& tested, const std::vector<std::string>& settings, const run_options& options) {
  const parameters machine = machine_settings(tested, settings);
  threads_->take(tested.code);
  if (options.exact) return run_all(tested, tools::without_bounds(machine, settings), options);
  const std::function<void()> body = [this] { threads_->main(); };
  const bool enough_once = tested.expected != expectation::forbidden && !options.all;
  test_result counted;
  // Some outcomes need much to come together: before one is missed, it gets more time.
  const bool is_sought = tested.expected == expectation::seen;
  const auto goes_on = [&] {
    if (enough_once && counted.seen != 0) return false;
    return counted.schedules < options.schedules * (is_sought && counted.seen == 0 ? extra_schedules : 1);
  };
  while (goes_on()) {
    if (options.stop != nullptr && options.stop->load(std::memory_order_relaxed)) {
      counted.stopped = true;
      break;
    }
    const uint64_t seed = options.first_seed + counted.schedules++;
    choices_.begin(*deciding_, seed);
    threads_->begin_run();
    const sim::outcome& ended = machine_.run(machine, body, choices_, false);
    if (ended.verdict != scheduler::verdict::ok) {
      counted.broken = "seed " + std::to_string(seed) + " ended with verdict " + std::string(to_string(ended.verdict)) +
                       ": " + ended.message;
      break;
    }
    counted.races += ended.races != 0 ? 1 : 0;
    counted.scope_races += ended.scope_races != 0 ? 1 : 0;
    const final_state& left = threads_->end_run();
    if (options.after_run) options.after_run(left);
    if (holds(tested.code.outcome, left) && counted.seen++ == 0) counted.first_seed = seed;
  }
  return counted;
}

test_result runner::run_all(const test& tested, const parameters& machine, const run_options& options) {
  const std::function<void()> body = [this] { threads_->main(); };
  const bool enough_once = tested.expected != expectation::forbidden && !options.all;
  test_result counted;
  counted.exact = true;
  sim::search_options how;
  how.seconds_max = options.seconds_max;
  how.stop = options.stop;
  how.fair_cycles = false;  // no thread of a test waits
  how.also_told = [this](sim::state_reader& to) { threads_->tell(to); };
  // A race counts wherever it shows, also in a run that ends in a state which is known.
  how.after_run = [&](const sim::outcome& ended) {
    counted.races += ended.races != 0 ? 1 : 0;
    counted.scope_races += ended.scope_races != 0 ? 1 : 0;
  };
  how.ended = [&](const sim::outcome& ended, const std::vector<scheduler::answer>&) {
    if (ended.verdict != scheduler::verdict::ok) {
      counted.broken = "a run ended with verdict " + std::string(to_string(ended.verdict)) + ": " + ended.message;
      return false;
    }
    const final_state& left = threads_->end_run();
    if (options.after_run) options.after_run(left);
    if (holds(tested.code.outcome, left)) ++counted.seen;
    return !enough_once || counted.seen == 0;
  };
  const auto run = [&](scheduler::choice_source& choices) {
    threads_->begin_run();
    return machine_.run(machine, body, choices, false);
  };
  const sim::search_result searched = machine_.search(run, how);
  counted.schedules = searched.runs;
  counted.states = searched.states;
  counted.seconds = searched.seconds;
  if (!searched.complete && !searched.stopped) counted.left_out = searched.left_out;
  counted.stopped = options.stop != nullptr && options.stop->load(std::memory_order_relaxed);
  return counted;
}

}  // namespace heddle::litmus
