// Two neighbouring words of 64 bits by one instruction, where a GPU has one.
#pragma once

#include <stdint.h>

namespace heddle::gpu {

#ifdef __CUDACC__
#define HEDDLE_ON_DEVICE __device__
#else
#define HEDDLE_ON_DEVICE
#endif

/// Members for a target: relaxed, system scope, each word by itself; the first is aligned to 16 bytes. None on an AMD GPU.
struct pairs {
#if defined(__CUDA_ARCH__) || defined(__NVPTX__)
  static HEDDLE_ON_DEVICE void store_pair(uint64_t* at, uint64_t first, uint64_t second) {
    asm volatile("st.relaxed.sys.v2.b64 [%0], {%1, %2};" ::"l"(at), "l"(first), "l"(second) : "memory");
  }
  static HEDDLE_ON_DEVICE void load_pair(const uint64_t* at, uint64_t& first, uint64_t& second) {
    asm volatile("ld.relaxed.sys.v2.b64 {%0, %1}, [%2];" : "=l"(first), "=l"(second) : "l"(at) : "memory");
  }
#endif
};

#undef HEDDLE_ON_DEVICE

}  // namespace heddle::gpu
