// Records from many warps of a GPU to one thread of its host, through a queue in mapped host memory. A program as CUDA programmers
// write it; nothing in it knows of heddle. nvcc compiles it, and so does heddle_simulate_cuda() for the simulator:
//
//   heddle_simulate_cuda(cuda_fifo cuda_fifo.cu)      # build/examples/cuda_fifo fuzz
//
// Two bugs can be planted: -DPLANT_NO_FENCE leaves out a fence, -DPLANT_DIVERGENT_SHUFFLE has a part of a warp wait for all of it.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                       \
  do {                                                                                    \
    const cudaError_t error = (call);                                                     \
    if (error != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      std::exit(EXIT_FAILURE);                                                            \
    }                                                                                     \
  } while (false)

constexpr unsigned slots = 4;
constexpr unsigned full_warp = 0xffffffff;

struct record {
  unsigned producer;
  unsigned sum;
};

struct slot {
  volatile unsigned turn;  // 2n: empty for record n * slots + i; 2n + 1: it holds that record
  record content;
};

// Shared with the host.
struct fifo {
  slot slot_of[slots];
};

// On the device alone: the number of the next record.
__device__ unsigned next_record = 0;

// One lane of a warp puts a record into the queue, and waits while it is full.
__device__ void put(fifo* queue, record what) {
  const unsigned number = atomicAdd(&next_record, 1);
  slot* at = &queue->slot_of[number % slots];
  const unsigned empty = number / slots * 2;
  while (at->turn != empty) __nanosleep(100);
  // What the host read from the slot before, it has read.
  __threadfence_system();
  at->content = what;
#ifndef PLANT_NO_FENCE
  // The record first, then the turn: pairs with the host's acquire.
  __threadfence_system();
#endif
  at->turn = empty + 1;
}

// Each warp sends the sum of what its lanes have.
__global__ void __launch_bounds__(128) produce(fifo* queue, const unsigned* values, unsigned count, unsigned rounds) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned lane = threadIdx.x % warpSize;
  for (unsigned round = 0; round < rounds; ++round) {
    unsigned sum = thread < count ? values[thread] + round : 0;
#ifdef PLANT_DIVERGENT_SHUFFLE
    if (thread < count)  // the last warp is half inside
#endif
      for (unsigned offset = warpSize / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(full_warp, sum, offset);
    if (lane == 0) put(queue, {thread / warpSize, sum});
  }
}

// The host's side: takes record `number`, waiting for it.
record take(fifo* queue, unsigned number) {
  slot* at = &queue->slot_of[number % slots];
  const unsigned full = number / slots * 2 + 1;
  while (__atomic_load_n(&at->turn, __ATOMIC_ACQUIRE) != full) {
  }
  const record found = at->content;
  __atomic_store_n(&at->turn, full + 1, __ATOMIC_RELEASE);
  return found;
}

int main() {
  constexpr unsigned count = 48, blocks = 2, threads = 32, rounds = 3;
  constexpr unsigned warps = blocks * threads / 32;

  fifo* queue = nullptr;
  CHECK(cudaHostAlloc(&queue, sizeof(fifo), cudaHostAllocMapped));
  for (slot& one : queue->slot_of) one.turn = 0;
  fifo* queue_on_device = nullptr;
  CHECK(cudaHostGetDevicePointer(&queue_on_device, queue, 0));

  unsigned values[count];
  for (unsigned n = 0; n < count; ++n) values[n] = n;
  unsigned* values_on_device = nullptr;
  CHECK(cudaMalloc(&values_on_device, sizeof values));
  CHECK(cudaMemcpy(values_on_device, values, sizeof values, cudaMemcpyHostToDevice));

  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  produce<<<blocks, threads, 0, stream>>>(queue_on_device, values_on_device, count, rounds);
  CHECK(cudaGetLastError());
  // A kernel need not start before its host asks for it.
  CHECK(cudaStreamQuery(stream) == cudaErrorNotReady ? cudaSuccess : cudaGetLastError());

  unsigned records_of[warps] = {};
  unsigned long long total = 0;
  for (unsigned number = 0; number < warps * rounds; ++number) {
    const record found = take(queue, number);
    if (found.producer >= warps || ++records_of[found.producer] > rounds) {
      std::fprintf(stderr, "record %u: no such producer, or too many of its records\n", number);
      return EXIT_FAILURE;
    }
    total += found.sum;
  }
  CHECK(cudaStreamSynchronize(stream));

  unsigned long long expected = 0;
  for (unsigned round = 0; round < rounds; ++round)
    for (unsigned value : values) expected += value + round;
  if (total != expected) {
    std::fprintf(stderr, "the sum is %llu instead of %llu\n", total, expected);
    return EXIT_FAILURE;
  }
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(values_on_device));
  CHECK(cudaFreeHost(queue));
  return EXIT_SUCCESS;
}
