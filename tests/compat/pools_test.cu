// Pools of memory that a program makes, rows in slices, and dependencies of graphs that are added later.
#include <cuda.h>

#include "../sim/run.h"

namespace {

using namespace heddle::sim::tests;

machine scoped(const char* devices = "driver.devices=1") { return machine({"fidelity=scoped", devices}); }

cudaMemPool_t pool_on(int device) {
  cudaMemPoolProps how = {};
  how.allocType = cudaMemAllocationTypePinned;
  how.handleTypes = cudaMemHandleTypeNone;
  how.location = {cudaMemLocationTypeDevice, device};
  cudaMemPool_t pool = nullptr;
  SIM_CHECK(cudaMemPoolCreate(&pool, &how) == cudaSuccess);
  return pool;
}
uint64_t bytes_of(cudaMemPool_t pool, cudaMemPoolAttr attribute) {
  uint64_t bytes = 0;
  SIM_CHECK(cudaMemPoolGetAttribute(pool, attribute, &bytes) == cudaSuccess);
  return bytes;
}

__global__ void store(int* to, int value) { *to = value; }

TEST(pools, are_made_and_count_what_is_in_use) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        cudaStream_t stream;
                                        cudaStreamCreate(&stream);
                                        cudaMemPool_t first = nullptr;
                                        SIM_CHECK(cudaDeviceGetDefaultMemPool(&first, 0) == cudaSuccess);
                                        cudaMemPool_t pool = pool_on(0);
                                        SIM_CHECK(pool != first);
                                        int* one = nullptr;
                                        int* other = nullptr;
                                        SIM_CHECK(cudaMallocFromPoolAsync(&one, 100, pool, stream) == cudaSuccess);
                                        SIM_CHECK(cudaMallocAsync(&other, 8, stream) == cudaSuccess);
                                        store<<<1, 1, 0, stream>>>(one, 1);
                                        SIM_CHECK(bytes_of(pool, cudaMemPoolAttrUsedMemCurrent) == 100);
                                        SIM_CHECK(bytes_of(first, cudaMemPoolAttrUsedMemCurrent) == 8);
                                        SIM_CHECK(cudaDeviceSetMemPool(0, pool) == cudaSuccess);
                                        int* third = nullptr;
                                        cudaMallocAsync(&third, 28, stream);
                                        SIM_CHECK(bytes_of(pool, cudaMemPoolAttrUsedMemCurrent) == 128);
                                        cudaFreeAsync(one, stream);
                                        cudaFreeAsync(third, stream);
                                        SIM_CHECK(bytes_of(pool, cudaMemPoolAttrUsedMemCurrent) == 0);
                                        SIM_CHECK(bytes_of(pool, cudaMemPoolAttrUsedMemHigh) == 128);
                                        SIM_CHECK(bytes_of(pool, cudaMemPoolAttrReservedMemCurrent) == 0);
                                        SIM_CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
                                        SIM_CHECK(cudaFree(other) == cudaSuccess);
                                        SIM_CHECK(bytes_of(first, cudaMemPoolAttrUsedMemCurrent) == 0);
                                        SIM_CHECK(cudaMemPoolDestroy(pool) == cudaSuccess);
                                        cudaMemPool_t now = nullptr;
                                        cudaDeviceGetMemPool(&now, 0);
                                        SIM_CHECK(now == first && cudaMemPoolDestroy(first) == cudaErrorInvalidValue);
                                      },
                                      20)));
}

TEST(pools, keep_what_they_are_told) {
  EXPECT_TRUE(always(
      verdict::ok,
      scoped().run_many(
          [] {
            cudaMemPool_t pool = pool_on(0);
            SIM_CHECK(bytes_of(pool, cudaMemPoolAttrReleaseThreshold) == 0);
            uint64_t wanted = 4096;
            SIM_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &wanted) == cudaSuccess);
            SIM_CHECK(bytes_of(pool, cudaMemPoolAttrReleaseThreshold) == 4096);
            int off = 0;
            int found = 1;
            SIM_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &off) == cudaSuccess);
            SIM_CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &found) == cudaSuccess);
            SIM_CHECK(found == 0);
            // Below the threshold memory stays, until the pool is trimmed.
            int* memory = nullptr;
            cudaMallocFromPoolAsync(&memory, 64, pool, nullptr);
            cudaFreeAsync(memory, nullptr);
            SIM_CHECK(bytes_of(pool, cudaMemPoolAttrReservedMemCurrent) == 64);
            SIM_CHECK(cudaMemPoolTrimTo(pool, 16) == cudaSuccess);
            SIM_CHECK(bytes_of(pool, cudaMemPoolAttrReservedMemCurrent) == 16);
            uint64_t none = 0;
            SIM_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &none) == cudaErrorInvalidValue);
            SIM_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &none) == cudaSuccess);
            SIM_CHECK(bytes_of(pool, cudaMemPoolAttrUsedMemHigh) == 0);
          },
          20)));
}

TEST(pools, have_memory_of_their_device) {
  EXPECT_TRUE(always(verdict::ok, scoped("driver.devices=2")
                                      .run_many(
                                          [] {
                                            cudaMemPool_t pool = pool_on(1);
                                            SIM_CHECK(cudaDeviceSetMemPool(0, pool) == cudaErrorInvalidValue);
                                            cudaSetDevice(1);
                                            cudaStream_t stream;
                                            cudaStreamCreate(&stream);
                                            cudaSetDevice(0);
                                            int* memory = nullptr;
                                            cudaMallocFromPoolAsync(&memory, sizeof(int), pool, stream);
                                            cudaPointerAttributes of;
                                            cudaPointerGetAttributes(&of, memory);
                                            int current = 1;
                                            cudaGetDevice(&current);
                                            SIM_CHECK(of.device == 1 && current == 0);
                                            cudaFreeAsync(memory, stream);
                                            cudaStreamSynchronize(stream);
                                          },
                                          5)));
}

TEST(pools, are_not_used_behind_their_end) {
  EXPECT_TRUE(always(verdict::assertion, scoped().run_many(
                                             [] {
                                               cudaMemPool_t pool = pool_on(0);
                                               cudaMemPoolDestroy(pool);
                                               cudaMemPoolTrimTo(pool, 0);
                                             },
                                             5)));
}

TEST(rows_in_slices, are_copied_and_filled) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        cudaPitchedPtr there;
                                        const cudaExtent extent = make_cudaExtent(3, 2, 2);
                                        cudaMalloc3D(&there, extent);
                                        SIM_CHECK(cudaMemset3D(there, 7, extent) == cudaSuccess);
                                        char given[] = "abcdef";
                                        cudaMemcpy3DParms what = {};
                                        what.srcPtr = make_cudaPitchedPtr(given, 3, 3, 2);
                                        what.dstPtr = there;
                                        what.dstPos = make_cudaPos(0, 0, 1);
                                        what.extent = make_cudaExtent(3, 2, 1);
                                        what.kind = cudaMemcpyHostToDevice;
                                        SIM_CHECK(cudaMemcpy3D(&what) == cudaSuccess);
                                        char got[12] = {};
                                        cudaMemcpy3DParms back = {};
                                        back.srcPtr = there;
                                        back.dstPtr = make_cudaPitchedPtr(got, 3, 3, 2);
                                        back.extent = extent;
                                        back.kind = cudaMemcpyDeviceToHost;
                                        SIM_CHECK(cudaMemcpy3DAsync(&back) == cudaSuccess);
                                        cudaDeviceSynchronize();
                                        SIM_CHECK(got[0] == 7 && got[5] == 7 && got[6] == 'a' && got[11] == 'f');
                                      },
                                      5)));
}

/// Two kernels that store to one word, of which the second one that was added comes first where `ordered`.
tally added_later(bool ordered) {
  return scoped().run_many(
      [ordered] {
        int* word = nullptr;
        cudaMallocHost(&word, sizeof *word);
        cudaGraph_t graph;
        cudaGraphCreate(&graph, 0);
        cudaGraphNode_t nodes[2];
        int values[2] = {1, 2};
        for (int n = 0; n < 2; ++n) {
          void* arguments[] = {&word, &values[n]};
          const cudaKernelNodeParams what = {reinterpret_cast<void*>(store), dim3(1), dim3(1), 0, arguments, nullptr};
          cudaGraphAddKernelNode(&nodes[n], graph, nullptr, 0, &what);
        }
        if (ordered) {
          SIM_CHECK(cudaGraphAddDependencies(graph, &nodes[1], &nodes[0], 1) == cudaSuccess);
          SIM_CHECK(cudaGraphAddDependencies(graph, &nodes[0], &nodes[1], 1) == cudaErrorInvalidValue);
        }
        cudaGraphExec_t exec;
        cudaGraphInstantiate(&exec, graph, 0);
        cudaStream_t stream;
        cudaStreamCreate(&stream);
        cudaGraphLaunch(exec, stream);
        cudaStreamSynchronize(stream);
        SIM_CHECK(*word == 1);
      },
      50);
}

TEST(graphs, take_dependencies_on_nodes_that_were_added_later) {
  EXPECT_TRUE(always(verdict::ok, added_later(true)));
  EXPECT_TRUE(sometimes(verdict::race, added_later(false)));
}

}  // namespace
