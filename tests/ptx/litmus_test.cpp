// The table of litmus tests that ships, each row as a kernel of PTX: what the memory model forbids is never seen, what it allows is.
#include <heddle/sim/compat/ptx/module.h>
#include <heddle/sim/device.h>
#include <heddle/sim/simulation.h>
#include <heddle/tools/litmus/runner.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <new>

namespace heddle::litmus {
namespace {

namespace runtime = sim::runtime;

std::vector<test> shipped() {
  std::ifstream stream(LITMUS_DATA "/ptx.csv");
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  return tests_of(csv_table("ptx.csv", text));
}

/// One row: its threads on the device are those of the kernel row_N, its host threads are played here.
class row_of_table {
 public:
  row_of_table(const test& of, size_t number) : of_(of), name_("row_" + std::to_string(number)) {
    for (size_t n = 0; n < of.code.threads.size(); ++n) {
      const place& at = of.code.places[n];
      if (at.host) {
        hosts_.push_back(n);
        continue;
      }
      if (at.block >= threads_.size()) threads_.resize(at.block + 1);
      ++threads_[at.block];
    }
  }

  void play() {
    const program& code = of_.code;
    words_.clear();
    for (size_t n = 0; n < code.locations.size(); ++n)
      words_.push_back(static_cast<uint32_t*>(runtime::allocate(4, code.on_device[n], code.locations[n].c_str())));
    results_ = static_cast<uint32_t*>(runtime::allocate(4 * registers * code.threads.size(), false, "results"));
    auto* const table = static_cast<uint64_t*>(runtime::allocate(8 * words_.size(), false, "words"));
    for (size_t n = 0; n < words_.size(); ++n) table[n] = reinterpret_cast<uint64_t>(words_[n]);
    if (!threads_.empty()) {
      void* arguments[] = {&results_, const_cast<uint64_t**>(&table)};
      const uint32_t most = *std::max_element(threads_.begin(), threads_.end());
      ptx::launch(*ptx::kernel_named(name_.c_str()),
                  {.grid = {static_cast<uint32_t>(threads_.size()), 1, 1}, .block = {most, 1, 1}, .wave_lanes = 1},
                  arguments);
    }
    for (size_t n = 0; n + 1 < hosts_.size(); ++n) spawn(hosts_[n]);
    if (!hosts_.empty()) host(hosts_.back());
  }

  final_state left() const {
    final_state made;
    for (const uint32_t* const word : words_) {
      const uint32_t value = *const_cast<const volatile uint32_t*>(word);
      made.locations.push_back(value);
    }
    for (size_t n = 0; n < of_.code.threads.size(); ++n)
      made.registers.emplace_back(results_ + n * registers, results_ + (n + 1) * registers);
    return made;
  }

 private:
  struct started {
    row_of_table* of;
    size_t thread;
  };
  void spawn(size_t thread) {
    static constexpr sim::fiber_body body = {
        .size_bytes = sizeof(started),
        .move_to = [](void* to, void* from) { new (to) started(*static_cast<started*>(from)); },
        .invoke = [](void* self) { static_cast<started*>(self)->of->host(static_cast<started*>(self)->thread); },
    };
    started what = {this, thread};
    runtime::spawn_host("host", body, &what);
  }

  void host(size_t thread) {
    for (const instruction& one : of_.code.threads[thread]) {
      uint32_t* const word = words_[one.location];
      // Nothing of this file is instrumented: a plain access is announced as the compiler would.
      if (one.kind == instruction_kind::fence)
        runtime::fence(one.order, one.reach);
      else if (one.kind == instruction_kind::load)
        results_[thread * registers + one.reg] =
            static_cast<uint32_t>(one.weak ? plain_load(word) : runtime::load(word, 4, one.order, one.reach));
      else if (one.weak)
        plain_store(word, one.value);
      else
        runtime::store(word, 4, one.value, one.order, one.reach);
    }
  }
  static uint64_t plain_load(uint32_t* word);
  static void plain_store(uint32_t* word, uint32_t value);

  const test& of_;
  std::string name_;
  std::vector<uint32_t> threads_;  ///< by block
  std::vector<size_t> hosts_;
  std::vector<uint32_t*> words_;
  uint32_t* results_ = nullptr;
};

}  // namespace
}  // namespace heddle::litmus

extern "C" {
void __tsan_read4(void* address);   // NOLINT(bugprone-reserved-identifier)
void __tsan_write4(void* address);  // NOLINT(bugprone-reserved-identifier)
}

namespace heddle::litmus {
namespace {

uint64_t row_of_table::plain_load(uint32_t* word) {
  __tsan_read4(word);
  return *static_cast<volatile uint32_t*>(word);
}
void row_of_table::plain_store(uint32_t* word, uint32_t value) {
  __tsan_write4(word);
  *static_cast<volatile uint32_t*>(word) = value;
}

/// How often each outcome is looked for: the whole table under 3,000 schedules a row where it must not be seen.
uint64_t schedules() {
  const char* const said = std::getenv("HEDDLE_TEST_SCHEDULES");
  return said == nullptr ? 300 : std::strtoull(said, nullptr, 10);
}

TEST(ptx_litmus, rows_as_kernels_show_what_is_allowed_and_nothing_else) {
  const std::vector<test> all = shipped();
  ASSERT_EQ(all.size(), 564U);
  sim::simulation machine;
  scheduler::choice_source choices;
  std::string wrong;
  const auto deciding = scheduler::make_strategy("random", wrong);
  size_t forbidden = 0, seen = 0, missed = 0;
  for (size_t number = 0; number < all.size(); ++number) {
    const test& one = all[number];
    if (!is_modelled(one.expected)) continue;
    const parameters settings = machine_settings(one, {});
    row_of_table row(one, number);
    const bool must_be_seen = one.expected == expectation::seen;
    const uint64_t most = schedules() * (must_be_seen ? 100 : 1);
    bool shown = false;
    for (uint64_t seed = 1; seed <= most && !shown; ++seed) {
      choices.begin(*deciding, seed);
      const sim::outcome ended = machine.run(settings, [&] { row.play(); }, choices, false);
      ASSERT_EQ(ended.verdict, scheduler::verdict::ok) << one.full_name() << ": " << ended.message;
      shown = holds(one.code.outcome, row.left());
    }
    if (one.expected == expectation::forbidden) {
      ++forbidden;
      EXPECT_FALSE(shown) << one.full_name();
    } else if (must_be_seen) {
      (shown ? seen : missed) += 1;
      EXPECT_TRUE(shown) << one.full_name();
    }
  }
  std::printf("%zu forbidden and never seen, %zu allowed and seen, %zu missed\n", forbidden, seen, missed);
}

}  // namespace
}  // namespace heddle::litmus
