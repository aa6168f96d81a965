// One thread stores a whole object that a call gives, another one reads a part of it: a race, in however a build this is.
#include <cuda_runtime.h>

__device__ float4 operator+(float4 one, float other) {
  return make_float4(one.x + other, one.y + other, one.z + other, one.w + other);
}

__global__ void shares(float4* all, float* out) {
  if (blockIdx.x == 0)
    all[0] = all[1] + 1.0f;
  else
    *out = all[0].w;
}

int main() {
  float4* all = nullptr;
  float* out = nullptr;
  if (cudaMallocManaged(&all, 2 * sizeof *all) != cudaSuccess) return 1;
  if (cudaMallocManaged(&out, sizeof *out) != cudaSuccess) return 1;
  all[1] = make_float4(1, 2, 3, 4);
  shares<<<2, 1>>>(all, out);
  cudaDeviceSynchronize();
  return 0;
}
