// atomicAdd() and its family, cuda::atomic_ref and cuda::atomic, fences: values, and scopes that are too narrow.
#include <cuda/atomic>

#include "../sim/run.h"

namespace {

using namespace heddle::sim::tests;

machine scoped() { return machine({"fidelity=scoped"}); }

template <typename T>
T* on_device(size_t count) {
  T* memory = nullptr;
  cudaMalloc(&memory, count * sizeof(T));
  cudaMemset(memory, 0, count * sizeof(T));
  cudaDeviceSynchronize();
  return memory;
}

// -- values ------------------------------------------------------------------------------------------------------------------------

template <typename T>
__global__ void each_operation(T* at) {
  *at = 10;
  SIM_CHECK(atomicAdd(at, 5) == 10 && atomicExch(at, 12) == 15);
  SIM_CHECK(atomicCAS(at, 12, 6) == 12 && atomicCAS(at, 12, 7) == 6);
  SIM_CHECK(atomicAnd(at, 12) == 6 && atomicOr(at, 3) == 4 && atomicXor(at, 1) == 7);
  SIM_CHECK(atomicMin(at, 9) == 6 && atomicMin(at, 2) == 6 && atomicMax(at, 1) == 2 && atomicMax(at, 8) == 2 &&
            *at == 8);
}

__global__ void signs_and_wraps(int* number, unsigned* word, float* real, long long* wide) {
  *number = -3;
  SIM_CHECK(atomicMin(number, 2) == -3 && *number == -3 && atomicMax(number, -1) == -3 && *number == -1);
  SIM_CHECK(atomicSub(number, 4) == -1 && *number == -5);
  *wide = -7;
  SIM_CHECK(atomicMax(wide, -9ll) == -7 && *wide == -7 && atomicMin_system(wide, -9ll) == -7 && *wide == -9);
  *word = 0xfffffff0;
  SIM_CHECK(atomicMax(word, 5u) == 0xfffffff0 && *word == 0xfffffff0);
  *word = 2;
  // Up to the operand, then 0; down to 0, then the operand.
  SIM_CHECK(atomicInc(word, 3) == 2 && atomicInc(word, 3) == 3 && *word == 0);
  SIM_CHECK(atomicDec(word, 3) == 0 && *word == 3 && atomicDec(word, 3) == 3 && *word == 2);
  *word = 9;
  SIM_CHECK(atomicDec_block(word, 3) == 9 && *word == 3);
  *real = 1.5f;
  SIM_CHECK(atomicAdd(real, 2.0f) == 1.5f && *real == 3.5f && atomicExch(real, 1.0f) == 3.5f);
}

TEST(cuda_atomics, give_the_old_value_and_store_the_new) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        each_operation<<<1, 1>>>(on_device<int>(1));
                                        each_operation<<<1, 1>>>(on_device<unsigned>(1));
                                        signs_and_wraps<<<1, 1>>>(on_device<int>(1), on_device<unsigned>(1),
                                                                  on_device<float>(1), on_device<long long>(1));
                                        cudaDeviceSynchronize();
                                      },
                                      3)));
}

__global__ void count_up(unsigned* count, unsigned* greatest, double* sum) {
  atomicAdd(count, 1);
  atomicMax(greatest, blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(sum, 0.5);
}

TEST(cuda_atomics, are_atomic) {
  for (const char* fidelity : {"fidelity=scoped", "fidelity=link", "fidelity=interleaving"})
    EXPECT_TRUE(always(verdict::ok, machine({fidelity})
                                        .run_many(
                                            [] {
                                              auto* count = on_device<unsigned>(2);
                                              auto* sum = on_device<double>(1);
                                              count_up<<<3, 40>>>(count, count + 1, sum);
                                              cudaDeviceSynchronize();
                                              SIM_CHECK(count[0] == 120 && count[1] == 119 && *sum == 60.0);
                                            },
                                            20)));
}

// -- scopes ------------------------------------------------------------------------------------------------------------------------

constexpr int block_line = __LINE__ + 3;
__global__ void count_in_block(unsigned* count) {
  // Enough for the threads of one block only.
  atomicAdd_block(count, 1);
}

program counts_in_blocks(unsigned blocks) {
  return [=] {
    count_in_block<<<blocks, 4>>>(on_device<unsigned>(1));
    cudaDeviceSynchronize();
  };
}

TEST(cuda_atomics, of_a_block_are_too_narrow_for_two) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(counts_in_blocks(1), 50)));
  EXPECT_TRUE(always(verdict::scope_race, scoped().run_many(counts_in_blocks(2), 50)));
  EXPECT_TRUE(is(verdict::scope_race, SIM_LINE(block_line), scoped().explain(counts_in_blocks(2))));
}

template <bool System>
__global__ void ring(unsigned* bell) {
  if (System)
    atomicExch_system(bell, 1);
  else
    atomicExch(bell, 1);
}

template <bool System>
void run_ring() {
  unsigned* bell = nullptr;
  cudaMallocHost(&bell, sizeof *bell);
  *bell = 0;
  ring<System><<<1, 1>>>(bell);
  cuda::atomic_ref<unsigned> here(*bell);
  while (here.load(cuda::memory_order_acquire) == 0) {
  }
  cudaDeviceSynchronize();
}

TEST(cuda_atomics, of_the_device_do_not_reach_the_host) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(run_ring<true>, 100)));
  EXPECT_TRUE(sometimes(verdict::scope_race, scoped().run_many(run_ring<false>, 100)));
}

// -- <cuda/atomic> -------------------------------------------------------------------------------------------------------------------

struct message {
  cuda::atomic<int, cuda::thread_scope_device> ready;
  int content;
};

template <bool Right>
__global__ void pass_on(message* box) {
  constexpr auto order = Right ? cuda::std::memory_order_release : cuda::std::memory_order_relaxed;
  if (blockIdx.x == 0) {
    box->content = 42;
    box->ready.store(1, order);
  } else {
    while (box->ready.load(cuda::memory_order_acquire) == 0) __nanosleep(10);
    SIM_CHECK(box->content == 42);
  }
}

template <bool Fence>
__global__ void pass_on_by_fences(volatile int* ready, int* content) {
  if (blockIdx.x == 0) {
    *content = 42;
    if (Fence) __threadfence();
    *ready = 1;
  } else {
    while (*ready == 0) {
    }
    __threadfence();
    SIM_CHECK(*content == 42);
  }
}

TEST(cuda_atomics, of_libcudacxx_release_and_acquire) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        pass_on<true><<<2, 1>>>(on_device<message>(1));
                                        cudaDeviceSynchronize();
                                      },
                                      300)));
  EXPECT_TRUE(always(verdict::race, scoped().run_many(
                                        [] {
                                          pass_on<false><<<2, 1>>>(on_device<message>(1));
                                          cudaDeviceSynchronize();
                                        },
                                        50)));
}

TEST(cuda_atomics, need_a_fence_beside_a_volatile_flag) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        pass_on_by_fences<true><<<2, 1>>>(on_device<int>(1), on_device<int>(1));
                                        cudaDeviceSynchronize();
                                      },
                                      300)));
  const tally seen = scoped().run_many(
      [] {
        pass_on_by_fences<false><<<2, 1>>>(on_device<int>(1), on_device<int>(1));
        cudaDeviceSynchronize();
      },
      50);
  EXPECT_TRUE(always(verdict::race, seen));
}

__global__ void use_members(unsigned* word, unsigned char* byte, float* real) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_block> at(*word);
  SIM_CHECK(at.fetch_add(3) == 0 && at.fetch_sub(1) == 3 && ++at == 3 && at-- == 3 && (at |= 4) == 6);
  unsigned expected = 5;
  SIM_CHECK(!at.compare_exchange_strong(expected, 9) && expected == 6);
  while (!at.compare_exchange_weak(expected, 9, cuda::memory_order_acq_rel, cuda::memory_order_relaxed)) {
  }
  SIM_CHECK(at == 9);
  SIM_CHECK(at.fetch_max(20) == 9 && at.fetch_min(3) == 20 && at.exchange(1) == 3 && at.load() == 1);
  cuda::atomic_ref<unsigned char> small(*byte);
  SIM_CHECK(small.fetch_sub(1) == 0 && small.load() == 255);
  cuda::atomic_ref<float> with_point(*real);
  SIM_CHECK(with_point.fetch_add(0.5f) == 0 && with_point == 0.5f);
  cuda::std::atomic<int> own(4);
  SIM_CHECK(own.fetch_xor(1) == 4 && own == 5);
  own.wait(4);
  own.notify_one();
  own.notify_all();
  unsigned several[3] = {};
  cuda::atomic<unsigned*> place(several);
  SIM_CHECK(place.fetch_add(2) == several && place.fetch_sub(1) == several + 2 && ++place == several + 2);
  cuda::std::atomic_flag flag;
  SIM_CHECK(!flag.test_and_set() && flag.test() && flag.test_and_set(cuda::memory_order_acquire));
  flag.wait(false);
  flag.clear(cuda::memory_order_release);
  flag.notify_all();
  SIM_CHECK(!flag.test(cuda::memory_order_relaxed));
  cuda::std::atomic_thread_fence(cuda::std::memory_order_acquire);
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
}

TEST(cuda_atomics, of_libcudacxx_have_the_members_of_the_standard) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        use_members<<<1, 1>>>(on_device<unsigned>(1), on_device<unsigned char>(1),
                                                              on_device<float>(1));
                                        cudaDeviceSynchronize();
                                      },
                                      3)));
}

// Each block counts itself; the one that finds `wanted` sets the counter back. Only the last has seen that all others have counted.
__global__ void count_and_set_back(unsigned* count, unsigned wanted) {
  if (atomicAdd(count, 1) == wanted) *count = 0;
}
// The same by a block that does not count, and waits.
__global__ void wait_and_set_back(unsigned* count, unsigned all, bool looks) {
  if (blockIdx.x != all) {
    atomicAdd(count, 1);
    return;
  }
  while (looks && cuda::atomic_ref<unsigned>(*count).load(cuda::memory_order_relaxed) != all) __nanosleep(10);
  *count = 0;
}

TEST(cuda_atomics, come_before_what_follows_an_atomic_load_that_has_found_them) {
  for (const unsigned blocks : {2u, 4u, 16u}) {
    const auto count = [blocks](unsigned wanted) {
      return [blocks, wanted] {
        unsigned* const at = on_device<unsigned>(1);
        count_and_set_back<<<blocks, 1>>>(at, wanted);
        count_and_set_back<<<blocks, 1>>>(at, ~0u);
        cudaDeviceSynchronize();
      };
    };
    EXPECT_TRUE(always(verdict::ok, scoped().run_many(count(blocks - 1), 100))) << blocks;
    EXPECT_TRUE(sometimes(verdict::race, scoped().run_many(count(blocks - 2), 100))) << blocks;
    const auto wait = [blocks](bool looks) {
      return [blocks, looks] {
        wait_and_set_back<<<blocks + 1, 1>>>(on_device<unsigned>(1), blocks, looks);
        cudaDeviceSynchronize();
      };
    };
    EXPECT_TRUE(always(verdict::ok, scoped().run_many(wait(true), 100))) << blocks;
    EXPECT_TRUE(always(verdict::race, scoped().run_many(wait(false), 100))) << blocks;
  }
}

}  // namespace
