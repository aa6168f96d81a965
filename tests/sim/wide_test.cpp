// Atomic operations on 16 bytes: both halves are one, on whatever machine.
#include "run.h"

#include <array>
#include <atomic>

#ifdef __clang__
// That they become calls is what is tested.
#pragma clang diagnostic ignored "-Watomic-alignment"
#endif

namespace heddle::sim::tests {
namespace {

__extension__ using wide = unsigned __int128;

struct alignas(16) two {
  uint64_t first = 0;
  uint64_t second = 0;
};

const std::array<const char*, 4> machines = {"fidelity=interleaving", "fidelity=link", "fidelity=scoped",
                                             "convergence=lockstep"};

/// One stores pairs that belong together, on the one side, and the other looks at them, on the other side.
program pairs(bool device_stores, bool on_device, uint64_t last) {
  return [=] {
    device host;
    auto* const at = on_device ? host.allocate_device<std::atomic<two>>(1, "pair")
                               : host.allocate_shared<std::atomic<two>>(1, "pair");
    at->store(two{});
    const auto stores = [=] {
      for (uint64_t n = 1; n <= last; ++n) at->store({n, ~n}, std::memory_order_relaxed);
    };
    const auto looks = [=] {
      uint64_t latest = 0;
      while (latest != last) {
        const two seen = at->load(std::memory_order_relaxed);
        SIM_CHECK(seen.first == 0 ? seen.second == 0 : seen.second == ~seen.first);
        SIM_CHECK(seen.first >= latest);
        latest = seen.first;
        if (latest != last) target::pause();
      }
    };
    if (device_stores) {
      host.launch({.blocks = 1, .waves = 1, .lanes = 1}, stores);
      looks();
    } else {
      host.launch({.blocks = 1, .waves = 1, .lanes = 1}, looks);
      stores();
    }
    host.synchronize();
  };
}

TEST(wide_atomics, are_never_seen_in_halves) {
  for (const char* const setting : machines)
    for (const bool device_stores : {false, true})
      for (const bool on_device : {false, true}) {
        machine on({"fidelity=scoped", setting});
        EXPECT_TRUE(always(verdict::ok, on.run_many(pairs(device_stores, on_device, 3), 200)));
      }
  machine reordered({"fidelity=link", "link.ro=on", "link.pool=on"});
  EXPECT_TRUE(always(verdict::ok, reordered.run_many(pairs(true, false, 4), 300)));
}

TEST(wide_atomics, two_words_are_seen_in_halves) {
  machine on({"fidelity=interleaving"});
  EXPECT_TRUE(
      sometimes(verdict::assertion, on.run_many(
                                        [] {
                                          device host;
                                          auto* const words = host.allocate_shared<uint64_t>(2, "words");
                                          auto thread = host.spawn_host("thread", [=] {
                                            word<uint64_t>(words[0]).store(1, memory_order::relaxed);
                                            word<uint64_t>(words[1]).store(1, memory_order::relaxed);
                                          });
                                          const uint64_t first = word<uint64_t>(words[0]).load(memory_order::relaxed);
                                          SIM_CHECK(word<uint64_t>(words[1]).load(memory_order::relaxed) == first);
                                        },
                                        200)));
}

TEST(wide_atomics, read_modify_writes_lose_nothing) {
  const program counts = [] {
    device host;
    auto* const at = host.allocate_device<std::atomic<two>>(1, "pair");
    auto* const number = host.allocate_device<wide>(1, "number");
    at->store(two{});
    *number = 0;
    const auto adds = [=] {
      for (int n = 0; n < 2; ++n) {
        two known = at->load(std::memory_order_relaxed);
        while (!at->compare_exchange_weak(known, {known.first + 1, known.second + 2})) target::pause();
        __atomic_fetch_add(number, (static_cast<wide>(1) << 64) + 1, __ATOMIC_RELAXED);
      }
    };
    host.launch({.blocks = 2, .waves = 1, .lanes = 2}, adds);
    host.synchronize();
    const two all = at->load();
    SIM_CHECK(all.first == 8 && all.second == 16);
    SIM_CHECK(__atomic_load_n(number, __ATOMIC_RELAXED) == (static_cast<wide>(8) << 64) + 8);
    SIM_CHECK(__atomic_exchange_n(number, 3, __ATOMIC_RELAXED) == (static_cast<wide>(8) << 64) + 8);
    SIM_CHECK(__atomic_fetch_xor(number, 1, __ATOMIC_RELAXED) == 3 && __atomic_load_n(number, __ATOMIC_RELAXED) == 2);
  };
  for (const char* const setting : machines) {
    machine on({"fidelity=scoped", setting});
    EXPECT_TRUE(always(verdict::ok, on.run_many(counts, 60)));
  }
}

// The flag is in the same store as what it speaks of; or not.
program message(bool in_one, std::memory_order order) {
  return [=] {
    device host;
    auto* const at = host.allocate_shared<std::atomic<two>>(1, "pair");
    auto* const beside = host.allocate_shared<uint64_t>(1, "beside");
    at->store(two{});
    host.launch({.blocks = 1, .waves = 1, .lanes = 1}, [=] {
      *beside = 5;
      at->store({1, 5}, order);
    });
    two seen;
    while ((seen = at->load(std::memory_order_acquire)).first == 0) target::pause();
    SIM_CHECK(seen.second == 5);
    if (!in_one) SIM_CHECK(*beside == 5);
    host.synchronize();
  };
}

TEST(wide_atomics, release_and_acquire_as_others_do) {
  for (const char* const fidelity : {"fidelity=link", "fidelity=scoped"}) {
    machine on({fidelity});
    EXPECT_TRUE(always(verdict::ok, on.run_many(message(true, std::memory_order_relaxed), 200)));
    EXPECT_TRUE(always(verdict::ok, on.run_many(message(false, std::memory_order_release), 200)));
  }
  EXPECT_GT(machine({"fidelity=scoped"}).run_many(message(false, std::memory_order_relaxed), 200).count(verdict::race),
            0u);
}

TEST(wide_atomics, an_older_value_may_be_seen_whole) {
  // Both lanes store, each its own, and look at the other's: with relaxed order both may miss what the other has stored.
  const program crossed = [] {
    device host;
    auto* const at = host.allocate_device<std::atomic<two>>(2, "pairs");
    auto* const seen = host.allocate_device<uint64_t>(2, "seen");
    at[0].store(two{});
    at[1].store(two{});
    host.launch({.blocks = 2, .waves = 1, .lanes = 1}, [=] {
      const uint32_t self = target::block_id();
      at[self].store({1, 1}, std::memory_order_relaxed);
      const two other = at[1 - self].load(std::memory_order_relaxed);
      SIM_CHECK(other.first == other.second);
      word<uint64_t>(seen[self]).store(other.first + 1, memory_order::relaxed);
    });
    host.synchronize();
    SIM_CHECK(seen[0] != 1 || seen[1] != 1);
  };
  EXPECT_TRUE(sometimes(verdict::assertion, machine({"fidelity=scoped"}).run_many(crossed, 500)));
  EXPECT_TRUE(always(verdict::ok, machine({"fidelity=interleaving"}).run_many(crossed, 500)));
}

TEST(wide_atomics, must_be_aligned_and_in_bounds) {
  machine on;
  const outcome misaligned = on.explain([] {
    device host;
    auto* const bytes = host.allocate_shared<uint64_t>(4, "bytes");
    host.launch({.blocks = 1, .waves = 1, .lanes = 1}, [=] {
      uint64_t* at = bytes + 1;
      asm volatile("" : "+r"(at));
      reinterpret_cast<std::atomic<two>*>(at)->load();
    });
    host.synchronize();
  });
  EXPECT_EQ(misaligned.verdict, verdict::memory) << misaligned.message;
}

}  // namespace
}  // namespace heddle::sim::tests
