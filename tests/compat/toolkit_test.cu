// What CUDA's toolkit has beside its language: numbers and lanes, cooperative groups, libcu++'s barriers and pipelines, properties, calls of
// the host in streams, and graphs.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <nv/target>

#include <atomic>
#include <memory>
#include <thread>

#include "../sim/run.h"

namespace {

namespace cg = cooperative_groups;
using namespace heddle::sim::tests;

machine scoped() { return machine({"fidelity=scoped"}); }

template <typename T>
T* zeros(size_t count) {
  T* memory = nullptr;
  cudaMalloc(&memory, count * sizeof(T));
  cudaMemset(memory, 0, count * sizeof(T));
  cudaDeviceSynchronize();
  return memory;
}

// -- numbers and words ---------------------------------------------------------------------------------------------------------------

TEST(cuda_toolkit, has_vectors_as_wide_as_there) {
  static_assert(alignof(int2) == 8 && alignof(float4) == 16 && alignof(double2) == 16 && alignof(uchar4) == 4);
  static_assert(alignof(longlong4) == 16 && sizeof(float3) == 12 && alignof(float3) == 4 && sizeof(short4) == 8);
  EXPECT_EQ(make_int4(1, 2, 3, 4).w, 4);
}

TEST(cuda_toolkit, rounds_halves_to_the_nearest) {
  EXPECT_EQ(__half_as_ushort(__float2half(1.0F)), 0x3c00);
  EXPECT_EQ(__half_as_ushort(__float2half(65520.0F)), 0x7c00);
  EXPECT_EQ(__half_as_ushort(__float2half(1.0F + 1.0F / 2048)), 0x3c00);
  EXPECT_EQ(__half_as_ushort(__float2half_rz(2047.9F)), 0x67ff);
  EXPECT_EQ(__bfloat16_as_ushort(__float2bfloat16(3.14159F)), 0x4049);
  EXPECT_EQ(static_cast<float>(__hadd(__half(1.5F), __half(2.25F))), 3.75F);
  EXPECT_EQ(static_cast<float>(__hfma2(__float2half2_rn(2), __floats2half2_rn(3, 4), __float2half2_rn(1)).y), 9.0F);
  EXPECT_EQ(__nv_cvt_float_to_fp8(1.0F, __NV_SATFINITE, __NV_E4M3), 0x38);
  EXPECT_EQ(__nv_cvt_float_to_fp8(1e9F, __NV_SATFINITE, __NV_E4M3), 0x7e);
  EXPECT_EQ(__nv_cvt_float_to_fp8(1e9F, __NV_NOSAT, __NV_E5M2), 0x7c);
  EXPECT_EQ(static_cast<float>(__nv_fp8_e5m2(-1.75F)), -1.75F);
  for (unsigned bits = 0; bits < 0x7f; ++bits) {
    const float value = heddle::compat::from_small<4, 3>(static_cast<unsigned char>(bits));
    EXPECT_EQ((heddle::compat::to_small<4, 3>(value, true)), bits);
  }
}

TEST(cuda_toolkit, has_words_as_there) {
  EXPECT_EQ(__umulhi(0x80000000U, 6U), 3U);
  EXPECT_EQ(__umul64hi(uint64_t{1} << 63, 6U), 3U);
  EXPECT_EQ(__mulhi(-2, 1 << 30), -1);
  EXPECT_EQ(__brev(1U), 0x80000000U);
  EXPECT_EQ(__byte_perm(0x03020100U, 0x07060504U, 0x5410U), 0x05040100U);
  EXPECT_EQ(__fns(0b10110U, 0, 2), 2U);
  EXPECT_EQ(__fns(0b10110U, 4, -3), 1U);
  EXPECT_EQ(__fns(0b10110U, 0, 4), ~0U);
  EXPECT_EQ(__vadd4(0x01ff01ffU, 0x01010101U), 0x02000200U);
  EXPECT_EQ(__float2int_rn(2.5F), 2);
  EXPECT_EQ(__float2uint_rz(-3.0F), 0U);
  EXPECT_EQ(__funnelshift_r(0x0000ffffU, 0xabcd0000U, 16), 0U);
}

struct launch_like {
  dim3 gridDim;
  dim3 blockDim;
};
unsigned own_names(dim3 gridDim, launch_like like) { return gridDim.x + like.blockDim.x; }
__global__ void both_names(unsigned* to, launch_like like) {
  if (threadIdx.x == 0) *to = like.blockDim.x + blockDim.x;
}

TEST(cuda_toolkit, lets_a_program_call_its_variables_as_cuda_does) {
  EXPECT_EQ(own_names(dim3(5), {dim3(1), dim3(7)}), 12U);
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        auto* const word = zeros<unsigned>(1);
                                        both_names<<<1, 3>>>(word, launch_like{dim3(1), dim3(7)});
                                        cudaDeviceSynchronize();
                                        SIM_CHECK(*word == 10);
                                      },
                                      3)));
}

// -- lanes -----------------------------------------------------------------------------------------------------------------------------

__global__ void match_and_reduce() {
  const unsigned all = 0xffffffffU;
  const int lane = static_cast<int>(threadIdx.x);
  SIM_CHECK(__match_any_sync(all, lane % 2) == (lane % 2 == 0 ? 0x55555555U : 0xaaaaaaaaU));
  int same = 1;
  SIM_CHECK(__match_all_sync(all, lane / 31, &same) == 0 && same == 0);
  SIM_CHECK(__match_all_sync(all, 7LL, &same) == all && same == 1);
  SIM_CHECK(__reduce_add_sync(all, lane) == 496 && __reduce_min_sync(all, lane - 5) == -5);
  SIM_CHECK(__reduce_max_sync(all, static_cast<unsigned>(lane)) == 31U);
  SIM_CHECK(__reduce_xor_sync(all, 1U << lane) == all);
}

__global__ void groups() {
  const cg::thread_block block = cg::this_thread_block();
  SIM_CHECK(block.thread_rank() == threadIdx.x && block.size() == 64);
  const cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
  SIM_CHECK(tile.meta_group_rank() == threadIdx.x / 8 && tile.meta_group_size() == 8);
  const unsigned rank = tile.thread_rank();
  SIM_CHECK(tile.shfl(threadIdx.x, 3) == threadIdx.x / 8 * 8 + 3);
  SIM_CHECK(tile.shfl_down(rank, 2) == (rank < 6 ? rank + 2 : rank));
  SIM_CHECK(tile.shfl_xor(rank, 5) == (rank ^ 5));
  SIM_CHECK(tile.ballot(rank < 3 ? 1 : 0) == 7);
  SIM_CHECK(cg::reduce(tile, rank, cg::plus<unsigned>()) == 28);
  SIM_CHECK(cg::reduce(tile, static_cast<double>(rank), cg::greater<double>()) == 7.0);
  SIM_CHECK(cg::inclusive_scan(tile, rank) == rank * (rank + 1) / 2);
  SIM_CHECK(cg::exclusive_scan(tile, rank) == (rank * rank - rank) / 2);
  const cg::coalesced_group odd = cg::binary_partition(tile, rank % 2 == 1);
  SIM_CHECK(odd.size() == 4);
  SIM_CHECK(odd.thread_rank() == rank / 2);
  SIM_CHECK(cg::labeled_partition(tile, rank / 2).size() == 2);
  const cg::thread_group any = tile;
  any.sync();
  cg::sync(block);
}

TEST(cuda_toolkit, has_matches_reductions_and_groups) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        match_and_reduce<<<1, 32>>>();
                                        groups<<<1, 64>>>();
                                        cudaDeviceSynchronize();
                                      },
                                      5)));
}

__global__ void pass_round(int* words, int* sum) {
  const cg::grid_group grid = cg::this_grid();
  for (int round = 1; round <= 2; ++round) {
    words[grid.thread_rank()] = round;
    grid.sync();
    if (grid.thread_rank() == 0)
      for (unsigned n = 0; n < grid.size(); ++n) *sum += words[n];
    grid.sync();
  }
}

void meet(bool as_it_must_be) {
  auto* words = zeros<int>(6);
  auto* sum = zeros<int>(1);
  void* arguments[] = {&words, &sum};
  if (as_it_must_be)
    cudaLaunchCooperativeKernel((void*)pass_round, 3, 2, arguments);
  else
    pass_round<<<3, 2>>>(words, sum);
  cudaDeviceSynchronize();
  SIM_CHECK(*sum == 18);
}

TEST(cuda_toolkit, blocks_of_a_cooperative_launch_meet) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many([] { meet(true); }, 100)));
  const tally seen = scoped().run_many([] { meet(false); }, 5);
  EXPECT_TRUE(always(verdict::assertion, seen));
}

// -- libcu++ ---------------------------------------------------------------------------------------------------------------------------

__global__ void meet_at_barrier(int* words, bool waits) {
  using barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ barrier at;
  if (threadIdx.x == 0) init(&at, 4);
  __syncthreads();
  for (int round = 0; round < 2; ++round) {
    words[threadIdx.x] = round;
    barrier::arrival_token came = at.arrive();
    if (waits) at.wait(std::move(came));
    SIM_CHECK(words[(threadIdx.x + 1) % 4] == round);
    at.arrive_and_wait();
  }
}
__global__ void count_down(cuda::latch<cuda::thread_scope_device>* latch, int* words) {
  words[blockIdx.x] = 1;
  latch->arrive_and_wait();
  SIM_CHECK(words[0] + words[1] == 2);
}
__global__ void take_turns(cuda::counting_semaphore<cuda::thread_scope_device>* turn, int* count) {
  turn->acquire();
  ++*count;
  turn->release();
}

TEST(cuda_toolkit, has_barriers_latches_and_semaphores) {
  const auto with = [](bool waits) {
    return [=] {
      auto* const words = zeros<int>(4);
      meet_at_barrier<<<1, 4>>>(words, waits);
      auto* const latch = zeros<cuda::latch<cuda::thread_scope_device>>(1);
      init(latch, 2);
      auto* const turn = zeros<cuda::counting_semaphore<cuda::thread_scope_device>>(1);
      turn->release();
      auto* const count = zeros<int>(2);
      count_down<<<2, 1>>>(latch, words);
      take_turns<<<3, 1>>>(turn, count);
      cudaDeviceSynchronize();
      SIM_CHECK(*count == 3);
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(with(true), 100)));
  // Lanes with one program counter store before any of them loads.
  if (std::getenv("HEDDLE_TEST_SETTING") == nullptr) {
    EXPECT_GT(scoped().run_many(with(false), 100).count(verdict::race), 0U);
  }
}

__global__ void through_shared(const int* from, int* to, bool waits) {
  __shared__ int tile[32];
  auto pipeline = cuda::make_pipeline();
  pipeline.producer_acquire();
  cuda::memcpy_async(&tile[threadIdx.x], &from[threadIdx.x], cuda::aligned_size_t<4>(4), pipeline);
  pipeline.producer_commit();
  if (waits) pipeline.consumer_wait();
  to[threadIdx.x] = tile[threadIdx.x];
  pipeline.consumer_release();
}

TEST(cuda_toolkit, copies_of_a_pipeline_are_there_when_they_have_been_waited_for) {
  const auto with = [](bool waits) {
    return [=] {
      auto* const from = zeros<int>(32);
      for (int n = 0; n < 32; ++n) from[n] = n + 1;
      auto* const to = zeros<int>(32);
      through_shared<<<1, 32>>>(from, to, waits);
      cudaDeviceSynchronize();
      for (int n = 0; n < 32; ++n) SIM_CHECK(to[n] == n + 1);
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(with(true), 20)));
  EXPECT_EQ(scoped().run_many(with(false), 20).count(verdict::ok), 0U);
}

/// The tile is of a block, which waits for its copies, for all but the last call's, or not at all.
enum class waited { all, but_the_last, none };
__global__ void through_tile(const int* from, int* to, waited what) {
  __shared__ int tile[3][50];
  cg::thread_block block = cg::this_thread_block();
  cg::memcpy_async(block, tile[0], from, sizeof(int) * 50);
  cg::memcpy_async(block, tile[1], 50, from, 60);
  // An odd address: nothing copies from there but the threads themselves.
  auto* const odd = reinterpret_cast<char*>(tile[2]) + 1;
  cg::memcpy_async(block, odd, reinterpret_cast<const char*>(from) + 1, 7);
  if (what == waited::all) cg::wait(block);
  if (what == waited::but_the_last) cg::wait_prior<2>(block);
  if (threadIdx.x < 25) {
    // What another thread has asked for.
    const unsigned other = 49 - threadIdx.x;
    to[threadIdx.x] = tile[what == waited::all ? 1 : 0][other];
  }
  if (threadIdx.x == 1 && what == waited::all) to[40] = odd[3];
  int local = 0;
  if (threadIdx.x == 2)
    to[41] = static_cast<int>(__isShared(tile[1]) << 4 | __isShared(from) << 3 | __isShared(&local) << 2 |
                              __isGlobal(tile[1]) << 1 | __isGlobal(from));
}

TEST(cuda_toolkit, copies_of_a_group_are_there_when_they_have_been_waited_for) {
  const auto with = [](waited what) {
    return [=] {
      auto* const from = zeros<int>(64);
      for (int n = 0; n < 64; ++n) from[n] = n + 1;
      auto* const to = zeros<int>(64);
      through_tile<<<1, 40>>>(from, to, what);
      cudaDeviceSynchronize();
      for (int n = 0; n < 25; ++n) SIM_CHECK(to[n] == 50 - n);
      SIM_CHECK(what != waited::all || to[40] == 2);
      SIM_CHECK(to[41] == 0b10001);
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(with(waited::all), 20)));
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(with(waited::but_the_last), 20)));
  EXPECT_EQ(scoped().run_many(with(waited::none), 20).count(verdict::ok), 0U);
}

// -- the host --------------------------------------------------------------------------------------------------------------------------

TEST(cuda_toolkit, describes_its_devices) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        cudaDeviceProp properties = {};
                                        SIM_CHECK(cudaGetDeviceProperties(&properties, 0) == cudaSuccess);
                                        SIM_CHECK(cudaGetDeviceProperties(&properties, 1) == cudaErrorInvalidDevice);
                                        int count = 0;
                                        cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0);
                                        SIM_CHECK(properties.multiProcessorCount == count && properties.major == 9);
                                        int blocks = 0;
                                        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, both_names, 512, 0);
                                        SIM_CHECK(blocks == 4);
                                        int size = 0;
                                        cudaOccupancyMaxPotentialBlockSize(&blocks, &size, both_names);
                                        SIM_CHECK(size == 1024 && blocks == 2 * count);
                                        SIM_CHECK(cudaGetErrorName(cudaErrorAssert) == std::string("cudaErrorAssert"));
                                        cudaPointerAttributes of;
                                        auto* const memory = zeros<int>(4);
                                        cudaPointerGetAttributes(&of, memory + 1);
                                        SIM_CHECK(of.type == cudaMemoryTypeDevice && of.device == 0);
                                        CUdeviceptr begin = 0;
                                        size_t bytes = 0;
                                        cuMemGetAddressRange(&begin, &bytes, reinterpret_cast<CUdeviceptr>(memory + 1));
                                        SIM_CHECK(begin == reinterpret_cast<CUdeviceptr>(memory) && bytes == 16);
                                      },
                                      1)));
}

TEST(cuda_toolkit, copies_and_fills_rows) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        char* rows = nullptr;
                                        size_t pitch = 0;
                                        cudaMallocPitch(&rows, &pitch, 3, 2);
                                        SIM_CHECK(pitch >= 3);
                                        cudaMemset2D(rows, pitch, 1, 3, 2);
                                        const char given[] = "abcdef";
                                        cudaMemcpy2D(rows, pitch, given, 3, 2, 2, cudaMemcpyHostToDevice);
                                        char got[6];
                                        cudaMemcpy2D(got, 3, rows, pitch, 3, 2, cudaMemcpyDeviceToHost);
                                        SIM_CHECK(got[0] == 'a' && got[2] == 1 && got[3] == 'd' && got[5] == 1);
                                      },
                                      1)));
}

__global__ void add(int* to, int value) { *to += value; }
__global__ void add_for_all(int* to, int value) { atomicAdd_system(to, value); }

[[gnu::noinline]] int by_address(const int* of) { return *of; }
void times_ten(void* word) {
  const int ten = 10;
  *static_cast<int*>(word) *= by_address(&ten);
}

TEST(cuda_toolkit, calls_of_the_host_have_their_place_in_a_stream) {
  const auto with = [](bool waits) {
    return [=] {
      auto* const word = zeros<int>(1);
      cudaStream_t stream;
      cudaStreamCreate(&stream);
      add<<<1, 1, 0, stream>>>(word, 1);
      cudaLaunchHostFunc(stream, times_ten, word);
      add<<<1, 1, 0, stream>>>(word, 2);
      if (waits) cudaStreamSynchronize(stream);
      SIM_CHECK(*word == 12);
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(with(true), 50)));
  EXPECT_EQ(scoped().run_many(with(false), 20).count(verdict::ok), 0U);
}

void launches_more(void* word) { add<<<1, 1>>>(static_cast<int*>(word), 1); }
void frees(void* memory) { cudaFree(memory); }
void records(void*) {
  cudaEvent_t made;
  cudaEventCreate(&made);
}
void asks(void*) { cudaStreamQuery(nullptr); }

TEST(cuda_toolkit, calls_of_the_host_may_not_call_the_driver) {
  for (const auto function : {launches_more, frees, records, asks}) {
    const auto called = [=] {
      cudaLaunchHostFunc(nullptr, function, zeros<int>(1));
      cudaDeviceSynchronize();
    };
    EXPECT_TRUE(always(verdict::assertion, scoped().run_many(called, 5)));
    EXPECT_TRUE(says(scoped().explain(called).message, "calls the driver, which it must not"));
  }
}

TEST(cuda_toolkit, a_graph_that_is_ready_takes_what_another_one_does) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        auto* const word = zeros<int>(1);
                                        cudaStream_t stream;
                                        cudaStreamCreate(&stream);
                                        const auto captured = [=](int value, int times) {
                                          auto mode = cudaStreamCaptureModeRelaxed;
                                          SIM_CHECK(cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess);
                                          cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
                                          cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
                                          unsigned long long number = 0;
                                          cudaStreamGetCaptureInfo(stream, &status, &number);
                                          SIM_CHECK(status == cudaStreamCaptureStatusActive && number != 0);
                                          for (int n = 0; n < times; ++n) add<<<1, 1, 0, stream>>>(word, value);
                                          // The thread may allocate meanwhile.
                                          int* memory = nullptr;
                                          SIM_CHECK(cudaMalloc(&memory, 4) == cudaSuccess);
                                          cudaGraph_t made = nullptr;
                                          SIM_CHECK(cudaStreamEndCapture(stream, &made) == cudaSuccess);
                                          SIM_CHECK(cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess &&
                                                    mode == cudaStreamCaptureModeRelaxed);
                                          return made;
                                        };
                                        cudaGraphExec_t exec = nullptr;
                                        cudaGraphExecUpdateResultInfo info;
                                        cudaGraphInstantiateWithFlags(&exec, captured(1, 2), 0);
                                        SIM_CHECK(cudaGraphExecUpdate(exec, captured(5, 2), &info) == cudaSuccess);
                                        SIM_CHECK(cudaGraphExecUpdate(exec, captured(5, 3), &info) != cudaSuccess &&
                                                  info.result == cudaGraphExecUpdateErrorTopologyChanged);
                                        cudaGraphLaunch(exec, stream);
                                        cudaStreamSynchronize(stream);
                                        SIM_CHECK(*word == 10);
                                      },
                                      5)));
}

TEST(cuda_toolkit, events_and_graphs_are_not_used_behind_their_end) {
  const auto event = [](int way) {
    return [=] {
      cudaEvent_t made;
      cudaEventCreate(&made);
      cudaEventRecord(made, nullptr);
      if (way == 0) cudaStreamWaitEvent(nullptr, made, 0);
      cudaEventDestroy(made);
      if (way == 1) cudaStreamWaitEvent(nullptr, made, 0);
      if (way == 2) cudaEventSynchronize(made);
      if (way == 3) cudaEventDestroy(made);
      cudaDeviceSynchronize();
    };
  };
  const auto graph = [](int way) {
    return [=] {
      auto* const word = zeros<int>(1);
      cudaStream_t stream;
      cudaStreamCreate(&stream);
      cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
      add<<<1, 1, 0, stream>>>(word, 1);
      cudaGraph_t captured;
      cudaStreamEndCapture(stream, &captured);
      cudaGraphExec_t exec = nullptr;
      if (way != 1) cudaGraphInstantiate(&exec, captured, 0);
      cudaGraphDestroy(captured);
      if (way == 1) cudaGraphInstantiate(&exec, captured, 0);
      if (way == 2) cudaGraphExecDestroy(exec);
      cudaGraphLaunch(exec, stream);
      if (way == 0) cudaGraphExecDestroy(exec);
      if (way == 3) cudaGraphDestroy(captured);
      cudaStreamSynchronize(stream);
      SIM_CHECK(*word == 1);
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(event(0), 5)));
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(graph(0), 5)));
  for (const int way : {1, 2, 3}) {
    EXPECT_TRUE(always(verdict::assertion, scoped().run_many(event(way), 5))) << way;
    EXPECT_TRUE(says(scoped().explain(event(way)).message, "an event that is destroyed is used")) << way;
    EXPECT_TRUE(always(verdict::assertion, scoped().run_many(graph(way), 5))) << way;
    EXPECT_TRUE(says(scoped().explain(graph(way)).message, "a graph that is destroyed")) << way;
  }
}

// As programs declare what owns a stream.
struct ends_stream {
  void operator()(CUstream_st* stream) const { cudaStreamDestroy(stream); }
};

TEST(cuda_toolkit, copies_reuse_a_staging_buffer_in_order) {
  // Out of the buffer in one stream, into it in another one. One word of 8 bytes may be a flag.
  const auto reused = [](bool waits, size_t count) {
    return [=] {
      const size_t bytes = count * sizeof(int);
      auto* const from = zeros<int>(count);
      auto* const to = zeros<int>(count);
      int* staging = nullptr;
      cudaMallocHost(&staging, bytes);
      cudaStream_t made;
      cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
      const std::unique_ptr<CUstream_st, ends_stream> one(made);
      cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
      const std::unique_ptr<CUstream_st, ends_stream> other(made);
      cudaMemcpyAsync(to, staging, bytes, cudaMemcpyHostToDevice, one.get());
      if (waits) cudaStreamSynchronize(one.get());
      cudaMemcpyAsync(staging, from, bytes, cudaMemcpyDeviceToHost, other.get());
      cudaDeviceSynchronize();
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(reused(true, 4), 50)));
  EXPECT_TRUE(always(verdict::race, scoped().run_many(reused(false, 4), 50)));
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(reused(false, 2), 50)));
}

TEST(cuda_toolkit, memory_is_registered_once_and_nothing_is_copied_from_nowhere) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        int memory[4] = {};
                                        SIM_CHECK(cudaHostUnregister(memory) == cudaErrorHostMemoryNotRegistered);
                                        SIM_CHECK(cudaHostRegister(memory, sizeof memory, 0) == cudaSuccess);
                                        SIM_CHECK(cudaHostRegister(memory + 1, sizeof(int), 0) ==
                                                  cudaErrorHostMemoryAlreadyRegistered);
                                        SIM_CHECK(cudaHostUnregister(memory + 1) == cudaErrorHostMemoryNotRegistered);
                                        SIM_CHECK(cudaHostUnregister(memory) == cudaSuccess);
                                        SIM_CHECK(cudaMemcpy(nullptr, zeros<int>(1), 0, cudaMemcpyDeviceToHost) ==
                                                  cudaSuccess);
                                      },
                                      1)));
}

TEST(cuda_toolkit, streams_write_and_wait_for_values) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        auto* const words = zeros<int>(2);
                                        cudaStream_t one;
                                        cudaStream_t other;
                                        cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
                                        cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
                                        const auto flag = reinterpret_cast<CUdeviceptr>(words + 1);
                                        cuStreamWaitValue32(one, flag, 3, CU_STREAM_WAIT_VALUE_GEQ);
                                        add<<<1, 1, 0, one>>>(words, 1);
                                        add<<<1, 1, 0, other>>>(words, 5);
                                        cuStreamWriteValue32(other, flag, 4, CU_STREAM_WRITE_VALUE_DEFAULT);
                                        cudaDeviceSynchronize();
                                        SIM_CHECK(words[0] == 6);
                                      },
                                      100)));
}

// What a stream waits for takes no place on the device, where a kernel may be that is to end the wait.
TEST(cuda_toolkit, streams_wait_beside_kernels) {
  EXPECT_TRUE(always(verdict::ok, machine({"fidelity=scoped", "resident=1"})
                                      .run_many(
                                          [] {
                                            auto* const words = zeros<int>(2);
                                            cudaStream_t one;
                                            cudaStream_t other;
                                            cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
                                            cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
                                            const auto word = reinterpret_cast<CUdeviceptr>(words);
                                            CUstreamBatchMemOpParams all[3] = {};
                                            all[0].waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
                                                                .address = word,
                                                                .value = 2,
                                                                .flags = CU_STREAM_WAIT_VALUE_EQ,
                                                                .alias = 0};
                                            all[1].memoryBarrier = {.operation = CU_STREAM_MEM_OP_BARRIER, .flags = 0};
                                            all[2].writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32,
                                                                 .address = word + 4,
                                                                 .value = 7,
                                                                 .flags = CU_STREAM_WRITE_VALUE_DEFAULT,
                                                                 .alias = 0};
                                            SIM_CHECK(cuStreamBatchMemOp(one, 3, all, 0) == CUDA_SUCCESS);
                                            add_for_all<<<1, 1, 0, other>>>(words, 2);
                                            SIM_CHECK(cudaDeviceSynchronize() == cudaSuccess);
                                            int found = 0;
                                            cudaMemcpy(&found, words + 1, 4, cudaMemcpyDeviceToHost);
                                            SIM_CHECK(found == 7);
                                          },
                                          100)));
}

// A thread reads what a kernel has stored behind the word that the stream writes.
TEST(cuda_toolkit, a_word_of_a_stream_without_a_barrier_orders_nothing) {
  const auto with = [](unsigned how) {
    return [=] {
      int* words = nullptr;
      cudaHostAlloc(&words, 8, cudaHostAllocMapped);
      words[0] = words[1] = 0;
      cudaStream_t stream;
      cudaStreamCreate(&stream);
      add<<<1, 1, 0, stream>>>(words, 3);
      cuStreamWriteValue32(stream, reinterpret_cast<CUdeviceptr>(words + 1), 1, how);
      while (std::atomic_ref(words[1]).load(std::memory_order_acquire) == 0) std::this_thread::yield();
      SIM_CHECK(words[0] == 3);
      cudaDeviceSynchronize();
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(with(CU_STREAM_WRITE_VALUE_DEFAULT), 50)));
  EXPECT_GT(scoped().run_many(with(CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER), 50).count(verdict::race), 0U);
}

TEST(cuda_toolkit, a_stream_that_waits_for_ever_is_told_as_one) {
  machine on({"fidelity=scoped"});
  const auto program = [] {
    auto* const words = zeros<int>(2);
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    const auto word = reinterpret_cast<CUdeviceptr>(words);
    cuStreamWaitValue32(stream, word, 1, CU_STREAM_WAIT_VALUE_GEQ);
    cuStreamWriteValue32(stream, word, 1, CU_STREAM_WRITE_VALUE_DEFAULT);
    cudaStreamSynchronize(stream);
  };
  const auto ended = on.explain(program);
  EXPECT_EQ(ended.verdict, verdict::deadlock);
  EXPECT_NE(ended.where.find("toolkit_test.cu:"), std::string::npos) << ended.where;
  EXPECT_NE(ended.report.find("wait 1 of stream 1 -> write 2 of stream 1  (cudaMalloc 1+0x0)"), std::string::npos)
      << ended.report;
  EXPECT_NE(ended.report.find("write 2 of stream 1 -> wait 1 of stream 1  (its turn in its stream)"), std::string::npos)
      << ended.report;
}

// Two branches from one root, which come together; the graph is launched twice.
cudaGraph_t captured(int* words, bool comes_back) {
  cudaStream_t main_stream;
  cudaStream_t side;
  cudaEvent_t forked;
  cudaEvent_t done;
  cudaStreamCreate(&main_stream);
  cudaStreamCreate(&side);
  cudaEventCreate(&forked);
  cudaEventCreate(&done);
  cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeGlobal);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaStreamIsCapturing(main_stream, &status);
  SIM_CHECK(status == cudaStreamCaptureStatusActive);
  add<<<1, 1, 0, main_stream>>>(words, 1);
  cudaEventRecord(forked, main_stream);
  cudaStreamWaitEvent(side, forked);
  add<<<1, 1, 0, side>>>(words + 1, 2);
  add<<<1, 1, 0, main_stream>>>(words, 3);
  cudaEventRecord(done, side);
  if (comes_back) cudaStreamWaitEvent(main_stream, done);
  cudaMemcpyAsync(words + 2, words + 1, 4, cudaMemcpyDeviceToDevice, main_stream);
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(main_stream, &graph);
  SIM_CHECK((ended == cudaSuccess) == comes_back);
  return graph;
}

TEST(cuda_toolkit, graphs_are_captured_and_launched_again) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        auto* const words = zeros<int>(3);
                                        cudaGraph_t graph = captured(words, true);
                                        SIM_CHECK(words[0] == 0);
                                        size_t nodes = 0;
                                        cudaGraphGetNodes(graph, nullptr, &nodes);
                                        SIM_CHECK(nodes == 4);
                                        cudaGraphExec_t exec;
                                        cudaGraphInstantiate(&exec, graph, 0);
                                        cudaStream_t stream;
                                        cudaStreamCreate(&stream);
                                        cudaGraphLaunch(exec, stream);
                                        cudaGraphLaunch(exec, stream);
                                        cudaStreamSynchronize(stream);
                                        SIM_CHECK(words[0] == 8 && words[1] == 4 && words[2] == 4);
                                      },
                                      50)));
  EXPECT_TRUE(always(verdict::ok, scoped().run_many([] { captured(zeros<int>(3), false); }, 1)));
}

TEST(cuda_toolkit, calls_that_wait_spoil_a_capture) {
  const auto spoilt_by = [](cudaStreamCaptureMode mode, cudaError_t (*call)(cudaStream_t), cudaError_t returns) {
    return [=] {
      cudaStream_t stream;
      cudaStreamCreate(&stream);
      auto* const word = zeros<int>(1);
      cudaStreamBeginCapture(stream, mode);
      add<<<1, 1, 0, stream>>>(word, 1);
      SIM_CHECK(call(stream) == returns);
      cudaGraph_t graph;
      const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
      SIM_CHECK(ended == (returns == cudaSuccess ? cudaSuccess : cudaErrorStreamCaptureInvalidated));
      cudaGraphExec_t exec;
      SIM_CHECK((cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess) == (graph != nullptr));
    };
  };
  const auto waits = [](cudaStream_t stream) { return cudaStreamSynchronize(stream); };
  const auto asks = [](cudaStream_t stream) { return cudaStreamQuery(stream); };
  const auto allocates = [](cudaStream_t) {
    int* memory = nullptr;
    return cudaMalloc(&memory, sizeof(int));
  };
  const auto clears = [](cudaStream_t) { return cudaMemset(nullptr, 0, 0); };
  const auto done = [](const program& body) { return always(verdict::ok, scoped().run_many(body, 1)); };
  for (const auto mode :
       {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
    EXPECT_TRUE(done(spoilt_by(mode, waits, cudaErrorStreamCaptureUnsupported)));
    EXPECT_TRUE(done(spoilt_by(mode, asks, cudaErrorStreamCaptureUnsupported)));
  }
  EXPECT_TRUE(done(spoilt_by(cudaStreamCaptureModeGlobal, allocates, cudaErrorStreamCaptureUnsupported)));
  EXPECT_TRUE(done(spoilt_by(cudaStreamCaptureModeRelaxed, allocates, cudaSuccess)));
  EXPECT_TRUE(done(spoilt_by(cudaStreamCaptureModeThreadLocal, clears, cudaErrorStreamCaptureImplicit)));
}

TEST(cuda_toolkit, a_reset_frees_what_the_device_has) {
  const auto used = [](bool before) {
    return [=] {
      auto* const word = zeros<int>(1);
      if (before) *word = 1;
      SIM_CHECK(cudaDeviceReset() == cudaSuccess);
      if (!before) *word = 1;
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(used(true), 1)));
  EXPECT_TRUE(always(verdict::memory, scoped().run_many(used(false), 1)));
}

TEST(cuda_toolkit, graphs_order_nothing_but_what_they_say) {
  const auto with = [](bool depends) {
    return [=] {
      auto* word = zeros<int>(1);
      int value = 1;
      void* arguments[] = {&word, &value};
      cudaKernelNodeParams what = {};
      what.func = (void*)add;
      what.gridDim = dim3(1);
      what.blockDim = dim3(1);
      what.kernelParams = arguments;
      cudaGraph_t graph;
      cudaGraphCreate(&graph, 0);
      cudaGraphNode_t first;
      cudaGraphNode_t second;
      cudaGraphAddKernelNode(&first, graph, nullptr, 0, &what);
      cudaGraphAddKernelNode(&second, graph, &first, depends ? 1 : 0, &what);
      cudaGraphExec_t exec;
      cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0);
      // In two streams, the one behind the other.
      for (int launches = 0; launches < 2; ++launches) {
        cudaStream_t stream;
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        cudaGraphLaunch(exec, stream);
      }
      cudaDeviceSynchronize();
      SIM_CHECK(*word == 4);
    };
  };
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(with(true), 50)));
  EXPECT_GT(scoped().run_many(with(false), 50).count(verdict::race), 0U);
}

struct counted {
  int* word;
  explicit counted(int* of) : word(of) {}
  counted(const counted& other) : word(other.word) {}
};
struct counted_of_any {
  int* word;
  explicit counted_of_any(int* of) : word(of) {}
  counted_of_any(counted_of_any& other) : word(other.word) {}
};
__global__ void takes_objects(counted one, counted_of_any other) { *one.word = *other.word + 1; }

extern __shared__ int declared_twice[];
extern __shared__ int declared_twice[];
__global__ void has_it_declared_twice(int* word) {
  declared_twice[0] = 3;
  *word = declared_twice[0];
}

__global__ void matches_small_numbers(unsigned* found) {
  const bool odd = threadIdx.x % 2 != 0;
  const auto label = static_cast<short>(threadIdx.x / 3);
  found[threadIdx.x] = __match_any_sync(0x3fU, odd) << 8 | __match_any_sync(0x3fU, label);
}

namespace named_like_ours {
template <typename T, int N>
__device__ void multimem_st(T*, unsigned) {}
template <int N>
__device__ unsigned ld(const unsigned* at) {
  unsigned value;
  asm volatile("ld.global.u32 %0, [%1];"
               : "="
                 "r"(value)
               : "l"(at));
  return value + N;
}
__global__ void reads(unsigned* word) {
  *word = ld<2>(word) + 1;
  multimem_st<int, 1>(nullptr, 0);
}
}  // namespace named_like_ours

TEST(toolkit, takes_what_nvcc_takes) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        int* const words = zeros<int>(2);
                                        counted_of_any other(words + 1);
                                        takes_objects<<<1, 1>>>(counted(words), other);
                                        has_it_declared_twice<<<1, 1, sizeof(int)>>>(words + 1);
                                        auto* const found = zeros<unsigned>(6);
                                        matches_small_numbers<<<1, 6>>>(found);
                                        auto* const read = zeros<unsigned>(1);
                                        named_like_ours::reads<<<1, 1>>>(read);
                                        cudaDeviceSynchronize();
                                        SIM_CHECK(words[0] == 1 && words[1] == 3 && *read == 3);
                                        SIM_CHECK(found[0] == (0x15U << 8 | 0x7U) && found[5] == (0x2aU << 8 | 0x38U));
                                      },
                                      20)));
}

TEST(toolkit, has_limits_targets_and_errors_by_name) {
  EXPECT_TRUE(always(verdict::ok,
                     scoped().run_many(
                         [] {
                           size_t bytes = 0;
                           SIM_CHECK(cudaDeviceGetLimit(&bytes, cudaLimitMallocHeapSize) == cudaSuccess);
                           SIM_CHECK(bytes == size_t{8} << 20);
                           SIM_CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 4096) == cudaSuccess);
                           cudaSharedMemConfig banks = cudaSharedMemBankSizeDefault;
                           SIM_CHECK(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeEightByte) == cudaSuccess);
                           SIM_CHECK(cudaDeviceGetSharedMemConfig(&banks) == cudaSuccess);
                           SIM_CHECK(banks == cudaSharedMemBankSizeFourByte);
                           cudaFuncCache cache = cudaFuncCachePreferL1;
                           SIM_CHECK(cudaDeviceGetCacheConfig(&cache) == cudaSuccess);
                           SIM_CHECK(cache == cudaFuncCachePreferNone);
                           SIM_CHECK(cudaDeviceGetLimit(&bytes, cudaLimitMallocHeapSize) == cudaSuccess);
                           SIM_CHECK(bytes == 4096);
                           SIM_CHECK(cudaDeviceGetLimit(&bytes, static_cast<cudaLimit>(7)) == cudaErrorInvalidValue);
                         },
                         2)));
  EXPECT_EQ(static_cast<int>(cudaErrorSyncDepthExceeded), 68);
  int taken = 0;
  NV_IF_ELSE_TARGET(NV_IS_HOST, (taken = 1;), (taken = 2;))
  NV_DISPATCH_TARGET(NV_IS_EXACTLY_SM_80, (taken += 10;), NV_PROVIDES_SM_70, (taken += 20;), NV_ANY_TARGET,
                     (taken += 40;))
  NV_IF_TARGET(NV_PROVIDES_SM_100, (taken += 100;))
  EXPECT_EQ(taken, 22);
  EXPECT_EQ(static_cast<float>(__habs2(make_half2(-1.5F, 2)).x), 1.5F);
}

}  // namespace
