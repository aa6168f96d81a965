// Accesses that miss: each is reported with its lane, its allocation and its line, and its correct twin is not.
#include <heddle/sim/cached.h>

#include "run.h"

#include <array>
#include <atomic>
#include <cstring>

#ifdef __clang__
// Atomic operations on 16 bytes become calls, which is what is tested.
#pragma clang diagnostic ignored "-Watomic-alignment"
#endif

namespace heddle::sim::tests {
namespace {

constexpr auto acquire = memory_order::acquire;
constexpr auto release = memory_order::release;
constexpr auto relaxed = memory_order::relaxed;

int line = 0;

constexpr uint32_t words_allocated = 10;

/// Lane 1 of wave 1 runs `access(first, second)` on two allocations.
template <typename Access>
program lane_that(Access access) {
  return [access] {
    device host;
    auto* const first = host.allocate_shared<uint32_t>(words_allocated, "first");
    auto* const second = host.allocate_device<uint32_t>(words_allocated, "second");
    host.launch({.blocks = 1, .waves = 2, .lanes = 2}, [=] {
      if (target::wave_id() == 1 && target::lane_id() == 1) access(first, second);
      asm volatile("");  // no call above is the last thing that is done: that would be a jump, which has no line
    });
    host.synchronize();
  };
}

/// Whether the access is a memory error at this line (a macro is one line to the compiler), of which the message says `wanted`, and the report the lane.
template <typename Access>
testing::AssertionResult misses(int at_line, const std::string& wanted, Access access) {
  machine on;
  const outcome ended = on.explain(lane_that(access));
  if (auto right = is(verdict::memory, SIM_LINE(at_line), ended); !right) return right;
  if (auto right = says(ended.message, wanted); !right) return right;
  return says(ended.report, "wave 1, block 0, lane 1: ends the run: " + ended.message);
}

template <typename Access>
testing::AssertionResult hits(Access access) {
  machine on;
  return always(verdict::ok, on.run_many(lane_that(access), 10));
}

template <typename T>
volatile T& at(void* base, ptrdiff_t offset_bytes) {
  return *reinterpret_cast<volatile T*>(static_cast<char*>(base) + offset_bytes);
}

constexpr ptrdiff_t end_bytes = words_allocated * sizeof(uint32_t);

TEST(memory, every_byte_of_an_allocation_may_be_used) {
  EXPECT_TRUE(hits([](uint32_t* first, uint32_t* second) {
    for (uint32_t n = 0; n < words_allocated; ++n) first[n] = second[n] + 1;
    at<char>(first, end_bytes - 1) = 1;
    [[maybe_unused]] const auto seen = at<uint64_t>(second, end_bytes - 8);
    std::memset(first, 1, end_bytes);
    std::memcpy(second, first, end_bytes);
  }));
}

TEST(memory, a_read_behind_the_end_is_reported) {
  EXPECT_TRUE(misses(__LINE__, "plain load of 4 bytes at first+0x28: out of bounds", [](uint32_t* first, uint32_t*) {
    [[maybe_unused]] const auto seen = at<uint32_t>(first, end_bytes);
  }));
}

TEST(memory, a_write_across_the_end_is_reported) {
  EXPECT_TRUE(misses(__LINE__, "plain store of 8 bytes at second+0x24: out of bounds: crosses the end",
                     [](uint32_t*, uint32_t* second) { at<uint64_t>(second, end_bytes - 4) = 1; }));
}

TEST(memory, an_access_before_the_first_allocation_is_reported) {
  EXPECT_TRUE(misses(__LINE__, "at first-0x4: out of bounds: before the start of an allocation",
                     [](uint32_t* first, uint32_t*) { at<uint32_t>(first, -4) = 1; }));
}

TEST(memory, an_access_between_two_allocations_is_reported) {
  EXPECT_TRUE(misses(__LINE__, "at second-0x1: out of bounds: before the start of an allocation",
                     [](uint32_t*, uint32_t* second) { [[maybe_unused]] const auto seen = at<char>(second, -1); }));
  EXPECT_TRUE(misses(__LINE__, "at first+0x29: out of bounds: behind the end of an allocation",
                     [](uint32_t* first, uint32_t*) { [[maybe_unused]] const auto seen = at<char>(first, 41); }));
  EXPECT_TRUE(misses(__LINE__, "at second+0x1000: out of bounds",
                     [](uint32_t*, uint32_t* second) { [[maybe_unused]] const auto seen = at<char>(second, 4096); }));
}

TEST(memory, atomic_accesses_are_checked_too) {
  EXPECT_TRUE(misses(__LINE__, "load of 4 bytes at first+0x28", [](uint32_t* first, uint32_t*) {
    if (word<uint32_t>(first[words_allocated]).load(acquire) != 0) return;
  }));
  EXPECT_TRUE(misses(__LINE__, "read-modify-write of 4 bytes at first+0x2c", [](uint32_t* first, uint32_t*) {
    if (word<uint32_t>(first[words_allocated + 1]).fetch_add(1, relaxed) != 0) return;
  }));
}

TEST(memory, ranges_are_checked_from_end_to_end) {
  EXPECT_TRUE(misses(__LINE__, "plain load of 44 bytes at first+0x0: out of bounds: crosses the end",
                     [](uint32_t* first, uint32_t* second) {
                       volatile size_t bytes = end_bytes + 4;
                       std::memcpy(second, first, bytes);
                     }));
  EXPECT_TRUE(misses(__LINE__, "plain store of 40 bytes at second+0x4: out of bounds: crosses the end",
                     [](uint32_t* first, uint32_t* second) {
                       volatile size_t bytes = end_bytes;
                       std::memmove(second + 1, first, bytes);
                     }));
  EXPECT_TRUE(misses(__LINE__, "plain store of 41 bytes at first+0x0", [](uint32_t* first, uint32_t*) {
    volatile size_t bytes = end_bytes + 1;
    std::memset(first, 1, bytes);
  }));
}

TEST(memory, a_copy_of_the_device_is_checked) {
  machine on;
  const auto copies = [](size_t bytes) {
    return [bytes] {
      device host;
      auto* const from = host.allocate_shared<uint32_t>(words_allocated, "from");
      auto* const to = host.allocate_device<uint32_t>(words_allocated, "to");
      line = __LINE__ + 1;
      host.copy(to, from, bytes);
      line = 0;
    };
  };
  const outcome ended = on.run(copies(end_bytes + 4));
  EXPECT_TRUE(is(verdict::memory, SIM_LINE(line), ended));
  EXPECT_TRUE(says(ended.message, "from+0x0"));
  EXPECT_EQ(on.run(copies(end_bytes)).verdict, verdict::ok);
}

TEST(memory, an_access_after_free_is_reported_and_one_before_is_not) {
  const program body = [] {
    device host;
    auto* const memory = host.allocate_shared<uint32_t>(2, "given back");
    auto* const flag = host.allocate_shared<uint32_t>(1, "flag");
    auto thread = host.spawn_host("late", [memory, flag] {
      word<uint32_t>(memory[1]).store(1, relaxed);
      word<uint32_t>(*flag).fetch_add(1, relaxed);
    });
    host.free(memory);
    thread.join();
  };
  machine on;
  const tally seen = on.run_many(body, 200);
  ASSERT_TRUE(sometimes(verdict::memory, seen));
  EXPECT_TRUE(says(seen.examples.at(verdict::memory).message, "given back+0x4: after the memory was freed"));
}

TEST(memory, is_not_handed_out_again_in_the_same_run) {
  machine on;
  EXPECT_EQ(on.run([] {
                device host;
                auto* const old = host.allocate_shared<uint32_t>(64, "old");
                host.free(old);
                SIM_CHECK(host.allocate_shared<uint32_t>(64, "new") != old);
              }).verdict,
            verdict::ok);
}

TEST(memory, freeing_twice_or_what_was_not_allocated_is_reported) {
  machine on;
  const auto frees = [](bool twice, ptrdiff_t offset) {
    return [=] {
      device host;
      auto* const memory = host.allocate_shared<uint32_t>(4, "given back");
      if (twice) host.free(memory);
      line = __LINE__ + 1;
      host.free(memory + offset);
      line = 0;
    };
  };
  const outcome twice = on.run(frees(true, 0));
  EXPECT_TRUE(is(verdict::memory, SIM_LINE(line), twice));
  EXPECT_TRUE(says(twice.message, "has been freed already (given back+0x0)"));
  const outcome inside = on.run(frees(false, 1));
  EXPECT_TRUE(is(verdict::memory, SIM_LINE(line), inside));
  EXPECT_TRUE(says(inside.message, "frees a pointer that was not allocated"));
  EXPECT_EQ(on.run(frees(false, 0)).verdict, verdict::ok);
}

TEST(memory, a_null_pointer_is_reported) {
  EXPECT_TRUE(misses(__LINE__, "plain store through a null pointer", [](uint32_t*, uint32_t*) {
    uint32_t* volatile nowhere = nullptr;
    at<uint32_t>(nowhere, 8) = 1;
  }));
  EXPECT_TRUE(misses(__LINE__, "load through a null pointer", [](uint32_t*, uint32_t*) {
    uint32_t* volatile nowhere = nullptr;
    if (word<uint32_t>(*nowhere).load(acquire) != 0) return;
  }));
}

/// Lane 0 shows lane 1 a variable: its own, or one of shared memory.
program shows(bool its_own, bool stays) {
  return [=] {
    device host;
    auto* const shown = host.allocate_shared<uint64_t>(1, "shown");
    auto* const value = host.allocate_shared<uint32_t>(1, "value");
    auto* const seen = host.allocate_shared<uint32_t>(1, "seen");
    host.launch({.blocks = 1, .waves = 1, .lanes = 2}, [=] {
      if (target::lane_id() == 0) {
        volatile uint32_t own = 5;
        auto* const address = its_own ? &own : value;
        word<uint64_t>(*shown).store(reinterpret_cast<uintptr_t>(address), release);
        while (stays && word<uint32_t>(*seen).load(acquire) == 0) target::pause();
        return;
      }
      uint64_t address = 0;
      while ((address = word<uint64_t>(*shown).load(acquire)) == 0) target::pause();
      line = __LINE__ + 1;
      [[maybe_unused]] const uint32_t read = *reinterpret_cast<volatile uint32_t*>(address);
      word<uint32_t>(*seen).store(1, release);
    });
    host.synchronize();
  };
}

TEST(memory, the_stack_of_another_lane_is_out_of_bounds) {
  machine on;
  const tally lives = on.run_many(shows(true, true), 50);
  EXPECT_TRUE(always(verdict::memory, lives));
  EXPECT_TRUE(says(lives.examples.at(verdict::memory).message, "plain load on the stack of wave 0 lane 0"));
  EXPECT_EQ(lives.examples.at(verdict::memory).where, SIM_LINE(line));
  EXPECT_TRUE(always(verdict::memory, on.run_many(shows(true, false), 50)));
  EXPECT_TRUE(always(verdict::ok, on.run_many(shows(false, true), 50)));
}

TEST(memory, the_stack_of_a_lane_that_has_ended_is_not_said_to_be_its_own) {
  // Blocks run one at a time, on two stacks by turns.
  machine on({"resident=1"});
  const tally seen = on.run_many(
      [] {
        device host;
        auto* const shown = host.allocate_shared<uint64_t>(1, "shown");
        host.launch({.blocks = 6, .waves = 1, .lanes = 1}, [=] {
          volatile uint32_t own = 5;
          if (target::wave_id() == 0)
            word<uint64_t>(*shown).store(reinterpret_cast<uintptr_t>(&own), release);
          else if (target::wave_id() == 5)
            own = *reinterpret_cast<volatile uint32_t*>(word<uint64_t>(*shown).load(acquire));
        });
        host.synchronize();
      },
      10);
  EXPECT_TRUE(always(verdict::memory, seen));
  EXPECT_TRUE(says(seen.examples.at(verdict::memory).message, "on the stack of a lane that has ended"));
}

TEST(memory, is_zeroed_in_every_run_however_the_last_one_left_it) {
  machine on;
  for (uint64_t seed = 1; seed <= 5; ++seed)
    EXPECT_EQ(on.run(
                    [] {
                      device host;
                      for (const size_t count : {size_t{1}, size_t{100}, size_t{10000}}) {
                        auto* const shared = host.allocate_shared<uint32_t>(count, "shared");
                        for (size_t n = 0; n < count; ++n) SIM_CHECK(shared[n] == 0);
                        std::memset(shared, 0xff, count * sizeof *shared);
                      }
                    },
                    seed)
                  .verdict,
              verdict::ok);
}

TEST(memory, that_is_not_there_says_so) {
  machine on;
  const outcome ended = on.run([] { device().allocate_shared<char>(size_t{1} << 40, "far too much"); });
  EXPECT_TRUE(is(verdict::memory, "", ended));
  EXPECT_TRUE(says(ended.message, "far too much"));
}

// -- Memory that the device caches and that is not coherent: what its lanes see of it, and when they see it anew.

const std::vector<std::string> fidelities = {"fidelity=interleaving", "fidelity=link", "fidelity=scoped"};

/// A lane waits for the host to raise a word in a line that it has looked at before.
program waits_for_host(bool cached, bool modifies = false) {
  return [=] {
    device host;
    auto* const words = host.allocate_shared<uint32_t>(64, "words");
    if (cached) runtime::map_cached(words);
    host.launch({.blocks = 1, .waves = 1, .lanes = 1}, [=] {
      (void)word<uint32_t>(words[1]).load(acquire);
      word<uint32_t>(words[32]).store(1, release);
      if (modifies)
        while (word<uint32_t>(words[0]).fetch_add(0, acquire) == 0) target::pause();
      else
        while (word<uint32_t>(words[0]).load(acquire) == 0) target::pause();
    });
    while (word<uint32_t>(words[32]).load(acquire) == 0) target::pause();
    word<uint32_t>(words[0]).store(1, release);
    host.synchronize();
  };
}

TEST(cached_memory, shows_an_old_line_for_ever) {
  for (const std::string& fidelity : fidelities) {
    machine on({fidelity});
    EXPECT_TRUE(always(verdict::deadlock, on.run_many(waits_for_host(true), 100))) << fidelity;
    EXPECT_TRUE(always(verdict::ok, on.run_many(waits_for_host(false), 100))) << fidelity;
  }
}

TEST(cached_memory, is_passed_by_read_modify_writes) {
  for (const std::string& fidelity : fidelities) {
    machine on({fidelity});
    EXPECT_TRUE(always(verdict::ok, on.run_many(waits_for_host(true, true), 100))) << fidelity;
  }
}

TEST(cached_memory, is_one_among_the_lanes_of_the_device_and_forgotten_by_its_next_kernel) {
  const program body = [] {
    device host;
    auto* const words = host.allocate_shared<uint32_t>(2, "words");
    runtime::map_cached(words);
    host.launch({.blocks = 2, .waves = 1, .lanes = 1}, [=] {
      if (target::block_id() == 0)
        word<uint32_t>(words[0]).store(1, release);
      else
        while (word<uint32_t>(words[0]).load(acquire) == 0) target::pause();
    });
    host.synchronize();
    word<uint32_t>(words[0]).store(2, relaxed);
    host.launch({.blocks = 1, .waves = 1, .lanes = 1}, [=] { SIM_CHECK(word<uint32_t>(words[0]).load(acquire) == 2); });
    host.synchronize();
  };
  for (const std::string& fidelity : fidelities) {
    machine on({fidelity});
    EXPECT_TRUE(always(verdict::ok, on.run_many(body, 200))) << fidelity;
  }
}

TEST(cached_memory, must_be_an_allocation) {
  machine on;
  const outcome ended = on.explain([] {
    device host;
    auto* const words = host.allocate_shared<uint32_t>(2, "words");
    runtime::map_cached(words + 1);
  });
  EXPECT_EQ(ended.verdict, verdict::memory);
}

// -- Atomic operations on 16 bytes: both halves are one, on whatever machine.

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
