// asm statements of PTX in a source for nvcc.
#include <cuda/atomic>

#include "../sim/run.h"

namespace {

using namespace heddle::sim::tests;

machine scoped() { return machine({"fidelity=scoped"}); }

__device__ unsigned load_relaxed(const unsigned* address) {
  unsigned value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

// Spins by a loop in the assembly itself; then reads what the flag stands for.
__global__ void receive(const unsigned* flag, const unsigned* data, unsigned* out) {
  asm volatile(
      "{\n\t"
      ".reg .pred %%ready;\n\t"
      ".reg .b32 %%seen;\n\t"
      "AGAIN_%=:\n\t"
      "ld.acquire.sys.u32 %%seen, [%0];\n\t"
      "setp.ne.u32 %%ready, %%seen, 0;\n\t"
      "@!%%ready bra AGAIN_%=;\n\t"
      "}" ::"l"(flag)
      : "memory");
  *out = *data;
}
__global__ void receive_relaxed(const unsigned* flag, const unsigned* data, unsigned* out) {
  while (load_relaxed(flag) == 0) asm volatile("nanosleep.u32 20;");
  *out = *data;
}

template <typename Kernel>
auto hand_over(Kernel kernel) {
  return [kernel] {
    unsigned *flag, *data, *out;
    cudaMallocHost(&flag, sizeof *flag);
    cudaMallocHost(&data, sizeof *data);
    cudaMalloc(&out, sizeof *out);
    cuda::atomic_ref<unsigned, cuda::thread_scope_system> told(*flag);
    told.store(0, cuda::memory_order_relaxed);
    kernel<<<1, 1>>>(flag, data, out);
    *data = 7;
    told.store(1, cuda::memory_order_release);
    cudaDeviceSynchronize();
    SIM_CHECK(*out == 7);
  };
}

TEST(cuda_inline_ptx, orders_as_it_says) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(hand_over(receive), 200)));
  EXPECT_TRUE(sometimes(verdict::race, scoped().run_many(hand_over(receive_relaxed), 200)));
}

__global__ void computes(unsigned* out, unsigned long long* wide, float* real) {
  unsigned lane, high, low, packed = 0x01020304, is_less;
  float sum = 1.5F;
  unsigned long long both;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("{ .reg .pred p; setp.lt.u32 p, %1, %2; selp.u32 %0, 1, 0, p; }" : "=r"(is_less) : "r"(lane), "n"(4));
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(both) : "r"(0xffffffffU), "r"(0xffffffffU));
  asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(both));
  asm("prmt.b32 %0, %0, 0, 0x0123;" : "+r"(packed));
  asm("add.f32 %0, %0, 0f3F000000;" : "+f"(sum));
  out[0] = lane;
  out[1] = is_less;
  out[2] = low;
  out[3] = high;
  out[4] = packed;
  *wide = both;
  *real = sum;
}

TEST(cuda_inline_ptx, computes) {
  EXPECT_TRUE(is(verdict::ok, "", scoped().run([] {
    unsigned* out;
    unsigned long long* wide;
    float* real;
    cudaMalloc(&out, 5 * sizeof *out);
    cudaMalloc(&wide, sizeof *wide);
    cudaMalloc(&real, sizeof *real);
    computes<<<1, 1>>>(out, wide, real);
    cudaDeviceSynchronize();
    SIM_CHECK(out[0] == 0 && out[1] == 1 && out[2] == 1 && out[3] == 0xfffffffe && out[4] == 0x04030201);
    SIM_CHECK(*wide == 0xfffffffe00000001 && *real == 2.0F);
  })));
}

// Each lane stores to its neighbour's word in memory of the block, by an address of that state space.
__global__ void rotates(unsigned* out) {
  __shared__ unsigned tile[32];
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&tile[(threadIdx.x + 1) % 32]));
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(threadIdx.x) : "memory");
  asm volatile("bar.sync 0;" ::: "memory");
  asm volatile("ld.shared.u32 %0, [%1];"
               : "=r"(out[threadIdx.x])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(&tile[threadIdx.x]))));
}

TEST(cuda_inline_ptx, has_addresses_of_shared_memory) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        unsigned* out;
                                        cudaMalloc(&out, 32 * sizeof *out);
                                        rotates<<<1, 32>>>(out);
                                        cudaDeviceSynchronize();
                                        for (unsigned n = 0; n < 32; ++n) SIM_CHECK(out[n] == (n + 31) % 32);
                                      },
                                      20)));
}

__global__ void adds(unsigned* count, bool releases) {
  if (releases)
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(count), "r"(1U) : "memory");
  else
    asm volatile("{ .reg .u32 t; ld.u32 t, [%0]; add.u32 t, t, %1; st.u32 [%0], t; }" ::"l"(count), "r"(1U) : "memory");
}

TEST(cuda_inline_ptx, is_as_plain_or_as_atomic_as_it_says) {
  const auto counted = [](bool releases) {
    return [releases] {
      unsigned* count;
      cudaMalloc(&count, sizeof *count);
      *count = 0;
      adds<<<2, 1>>>(count, releases);
      cudaDeviceSynchronize();
      SIM_CHECK(*count == 2);
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(counted(true), 100)));
  EXPECT_TRUE(always(verdict::race, scoped().run_many(counted(false), 100)));
}

// Assembly of the host stays what it is.
unsigned swapped(unsigned value) {
#if defined(__x86_64__)
  asm("bswap %0" : "+r"(value));
  return value;
#else
  return __builtin_bswap32(value);
#endif
}

TEST(cuda_inline_ptx, leaves_assembly_of_the_host_alone) { EXPECT_EQ(swapped(0x01020304), 0x04030201U); }

}  // namespace
