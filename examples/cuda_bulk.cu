// Tiles that one lane has brought to the block and taken out again by bulk copies (TMA), as kernels for Hopper have them. With the argument `unfenced` no
// proxy fence stands between the stores of the lanes and the copy that reads them; with `unwaited` the host is told before the last tile is there.
#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <utility>

namespace ptx = cuda::ptx;

constexpr int lanes = 32;
using barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void add_one(int* tiles, int count, bool fenced, bool waits, unsigned* done) {
  __shared__ alignas(16) int tile[lanes];
  __shared__ barrier came;
  if (threadIdx.x == 0) init(&came, blockDim.x);
  __syncthreads();
  for (int n = 0; n < count; ++n) {
    barrier::arrival_token token;
    if (threadIdx.x == 0) {
      // The copy of the tile before has read it by now.
      ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
      cuda::device::memcpy_async_tx(tile, tiles + n * lanes, cuda::aligned_size_t<16>(sizeof tile), came);
      token = cuda::device::barrier_arrive_tx(came, 1, sizeof tile);
    } else {
      token = came.arrive();
    }
    came.wait(std::move(token));
    tile[threadIdx.x] += 1;
    if (fenced) ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
      ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, tiles + n * lanes, tile, sizeof tile);
      ptx::cp_async_bulk_commit_group();
    }
  }
  if (threadIdx.x != 0) return;
  if (waits)
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
  else
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  __threadfence_system();
  *reinterpret_cast<volatile unsigned*>(done) = 1;
}

int main(int argc, char** argv) {
  const bool fenced = argc < 2 || std::strcmp(argv[1], "unfenced") != 0;
  const bool waits = argc < 2 || std::strcmp(argv[1], "unwaited") != 0;
  constexpr int count = 3;
  int* tiles = nullptr;
  unsigned* done = nullptr;
  if (cudaMallocHost(&tiles, count * lanes * sizeof *tiles) != cudaSuccess) return 2;
  if (cudaMallocHost(&done, sizeof *done) != cudaSuccess) return 2;
  for (int n = 0; n < count * lanes; ++n) tiles[n] = n;
  *done = 0;
  add_one<<<1, lanes>>>(tiles, count, fenced, waits, done);
  while (__atomic_load_n(done, __ATOMIC_ACQUIRE) == 0) {
  }
  for (int n = 0; n < count * lanes; ++n)
    if (tiles[n] != n + 1) {
      std::printf("word %d is %d\n", n, tiles[n]);
      return 1;
    }
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
