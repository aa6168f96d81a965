// Barriers of some lanes of a block, by their numbers. The first argument says what the lanes do there.
#include <cuda_runtime.h>

#include <cstring>

namespace {

constexpr int lanes = 4;
constexpr int half = lanes / 2;

// The first half hands values to the second; the count that one of them gives may be another one.
__global__ void hands_over(int* out, int arrives_for, int waits_for) {
  __shared__ int values[lanes];
  const int t = threadIdx.x;
  if (t < half) {
    values[t] = t + 1;
    asm volatile("bar.arrive 3, %0;" ::"r"(arrives_for) : "memory");
  } else {
    asm volatile("bar.sync 3, %0;" ::"r"(waits_for) : "memory");
    out[t] = values[t - half];
  }
}

// Each half has a barrier of its own, again and again.
__global__ void meets(int* out) {
  __shared__ int values[lanes];
  const int t = threadIdx.x;
  for (int n = 0; n < 2; ++n) {
    values[t] = n + t;
    asm volatile("bar.sync %0, 2;" ::"r"(1 + t / half) : "memory");
    out[t] = values[t ^ 1];
    asm volatile("barrier.cta.sync %0, 2;" ::"r"(1 + t / half) : "memory");
  }
}

__device__ bool holds_for_all(bool mine) {
  int all;
  asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; barrier.cta.red.and.pred q, 5, 2, p; selp.s32 %0, 1, 0, q; }"
               : "=r"(all)
               : "r"(static_cast<int>(mine))
               : "memory");
  return all != 0;
}
__device__ int count_of(bool mine) {
  int found;
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; bar.red.popc.u32 %0, 5, 2, p; }"
               : "=r"(found)
               : "r"(static_cast<int>(mine))
               : "memory");
  return found;
}

// All wait at one barrier, each half at another line.
__global__ void comes_apart(int* out) {
  const int t = threadIdx.x;
  if (t < half)
    asm volatile("bar.sync 6, 4;" ::: "memory");
  else
    asm volatile("bar.sync 6, 4;" ::: "memory");
  out[t] = t - half + 1;
}

// The first half stores and comes to barrier 0, where the second half waits.
__global__ void passes(int* out, bool late) {
  __shared__ int values[lanes];
  const int t = threadIdx.x;
  if (t < half) {
    if (!late) values[t] = t + 1;
    asm volatile("bar.arrive 0, 4;" ::: "memory");
    if (late) values[t] = t + 1;
  } else {
    asm volatile("bar.sync 0, 4;" ::: "memory");
    out[t] = values[t - half];
  }
}

__global__ void __launch_bounds__(half) is_bounded(int* out) {
  out[half + threadIdx.x % half] = 1 + threadIdx.x % half;
}

// Two lanes at a time; what the others do is no part of it.
__global__ void reduces(int* out, bool mixed) {
  const int t = threadIdx.x;
  if (t >= half) return;
  if (mixed && t == 1) {
    asm volatile("bar.sync 5, 2;" ::: "memory");
    return;
  }
  const int first = count_of(t == 0);
  const int second = count_of(true);
  const bool third = holds_for_all(true);
  const bool fourth = holds_for_all(t == 1);
  out[t] = first + 10 * second + (third ? 100 : 0) + (fourth ? 1000 : 0);
}

}  // namespace

int main(int count, char** given) {
  int* out;
  if (cudaMallocHost(&out, lanes * sizeof *out) != cudaSuccess) return 1;
  const auto is = [&](const char* name) { return count > 1 && std::strcmp(given[1], name) == 0; };
  if (is("hands_over")) hands_over<<<1, lanes>>>(out, lanes, lanes);
  if (is("arrives_for_more")) hands_over<<<1, lanes>>>(out, 2 * lanes, lanes);
  if (is("waits_for_more")) hands_over<<<1, lanes>>>(out, lanes, 2 * lanes);
  if (is("comes_apart")) comes_apart<<<1, lanes>>>(out);
  if (is("passes") || is("passes_late")) passes<<<1, lanes>>>(out, is("passes_late"));
  if (is("within_bounds") || is("above_bounds")) is_bounded<<<1, is("above_bounds") ? lanes : half>>>(out);
  if (is("meets")) meets<<<1, lanes>>>(out);
  if (is("reduces") || is("mixes_with_red")) reduces<<<1, lanes>>>(out, is("mixes_with_red"));
  cudaDeviceSynchronize();
  if (is("meets")) return out[0] == 2 && out[1] == 1 && out[2] == 4 && out[3] == 3 ? 0 : 1;
  if (is("reduces")) return out[0] == 121 && out[1] == 121 ? 0 : 1;
  return out[half] == 1 && out[half + 1] == 2 ? 0 : 1;
}
