// What is missing from CUDA on the simulator, one case at a time; MISSING_compiles has the same surroundings, and none of it.
#include <cuda/atomic>

struct wide {
  long long a, b;
};
#ifdef MISSING_large_atomic
__global__ void kernel(wide* at) { cuda::atomic_ref<wide>(*at).load(); }
#elif defined(MISSING_atomic_of_short)
__global__ void kernel(short* word) { atomicAdd(word, 1); }
#elif defined(MISSING_asm_that_is_not_simulated)
__global__ void kernel(float* a) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0}, {%0}, {%0}, {%0};" : "+f"(*a));
}
#else
__global__ void kernel(unsigned* word) { atomicAdd(word, 1); }

void launch(unsigned* word) {
  // clang-format off
  kernel<<<1, 32>>>(word);
  // clang-format on
  cudaEvent_t event;
  cudaEventCreate(&event);
}
#endif
#ifdef MISSING_textures
__global__ void fetch(unsigned long long texture, float* to) { *to = tex1Dfetch<float>(texture, 1); }
#endif
