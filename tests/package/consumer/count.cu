// A stranger's CUDA program: every thread of a grid adds one to a counter.
#include <cuda_runtime.h>

#include <cuda/atomic>

__global__ void count(unsigned* threads) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*threads).fetch_add(1, cuda::memory_order_relaxed);
}

int main() {
  unsigned* threads = nullptr;
  if (cudaMallocManaged(&threads, sizeof *threads) != cudaSuccess) return 1;
  *threads = 0;
  count<<<2, 2>>>(threads);
  cudaDeviceSynchronize();
  return *threads == 4 ? 0 : 1;
}
