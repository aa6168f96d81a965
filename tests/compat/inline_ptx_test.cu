// asm statements of PTX in a source for nvcc.
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda_pipeline.h>

#include "../sim/run.h"

namespace {

using namespace heddle::sim::tests;

machine scoped() { return machine({"fidelity=scoped"}); }

// One register in braces is that register.
__device__ unsigned load_relaxed(const unsigned* address) {
  unsigned value;
  asm volatile("ld.relaxed.sys.global.u32 {%0}, [%1];" : "=r"(value) : "l"(address) : "memory");
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

// Copies that one function makes and another one waits for.
__device__ __noinline__ void fetch(void* to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
               "l"(from)
               : "memory");
}
template <int But>
__device__ void wait_for_fetched() {
  asm volatile("cp.async.wait_group %0;" ::"n"(But) : "memory");
}

__global__ void fetches(const uint4* from, unsigned* out, unsigned rounds, bool waits) {
  __shared__ uint4 stages[2][32];
  const unsigned lane = threadIdx.x;
  unsigned sum = 0;
  fetch(&stages[0][lane], &from[lane]);
  asm volatile("cp.async.commit_group;" ::: "memory");
  for (unsigned n = 0; n < rounds; ++n) {
    if (n + 1 < rounds) fetch(&stages[(n + 1) % 2][lane], &from[(n + 1) * 32 + lane]);
    asm volatile("cp.async.commit_group;" ::: "memory");
    if (waits) wait_for_fetched<1>();
    sum += stages[n % 2][lane].x + stages[n % 2][lane].w;
  }
  out[lane] = sum;
}

TEST(cuda_inline_ptx, copies_beside_its_lane_wherever_functions_are) {
  const auto fetched = [](bool waits) {
    return [waits] {
      constexpr unsigned rounds = 3;
      uint4* from;
      unsigned* out;
      cudaMalloc(&from, rounds * 32 * sizeof *from);
      cudaMalloc(&out, 32 * sizeof *out);
      for (unsigned n = 0; n < rounds * 32; ++n) from[n] = {n, 0, 0, 1000};
      fetches<<<1, 32>>>(from, out, rounds, waits);
      cudaDeviceSynchronize();
      for (unsigned n = 0; n < 32; ++n) SIM_CHECK(out[n] == 3 * n + 96 + 3000);
    };
  };
  // One run after another: what the first has kept is gone.
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(fetched(true), 20)));
  EXPECT_TRUE(always(verdict::race, scoped().run_many(fetched(false), 20)));
  // Where races do not end runs, what was there is found.
  machine without_races({"fidelity=scoped", "races=count"});
  EXPECT_TRUE(always(verdict::assertion, without_races.run_many(fetched(false), 20)));
}

// The same by the primitives of <cuda_pipeline.h>, and lanes that meet at an mbarrier when their copies are there.
__global__ void fetches_by_name(const unsigned* from, unsigned* out, bool waits) {
  __shared__ unsigned words[32];
  __shared__ __mbarrier_t came;
  const unsigned lane = threadIdx.x;
  if (lane == 0) __mbarrier_init(&came, blockDim.x);
  __syncthreads();
  __pipeline_memcpy_async(&words[lane], &from[lane], sizeof(unsigned));
  if (waits) {
    __pipeline_arrive_on(&came);
    const __mbarrier_token_t token = __mbarrier_arrive(&came);
    while (!__mbarrier_test_wait(&came, token)) {
    }
  } else {
    __pipeline_commit();
    __pipeline_wait_prior(1);
  }
  out[lane] = words[(lane + 1) % 32];
}

TEST(cuda_inline_ptx, has_the_primitives_of_pipelines) {
  const auto fetched = [](bool waits) {
    return [waits] {
      unsigned* from;
      unsigned* out;
      cudaMalloc(&from, 32 * sizeof *from);
      cudaMalloc(&out, 32 * sizeof *out);
      for (unsigned n = 0; n < 32; ++n) from[n] = n;
      fetches_by_name<<<1, 32>>>(from, out, waits);
      cudaDeviceSynchronize();
      for (unsigned n = 0; n < 32; ++n) SIM_CHECK(out[n] == (n + 1) % 32);
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(fetched(true), 20)));
  EXPECT_TRUE(always(verdict::race, scoped().run_many(fetched(false), 20)));
}

// A pipeline as libraries for Hopper have it: one lane has tiles brought to two stages and taken out again, all lanes compute on them, and the host is
// told of the last one by a flag.
enum class slip { none, no_fence, no_wait, waits_for_reads, reuses_early };

__device__ unsigned of_shared(const void* address) { return static_cast<unsigned>(__cvta_generic_to_shared(address)); }

__device__ void load_tile(void* to, const void* from, unsigned bytes, unsigned long long* full) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%1], %0;" ::"r"(bytes), "r"(of_shared(full)));
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::
          "r"(of_shared(to)),
      "l"(from), "r"(bytes), "r"(of_shared(full)), "l"(0x12f0000000000000)
      : "memory");
}

__device__ void wait_for(unsigned long long* full, unsigned parity) {
  asm volatile(
      "{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1, %2;\n@done bra DONE;\nbra "
      "AGAIN;\nDONE:\n}" ::"r"(of_shared(full)),
      "r"(parity), "r"(0x989680)
      : "memory");
}

__global__ void streams(const unsigned* from, unsigned* out, unsigned* flag, unsigned tiles, slip what) {
  constexpr unsigned lanes = 32;
  constexpr unsigned bytes = lanes * sizeof(unsigned);
  __shared__ alignas(16) unsigned in[2][lanes];
  __shared__ alignas(16) unsigned made[2][lanes];
  __shared__ unsigned long long full[2];
  const unsigned lane = threadIdx.x;
  if (lane == 0) {
    for (auto& each : full)
      asm volatile("mbarrier.init.shared::cta.b64 [%1], %0;" ::"r"(1), "r"(of_shared(&each)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    for (unsigned n = 0; n < 2 && n < tiles; ++n) load_tile(in[n], from + n * lanes, bytes, &full[n]);
  }
  __syncwarp();
  for (unsigned n = 0; n < tiles; ++n) {
    const unsigned stage = n % 2;
    wait_for(&full[stage], n / 2 % 2);
    const unsigned value = in[stage][lane] + 100;
    // The tile before the last has left its stage.
    if (lane == 0 && what != slip::reuses_early) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
    __syncwarp();
    made[stage][lane] = value;
    if (what != slip::no_fence) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
    if (lane == 0) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out + n * lanes),
                   "r"(of_shared(made[stage])), "r"(bytes)
                   : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      // All lanes have loaded their words by now: that these are overwritten needs no proxy fence.
      if (n + 2 < tiles) load_tile(in[stage], from + (n + 2) * lanes, bytes, &full[stage]);
    }
  }
  if (lane != 0) return;
  if (what == slip::waits_for_reads)
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  else if (what != slip::no_wait)
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  asm volatile("st.release.sys.u32 [%0], 1;" ::"l"(flag) : "memory");
}

TEST(cuda_inline_ptx, copies_in_bulk) {
  const auto streamed = [](slip what) {
    return [what] {
      constexpr unsigned tiles = 5;
      constexpr unsigned words = tiles * 32;
      unsigned* from;
      unsigned* out;
      unsigned* flag;
      cudaMalloc(&from, words * sizeof *from);
      cudaMallocHost(&out, words * sizeof *out);
      cudaMallocHost(&flag, sizeof *flag);
      for (unsigned n = 0; n < words; ++n) from[n] = n;
      *flag = 0;
      streams<<<1, 32>>>(from, out, flag, tiles, what);
      while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0) {
      }
      for (unsigned n = 0; n < words; ++n) SIM_CHECK(out[n] == n + 100);
      cudaDeviceSynchronize();
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(streamed(slip::none), 50)));
  for (const slip each : {slip::no_fence, slip::reuses_early})
    EXPECT_TRUE(always(verdict::race, scoped().run_many(streamed(each), 20))) << static_cast<int>(each);
  // The copy may have been made all the same, before the host looks.
  for (const slip each : {slip::no_wait, slip::waits_for_reads}) {
    const auto seen = scoped().run_many(streamed(each), 50);
    EXPECT_GT(seen.count(verdict::race), 0u) << static_cast<int>(each) << seen.text();
  }
}

// The same by barriers of libcu++, as NVIDIA's guide has it.
__global__ void adds_by_barrier(int* data, int count, bool fenced) {
  namespace cde = cuda::device::experimental;
  using barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ alignas(16) int tile[32];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ barrier came;
  if (threadIdx.x == 0) {
    init(&came, blockDim.x);
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  barrier::arrival_token token;
  const int offset = static_cast<int>(blockIdx.x) * 32;
  if (threadIdx.x == 0) {
    cuda::device::memcpy_async_tx(tile, data + offset, cuda::aligned_size_t<16>(sizeof tile), came);
    token = cuda::device::barrier_arrive_tx(came, 1, sizeof tile);
  } else {
    token = came.arrive();
  }
  came.wait(std::move(token));
  tile[threadIdx.x] += count;
  if (fenced) cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_shared_to_global(data + offset, tile, sizeof tile);
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
  }
}

TEST(cuda_inline_ptx, copies_in_bulk_for_barriers_of_the_library) {
  const auto added = [](bool fenced) {
    return [fenced] {
      int* data;
      cudaMalloc(&data, 64 * sizeof *data);
      for (int n = 0; n < 64; ++n) data[n] = n;
      adds_by_barrier<<<2, 32>>>(data, 5, fenced);
      cudaDeviceSynchronize();
      for (int n = 0; n < 64; ++n) SIM_CHECK(data[n] == n + 5);
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(added(true), 50)));
  EXPECT_TRUE(always(verdict::race, scoped().run_many(added(false), 20)));
}

// The same by libcu++'s names for the instructions.
__global__ void streams_by_name(const unsigned* from, unsigned* out, bool fenced) {
  namespace ptx = cuda::ptx;
  constexpr unsigned lanes = 32;
  __shared__ alignas(16) unsigned tile[lanes];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, lanes);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  uint64_t state;
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, from, sizeof tile, &full);
    state = ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof tile);
  } else {
    state = ptx::mbarrier_arrive(&full);
  }
  while (!ptx::mbarrier_try_wait(&full, state)) {
  }
  tile[threadIdx.x] += 3;
  if (fenced) ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x != 0) return;
  ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, tile, sizeof tile);
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
}

TEST(cuda_inline_ptx, copies_in_bulk_by_the_names_of_the_library) {
  const auto streamed = [](bool fenced) {
    return [fenced] {
      unsigned* from;
      unsigned* out;
      cudaMalloc(&from, 32 * sizeof *from);
      cudaMalloc(&out, 32 * sizeof *out);
      for (unsigned n = 0; n < 32; ++n) from[n] = n;
      streams_by_name<<<1, 32>>>(from, out, fenced);
      cudaDeviceSynchronize();
      for (unsigned n = 0; n < 32; ++n) SIM_CHECK(out[n] == n + 3);
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(streamed(true), 50)));
  EXPECT_TRUE(always(verdict::race, scoped().run_many(streamed(false), 20)));
}

struct alignas(16) line {
  unsigned words[4];
};
template <int Width, bool Releases>
__global__ void send_line(line* to, unsigned* beside) {
  *beside = 7;
  if constexpr (Width == 2)
    asm volatile("st.relaxed.sys.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(4), "r"(1) : "memory");
  else if constexpr (Releases)
    asm volatile("st.release.sys.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(4), "r"(1), "r"(5), "r"(6)
                 : "memory");
  else
    asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(4), "r"(1), "r"(5), "r"(6)
                 : "memory");
}
template <bool Acquires, bool ByByte>
__global__ void wait_for_line(const line* of, const unsigned* beside, unsigned* out) {
  unsigned flag = 0;
  do {
    if constexpr (ByByte)
      asm volatile("ld.relaxed.sys.global.u8 %0, [%1];" : "=r"(flag) : "l"(&of->words[1]) : "memory");
    else if constexpr (Acquires)
      asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(flag) : "l"(&of->words[1]) : "memory");
    else
      asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(flag) : "l"(&of->words[1]) : "memory");
  } while (flag == 0);
  *out = Acquires ? *beside : 7;
}
template <typename Send, typename Wait>
auto sent_by_line(Send send, Wait wait) {
  return [=] {
    line* to = nullptr;
    unsigned *beside = nullptr, *out = nullptr;
    cudaMallocManaged(&to, sizeof *to);
    cudaMallocManaged(&beside, sizeof *beside);
    cudaMallocManaged(&out, sizeof *out);
    *to = {};
    cudaStream_t one, other;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    wait<<<1, 1, 0, one>>>(to, beside, out);
    send<<<1, 1, 0, other>>>(to, beside);
    cudaDeviceSynchronize();
    SIM_CHECK(*out == 7);
  };
}

TEST(cuda_inline_ptx, a_vector_is_an_access_of_each_of_its_values) {
  const auto ends = [](verdict how, const auto& body) {
    const tally seen = scoped().run_many(body, 200);
    return how == verdict::ok ? always(how, seen) : sometimes(how, seen);
  };
  EXPECT_TRUE(ends(verdict::ok, sent_by_line(send_line<2, false>, wait_for_line<false, false>)));
  EXPECT_TRUE(ends(verdict::ok, sent_by_line(send_line<4, false>, wait_for_line<false, false>)));
  // It orders as a store of that value would.
  EXPECT_TRUE(ends(verdict::ok, sent_by_line(send_line<4, true>, wait_for_line<true, false>)));
  EXPECT_TRUE(ends(verdict::race, sent_by_line(send_line<4, false>, wait_for_line<true, false>)));
  // A part of a value is none.
  EXPECT_TRUE(ends(verdict::race, sent_by_line(send_line<2, false>, wait_for_line<false, true>)));
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

// A value and what counts its changes, as lists without locks have them.
struct alignas(16) counted {
  unsigned long long value, changes;
};
// The first block adds to them one by one where that is planted.
__global__ void adds_to_both(counted* to, bool planted) {
  __extension__ typedef unsigned __int128 both;
  if (planted && blockIdx.x == 0) {
    atomicAdd(&to->value, 1);
    atomicAdd(&to->changes, 1);
    return;
  }
  both expected = 0, found;
  for (;;) {
    const both wanted = expected + 1 + (both{1} << 64);
    asm volatile("atom.acq_rel.gpu.global.cas.b128 %0, [%1], %2, %3;"
                 : "=q"(found)
                 : "l"(to), "q"(expected), "q"(wanted)
                 : "memory");
    if (found == expected) return;
    if (static_cast<unsigned long long>(found) != static_cast<unsigned long long>(found >> 64)) __trap();
    expected = found;
  }
}

TEST(cuda_inline_ptx, changes_16_bytes_as_one) {
  const auto adds = [](bool planted) {
    return [planted] {
      counted* both;
      cudaMalloc(&both, sizeof *both);
      cudaMemset(both, 0, sizeof *both);
      adds_to_both<<<4, 1>>>(both, planted);
      cudaDeviceSynchronize();
      SIM_CHECK(both->value == 4 && both->changes == 4);
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(adds(false), 100)));
  EXPECT_TRUE(sometimes(verdict::assertion, machine({"fidelity=interleaving"}).run_many(adds(true), 200)));
}

TEST(cuda_inline_ptx, leaves_assembly_of_the_host_alone) { EXPECT_EQ(swapped(0x01020304), 0x04030201U); }

}  // namespace
