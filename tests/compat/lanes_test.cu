// Warps in the spellings of CUDA: indices, shuffles, votes, and what lanes that are not there do to them.
#include "../sim/run.h"

namespace {

using namespace heddle::sim::tests;

constexpr unsigned full = 0xffffffff;

machine scoped() { return machine({"fidelity=scoped"}); }

template <typename T>
T* on_device(size_t count) {
  T* memory = nullptr;
  cudaMalloc(&memory, count * sizeof(T));
  return memory;
}

// -- indices -----------------------------------------------------------------------------------------------------------------------

__global__ void note_indices(uint3* threads, uint3* blocks) {
  SIM_CHECK(blockDim.x == 4 && blockDim.y == 3 && blockDim.z == 2);
  SIM_CHECK(gridDim.x == 2 && gridDim.y == 2 && gridDim.z == 1);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned block = blockIdx.x + gridDim.x * blockIdx.y;
  threads[block * 24 + thread] = threadIdx;
  blocks[block * 24 + thread] = blockIdx;
}

TEST(cuda_lanes, have_indices_in_three_dimensions) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        auto* threads = on_device<uint3>(96);
                                        auto* blocks = on_device<uint3>(96);
                                        note_indices<<<dim3(2, 2), dim3(4, 3, 2)>>>(threads, blocks);
                                        cudaDeviceSynchronize();
                                        for (unsigned n = 0; n < 96; ++n) {
                                          const unsigned thread = n % 24;
                                          SIM_CHECK(threads[n].x == thread % 4 && threads[n].y == thread / 4 % 3);
                                          SIM_CHECK(threads[n].z == thread / 12);
                                          SIM_CHECK(blocks[n].x == n / 24 % 2 && blocks[n].y == n / 48);
                                        }
                                      },
                                      5)));
}

__global__ void count_lanes(unsigned* lanes) {
  // 40 threads: a warp of 32 and one of 8.
  const auto there = static_cast<unsigned>(__popc(__ballot_sync(full, 1)));
  lanes[threadIdx.x] = there;
}

TEST(cuda_lanes, of_a_last_warp_that_is_not_full_are_those_that_are_there) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        auto* lanes = on_device<unsigned>(40);
                                        count_lanes<<<1, 40>>>(lanes);
                                        cudaDeviceSynchronize();
                                        for (unsigned n = 0; n < 40; ++n) SIM_CHECK(lanes[n] == (n < 32 ? 32u : 8u));
                                      },
                                      50)));
}

// -- shuffles ----------------------------------------------------------------------------------------------------------------------

template <typename T>
__global__ void shuffle_all_ways() {
  const unsigned lane = threadIdx.x;
  const T own = static_cast<T>(lane) + static_cast<T>(100);
  const auto of = [](unsigned from) { return static_cast<T>(from) + static_cast<T>(100); };
  SIM_CHECK(__shfl_sync(full, own, 5) == of(5));
  SIM_CHECK(__shfl_sync(full, own, 5, 8) == of((lane & ~7u) + 5));
  // Indices wrap around the width.
  SIM_CHECK(__shfl_sync(full, own, 37) == of(5));
  SIM_CHECK(__shfl_up_sync(full, own, 3) == of(lane < 3 ? lane : lane - 3));
  SIM_CHECK(__shfl_up_sync(full, own, 3, 16) == of(lane % 16 < 3 ? lane : lane - 3));
  SIM_CHECK(__shfl_down_sync(full, own, 3) == of(lane > 28 ? lane : lane + 3));
  SIM_CHECK(__shfl_down_sync(full, own, 3, 4) == of(lane % 4 == 0 ? lane + 3 : lane));
  SIM_CHECK(__shfl_xor_sync(full, own, 1) == of(lane ^ 1));
  // Across the end of a part a lane keeps its own value; the other way it reads.
  SIM_CHECK(__shfl_xor_sync(full, own, 16, 8) == of(lane < 16 ? lane : lane - 16));
}

TEST(cuda_lanes, shuffle_words_of_4_and_8_bytes_in_all_ways_and_widths) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        shuffle_all_ways<int><<<1, 32>>>();
                                        shuffle_all_ways<unsigned><<<1, 32>>>();
                                        shuffle_all_ways<float><<<1, 32>>>();
                                        shuffle_all_ways<double><<<1, 32>>>();
                                        shuffle_all_ways<unsigned long long><<<1, 32>>>();
                                        cudaDeviceSynchronize();
                                      },
                                      10)));
}

__global__ void shuffle_by_three(int width) { __shfl_sync(full, 1, 0, width); }

TEST(cuda_lanes, refuse_a_width_that_is_no_power_of_two) {
  EXPECT_TRUE(always(verdict::assertion, scoped().run_many(
                                             [] {
                                               shuffle_by_three<<<1, 32>>>(3);
                                               cudaDeviceSynchronize();
                                             },
                                             1)));
}

// -- votes and barriers ------------------------------------------------------------------------------------------------------------

__global__ void vote() {
  const unsigned lane = threadIdx.x;
  SIM_CHECK(__ballot_sync(full, lane % 2) == 0xaaaaaaaa);
  SIM_CHECK(__any_sync(full, lane == 7) == 1 && __any_sync(full, 0) == 0);
  SIM_CHECK(__all_sync(full, 1) == 1 && __all_sync(full, lane != 7) == 0);
  if (lane < 16) {
    SIM_CHECK(__ballot_sync(0xffff, lane > 7) == 0xff00);
    SIM_CHECK(__all_sync(0xffff, lane < 16) == 1);
  }
  SIM_CHECK((__activemask() >> lane & 1) == 1);
}

TEST(cuda_lanes, vote) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        vote<<<2, 32>>>();
                                        cudaDeviceSynchronize();
                                      },
                                      50)));
}

__global__ void hand_over(int* word, int* seen, bool with_barrier) {
  if (threadIdx.x == 0) *word = 7;
  if (with_barrier) __syncwarp();
  if (threadIdx.x == 1) *seen = *word;
}

program hands_over(bool with_barrier) {
  return [=] {
    auto* words = on_device<int>(2);
    hand_over<<<1, 2>>>(words, words + 1, with_barrier);
    cudaDeviceSynchronize();
    SIM_CHECK(words[1] == 7);
  };
}

TEST(cuda_lanes, are_ordered_by_syncwarp_and_race_without) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(hands_over(true), 200)));
  EXPECT_TRUE(always(verdict::race, scoped().run_many(hands_over(false), 50)));
}

// -- lanes that are not there --------------------------------------------------------------------------------------------------------

__global__ void vote_of_those_left(unsigned* votes) {
  if (threadIdx.x >= 20) return;
  *votes = __ballot_sync(full, 1);
}

TEST(cuda_lanes, that_have_ended_are_not_waited_for) {
  EXPECT_TRUE(always(verdict::race, scoped().run_many(
                                        [] {
                                          auto* votes = on_device<unsigned>(1);
                                          vote_of_those_left<<<1, 32>>>(votes);
                                          cudaDeviceSynchronize();
                                        },
                                        1)))
      << "lanes that write one word race";
  EXPECT_TRUE(always(verdict::ok, machine().run_many(
                                      [] {
                                        auto* votes = on_device<unsigned>(1);
                                        vote_of_those_left<<<1, 32>>>(votes);
                                        cudaDeviceSynchronize();
                                        SIM_CHECK(*votes == 0xfffff);
                                      },
                                      200)));
}

constexpr int shuffle_line = __LINE__ + 4;
__global__ void sum_of_half_a_warp(int* sum) {
  int own = 1;
  if (threadIdx.x < 16)
    for (unsigned offset = 16; offset > 0; offset /= 2) own += __shfl_down_sync(full, own, offset);
  if (threadIdx.x == 0) *sum = own;
}

TEST(cuda_lanes, of_half_a_warp_cannot_shuffle_with_all_of_it) {
  const auto half = [] {
    auto* sum = on_device<int>(1);
    sum_of_half_a_warp<<<1, 32>>>(sum);
    cudaDeviceSynchronize();
  };
  EXPECT_TRUE(always(verdict::mask, scoped().run_many(half, 100)));
  EXPECT_TRUE(is(verdict::mask, SIM_LINE(shuffle_line), scoped().explain(half)));
}

__global__ void two_kinds_at_once() {
  if (threadIdx.x < 16)
    __shfl_sync(full, 1, 0);
  else
    __syncwarp();
}

TEST(cuda_lanes, that_come_to_different_collectives_are_a_mask_verdict) {
  EXPECT_TRUE(always(verdict::mask, scoped().run_many(
                                        [] {
                                          two_kinds_at_once<<<1, 32>>>();
                                          cudaDeviceSynchronize();
                                        },
                                        100)));
}

__global__ void some_at_a_barrier() {
  if (threadIdx.x % 3 == 0)
    __syncthreads();
  else
    __shfl_sync(full, 1, 0);
}

TEST(cuda_lanes, that_the_wave_does_not_have_are_not_missed) {
  const auto four = [] {
    some_at_a_barrier<<<1, 4>>>();
    cudaDeviceSynchronize();
  };
  // In lockstep it is a mask that names them.
  machine independent({"fidelity=scoped", "convergence=independent"});
  EXPECT_TRUE(always(verdict::deadlock, independent.run_many(four, 20)));
  const heddle::sim::outcome first = independent.explain(four);
  EXPECT_TRUE(says(first.report, "lanes 1-2: wait at a shuffle"));
  EXPECT_TRUE(says(first.report, "missing: lanes 0, 3\n"));
  EXPECT_TRUE(says(first.report, "in a circle: wave 0 lanes 0, 3 -> wave 0 lanes 1-2 -> wave 0 lanes 0, 3\n"));
}

// A lane that skips the addition comes to the sum of the next round by a way that passes no operation, as short as the way of a lane that goes
// on with the sum of this round.
__global__ void sums_of_a_wave(int* sum, int rounds, bool all_add) {
  for (int round = 0; round < rounds; ++round) {
    int value = static_cast<int>(threadIdx.x) + 1;
    for (int step = 2; step > 0; step >>= 1) value += __shfl_xor_sync(0xf, value, step, 4);
    if (all_add || threadIdx.x == 0) atomicAdd(sum, value);
  }
}

__device__ __noinline__ int sum_of_wave(int value) {
  for (int step = 2; step > 0; step >>= 1) value += __shfl_xor_sync(0xf, value, step, 4);
  return value;
}

__global__ void sums_by_a_function(int* sum, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const int value = sum_of_wave(static_cast<int>(threadIdx.x) + 1);
    if (threadIdx.x == 0) atomicAdd(sum, value);
  }
}

// Lanes with an odd number leave the loop of the sum early: its mask names lanes that are not there.
__global__ void sums_without_some(int* sum, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    int value = 1;
    for (int step = 2; step > static_cast<int>(threadIdx.x & 1); step >>= 1)
      value += __shfl_xor_sync(0xf, value, step, 4);
    if (threadIdx.x == 0) atomicAdd(sum, value);
  }
}

TEST(cuda_lanes, in_lockstep_are_told_apart_by_the_ways_that_they_took) {
  machine lockstep({"fidelity=scoped", "convergence=lockstep"});
  const auto sums = [](bool all_add) {
    return [all_add] {
      auto* sum = on_device<int>(1);
      *sum = 0;
      sums_of_a_wave<<<1, 4>>>(sum, 3, all_add);
      cudaDeviceSynchronize();
      SIM_CHECK(*sum == (all_add ? 4 : 1) * 30);
    };
  };
  EXPECT_TRUE(always(verdict::ok, lockstep.run_many(sums(false), 50)));
  EXPECT_TRUE(always(verdict::ok, lockstep.run_many(sums(true), 50)));
  EXPECT_TRUE(always(verdict::ok, lockstep.run_many(
                                      [] {
                                        auto* sum = on_device<int>(1);
                                        *sum = 0;
                                        sums_by_a_function<<<1, 4>>>(sum, 3);
                                        cudaDeviceSynchronize();
                                        SIM_CHECK(*sum == 30);
                                      },
                                      50)));
  EXPECT_TRUE(always(verdict::mask, lockstep.run_many(
                                        [] {
                                          auto* sum = on_device<int>(1);
                                          *sum = 0;
                                          sums_without_some<<<1, 4>>>(sum, 2);
                                          cudaDeviceSynchronize();
                                        },
                                        50)));
}

}  // namespace
