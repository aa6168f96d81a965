// Nothing in this file is instrumented: what the threads of a program do is told to the simulator step by step, and
// everything else that they touch is unknown to it.
#include <heddle/sim/device.h>
#include <heddle/sim/settings.h>
#include <heddle/tools/progress/simulation.h>

#include <algorithm>
#include <cstdlib>

namespace heddle::tools {
namespace {

using judge::rule;

const char* name_on_machine(rule is) {
  switch (is) {
    case rule::fair:
      return "fair";
    case rule::hsa:
      return "hsa";
    case rule::obe:
      return "obe";
    case rule::hsa_obe:
      return "hsa_obe";
    case rule::lobe:
      return "lobe";
    case rule::slots:
    case rule::turns:
      return "slots";
    case rule::unfair:
    case rule::then_first:
    case rule::else_first:
      break;
  }
  std::abort();  // not one of playable_models()
}

// Long enough for every state of a small program to come back; what goes on longer is inconclusive.
constexpr uint32_t budget_steps = 2000;

parameters settings_of(judge::model under) {
  parameters made(sim::machine_parameters());
  const auto set = [&](const std::string& assignment) {
    if (made.set(assignment)) std::abort();
  };
  set("fidelity=interleaving");
  set("budget=" + std::to_string(budget_steps));
  set(std::string("progress=") + name_on_machine(under.is));
  if (under.is == rule::turns) {
    set("evict=wave");
    set("evict.quantum=" + std::to_string(under.quantum));
  }
  if (under.is == rule::slots || under.is == rule::turns) set("resident=" + std::to_string(under.slots));
  return made;
}

}  // namespace

const std::vector<judge::model>& playable_models() {
  static const std::vector<judge::model> models = [] {
    std::vector<judge::model> all = judge::open_models();
    std::erase(all, judge::model{rule::unfair});
    all.insert(all.end(), {{rule::slots, 1}, {rule::slots, 2}, {rule::turns, 1}, {rule::turns, 2}});
    return all;
  }();
  return models;
}

/// The threads of one program. They outlive its runs; what is in here lies outside of the simulated machine.
class progress_player::threads {
 public:
  void take(const judge::program& code) {
    code_ = &code;
    waves_.clear();
    hosts_.clear();
    for (const judge::thread_code& each : code.threads)
      (each.kind == judge::thread_kind::wave ? waves_ : hosts_).push_back(&each);
    std::sort(waves_.begin(), waves_.end(),
              [](const auto* one, const auto* other) { return one->number < other->number; });
  }

  /// The host's main thread: it starts the others and ends.
  void main() {
    to_end_ = 0;
    for (const judge::thread_code& each : code_->threads) to_end_ += each.kind == judge::thread_kind::server ? 0 : 1;
    words_ = static_cast<uint32_t*>(
        sim::runtime::allocate(std::max<size_t>(1, code_->locations.size()) * sizeof(uint32_t), false, "words"));
    for (const judge::thread_code* each : hosts_) spawn(*each);
    sim::device device;
    if (!waves_.empty())
      device.launch({.blocks = static_cast<uint32_t>(waves_.size()), .waves = 1, .lanes = 1},
                    [this] { run(*waves_[sim::runtime::wave_id()]); });
  }

 private:
  struct host_thread {
    threads* of;
    const judge::thread_code* code;
  };
  void spawn(const judge::thread_code& code) {
    static constexpr sim::fiber_body body = {
        .size_bytes = sizeof(host_thread),
        .move_to = [](void* to, void* from) { new (to) host_thread(*static_cast<host_thread*>(from)); },
        .invoke =
            [](void* self) {
              const host_thread& started = *static_cast<host_thread*>(self);
              started.of->run(*started.code);
            },
    };
    host_thread started = {.of = this, .code = &code};
    sim::runtime::spawn_host("host", body, &started);
  }

  void run(const judge::thread_code& code) {
    const bool is_server = code.kind == judge::thread_kind::server;
    for (size_t at = 0; at < code.steps.size();) {
      // No client is left.
      if (is_server && to_end_ == 0) return;
      const judge::step& now = code.steps[at];
      const uint64_t old = perform(now);
      at = now.branches && old == now.compared ? now.target : at + 1;
    }
    if (!is_server) --to_end_;
  }

  uint64_t perform(const judge::step& what) {
    namespace runtime = sim::runtime;
    uint32_t* const word = words_ + what.location;
    constexpr auto relaxed = memory_order::relaxed;
    if (what.exchange)
      return runtime::read_modify_write(runtime::rmw_kind::exchange, word, sizeof *word, what.written, relaxed,
                                        scope::system);
    if (!what.writes) return runtime::load(word, sizeof *word, relaxed, scope::system);
    runtime::store(word, sizeof *word, what.written, relaxed, scope::system);
    return 0;
  }

  const judge::program* code_ = nullptr;
  std::vector<const judge::thread_code*> waves_;  ///< by id
  std::vector<const judge::thread_code*> hosts_;
  uint32_t* words_ = nullptr;
  size_t to_end_ = 0;  ///< waves and host threads that have not ended
};

progress_player::progress_player(std::unique_ptr<scheduler::strategy> deciding)
    : deciding_(std::move(deciding)), threads_(std::make_unique<threads>()) {}
progress_player::~progress_player() = default;

played progress_player::play(const judge::program& code, judge::model under, const play_options& options) {
  const parameters settings = settings_of(under);
  threads_->take(code);
  const std::function<void()> body = [this] { threads_->main(); };
  played made;
  while (made.schedules < options.schedules && !(options.to_the_first_hang && made.hangs != 0)) {
    if (options.stop != nullptr && options.stop->load(std::memory_order_relaxed)) {
      made.stopped = true;
      break;
    }
    const uint64_t seed = options.first_seed + made.schedules++;
    choices_.begin(*deciding_, seed);
    const sim::outcome& ended = machine_.run(settings, body, choices_, false);
    if (ended.verdict == scheduler::verdict::ok) continue;
    if (ended.verdict == scheduler::verdict::budget) {
      ++made.inconclusive;
    } else if (made.hangs++ == 0) {
      made.first_hang = seed;
      made.first_verdict = ended.verdict;
    }
  }
  return made;
}

void model_tally::add(bool may_hang_judged, const played& one, uint64_t first_seed) {
  schedules += one.schedules;
  inconclusive += one.inconclusive;
  if (may_hang_judged) {
    ++may_hang;
    if (one.hangs == 0) return;
    ++found;
    needed_.push_back(one.first_hang - first_seed + 1);
  } else {
    ++must_end;
    false_alarms += one.hangs;
  }
}

uint64_t model_tally::median() const {
  if (needed_.empty()) return 0;
  std::vector<uint64_t> sorted = needed_;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<ptrdiff_t>(sorted.size() / 2), sorted.end());
  return sorted[sorted.size() / 2];
}

uint64_t model_tally::worst() const { return needed_.empty() ? 0 : *std::max_element(needed_.begin(), needed_.end()); }

}  // namespace heddle::tools
