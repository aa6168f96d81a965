// Plain accesses of which nothing is kept, and those of whole rows of memory: what is found with them is what is found without. Programs are made at
// random, of a main thread, threads and kernels that access words and ranges of two arrays, and hand over by flags. With races=weigh each access is kept.
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "run.h"

namespace heddle::sim::tests::rows_test {
namespace {

constexpr uint32_t words = 1024;  // of each array: 4 KiB
constexpr uint32_t flags = 3;

enum class act : uint8_t { store_word, load_word, fill, copy, give, take, begin_thread, join, begin_kernel, wait };

struct step {
  act what = act::wait;
  uint32_t array = 0;
  uint32_t from = 0;
  uint32_t count = 0;   ///< words
  uint32_t of = 0;      ///< a flag, or a script
  bool orders = false;  ///< of a flag: release and acquire
};

struct script {
  std::vector<step> steps;
};

struct program_made {
  script main;
  std::vector<script> others;
};

class maker {
 public:
  explicit maker(uint64_t seed) : random_(seed) {}

  program_made make() {
    program_made made;
    const uint32_t count = 1 + below(3);
    for (uint32_t n = 0; n < count; ++n) made.others.push_back(of_accesses(1 + below(4)));
    uint32_t next = 0;
    for (uint32_t n = 0; n < 4 + below(8); ++n) {
      const uint32_t kind = below(10);
      if (kind < 3 && next < count)
        made.main.steps.push_back({.what = kind == 0 ? act::begin_thread : act::begin_kernel, .of = next++});
      else if (kind == 3)
        made.main.steps.push_back({.what = act::join});
      else if (kind == 4)
        made.main.steps.push_back({.what = act::wait});
      else
        made.main.steps.push_back(access());
    }
    return made;
  }

 private:
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  script of_accesses(uint32_t count) {
    script made;
    for (uint32_t n = 0; n < count; ++n) made.steps.push_back(access());
    return made;
  }
  step access() {
    constexpr act kinds[] = {act::store_word, act::load_word, act::fill, act::copy, act::give, act::take};
    step made = {.what = kinds[below(6)], .array = below(2), .of = below(flags), .orders = below(4) != 0};
    // Some ranges are rows, and most words lie in few places, so that they meet.
    made.count = made.what == act::store_word || made.what == act::load_word ? 1 : (below(2) == 0 ? 16 : 512);
    made.from = below(4) * 256 % (words - made.count + 1);
    if (made.count == 1) made.from += below(2) * 3;
    return made;
  }
  std::mt19937_64 random_;
};

struct memory {
  uint32_t* arrays[2];
  std::atomic<uint32_t>* flags;
};

HEDDLE_FUNCTION void perform(const step& one, const memory& of) {
  uint32_t* const at = of.arrays[one.array] + one.from;
  switch (one.what) {
    case act::store_word:
      *at = one.of + 1;
      break;
    case act::load_word:
      SIM_CHECK(*at != 77);
      break;
    case act::fill:
      std::memset(at, static_cast<int>(one.of), one.count * sizeof *at);
      break;
    case act::copy:
      std::memcpy(of.arrays[1 - one.array] + one.from, at, one.count * sizeof *at);
      break;
    case act::give:
      of.flags[one.of].store(1, one.orders ? std::memory_order_release : std::memory_order_relaxed);
      break;
    case act::take:
      // What is not ordered by a flag that was set may race; nothing waits.
      SIM_CHECK(of.flags[one.of].load(one.orders ? std::memory_order_acquire : std::memory_order_relaxed) < 2);
      break;
    default:
      break;
  }
}

void play(const program_made& made, bool on_heap) {
  device host;
  memory all = {};
  std::vector<uint32_t> beside;
  for (uint32_t*& each : all.arrays) each = host.allocate_shared<uint32_t>(words, "array");
  if (on_heap) all.arrays[1] = host.allocate_device<uint32_t>(words, "other");
  all.flags = host.allocate_shared<std::atomic<uint32_t>>(flags, "flags");
  for (uint32_t n = 0; n < flags; ++n) all.flags[n].store(0);
  std::vector<decltype(host.spawn_host("thread", [] {}))> threads;
  for (const step& one : made.main.steps) {
    const script* const other = one.of < made.others.size() ? &made.others[one.of] : nullptr;
    const auto plays = [other, all] {
      for (const step& each : other->steps) perform(each, all);
    };
    if (one.what == act::begin_thread) {
      threads.push_back(host.spawn_host("thread", plays));
    } else if (one.what == act::begin_kernel) {
      host.launch({.waves = 1, .lanes = 1}, plays);
    } else if (one.what == act::join) {
      if (!threads.empty()) threads.pop_back();
    } else if (one.what == act::wait) {
      host.synchronize();
    } else {
      perform(one, all);
    }
  }
  threads.clear();
  host.synchronize();
}

TEST(rows, what_is_found_with_them_is_what_is_found_without) {
  machine kept({"fidelity=scoped", "races=weigh"});
  machine as_rows({"fidelity=scoped", "races=end"});
  constexpr uint64_t programs = 1500;
  constexpr uint64_t schedules = 6;
  std::printf("programs of seeds 1 to %llu\n", static_cast<unsigned long long>(programs));
  uint64_t races = 0;
  uint64_t silent = 0;
  for (uint64_t seed = 1; seed <= programs; ++seed) {
    SCOPED_TRACE("program of seed " + std::to_string(seed));
    const program_made made = maker(seed).make();
    const program body = [&] { play(made, seed % 2 == 0); };
    for (uint64_t schedule = 1; schedule <= schedules; ++schedule) {
      const outcome one = kept.run(body, schedule);
      const outcome other = as_rows.run(body, schedule);
      ASSERT_EQ(to_string(one.verdict), to_string(other.verdict)) << "schedule " << schedule << "\n" << other.message;
      ++(other.verdict == verdict::race ? races : silent);
    }
  }
  // Both ways it is told apart.
  EXPECT_GT(races, programs / 10);
  EXPECT_GT(silent, programs / 10);
}

// A fill that covers another one knows what it replaces, but for what was stored in between. Its reader has acquired that, and not the last fill.
TEST(rows, a_fill_does_not_forget_what_was_stored_over_an_earlier_one) {
  machine counts({"fidelity=scoped", "races=count"});
  static uint64_t seen[2];
  seen[0] = seen[1] = 0;
  const program body = [] {
    device host;
    auto* const array = host.allocate_device<unsigned char>(4 * words, "array");
    auto* const middle = array + words;
    auto* const bytes = host.allocate_device<unsigned char>(words, "bytes");
    auto* const flag = host.allocate_device<uint32_t>(1, "flag");
    const auto ready = [flag] { return target::atomic_ref<uint32_t, scope::device>(*flag); };
    host.launch({.waves = 2, .lanes = 1}, [=] {
      if (target::wave_id() == 0) {
        std::memset(bytes, 7, words);
        std::memset(array, 1, 4 * words);
        std::memcpy(middle, bytes, words);
        ready().store(1, memory_order::release);
        std::memset(array, 2, 4 * words);
        std::memset(array, 3, 4 * words);
      } else {
        while (ready().load(memory_order::acquire) == 0) target::pause();
        const unsigned char found = middle[words / 2];
        if (found != 7 && found != 2 && found != 3) target::trap(fault::assertion, "a value from before the hand-over");
        ++seen[found == 7 ? 0 : 1];
      }
    });
    host.synchronize();
  };
  EXPECT_EQ(counts.run_many(body, 500).count(verdict::assertion), 0u);
  EXPECT_GT(seen[0], 0u);
  EXPECT_GT(seen[1], 0u);
}

}  // namespace
}  // namespace heddle::sim::tests::rows_test
