// The spellings of clang's <gpuintrin.h>, launched as a runtime of LLVM's would.
#include <gpuintrin.h>

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

}  // namespace
