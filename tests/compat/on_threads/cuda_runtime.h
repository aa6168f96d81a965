// CUDA on threads of the host, as far as examples/cuda_proxy.cu needs it: what ThreadSanitizer says of that program.
#pragma once

#include <cstdlib>
#include <thread>
#include <vector>

#define __global__
#define cudaHostAllocMapped 0u

enum cudaError_t { cudaSuccess };

struct block_index {
  unsigned x;
};
inline thread_local block_index blockIdx;
inline std::vector<std::thread> launched_blocks;

inline const char* cudaGetErrorString(cudaError_t) { return "no error"; }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaHostAlloc(void** to, size_t bytes, unsigned) {
  *to = std::malloc(bytes);
  return cudaSuccess;
}
inline cudaError_t cudaFreeHost(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSynchronize() {
  for (std::thread& each : launched_blocks) each.join();
  launched_blocks.clear();
  return cudaSuccess;
}
inline void __nanosleep(unsigned) { std::this_thread::yield(); }

/// kernel<<<blocks, 1>>>(arguments)
template <typename... Parameters, typename... Arguments>
void launch_on_threads(unsigned blocks, void (*kernel)(Parameters...), Arguments... arguments) {
  for (unsigned block = 0; block < blocks; ++block)
    launched_blocks.emplace_back([=] {
      blockIdx.x = block;
      kernel(arguments...);
    });
}
