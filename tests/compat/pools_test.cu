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

machine two_devices() { return machine({"fidelity=scoped", "driver.devices=2", "driver.reach=copies"}); }

TEST(pools, are_reached_by_their_device_whatever_is_said) {
  EXPECT_TRUE(always(verdict::ok, two_devices().run_many(
                                      [] {
                                        cudaMemPool_t pool = pool_on(1);
                                        cudaMemAccessDesc said[2] = {
                                            {{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtReadWrite},
                                            {{cudaMemLocationTypeDevice, 1}, cudaMemAccessFlagsProtNone}};
                                        SIM_CHECK(cudaMemPoolSetAccess(pool, said, 2) == cudaErrorInvalidDevice);
                                        said[1].flags = cudaMemAccessFlagsProtRead;
                                        SIM_CHECK(cudaMemPoolSetAccess(pool, said, 2) == cudaErrorNotSupported);
                                        said[1].location.id = 2;
                                        SIM_CHECK(cudaMemPoolSetAccess(pool, said, 2) == cudaErrorInvalidDevice);
                                        said[1].location = {cudaMemLocationTypeHost, 0};
                                        SIM_CHECK(cudaMemPoolSetAccess(pool, said, 2) == cudaErrorInvalidValue);
                                        // Not one of them counts.
                                        cudaMemAccessFlags flags = cudaMemAccessFlagsProtRead;
                                        SIM_CHECK(cudaMemPoolGetAccess(&flags, pool, &said[0].location) == cudaSuccess);
                                        SIM_CHECK(flags == cudaMemAccessFlagsProtNone);
                                        said[1] = {{cudaMemLocationTypeDevice, 1}, cudaMemAccessFlagsProtReadWrite};
                                        SIM_CHECK(cudaMemPoolSetAccess(pool, said, 2) == cudaSuccess);
                                      },
                                      2)));
}

// Memory of another device's pool comes in the place of the stream that asks for it, be it the default one.
TEST(pools, give_memory_in_its_place_in_a_stream_of_another_device) {
  EXPECT_TRUE(always(verdict::ok, two_devices().run_many(
                                      [] {
                                        cudaMemPool_t pool = pool_on(1);
                                        const cudaMemAccessDesc lets = {{cudaMemLocationTypeDevice, 0},
                                                                        cudaMemAccessFlagsProtReadWrite};
                                        cudaMemPoolSetAccess(pool, &lets, 1);
                                        int* memory = nullptr;
                                        cudaMallocFromPoolAsync(&memory, sizeof(int), pool, nullptr);
                                        store<<<1, 1>>>(memory, 1);
                                        cudaStreamSynchronize(nullptr);
                                        cudaFreeAsync(memory, nullptr);
                                        // What a stream of device 1 is given comes from a pool of device 1.
                                        cudaSetDevice(1);
                                        cudaStream_t stream;
                                        cudaStreamCreate(&stream);
                                        cudaSetDevice(0);
                                        cudaMallocAsync(&memory, sizeof(int), stream);
                                        cudaPointerAttributes of;
                                        cudaPointerGetAttributes(&of, memory);
                                        SIM_CHECK(of.device == 1);
                                        cudaDeviceSynchronize();
                                      },
                                      50)));
}

TEST(pools, give_no_more_than_they_may) {
  EXPECT_TRUE(always(verdict::ok, scoped().run_many(
                                      [] {
                                        cudaMemPoolProps how = {};
                                        how.allocType = cudaMemAllocationTypePinned;
                                        how.location = {cudaMemLocationTypeDevice, 0};
                                        how.maxSize = 100;
                                        cudaMemPool_t pool = nullptr;
                                        cudaMemPoolCreate(&pool, &how);
                                        char* one = nullptr;
                                        char* other = nullptr;
                                        SIM_CHECK(cudaMallocFromPoolAsync(&one, 60, pool, nullptr) == cudaSuccess);
                                        SIM_CHECK(cudaMallocFromPoolAsync(&other, 60, pool, nullptr) ==
                                                      cudaErrorMemoryAllocation &&
                                                  other == nullptr);
                                        cudaFreeAsync(one, nullptr);
                                        SIM_CHECK(cudaMallocFromPoolAsync(&other, 60, pool, nullptr) == cudaSuccess);
                                        how.location.type = cudaMemLocationTypeHost;
                                        SIM_CHECK(cudaMemPoolCreate(&pool, &how) == cudaErrorNotSupported);
                                      },
                                      2)));
}

TEST(pools, of_the_driver_are_those_of_the_runtime) {
  const auto uses = [](bool lets) {
    return [lets] {
      CUmemPoolProps how = {};
      how.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
      how.location = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
      CUmemoryPool pool = nullptr, now = nullptr;
      SIM_CHECK(cuMemPoolCreate(&pool, &how) == CUDA_SUCCESS);
      SIM_CHECK(cuDeviceGetDefaultMemPool(&now, 1) == CUDA_SUCCESS && now != pool);
      SIM_CHECK(cuDeviceSetMemPool(1, pool) == CUDA_SUCCESS && cuDeviceSetMemPool(0, pool) == CUDA_ERROR_INVALID_VALUE);
      SIM_CHECK(cuDeviceGetMemPool(&now, 1) == CUDA_SUCCESS && now == pool);
      unsigned long long bytes = 64;
      SIM_CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes) == CUDA_SUCCESS);
      CUmemLocation there = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
      const CUmemAccessDesc reach = {there, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
      CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
      if (lets) SIM_CHECK(cuMemPoolSetAccess(pool, &reach, 1) == CUDA_SUCCESS);
      SIM_CHECK(cuMemPoolGetAccess(&flags, pool, &there) == CUDA_SUCCESS);
      SIM_CHECK(flags == (lets ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE));
      CUdeviceptr memory = 0;
      SIM_CHECK(cuMemAllocFromPoolAsync(&memory, 48, pool, nullptr) == CUDA_SUCCESS);
      SIM_CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &bytes) == CUDA_SUCCESS && bytes == 48);
      CUmemoryPool from = nullptr;
      cuPointerGetAttribute(&from, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, memory);
      SIM_CHECK(from == pool);
      store<<<1, 1>>>(reinterpret_cast<int*>(memory), 1);
      cudaDeviceSynchronize();
      cuMemFreeAsync(memory, nullptr);
      cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes);
      SIM_CHECK(bytes == 48 && cuMemPoolTrimTo(pool, 0) == CUDA_SUCCESS);
      cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes);
      SIM_CHECK(bytes == 0 && cuMemPoolDestroy(pool) == CUDA_SUCCESS);
    };
  };
  EXPECT_TRUE(always(verdict::ok, two_devices().run_many(uses(true), 20)));
  EXPECT_TRUE(always(verdict::memory, two_devices().run_many(uses(false), 5)));
}

TEST(pools, of_graphs_have_memory_of_the_device_that_they_name) {
  const auto uses = [](cudaMemAccessFlags flags) {
    return [flags] {
      cudaGraph_t graph;
      cudaGraphCreate(&graph, 0);
      cudaGraphNode_t node;
      const cudaMemAccessDesc reach = {{cudaMemLocationTypeDevice, 0}, flags};
      cudaMemAllocNodeParams what = {};
      what.bytesize = 4;
      SIM_CHECK(cudaGraphAddMemAllocNode(&node, graph, nullptr, 0, &what) == cudaErrorInvalidValue);
      what.poolProps.allocType = cudaMemAllocationTypePinned;
      what.poolProps.location = {cudaMemLocationTypeDevice, 1};
      what.accessDescs = &reach;
      what.accessDescCount = 1;
      SIM_CHECK(cudaGraphAddMemAllocNode(&node, graph, nullptr, 0, &what) == cudaSuccess);
      cudaPointerAttributes of;
      cudaPointerGetAttributes(&of, what.dptr);
      SIM_CHECK(of.device == 1);
      store<<<1, 1>>>(static_cast<int*>(what.dptr), 1);
      cudaDeviceSynchronize();
    };
  };
  EXPECT_TRUE(always(verdict::ok, two_devices().run_many(uses(cudaMemAccessFlagsProtReadWrite), 5)));
  EXPECT_TRUE(always(verdict::memory, two_devices().run_many(uses(cudaMemAccessFlagsProtRead), 5)));
  EXPECT_TRUE(says(two_devices().explain(uses(cudaMemAccessFlagsProtRead)).message,
                   "not let to store to: the node of a graph"));
}

TEST(pointers, have_attributes_of_the_driver) {
  EXPECT_TRUE(always(
      verdict::ok,
      two_devices().run_many(
          [] {
            CUdeviceptr memory = 0, managed = 0, host = 0;
            cudaSetDevice(1);
            cuMemAlloc(&memory, 16);
            cuMemAllocManaged(&managed, 4, CU_MEM_ATTACH_GLOBAL);
            unsigned int type = 0;
            bool moves = false;
            SIM_CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, managed) == CUDA_SUCCESS);
            SIM_CHECK(cuPointerGetAttribute(&moves, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed) == CUDA_SUCCESS);
            SIM_CHECK(moves && type == CU_MEMORYTYPE_DEVICE);
            cudaPointerAttributes of;
            cudaPointerGetAttributes(&of, reinterpret_cast<void*>(managed));
            SIM_CHECK(of.type == cudaMemoryTypeManaged && of.hostPointer == of.devicePointer);
            SIM_CHECK(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, memory) ==
                      CUDA_ERROR_INVALID_VALUE);
            CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                           CU_POINTER_ATTRIBUTE_HOST_POINTER, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
            int device = 0;
            size_t bytes = 0;
            host = 1;
            void* values[] = {&type, &device, &host, &bytes};
            SIM_CHECK(cuPointerGetAttributes(4, asked, values, memory + 8) == CUDA_SUCCESS);
            SIM_CHECK(type == CU_MEMORYTYPE_DEVICE && device == 1 && host == 0 && bytes == 16);
            host = bytes = 1;
            SIM_CHECK(cuPointerGetAttributes(4, asked, values, reinterpret_cast<CUdeviceptr>(&device)) == CUDA_SUCCESS);
            SIM_CHECK(type == 0 && device == CU_DEVICE_INVALID && host == 0 && bytes == 0);
            asked[1] = static_cast<CUpointer_attribute>(5);
            SIM_CHECK(cuPointerGetAttributes(4, asked, values, memory) == CUDA_ERROR_INVALID_VALUE);
            // Memory that is mapped has them where it lies.
            CUmemAllocationProp prop = {};
            prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
            prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
            size_t whole = 0;
            cuMemGetAllocationGranularity(&whole, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
            CUmemGenericAllocationHandle handle = 0;
            cuMemCreate(&handle, whole, &prop, 0);
            cuMemAddressReserve(&memory, whole, 0, 0, 0);
            cuMemMap(memory, whole, 0, handle, 0);
            unsigned int waits = 1;
            moves = false;
            SIM_CHECK(cuPointerSetAttribute(&waits, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory) == CUDA_SUCCESS);
            cuPointerGetAttribute(&moves, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory);
            SIM_CHECK(moves);
            int value = -1;
            cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(121), 0);
            SIM_CHECK(value == 0);
            cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(122), 0);
            SIM_CHECK(value == 1);
          },
          2)));
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
