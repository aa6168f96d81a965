// The spellings of clang's <gpuintrin.h>, launched as a runtime of LLVM's would.
#include <gpuintrin.h>

#include <atomic>

#include "../sim/run.h"

namespace {

using namespace heddle::sim::tests;

machine scoped() { return machine({"fidelity=scoped"}); }

struct results {
  uint32_t threads[80];
  uint32_t counter;
};

__gpu_kernel void fill(results* out) {
  const uint32_t thread = __gpu_thread_id_x() + __gpu_num_threads_x() * __gpu_block_id(__GPU_X_DIM);
  SIM_CHECK(__gpu_num_blocks_x() == 2 && __gpu_num_blocks(__GPU_Y_DIM) == 1 && __gpu_num_lanes() == 32);
  out->threads[thread] = thread;
  const uint64_t mask = __gpu_ballot(0xff, true);
  SIM_CHECK(mask == 0xff && __gpu_is_first_in_lane(mask) == (__gpu_lane_id() == 0));
  SIM_CHECK(__gpu_read_first_lane_u32(mask, __gpu_lane_id() + 3) == 3);
  SIM_CHECK(__gpu_shuffle_idx_u64(mask, 5, uint64_t{__gpu_lane_id()} << 40) == uint64_t{5} << 40);
  SIM_CHECK(__gpu_shuffle_idx_u32(mask, 1, __gpu_lane_id(), 4) == (__gpu_lane_id() & ~3u) + 1);
  __scoped_atomic_fetch_add(&out->counter, 1u, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  __gpu_sync_lane(mask);
  __gpu_sync_threads();
  if (__gpu_is_first_in_lane(mask))
    while (__scoped_atomic_load_n(&out->counter, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) != 16) __gpu_thread_suspend();
}

TEST(clang_gpu, has_the_intrinsics_of_gpuintrin) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        heddle::sim::device device;
                                        auto* out = device.allocate_shared<results>(1, "results");
                                        fill<<<2, 8>>>(out);
                                        device.synchronize();
                                        for (uint32_t n = 0; n < 16; ++n) SIM_CHECK(out->threads[n] == n);
                                      },
                                      100)));
}

template <int Scope>
__gpu_kernel void add(uint32_t* word) {
  uint32_t expected = 0;
  __scoped_atomic_compare_exchange_n(word, &expected, 1u, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED, Scope);
  __scoped_atomic_fetch_max(word, 7u, __ATOMIC_RELAXED, Scope);
  __scoped_atomic_thread_fence(__ATOMIC_SEQ_CST, Scope);
}

template <int Scope>
void run_add() {
  heddle::sim::device device;
  auto* word = device.allocate_device<uint32_t>(1, "word");
  add<Scope><<<2, 2>>>(word);
  device.synchronize();
  SIM_CHECK(*word == 7);
}

TEST(clang_gpu, has_atomics_with_scopes) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(run_add<__MEMORY_SCOPE_DEVICE>, 100)));
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(run_add<__MEMORY_SCOPE_SYSTEM>, 100)));
  EXPECT_TRUE(always(verdict::scope_race, scoped().run_many(run_add<__MEMORY_SCOPE_WRKGRP>, 50)));
}

__gpu_kernel void work_together(uint32_t* out) {
  const uint32_t lane = __gpu_lane_id();
  const uint64_t all = 0xff;
  SIM_CHECK(__gpu_lane_sum_u32(all, lane) == 28 && __gpu_lane_scan_u64(all, lane) == lane * (lane + 1) / 2);
  SIM_CHECK(__gpu_match_any_u32(all, lane & 3) == 0x11u << (lane & 3));
  SIM_CHECK(__gpu_match_all_u64(all, 7) == all && __gpu_match_all_u64(all, lane) == 0);
  if (lane != 0) return;
  SIM_CHECK(__scoped_atomic_add_fetch(out, 5u, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE) == 5);
  SIM_CHECK(__scoped_atomic_xor_fetch(out, 1u, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE) == 4);
  SIM_CHECK(__scoped_atomic_nand_fetch(out, 6u, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE) == ~4u);
  SIM_CHECK(__scoped_atomic_min_fetch(out, 3u, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE) == 3);
  uint32_t given = 9, found = 0;
  __scoped_atomic_exchange(out, &given, &found, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  SIM_CHECK(found == 3);
  SIM_CHECK(!__scoped_atomic_compare_exchange(out, &found, &given, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                              __MEMORY_SCOPE_DEVICE));
  SIM_CHECK(found == 9);
}

TEST(clang_gpu, has_what_lanes_do_together_and_what_atomics_have_made) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        heddle::sim::device device;
                                        auto* out = device.allocate_device<uint32_t>(1, "out");
                                        *out = 0;
                                        work_together<<<1, 8>>>(out);
                                        device.synchronize();
                                      },
                                      20)));
}

/// A flag that a failing compare-exchange finds.
template <int Success, int Failure>
__gpu_kernel void find_by_failing(uint32_t* words) {
  if (__gpu_block_id_x() == 0) {
    words[0] = 7;
    __scoped_atomic_store_n(&words[1], 1u, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
    return;
  }
  uint32_t expected = 5;
  while (
      !__scoped_atomic_compare_exchange_n(&words[1], &expected, 6u, false, Success, Failure, __MEMORY_SCOPE_DEVICE) &&
      expected != 1) {
    expected = 5;
    __gpu_thread_suspend();
  }
  words[2] = words[0];
}
template <int Success, int Failure>
void run_find_by_failing() {
  heddle::sim::device device;
  auto* words = device.allocate_device<uint32_t>(3, "words");
  for (uint32_t n = 0; n < 3; ++n) words[n] = 0;
  find_by_failing<Success, Failure><<<2, 1>>>(words);
  device.synchronize();
  SIM_CHECK(words[2] == 7);
}

TEST(clang_gpu, has_an_order_for_compare_exchanges_that_fail) {
  EXPECT_TRUE(always(verdict::race, scoped().run_many(run_find_by_failing<__ATOMIC_ACQ_REL, __ATOMIC_RELAXED>, 50)));
  EXPECT_TRUE(always(verdict::race, scoped().run_many(run_find_by_failing<__ATOMIC_SEQ_CST, __ATOMIC_RELAXED>, 50)));
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(run_find_by_failing<__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE>, 50)));
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(run_find_by_failing<__ATOMIC_RELEASE, __ATOMIC_ACQUIRE>, 50)));
}

/// The same by the C++ library.
template <typename Word, std::memory_order Failure>
__gpu_kernel void find_by_standard(Word* words) {
  std::atomic_ref<Word> flag(words[1]);
  if (__gpu_block_id_x() == 0) {
    words[0] = 7;
    return flag.store(1, std::memory_order_release);
  }
  Word expected = 5;
  while (!flag.compare_exchange_strong(expected, 6, std::memory_order_acq_rel, Failure) && expected != 1) {
    expected = 5;
    __gpu_thread_suspend();
  }
  words[2] = words[0];
}

template <typename Word, std::memory_order Failure>
tally finds_by_standard() {
  return scoped().run_many(
      [] {
        heddle::sim::device device;
        auto* words = device.allocate_device<Word>(3, "words");
        for (uint32_t n = 0; n < 3; ++n) words[n] = 0;
        find_by_standard<Word, Failure><<<2, 1>>>(words);
        device.synchronize();
      },
      30);
}

TEST(clang_gpu, has_that_order_of_standard_atomics_too) {
  EXPECT_TRUE(always(verdict::race, (finds_by_standard<uint32_t, std::memory_order_relaxed>())));
  EXPECT_TRUE(always(verdict::ok, (finds_by_standard<uint32_t, std::memory_order_acquire>())));
}

}  // namespace
