// Copies that go on beside their lane, by cp.async and by what is made of it. The first argument says what is planted: nothing, or what comes too
// early or too late.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>

#include <cstdlib>
#include <cstring>
#include <utility>

namespace {

namespace cg = cooperative_groups;

using block_barrier = cuda::barrier<cuda::thread_scope_block>;
constexpr int lanes = 2;
constexpr int words = 4;  // that a lane has copied at once

__device__ void fetch(int* to, const int* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
               "l"(from)
               : "memory");
}
__device__ void close_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Two buffers. Without the second barrier a lane refills one that its sibling still reads.
__global__ void double_buffered(int* data, int* out, bool meets_again) {
  __shared__ alignas(16) int buffer[2][lanes * words];
  constexpr int tiles = 3;
  const int t = threadIdx.x;
  int sum = 0;
  fetch(&buffer[0][t * words], &data[t * words]);
  close_group();
  for (int n = 0; n < tiles; ++n) {
    if (n + 1 < tiles) fetch(&buffer[(n + 1) & 1][t * words], &data[((n + 1) * lanes + t) * words]);
    close_group();
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    sum += buffer[n & 1][(t ^ 1) * words];
    if (meets_again) __syncthreads();
  }
  out[t] = sum;
}

enum class touched { nothing, source_by_sibling, source, target, loaded_target, target_by_copy };

// Between the issue and the wait something is touched that the copy needs.
__global__ void copies(int* data, int* out, touched what) {
  __shared__ alignas(16) int buffer[lanes * words];
  const int t = threadIdx.x;
  int* const to = &buffer[t * words];
  int* const from = &data[t * words];
  __pipeline_memcpy_async(to, from, sizeof(int) * words);
  __pipeline_commit();
  __syncthreads();
  int found = 0;
  if (what == touched::source_by_sibling) data[(t ^ 1) * words] = 7;
  if (what == touched::source) from[1] = 7;
  if (what == touched::target) to[1] = 7;
  if (what == touched::loaded_target) found = to[1];
  if (what == touched::target_by_copy) __pipeline_memcpy_async(to, &data[lanes * words], sizeof(int) * words);
  if (what == touched::nothing) found = from[1] - from[1];
  __syncthreads();
  __pipeline_wait_prior(0);
  __syncthreads();
  // Behind the wait all of that is free.
  from[2] = to[0] + found;
  to[3] = buffer[(t ^ 1) * words];
  out[t] = to[3];
}

// A pipeline of a thread: its lane is the only one that may wait.
__global__ void piped(int* data, int* out, bool waits) {
  __shared__ alignas(16) int buffer[lanes * words];
  const int t = threadIdx.x;
  auto pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  cuda::memcpy_async(&buffer[t * words], &data[t * words], cuda::aligned_size_t<16>(sizeof(int) * words), pipe);
  pipe.producer_commit();
  if (waits) pipe.consumer_wait();
  __syncthreads();
  out[t] = buffer[(t ^ 1) * words];
  __syncthreads();
  if (!waits) pipe.consumer_wait();
  pipe.consumer_release();
}

__global__ void of_group(int* data, int* out, bool waits) {
  __shared__ alignas(16) int buffer[lanes * words];
  const int t = threadIdx.x;
  const cg::thread_block block = cg::this_thread_block();
  cg::memcpy_async(block, buffer, data, sizeof buffer);
  if (waits)
    cg::wait(block);
  else
    block.sync();
  out[t] = buffer[(t ^ 1) * words];
  block.sync();
  if (!waits) cg::wait(block);
}

enum class waited { for_phase, for_lanes, behind_the_read, never };

// Copies that arrive at a barrier of libcu++: a barrier of the block's lanes does not wait for them, nor does program order.
__global__ void at_barrier(int* data, int* out, waited how) {
  __shared__ alignas(16) int buffer[lanes * words];
  __shared__ alignas(8) unsigned char memory[sizeof(block_barrier)];
  auto* const came = reinterpret_cast<block_barrier*>(memory);
  const int t = threadIdx.x;
  if (t == 0) init(came, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(&buffer[t * words], &data[t * words], cuda::aligned_size_t<16>(sizeof(int) * words), *came);
  if (how == waited::for_phase) {
    came->arrive_and_wait();
    out[t] = buffer[(t ^ 1) * words];
    return;
  }
  auto token = came->arrive();
  if (how == waited::for_lanes) __syncthreads();
  out[t] = buffer[(how == waited::for_lanes ? t ^ 1 : t) * words];
  if (how != waited::never) came->wait(std::move(token));
}

// The same for a pipeline of a block, where the group has its bytes copied.
__global__ void of_block(int* data, int* out, waited how) {
  __shared__ alignas(16) int buffer[lanes * words];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 1> state;
  const int t = threadIdx.x;
  const cg::thread_block block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  for (int n = 0; n < 2; ++n) {
    pipe.producer_acquire();
    cuda::memcpy_async(block, buffer, data, sizeof buffer, pipe);
    pipe.producer_commit();
    if (how == waited::for_phase) pipe.consumer_wait();
    if (how == waited::for_lanes) block.sync();
    out[t] = buffer[(t ^ 1) * words];
    if (how != waited::for_phase) pipe.consumer_wait();
    pipe.consumer_release();
  }
}

// And for an mbarrier that is told of the lane's copies.
__global__ void tells_mbarrier(int* data, int* out, waited how) {
  __shared__ alignas(16) int buffer[lanes * words];
  __shared__ __mbarrier_t came;
  const int t = threadIdx.x;
  if (t == 0) __mbarrier_init(&came, blockDim.x);
  __syncthreads();
  __pipeline_memcpy_async(&buffer[t * words], &data[t * words], sizeof(int) * words);
  __pipeline_arrive_on(&came);
  const __mbarrier_token_t token = __mbarrier_arrive(&came);
  if (how == waited::for_lanes) {
    __syncthreads();
    out[t] = buffer[(t ^ 1) * words];
  }
  if (how == waited::behind_the_read) {
    // The lane's own wait for its copies is one too.
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[t] = buffer[t * words];
  }
  while (!__mbarrier_test_wait(&came, token)) {
  }
  out[t] = buffer[(t ^ 1) * words];
}

// Nothing has waited for the copies: with the kernel they have come to their end.
__global__ void leaves(int* data, int*) {
  __shared__ alignas(16) int buffer[lanes * words];
  fetch(&buffer[threadIdx.x * words], &data[threadIdx.x * words]);
}

}  // namespace

int main(int count, char** given) {
  int* data;
  int* out;
  if (cudaMallocHost(&data, 64 * sizeof *data) != cudaSuccess) return 1;
  if (cudaMallocHost(&out, lanes * sizeof *out) != cudaSuccess) return 1;
  for (int n = 0; n < 64; ++n) data[n] = n;
  const auto is = [&](const char* name) { return count > 1 && std::strcmp(given[1], name) == 0; };
  const bool is_double = is("two_buffers") || is("refills_early");
  if (is_double) double_buffered<<<1, lanes>>>(data, out, is("two_buffers"));
  if (is("copies")) copies<<<1, lanes>>>(data, out, touched::nothing);
  if (is("changes_the_source_of_a_sibling")) copies<<<1, lanes>>>(data, out, touched::source_by_sibling);
  if (is("changes_its_source")) copies<<<1, lanes>>>(data, out, touched::source);
  if (is("stores_to_its_target")) copies<<<1, lanes>>>(data, out, touched::target);
  if (is("loads_its_target")) copies<<<1, lanes>>>(data, out, touched::loaded_target);
  if (is("copies_there_again")) copies<<<1, lanes>>>(data, out, touched::target_by_copy);
  if (is("pipe") || is("pipe_unwaited")) piped<<<1, lanes>>>(data, out, is("pipe"));
  if (is("group") || is("group_unwaited")) of_group<<<1, lanes>>>(data, out, is("group"));
  if (is("barrier")) at_barrier<<<1, lanes>>>(data, out, waited::for_phase);
  if (is("barrier_of_lanes")) at_barrier<<<1, lanes>>>(data, out, waited::for_lanes);
  if (is("barrier_behind_the_read")) at_barrier<<<1, lanes>>>(data, out, waited::behind_the_read);
  if (is("barrier_unwaited")) at_barrier<<<1, lanes>>>(data, out, waited::never);
  if (is("block_pipe")) of_block<<<1, lanes>>>(data, out, waited::for_phase);
  if (is("block_pipe_of_lanes")) of_block<<<1, lanes>>>(data, out, waited::for_lanes);
  if (is("mbarrier")) tells_mbarrier<<<1, lanes>>>(data, out, waited::for_phase);
  if (is("mbarrier_and_own_wait")) tells_mbarrier<<<1, lanes>>>(data, out, waited::behind_the_read);
  if (is("mbarrier_of_lanes")) tells_mbarrier<<<1, lanes>>>(data, out, waited::for_lanes);
  if (is("leaves")) leaves<<<1, lanes>>>(data, out);
  cudaDeviceSynchronize();
  if (is("leaves")) {
    data[0] = 1;
    return 0;
  }
  const int first = is_double ? 4 + 12 + 20 : 4;
  if (out[0] != first || out[1] != (is_double ? 0 + 8 + 16 : 0)) return 1;
  return 0;
}
