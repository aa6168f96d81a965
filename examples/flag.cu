// A kernel that waits for its host, by a flag. With a plain flag nothing tells the compiler that another thread writes to it: nvcc looks once,
// and makes the loop one without an end. docs/ptx.md runs it both ways: from the source, and from nvcc's PTX.
#include <cuda_runtime.h>

#ifdef PLANT_PLAIN_FLAG
using flag = int;
#else
using flag = volatile int;
#endif

__global__ void wait_for(flag* told) {
  while (*told == 0) {
  }
}

int main() {
  int* told = nullptr;
  cudaMallocHost(&told, sizeof *told);
  *const_cast<volatile int*>(told) = 0;
  wait_for<<<1, 1>>>(told);
  *const_cast<volatile int*>(told) = 1;
  return cudaDeviceSynchronize() != cudaSuccess;
}
