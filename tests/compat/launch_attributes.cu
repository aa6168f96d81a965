// Launches with attributes, as a program for nvcc: clusters of blocks, and kernels that begin before the end of the one in front of them. Its argument
// says what is done right, or left out.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cg = cooperative_groups;

namespace {

constexpr int threads = 8;

enum mode : int {
  exchanges,       // each block reads what the next one of its cluster has written
  unsynchronized,  // without a barrier between
  ends_early,      // without one behind
  in_halves,       // arrives, does something of its own, waits
  touches,         // what it does in between, others read
  arrives_twice,
  stays_away,  // one thread neither comes to the barrier nor ends
  leaves,      // one thread ends without coming to the barrier
  by_flag,     // by a flag of cluster scope
  too_far,     // likewise, but from one cluster to the next
  by_mbarrier  // by an mbarrier in another block
};

__global__ void __cluster_dims__(2, 1, 1) shifts(int* out, int what, volatile int* never) {
  __shared__ int mine[threads];
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned int next = (cluster.block_rank() + 1) % cluster.num_blocks();
  const int lane = static_cast<int>(threadIdx.x);
  if (what == leaves && lane == 3) return;
  if (what == stays_away && lane == 3)
    while (*never == 0) {
    }
  mine[lane] = static_cast<int>(blockIdx.x) * 100 + lane;
  if (what == arrives_twice) cluster.barrier_arrive();
  if (what == in_halves || what == touches || what == arrives_twice) {
    auto token = cluster.barrier_arrive();
    if (what == touches) mine[lane] += 1;
    out[blockIdx.x * threads + threadIdx.x] = -1;
    cluster.barrier_wait(std::move(token));
  } else if (what != unsynchronized) {
    cluster.sync();
  }
  out[blockIdx.x * threads + threadIdx.x] = cluster.map_shared_rank(mine, next)[threads - 1 - lane];
  if (what != ends_early) cluster.sync();
}

__global__ void by_a_flag(int* data, unsigned int* flag, int* out) {
  if (blockIdx.x == 0) {
    *data = 7;
    asm volatile("st.release.cluster.global.u32 [%0], %1;" ::"l"(flag), "r"(1) : "memory");
  } else if (blockIdx.x + 1 == gridDim.x) {
    unsigned int seen;
    do asm volatile("ld.acquire.cluster.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    while (seen == 0);
    *out = *data;
  }
}

// The block of rank 1 waits at a barrier of its own, to which the block of rank 0 arrives.
__global__ void by_an_mbarrier(int* data, int* out) {
  __shared__ unsigned long long barrier;
  const unsigned int own = static_cast<unsigned int>(__cvta_generic_to_shared(&barrier));
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(own) : "memory");
  asm volatile(
      "fence.mbarrier_init.release.cluster;\n barrier.cluster.arrive.release;\n barrier.cluster.wait.acquire;" ::
          : "memory");
  unsigned int rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (rank == 0 && threadIdx.x == 0) {
    *data = 11;
    unsigned int far;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(far) : "r"(own), "r"(1));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(far) : "memory");
  }
  if (rank == 1 && threadIdx.x == 0) {
    unsigned int done = 0;
    while (done == 0)
      asm volatile(
          "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
          : "=r"(done)
          : "r"(own)
          : "memory");
    *out = *data;
  }
  asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
}

// Places in clusters of 2 x 1 x 2 blocks of a grid of 4 x 3 x 2.
__global__ void places(unsigned int* wrong) {
  cg::cluster_group cluster = cg::this_cluster();
  const dim3 index = cluster.block_index();
  const dim3 size = cluster.dim_blocks();
  unsigned int id_x, id_y, id_z, count_x, rank;
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(id_x));
  asm("mov.u32 %0, %%clusterid.y;" : "=r"(id_y));
  asm("mov.u32 %0, %%clusterid.z;" : "=r"(id_z));
  asm("mov.u32 %0, %%nclusterid.x;" : "=r"(count_x));
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  bool is_right = size.x == 2 && size.y == 1 && size.z == 2 && cluster.num_blocks() == 4 && cluster.num_threads() == 8;
  is_right = is_right && index.x == blockIdx.x % 2 && index.y == 0 && index.z == blockIdx.z % 2;
  is_right = is_right && id_x == blockIdx.x / 2 && id_y == blockIdx.y && id_z == 0 && count_x == 2;
  is_right = is_right && rank == index.z * 2 + index.x && cluster.block_rank() == rank;
  is_right = is_right && cluster.thread_rank() == rank * 2 + threadIdx.x;
  __shared__ unsigned int sums[4];
  if (threadIdx.x == 0)
    for (unsigned int& each : sums) each = 0;
  cluster.sync();
  if (threadIdx.x == 0) atomicAdd(&cluster.map_shared_rank(sums, 0)[rank], rank + 1);
  cluster.sync();
  is_right = is_right && cluster.query_shared_rank(cluster.map_shared_rank(sums, 3)) == 3;
  if (rank == 0)
    for (unsigned int n = 0; n < 4; ++n) is_right = is_right && sums[n] == n + 1;
  if (!is_right) atomicAdd(wrong, 1);
}

// -- a kernel in front of another one

enum step : int {
  waits,           // before it reads what the first one has written
  does_not_wait,   // does not
  needs_it_early,  // the first one waits for the second one to begin
  is_not_early,    // which was not launched so
  third            // another launch waits for both
};

__global__ void writes(int* data, volatile int* begun, int what) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  if (what == needs_it_early || what == is_not_early)
    while (*begun == 0) {
    }
  data[blockIdx.x] = 5;
}

__global__ void reads(const int* data, volatile int* begun, int* out, int what) {
  *begun = 1;
  if (what != does_not_wait && what != third) cudaGridDependencySynchronize();
  if (what != third) *out = data[0] + data[1];
}

__global__ void reads_all(const int* data, int* out) { *out = data[0] + data[1]; }

template <typename... Parameters, typename... Arguments>
void launch_early(void (*kernel)(Parameters...), bool early, Arguments... arguments) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = early ? 1 : 0;
  cudaLaunchConfig_t how = {};
  how.gridDim = 1;
  how.blockDim = 1;
  how.attrs = &attribute;
  how.numAttrs = 1;
  cudaLaunchKernelEx(&how, kernel, arguments...);
}

int early(int what) {
  int* data;
  int* begun;
  int* out;
  cudaMallocManaged(&data, 2 * sizeof(int));
  cudaMallocManaged(&begun, sizeof(int));
  cudaMallocManaged(&out, sizeof(int));
  *begun = 0;
  writes<<<2, 1>>>(data, begun, what);
  launch_early(reads, what != is_not_early, data, begun, out, what);
  if (what == third) reads_all<<<1, 1>>>(data, out);
  cudaDeviceSynchronize();
  if (*out == 10) return 0;
  std::printf("old data\n");
  return 1;
}

// -- three of them: what is over before the second one lets the third begin

__global__ void lets_the_last_begin(const int* data, int* copied, bool waits_first) {
  if (waits_first) cudaGridDependencySynchronize();
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  if (!waits_first) cudaGridDependencySynchronize();
  *copied = data[0];
}
__global__ void reads_at_once(const int* data, int* out) { *out = data[0] + data[1]; }

int chain(bool waits_first) {
  int* data;
  int* out;
  cudaMallocManaged(&data, 2 * sizeof(int));
  cudaMallocManaged(&out, 2 * sizeof(int));
  writes<<<2, 1>>>(data, nullptr, waits);
  launch_early(lets_the_last_begin, true, data, out + 1, waits_first);
  launch_early(reads_at_once, true, data, out);
  cudaDeviceSynchronize();
  return *out == 10 ? 0 : 1;
}

int behind_a_copy() {
  const int given[2] = {5, 5};
  int* data;
  int* other;
  int* out;
  cudaMalloc(&data, 2 * sizeof(int));
  cudaMallocManaged(&other, 2 * sizeof(int));
  cudaMallocManaged(&out, sizeof(int));
  cudaMemcpyAsync(data, given, sizeof given, cudaMemcpyHostToDevice);
  writes<<<2, 1>>>(other, nullptr, waits);
  launch_early(reads_at_once, true, data, out);
  cudaDeviceSynchronize();
  return *out == 10 ? 0 : 1;
}

template <typename... Parameters, typename... Arguments>
void launch_in_clusters(void (*kernel)(Parameters...), dim3 grid, dim3 block, dim3 clusters, Arguments... arguments) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = clusters.x;
  attribute.val.clusterDim.y = clusters.y;
  attribute.val.clusterDim.z = clusters.z;
  cudaLaunchConfig_t how = {};
  how.gridDim = grid;
  how.blockDim = block;
  how.attrs = &attribute;
  how.numAttrs = 1;
  cudaLaunchKernelEx(&how, kernel, arguments...);
}

// -- a grid that meets

__global__ void meets(int* data) {
  data[blockIdx.x] = 1;
  cg::this_grid().sync();
  if (data[(blockIdx.x + 1) % gridDim.x] != 1) data[blockIdx.x] = -1;
}

int fails(const char* what) {
  std::printf("%s\n", what);
  return 1;
}

int shift(int what) {
  constexpr int blocks = 4;
  int* out;
  int* never;
  cudaMallocManaged(&out, blocks * threads * sizeof(int));
  cudaMallocManaged(&never, sizeof(int));
  *never = 0;
  shifts<<<blocks, threads>>>(out, what, never);
  cudaDeviceSynchronize();
  for (int block = 0; block < blocks; ++block)
    for (int lane = 0; lane < threads && what != leaves; ++lane)
      if (out[block * threads + lane] != (block ^ 1) * 100 + threads - 1 - lane) return fails("wrong neighbor");
  return 0;
}

int flag(bool is_near) {
  int* data;
  int* out;
  unsigned int* flag;
  cudaMallocManaged(&data, sizeof(int));
  cudaMallocManaged(&out, sizeof(int));
  cudaMallocManaged(&flag, sizeof(int));
  *flag = 0;
  launch_in_clusters(by_a_flag, is_near ? 2 : 4, 1, 2, data, flag, out);
  cudaDeviceSynchronize();
  return *out == 7 ? 0 : fails("old data");
}

int mbarrier() {
  int* data;
  int* out;
  cudaMallocManaged(&data, sizeof(int));
  cudaMallocManaged(&out, sizeof(int));
  launch_in_clusters(by_an_mbarrier, 2, threads, 2, data, out);
  cudaDeviceSynchronize();
  return *out == 11 ? 0 : fails("old data");
}

int grid() {
  constexpr int blocks = 3;
  int* data;
  cudaMallocManaged(&data, blocks * sizeof(int));
  for (int n = 0; n < blocks; ++n) data[n] = 0;
  void* arguments[] = {&data};
  cudaLaunchCooperativeKernel(reinterpret_cast<void*>(meets), blocks, 1, arguments, 0, nullptr);
  cudaDeviceSynchronize();
  for (int n = 0; n < blocks; ++n)
    if (data[n] != 1) return fails("old data");
  return 0;
}

int place() {
  unsigned int* wrong;
  cudaMallocManaged(&wrong, sizeof(int));
  *wrong = 0;
  launch_in_clusters(places, dim3(4, 3, 2), 2, dim3(2, 1, 2), wrong);
  cudaDeviceSynchronize();
  return *wrong == 0 ? 0 : fails("wrong places");
}

}  // namespace

int main(int count, char** words) {
  static constexpr const char* names[] = {"exchanges", "unsynchronized", "ends_early", "in_halves",
                                          "touches",   "arrives_twice",  "stays_away", "leaves",
                                          "by_flag",   "too_far",        "by_mbarrier"};
  const char* const wanted = count > 1 ? words[1] : "exchanges";
  static constexpr const char* steps[] = {"waits", "does_not_wait", "needs_it_early", "is_not_early", "third"};
  for (int what = 0; what < 5; ++what)
    if (std::strcmp(wanted, steps[what]) == 0) return early(what);
  if (std::strcmp(wanted, "behind_a_copy") == 0) return behind_a_copy();
  if (std::strcmp(wanted, "waits_first") == 0) return chain(true);
  if (std::strcmp(wanted, "waits_last") == 0) return chain(false);
  if (std::strcmp(wanted, "places") == 0) return place();
  if (std::strcmp(wanted, "grid") == 0) return grid();
  if (std::strcmp(wanted, "ragged") == 0) {
    launch_in_clusters(places, 3, 2, 2, static_cast<unsigned int*>(nullptr));
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
  }
  for (int what = 0; what < 11; ++what)
    if (std::strcmp(wanted, names[what]) == 0)
      return what == by_mbarrier                  ? mbarrier()
             : what == by_flag || what == too_far ? flag(what == by_flag)
                                                  : shift(what);
  return fails("no such mode");
}
