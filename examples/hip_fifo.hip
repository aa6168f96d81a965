// Requests from the waves of an AMD GPU to one thread of its host, and its answers, through slots in coherent host memory. A program as
// HIP programmers write it; nothing in it knows of heddle. hipcc compiles it, and so does heddle_simulate_hip() for the simulator:
//
//   heddle_simulate_hip(hip_fifo hip_fifo.hip)        # build/examples/hip_fifo fuzz
//
// Two bugs can be planted: -DPLANT_AGENT_SCOPE publishes a request to the GPU alone, and -DPLANT_NO_BARRIER has a block's first thread
// not wait for the others.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                      \
  do {                                                                                   \
    const hipError_t error = (call);                                                     \
    if (error != hipSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, hipGetErrorString(error)); \
      std::exit(EXIT_FAILURE);                                                           \
    }                                                                                    \
  } while (false)

#ifdef PLANT_AGENT_SCOPE
#define PUBLISH_SCOPE __HIP_MEMORY_SCOPE_AGENT
#else
#define PUBLISH_SCOPE __HIP_MEMORY_SCOPE_SYSTEM
#endif

enum : unsigned { empty, request, answer };

// One slot for each block.
struct slot {
  unsigned state;
  unsigned value;
};

// Sends the value to the host and waits for what it makes of it.
__device__ unsigned ask_host(slot* at, unsigned value) {
  at->value = value;
  __hip_atomic_store(&at->state, unsigned{request}, __ATOMIC_RELEASE, PUBLISH_SCOPE);
  while (__hip_atomic_load(&at->state, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) != answer)
    __builtin_amdgcn_s_sleep(1);
  const unsigned got = at->value;
  // The host does not look at an empty slot before the next request.
  __hip_atomic_store(&at->state, unsigned{empty}, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  return got;
}

// Each block adds up its numbers, and has the host square the sum.
__global__ void __launch_bounds__(128)
    square_sums(slot* slots, unsigned* squares, const unsigned* numbers, unsigned count) {
  __shared__ unsigned sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread < count) __hip_atomic_fetch_add(&sum, numbers[thread], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
#ifndef PLANT_NO_BARRIER
  __syncthreads();
#endif
  if (threadIdx.x == 0) squares[blockIdx.x] = ask_host(&slots[blockIdx.x], sum);
}

int main() {
  constexpr unsigned blocks = 2, threads = 80, count = 150;

  slot* slots = nullptr;
  CHECK(hipHostMalloc(&slots, blocks * sizeof(slot), hipHostMallocCoherent));
  for (unsigned n = 0; n < blocks; ++n) slots[n].state = empty;

  unsigned numbers[count];
  for (unsigned n = 0; n < count; ++n) numbers[n] = n;
  unsigned *numbers_on_device = nullptr, *squares_on_device = nullptr;
  CHECK(hipMalloc(&numbers_on_device, sizeof numbers));
  CHECK(hipMalloc(&squares_on_device, blocks * sizeof(unsigned)));
  CHECK(hipMemcpy(numbers_on_device, numbers, sizeof numbers, hipMemcpyHostToDevice));

  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  hipLaunchKernelGGL(square_sums, dim3(blocks), dim3(threads), 0, stream, slots, squares_on_device, numbers_on_device,
                     count);
  CHECK(hipGetLastError());

  for (unsigned answered = 0; answered < blocks;)
    for (unsigned n = 0; n < blocks; ++n) {
      if (__atomic_load_n(&slots[n].state, __ATOMIC_ACQUIRE) != request) continue;
      slots[n].value *= slots[n].value;
      __atomic_store_n(&slots[n].state, unsigned{answer}, __ATOMIC_RELEASE);
      ++answered;
    }
  CHECK(hipStreamSynchronize(stream));

  unsigned squares[blocks];
  CHECK(hipMemcpy(squares, squares_on_device, sizeof squares, hipMemcpyDeviceToHost));
  for (unsigned block = 0; block < blocks; ++block) {
    unsigned sum = 0;
    for (unsigned n = block * threads; n < (block + 1) * threads && n < count; ++n) sum += n;
    if (squares[block] != sum * sum) {
      std::fprintf(stderr, "block %u: %u instead of %u\n", block, squares[block], sum * sum);
      return EXIT_FAILURE;
    }
  }
  CHECK(hipStreamDestroy(stream));
  CHECK(hipFree(numbers_on_device));
  CHECK(hipFree(squares_on_device));
  CHECK(hipHostFree(slots));
  return EXIT_SUCCESS;
}
