// What a block has: shared memory of its own, and barriers.
#include <type_traits>

#include "../sim/run.h"

namespace {

using namespace heddle::sim::tests;

machine scoped() { return machine({"fidelity=scoped"}); }

template <typename T>
T* on_device(size_t count) {
  T* memory = nullptr;
  cudaMalloc(&memory, count * sizeof(T));
  return memory;
}

constexpr int store_line = __LINE__ + 5;
constexpr int load_line = __LINE__ + 6;
template <bool WithBarrier, int Threads>
__global__ void reverse(int* all) {
  __shared__ int tile[Threads];
  tile[threadIdx.x] = all[blockIdx.x * Threads + threadIdx.x];
  if (WithBarrier) __syncthreads();
  all[blockIdx.x * Threads + threadIdx.x] = tile[Threads - 1 - threadIdx.x];
}

template <bool WithBarrier, int Threads>
void run_reverse() {
  constexpr int blocks = 3;
  int* all = on_device<int>(blocks * Threads);
  for (int n = 0; n < blocks * Threads; ++n) all[n] = n;
  reverse<WithBarrier, Threads><<<blocks, Threads>>>(all);
  cudaDeviceSynchronize();
  for (int block = 0; block < blocks; ++block)
    for (int n = 0; n < Threads; ++n) SIM_CHECK(all[block * Threads + n] == block * Threads + Threads - 1 - n);
}

TEST(cuda_block, has_shared_memory_of_its_own) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(run_reverse<true, 8>, 200)));
  EXPECT_TRUE(always(verdict::ok, machine().run_many(run_reverse<true, 8>, 200)));
}

TEST(cuda_block, has_warps_that_its_barrier_waits_for) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(run_reverse<true, 70>, 20)));
}

TEST(cuda_block, races_on_shared_memory_without_a_barrier) {
  const tally seen = scoped().run_many(run_reverse<false, 8>, 50);
  EXPECT_TRUE(always(verdict::race, seen));
  const heddle::sim::outcome first = scoped().explain(run_reverse<false, 8>, 1);
  EXPECT_TRUE(says(first.report, "tile of block "));
  EXPECT_TRUE(says(first.report, SIM_LINE(store_line)));
  EXPECT_TRUE(says(first.report, SIM_LINE(load_line)));
}

// -- kinds of shared memory ----------------------------------------------------------------------------------------------------------

struct pair {
  int first, second;
};

__device__ int* counter_of_block() {
  __shared__ int count;
  return &count;
}

__global__ void many_declarations(int* failures) {
  __shared__ float grid[4][2], *end_of_grid;
  __shared__ volatile unsigned flag;
  static __shared__ pair both;
  __shared__ union {
    int whole;
    char bytes[4];
  } word;
  extern __shared__ double sums[];
  if (threadIdx.x == 0) {
    end_of_grid = &grid[3][1];
    flag = 5;
    both = {1, static_cast<int>(blockIdx.x)};
    word.whole = 0x01020304;
    *counter_of_block() = 0;
  }
  grid[threadIdx.x][1] = static_cast<float>(threadIdx.x);
  sums[threadIdx.x] = 0.5 * threadIdx.x;
  __syncthreads();
  atomicAdd_block(counter_of_block(), 1);
  const bool right = *end_of_grid == 3 && flag == 5 && both.second == static_cast<int>(blockIdx.x) &&
                     word.bytes[0] == 4 && sums[3 - threadIdx.x] == 0.5 * (3 - threadIdx.x) && sizeof grid == 32;
  __syncthreads();
  if (!right || *counter_of_block() != 4) atomicAdd(failures, 1);
}

TEST(cuda_block, declares_shared_memory_in_many_ways) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        int* failures = on_device<int>(1);
                                        cudaMemset(failures, 0, sizeof *failures);
                                        many_declarations<<<2, 4, 4 * sizeof(double)>>>(failures);
                                        cudaDeviceSynchronize();
                                        SIM_CHECK(*failures == 0);
                                      },
                                      100)));
}

extern __shared__ unsigned words_of_file[];

__global__ void use_words_of_file(unsigned last) {
  words_of_file[threadIdx.x] = threadIdx.x;
  __syncthreads();
  const auto* bytes = (const unsigned char*)words_of_file;
  SIM_CHECK(bytes[4 * last] == last && *(words_of_file + 1) == 1);
}

TEST(cuda_block, has_dynamic_shared_memory_of_the_size_that_the_launch_names) {
  const auto with_bytes = [](size_t bytes) {
    return [=] {
      use_words_of_file<<<2, 4, bytes>>>(3u);
      cudaDeviceSynchronize();
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(with_bytes(16), 50)));
  const tally small = scoped().run_many(with_bytes(12), 50);
  EXPECT_TRUE(always(verdict::memory, small));
  EXPECT_TRUE(says(small.examples.at(verdict::memory).message, "dynamic shared memory of block"));
}

extern __shared__ pair pair_of_file;
__shared__ pair pair_of_file;
__shared__ int row_of_file[4], count_of_file;
namespace named {
__shared__ volatile int flag_of_file;
}

// Its parameter and the variable in it are its own.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
__device__ int sum_of(const int* row_of_file) {
  int count_of_file = 0;
  for (int n = 0; n < 4; ++n) count_of_file += row_of_file[n];
  return count_of_file;
}
#pragma GCC diagnostic pop
template <bool WithBarrier>
__global__ void use_variables_of_file(int* failures) {
  if (threadIdx.x == 0) {
    pair_of_file = {1, static_cast<int>(blockIdx.x)};
    count_of_file = 0;
    named::flag_of_file = 5;
  }
  row_of_file[threadIdx.x] = 2 * static_cast<int>(threadIdx.x);
  if (WithBarrier) __syncthreads();
  atomicAdd_block(&count_of_file, row_of_file[3 - threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) count_of_file += 1;
  __syncthreads();
  pair* const both = &pair_of_file;
  const bool right = pair_of_file.first == 1 && both->second == static_cast<int>(blockIdx.x) && count_of_file == 13 &&
                     2 * count_of_file == 26 && sum_of(row_of_file) == 12 && named::flag_of_file == 5 &&
                     sizeof row_of_file == 16 && *row_of_file == 0;
  if (!right) atomicAdd(failures, 1);
}

TEST(cuda_block, has_a_copy_of_shared_variables_that_are_declared_outside_of_functions) {
  const auto with = [](auto kernel) {
    return [=] {
      int* failures = on_device<int>(1);
      cudaMemset(failures, 0, sizeof *failures);
      kernel<<<2, 4>>>(failures);
      cudaDeviceSynchronize();
      SIM_CHECK(*failures == 0);
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(with(use_variables_of_file<true>), 100)));
  const tally without = scoped().run_many(with(use_variables_of_file<false>), 50);
  EXPECT_TRUE(always(verdict::race, without));
  EXPECT_TRUE(says(without.examples.at(verdict::race).message, "_of_file of block "));
}

__global__ void read_what_nobody_wrote(unsigned* seen) {
  __shared__ unsigned word;
  *seen = word;
}

TEST(cuda_block, finds_nothing_in_shared_memory_that_it_could_rely_on) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        auto* seen = on_device<unsigned>(1);
                                        read_what_nobody_wrote<<<1, 1>>>(seen);
                                        cudaDeviceSynchronize();
                                        SIM_CHECK(*seen != 0);
                                      },
                                      1)));
}

TEST(cuda_block, is_not_there_for_host_code) {
  const tally seen = scoped().run_many([] { *counter_of_block() = 1; }, 1);
  EXPECT_TRUE(always(verdict::assertion, seen));
  EXPECT_TRUE(says(seen.examples.at(verdict::assertion).message, "host code"));
}

// -- barriers ------------------------------------------------------------------------------------------------------------------------

__global__ void ask_at_barriers() {
  const int lane = static_cast<int>(threadIdx.x);
  SIM_CHECK(__syncthreads_count(lane % 3 == 0) == 14);
  SIM_CHECK(__syncthreads_and(lane >= 0) == 1 && __syncthreads_and(lane != 39) == 0);
  SIM_CHECK(__syncthreads_or(lane == 39) == 1 && __syncthreads_or(lane > 39) == 0);
}

TEST(cuda_block, asks_at_barriers) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        ask_at_barriers<<<2, 40>>>();
                                        cudaDeviceSynchronize();
                                      },
                                      30)));
}

__global__ void half_leaves() {
  if (threadIdx.x >= 20) return;
  SIM_CHECK(__syncthreads_count(1) <= 40);
  __syncthreads();
}

TEST(cuda_block, does_not_wait_for_lanes_that_have_ended) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        half_leaves<<<2, 40>>>();
                                        cudaDeviceSynchronize();
                                      },
                                      100)));
}

constexpr int barrier_line = __LINE__ + 3;
__global__ void one_warp_waits(volatile int* never) {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    while (*never == 0) {
    }
}

TEST(cuda_block, hangs_at_a_barrier_that_some_never_reach) {
  const auto divergent = [] {
    int* never = on_device<int>(1);
    *never = 0;
    one_warp_waits<<<1, 33>>>(never);
    cudaDeviceSynchronize();
  };
  EXPECT_TRUE(always(verdict::deadlock, scoped().run_many(divergent, 20)));
  const heddle::sim::outcome first = scoped().explain(divergent);
  EXPECT_TRUE(says(first.report, "wait at a block barrier"));
  EXPECT_TRUE(says(first.report, "missing: wave 1 lane 0"));
  EXPECT_TRUE(says(first.report, SIM_LINE(barrier_line)));
}

__global__ void two_kinds_of_barrier() {
  if (threadIdx.x == 0)
    __syncthreads();
  else
    __syncthreads_count(1);
}

const program at_two_kinds_of_barrier = [] {
  two_kinds_of_barrier<<<1, 2>>>();
  cudaDeviceSynchronize();
};

TEST(cuda_block, cannot_mix_kinds_of_barriers) {
  EXPECT_TRUE(always(verdict::mask, scoped().run_many(at_two_kinds_of_barrier, 20)));
}

// -- lanes of a wave that come from several places ----------------------------------------------------------------------------------

constexpr int first_barrier = __LINE__ + 4;
constexpr int second_barrier = __LINE__ + 6;
__global__ void parts_at_barrier(int* words) {
  if (threadIdx.x % 2 == 0) {
    __syncthreads();
    words[threadIdx.x] = 1;
  } else {
    __syncthreads();
    words[threadIdx.x] = 2;
  }
}
/// A step of the tree fewer for each lane that has nothing left to add.
__global__ void sums_up(int* words, bool all_come) {
  __shared__ int tree[8];
  tree[threadIdx.x] = words[threadIdx.x];
  __syncthreads();
  for (unsigned half = 4; half > 0; half /= 2) {
    if (threadIdx.x < half) tree[threadIdx.x] += tree[threadIdx.x + half];
    if (all_come || threadIdx.x < half) __syncthreads();
  }
  __syncthreads();
  words[threadIdx.x] = tree[0];
}
__global__ void parts_in_group(int* words) {
  if (threadIdx.x % 2 == 0) {
    cooperative_groups::this_thread_block().sync();
    words[threadIdx.x] = 1;
  } else {
    cooperative_groups::this_thread_block().sync();
    words[threadIdx.x] = 2;
  }
}
/// Warps may part: each has its own instruction.
__global__ void parts_by_warp(int* words) {
  if (threadIdx.x / 32 == 0) {
    __syncthreads();
    words[threadIdx.x] = 1;
  } else {
    __syncthreads();
    words[threadIdx.x] = 2;
  }
}

TEST(cuda_block, has_all_lanes_of_a_wave_come_to_one_barrier) {
  // Of lanes with one program counter none comes to another one.
  const auto apart = [] { return machine({"fidelity=scoped", "convergence=independent"}); };
  const auto runs = [](auto kernel, unsigned threads, auto... more) {
    return [=] {
      int* const words = on_device<int>(threads);
      cudaMemset(words, 0, threads * sizeof(int));
      kernel<<<1, threads>>>(words, more...);
      cudaDeviceSynchronize();
    };
  };
  const auto parted = runs(parts_at_barrier, 4);
  EXPECT_TRUE(always(verdict::mask, apart().run_many(parted, 50)));
  const heddle::sim::outcome first = apart().explain(parted);
  EXPECT_TRUE(says(first.where + first.message, SIM_LINE(first_barrier))) << first.where << ": " << first.message;
  EXPECT_TRUE(says(first.where + first.message, SIM_LINE(second_barrier))) << first.where << ": " << first.message;
  EXPECT_TRUE(always(verdict::ok,
                     machine({"fidelity=scoped", "convergence=independent", "barriers=any"}).run_many(parted, 50)));

  EXPECT_GT(apart().run_many(runs(sums_up, 8, false), 50).count(verdict::mask), 0u);
  EXPECT_TRUE(always(verdict::ok, apart().run_many(runs(sums_up, 8, true), 50)));
  EXPECT_TRUE(always(verdict::ok, apart().run_many(runs(parts_in_group, 4), 50)));
  EXPECT_TRUE(always(verdict::ok, apart().run_many(runs(parts_by_warp, 64), 10)));
}

TEST(cuda_block, hangs_in_lockstep_at_a_barrier_in_one_arm) {
  machine lockstep({"fidelity=scoped", "convergence=lockstep"});
  EXPECT_TRUE(always(verdict::deadlock, lockstep.run_many(at_two_kinds_of_barrier, 20)));
  EXPECT_TRUE(says(lockstep.explain(at_two_kinds_of_barrier).message, "lane 1 of wave 0 is masked off until lane 0"));
}

__global__ void does_nothing() {}

TEST(cuda_block, launches_that_no_device_takes_are_refused_in_words_of_cuda) {
  const auto launched = [](dim3 grid, dim3 block, size_t shared_bytes) {
    return [=] {
      does_nothing<<<grid, block, shared_bytes>>>();
      cudaDeviceSynchronize();
    };
  };
  const auto refused = [&](const program& body, const char* why) {
    return scoped().run_many(body, 1).count(verdict::assertion) == 1 && says(scoped().explain(body).message, why);
  };
  EXPECT_TRUE(refused(launched(dim3(1, 65536), dim3(1), 0), "more than 65535 blocks in y or z"));
  EXPECT_TRUE(refused(launched(dim3(0), dim3(1), 0), "no blocks"));
  EXPECT_TRUE(refused(launched(dim3(1), dim3(1025), 0), "more than 1024 threads"));
  EXPECT_TRUE(refused(launched(dim3(1), dim3(1), (48 << 10) + 1), "more than 48 KiB of dynamic shared memory"));
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(launched(dim3(1), dim3(1), 48 << 10), 1)));
  const auto together = [](unsigned blocks) {
    return [blocks] {
      cudaLaunchCooperativeKernel(does_nothing, dim3(blocks), dim3(1024), nullptr);
      cudaDeviceSynchronize();
    };
  };
  EXPECT_TRUE(refused(together(321), "a cooperative launch with more blocks than any device has room for"));
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(together(8), 1)));
  const auto asked_for = [] {
    cudaFuncSetAttribute(does_nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10);
    does_nothing<<<1, 1, 100 << 10>>>();
    cudaDeviceSynchronize();
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(asked_for, 1)));
}

struct constructed {
  int value;
  __device__ constructed() {}
};
__device__ int passed_on;
__device__ volatile int says_so;
template <typename Kept>
__device__ void uses_shared_memory() {
  __shared__ Kept kept[2];
  kept[threadIdx.x].value = 1;
  __syncthreads();
}
/// Nothing orders the store to `passed_on` and its load but what the shared variable may do.
template <typename Kept>
__global__ void passes_on_past_shared_memory(int* seen) {
  if (blockIdx.x == 0) {
    passed_on = 1;
    uses_shared_memory<Kept>();
    says_so = 1;
  } else {
    while (says_so == 0) {
    }
    uses_shared_memory<Kept>();
    *seen = passed_on;
  }
}

TEST(cuda_block, constructs_no_shared_variable) {
  struct plain {
    int value;
  };
  const auto with = []<typename Kept>(std::type_identity<Kept>) {
    return [] {
      int* seen = nullptr;
      cudaMalloc(&seen, sizeof *seen);
      passes_on_past_shared_memory<Kept><<<2, 1>>>(seen);
      cudaDeviceSynchronize();
    };
  };
  EXPECT_TRUE(always(verdict::race, scoped().run_many(with(std::type_identity<plain>()), 50)));
  EXPECT_TRUE(always(verdict::race, scoped().run_many(with(std::type_identity<constructed>()), 50)));
}

}  // namespace
