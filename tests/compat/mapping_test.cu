// Memory that a program maps by itself, in the spellings of CUDA's driver: at several addresses, with rights of devices, and for several devices at
// once. (CUDA Driver API, "Virtual Memory Management", "Multicast Object Management"; PTX ISA, "multimem".)
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_fp16.h>
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "../sim/run.h"

namespace {

using namespace heddle::sim::tests;

machine of_two(std::vector<std::string> settings = {}) {
  settings.emplace_back("fidelity=scoped");
  settings.emplace_back("driver.devices=2");
  return machine(settings);
}

void must(CUresult said) { SIM_CHECK(said == CUDA_SUCCESS); }
void must(cudaError_t said) { SIM_CHECK(said == cudaSuccess); }

CUmemAllocationProp on(int device) {
  CUmemAllocationProp what = {};
  what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  what.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  return what;
}
size_t granule() {
  const CUmemAllocationProp what = on(0);
  size_t bytes = 0;
  must(cuMemGetAllocationGranularity(&bytes, &what, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  return bytes;
}
CUmemGenericAllocationHandle memory_on(int device) {
  const CUmemAllocationProp what = on(device);
  CUmemGenericAllocationHandle made = 0;
  must(cuMemCreate(&made, granule(), &what, 0));
  return made;
}
CUdeviceptr range(size_t granules) {
  CUdeviceptr made = 0;
  must(cuMemAddressReserve(&made, granules * granule(), 0, 0, 0));
  return made;
}
void allow(CUdeviceptr at, int device, CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
           size_t granules = 1) {
  const CUmemAccessDesc what = {{CU_MEM_LOCATION_TYPE_DEVICE, device}, flags};
  must(cuMemSetAccess(at, granules * granule(), &what, 1));
}
/// Mapped at addresses of its own, for all of so many devices.
CUdeviceptr mapped(CUmemGenericAllocationHandle memory, int devices = 1) {
  const CUdeviceptr at = range(1);
  must(cuMemMap(at, granule(), 0, memory, 0));
  for (int device = 0; device < devices; ++device) allow(at, device);
  return at;
}
template <typename T>
T* as(CUdeviceptr at) {
  return reinterpret_cast<T*>(at);
}

__global__ void add_one(int* at) { *at = *at + 1; }
__global__ void look(const int* at, int* to) { *to = *at; }
__global__ void store_and_tell(int* to, unsigned* flag, bool releases) {
  *to = 7;
  __nv_atomic_store_n(flag, 1u, releases ? __NV_ATOMIC_RELEASE : __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_SYSTEM);
}
__global__ void wait_and_check(const int* from, unsigned* flag) {
  while (__nv_atomic_load_n(flag, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_SYSTEM) == 0) __nanosleep(10);
  SIM_CHECK(*from == 7);
}

TEST(cuda_mapping, is_the_same_memory_at_each_address) {
  const auto use = [] {
    const CUmemGenericAllocationHandle memory = memory_on(0);
    const CUdeviceptr one = mapped(memory);
    const CUdeviceptr other = mapped(memory);
    SIM_CHECK(one != other);
    must(cuMemRelease(memory));
    must(cuMemsetD32(one, 5, 16));
    add_one<<<1, 1>>>(as<int>(other));
    int here[2] = {};
    must(cudaMemcpy(here, as<int>(one), sizeof here, cudaMemcpyDeviceToHost));
    SIM_CHECK(here[0] == 6 && here[1] == 5);
    CUmemGenericAllocationHandle again = 0;
    must(cuMemRetainAllocationHandle(&again, as<void>(other)));
    SIM_CHECK(again == memory);
    must(cuMemRelease(again));
    must(cuMemUnmap(one, granule()));
    must(cudaMemcpy(here, as<int>(other), sizeof here, cudaMemcpyDeviceToHost));
    SIM_CHECK(here[0] == 6);
    must(cuMemUnmap(other, granule()));
    must(cuMemAddressFree(one, granule()));
    must(cuMemAddressFree(other, granule()));
    SIM_CHECK(cuMemRetainAllocationHandle(&again, as<void>(other)) == CUDA_ERROR_INVALID_VALUE);
  };
  EXPECT_TRUE(always(verdict::ok, machine().run_many(use, 20)));
  EXPECT_TRUE(always(verdict::ok, machine({"fidelity=scoped"}).run_many(use, 20)));
}

// Two streams know the words by other addresses.
void hand_over(bool releases) {
  const CUmemGenericAllocationHandle memory = memory_on(0);
  const CUdeviceptr writer = mapped(memory);
  const CUdeviceptr reader = mapped(memory);
  must(cuMemsetD8(writer, 0, granule()));
  must(cudaDeviceSynchronize());  // fills do not wait
  cudaStream_t streams[2];
  for (cudaStream_t& each : streams) must(cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking));
  store_and_tell<<<1, 1, 0, streams[0]>>>(as<int>(writer), as<unsigned>(writer) + 64, releases);
  wait_and_check<<<1, 1, 0, streams[1]>>>(as<int>(reader), as<unsigned>(reader) + 64);
  must(cudaDeviceSynchronize());
}

TEST(cuda_mapping, is_one_place_to_races_whatever_its_address) {
  machine scoped({"fidelity=scoped", "resident=2"});
  EXPECT_TRUE(always(verdict::ok, scoped.run_many([] { hand_over(true); }, 50)));
  const tally found = scoped.run_many([] { hand_over(false); }, 50);
  EXPECT_TRUE(always(verdict::race, found));
  EXPECT_NE(found.text().find("cuMemCreate 1+0x0"), std::string::npos) << found.text();
}

TEST(cuda_mapping, may_have_several_memories_in_a_row) {
  const auto use = [] {
    constexpr size_t many = 3;
    const CUdeviceptr all = range(many);
    for (size_t n = 0; n < many; ++n) {
      const CUmemGenericAllocationHandle memory = memory_on(0);
      must(cuMemMap(all + n * granule(), granule(), 0, memory, 0));
      must(cuMemRelease(memory));
    }
    allow(all, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE, many);
    must(cuMemsetD8(all, 3, many * granule()));
    unsigned char* here = nullptr;
    must(cudaMallocHost(&here, many * granule()));
    must(cudaMemcpy(here, as<void>(all), many * granule(), cudaMemcpyDeviceToHost));
    SIM_CHECK(here[0] == 3 && here[granule()] == 3 && here[many * granule() - 1] == 3);
    // One access of a vector at the end of one of them, and one at the begin of the next.
    int to = 0;
    add_one<<<1, 1>>>(as<int>(all + granule() - 4));
    add_one<<<1, 1>>>(as<int>(all + granule()));
    must(cudaMemcpy(&to, as<void>(all + granule()), sizeof to, cudaMemcpyDeviceToHost));
    SIM_CHECK(to == 0x03030304);
    must(cuMemUnmap(all, many * granule()));
    must(cuMemAddressFree(all, many * granule()));
  };
  EXPECT_TRUE(always(verdict::ok, machine().run_many(use, 3)));
}

TEST(cuda_mapping, is_reached_by_devices_that_have_the_right) {
  const auto use = [](CUmemAccess_flags flags, bool writes) {
    return [=] {
      const CUdeviceptr at = mapped(memory_on(0));
      if (flags != CU_MEM_ACCESS_FLAGS_PROT_NONE) allow(at, 1, flags);
      must(cudaSetDevice(1));
      int* to = nullptr;
      must(cudaMalloc(&to, sizeof *to));
      if (writes)
        add_one<<<1, 1>>>(as<int>(at));
      else
        look<<<1, 1>>>(as<int>(at), to);
      must(cudaDeviceSynchronize());
    };
  };
  const auto read = CU_MEM_ACCESS_FLAGS_PROT_READ;
  const auto all = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  EXPECT_TRUE(always(verdict::ok, of_two().run_many(use(all, true), 5)));
  EXPECT_TRUE(always(verdict::ok, of_two().run_many(use(read, false), 5)));
  const tally none = of_two().run_many(use(CU_MEM_ACCESS_FLAGS_PROT_NONE, false), 5);
  EXPECT_TRUE(always(verdict::memory, none));
  EXPECT_NE(none.text().find("cuMemSetAccess has given device 1 no right to it"), std::string::npos) << none.text();
  EXPECT_TRUE(always(verdict::memory, of_two().run_many(use(read, true), 5)));
}

TEST(cuda_mapping, is_there_from_its_map_to_its_unmap) {
  const auto use = [](int mistake) {
    return [mistake] {
      const CUmemGenericAllocationHandle memory = memory_on(0);
      const CUdeviceptr at = range(2);
      if (mistake != 1) {
        must(cuMemMap(at, granule(), 0, memory, 0));
        allow(at, 0);
      }
      if (mistake == 2) must(cuMemUnmap(at, granule()));
      add_one<<<1, 1>>>(as<int>(at) + (mistake == 3 ? granule() / sizeof(int) : 0));
      must(cudaDeviceSynchronize());
    };
  };
  EXPECT_TRUE(always(verdict::ok, machine().run_many(use(0), 5)));
  for (int mistake = 1; mistake <= 3; ++mistake) {
    const tally found = machine().run_many(use(mistake), 5);
    EXPECT_TRUE(always(verdict::memory, found)) << mistake;
    EXPECT_NE(found.text().find("no memory is mapped there"), std::string::npos) << found.text();
  }
}

TEST(cuda_mapping, is_handed_from_thread_to_thread_by_a_file_descriptor) {
  const auto use = [] {
    const CUmemGenericAllocationHandle memory = memory_on(0);
    int descriptor = -1;
    must(cuMemExportToShareableHandle(&descriptor, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CUmemGenericAllocationHandle other = 0;
    must(cuMemImportFromShareableHandle(&other, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(descriptor);
    must(cuMemRelease(memory));
    add_one<<<1, 1>>>(as<int>(mapped(other)));
    must(cudaDeviceSynchronize());
    must(cuMemRelease(other));
    SIM_CHECK(cuMemRelease(12345) == CUDA_ERROR_INVALID_VALUE);
  };
  EXPECT_TRUE(always(verdict::ok, machine().run_many(use, 5)));
}

// -- memory of several devices

/// What each device has, and an address of both.
struct symmetric {
  CUdeviceptr of[2];
  CUdeviceptr all;
};
symmetric of_both(bool binds_second = true) {
  symmetric made = {};
  CUmulticastObjectProp what = {};
  what.numDevices = 2;
  what.size = granule();
  CUmemGenericAllocationHandle both = 0;
  must(cuMulticastCreate(&both, &what));
  CUmemGenericAllocationHandle memory[2] = {memory_on(0), memory_on(1)};
  must(cuMulticastAddDevice(both, 0));
  SIM_CHECK(cuMulticastBindMem(both, 0, memory[0], 0, granule(), 0) == CUDA_ERROR_ILLEGAL_STATE);
  must(cuMulticastAddDevice(both, 1));
  for (int device = 0; device < 2; ++device) {
    made.of[device] = mapped(memory[device], 2);
    must(cuMemsetD8(made.of[device], 0, granule()));
    if (device == 0 || binds_second) must(cuMulticastBindMem(both, 0, memory[device], 0, granule(), 0));
  }
  must(cudaDeviceSynchronize());  // fills do not wait
  made.all = mapped(both, 2);
  return made;
}

__device__ void add_to_all(unsigned* all, unsigned value) {
  asm volatile("multimem.red.release.sys.global.add.u32 [%0], %1;" ::"l"(all), "r"(value) : "memory");
}
__device__ float4 sum_of_all(const float* all) {
  float4 sum;
  asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(sum.x), "=f"(sum.y), "=f"(sum.z), "=f"(sum.w)
               : "l"(all)
               : "memory");
  return sum;
}
__device__ void store_to_all(float* all, float4 value) {
  asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(all), "f"(value.x), "f"(value.y),
               "f"(value.z), "f"(value.w)
               : "memory");
}
__device__ void meet(unsigned* mine, unsigned* all, unsigned round, bool acquires) {
  add_to_all(all, 1);
  while (__nv_atomic_load_n(mine, acquires ? __NV_ATOMIC_ACQUIRE : __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_SYSTEM) <
         2 * round)
    __nanosleep(20);
}

constexpr int floats = 8;
/// An all-reduce in one shot: each device sums its half, and stores it to all.
__global__ void all_reduce(float* mine, float* all, int rank, bool acquires) {
  auto* const flag = reinterpret_cast<unsigned*>(mine + 1024);
  auto* const flags = reinterpret_cast<unsigned*>(all + 1024);
  for (int n = 0; n < floats; ++n) mine[n] = static_cast<float>(n + rank);
  meet(flag, flags, 1, acquires);
  store_to_all(all + rank * 4, sum_of_all(all + rank * 4));
  meet(flag, flags, 2, acquires);
  for (int n = 0; n < floats; ++n) SIM_CHECK(mine[n] == static_cast<float>(2 * n + 1));
}

void reduce_on_both(bool acquires) {
  const symmetric memory = of_both();
  for (int device = 0; device < 2; ++device) {
    must(cudaSetDevice(device));
    all_reduce<<<1, 1>>>(as<float>(memory.of[device]), as<float>(memory.all), device, acquires);
  }
  for (int device = 0; device < 2; ++device) {
    must(cudaSetDevice(device));
    must(cudaDeviceSynchronize());
  }
}

TEST(cuda_multicast, reduces_and_stores_for_all_devices) {
  EXPECT_TRUE(always(verdict::ok, of_two().run_many([] { reduce_on_both(true); }, 100)));
  const tally found = of_two().run_many([] { reduce_on_both(false); }, 100);
  EXPECT_TRUE(always(verdict::race, found));
}

__global__ void load_plainly(const float* all, float* to) { *to = *all; }
__global__ void add_once(unsigned* all) { add_to_all(all, 1); }

TEST(cuda_multicast, is_for_multimem_alone_and_bound_by_all) {
  const auto plainly = [] {
    const symmetric memory = of_both();
    load_plainly<<<1, 1>>>(as<float>(memory.all), as<float>(memory.of[0]));
    must(cudaDeviceSynchronize());
  };
  const tally found = of_two().run_many(plainly, 5);
  EXPECT_TRUE(always(verdict::memory, found));
  EXPECT_NE(found.text().find("multimem instructions alone"), std::string::npos) << found.text();
  const auto with = [](bool binds) {
    return [binds] {
      const symmetric memory = of_both(binds);
      add_once<<<1, 1>>>(as<unsigned>(memory.all));
      must(cudaDeviceSynchronize());
    };
  };
  EXPECT_TRUE(always(verdict::ok, of_two().run_many(with(true), 5)));
  EXPECT_TRUE(always(verdict::memory, of_two().run_many(with(false), 5)));
}

__global__ void of_one_memory(unsigned* at, __half2* pair) {
  add_to_all(at, 3);
  unsigned both = 0;
  asm volatile("multimem.ld_reduce.acquire.gpu.global.max.u32 %0, [%1];" : "=r"(both) : "l"(at) : "memory");
  SIM_CHECK(both == 3);
  atomicAdd(pair, __floats2half2_rn(1.0f, 2.0f));
  asm volatile("red.relaxed.gpu.global.add.noftz.f16x2 [%0], %1;" ::"l"(pair), "r"(0x3c003c00) : "memory");
  SIM_CHECK(__low2float(*pair) == 2.0f && __high2float(*pair) == 3.0f);
  unsigned sum = 0;
  asm volatile("multimem.ld_reduce.global.add.acc::f32.f16x2 %0, [%1];" : "=r"(sum) : "l"(pair) : "memory");
  SIM_CHECK(sum == 0x42004000);
  auto* const four = reinterpret_cast<float4*>(at + 4);
  const float4 old = atomicAdd(four, make_float4(1, 2, 3, 4));
  SIM_CHECK(old.w == 0 && four->z == 3);
}

TEST(cuda_multicast, of_other_memory_is_that_alone) {
  EXPECT_TRUE(always(verdict::ok, machine({"fidelity=scoped"})
                                      .run_many(
                                          [] {
                                            unsigned* at = nullptr;
                                            must(cudaMalloc(&at, 256));
                                            must(cudaMemset(at, 0, 256));
                                            of_one_memory<<<1, 1>>>(at, reinterpret_cast<__half2*>(at + 16));
                                            must(cudaDeviceSynchronize());
                                          },
                                          10)));
}

// -- what the host reaches

TEST(cuda_memory_of_devices, is_not_reached_by_the_host_but_by_copies) {
  const auto use = [](bool looks) {
    return [looks] {
      int* at = nullptr;
      must(cudaMalloc(&at, sizeof *at));
      int here = 4;
      must(cudaMemcpy(at, &here, sizeof here, cudaMemcpyHostToDevice));
      add_one<<<1, 1>>>(at);
      must(cudaMemcpy(&here, at, sizeof here, cudaMemcpyDeviceToHost));
      SIM_CHECK(here == 5);
      if (looks) SIM_CHECK(*at == 5);
    };
  };
  const std::vector<std::string> by_copies = {"driver.reach=copies"};
  EXPECT_TRUE(always(verdict::ok, machine(by_copies).run_many(use(false), 5)));
  EXPECT_TRUE(always(verdict::ok, machine({"driver.reach=all"}).run_many(use(true), 5)));
  const tally found = machine(by_copies).run_many(use(true), 5);
  EXPECT_TRUE(always(verdict::memory, found));
  EXPECT_NE(found.text().find("the host does not reach by its address"), std::string::npos) << found.text();
  const auto atomically = [] {
    unsigned* flag = nullptr;
    must(cudaMalloc(&flag, sizeof *flag));
    must(cudaMemset(flag, 0, sizeof *flag));
    std::atomic_ref<unsigned>(*flag).store(1);
  };
  EXPECT_TRUE(always(verdict::memory, machine(by_copies).run_many(atomically, 5)));
  const auto managed = [] {
    int* at = nullptr;
    must(cudaMallocManaged(&at, sizeof *at));
    *at = 1;
    add_one<<<1, 1>>>(at);
    must(cudaDeviceSynchronize());
    SIM_CHECK(*at == 2);
  };
  EXPECT_TRUE(always(verdict::ok, machine(by_copies).run_many(managed, 5)));
}

__global__ void swap_half_words(unsigned short* at) {
  SIM_CHECK(atomicCAS(at, 3, 5) == 3 && atomicCAS(at, 3, 7) == 5 && *at == 5);
}

TEST(cuda_memory_of_devices, is_told_with_the_line_that_freed_it) {
  const auto use = [](bool twice) {
    return [twice] {
      int* at = nullptr;
      must(cudaMalloc(&at, sizeof *at));
      must(cudaFree(at));
      if (twice) must(cudaFree(at));
      add_one<<<1, 1>>>(at);
      must(cudaDeviceSynchronize());
    };
  };
  for (const bool twice : {false, true}) {
    const tally found = machine().run_many(use(twice), 3);
    EXPECT_TRUE(always(verdict::memory, found));
    EXPECT_NE(found.text().find("it was freed by host main at tests/compat/mapping_test.cu:"), std::string::npos)
        << found.text();
  }
  EXPECT_TRUE(always(verdict::ok, machine().run_many(
                                      [] {
                                        unsigned short* at = nullptr;
                                        must(cudaMallocManaged(&at, sizeof *at));
                                        *at = 3;
                                        swap_half_words<<<1, 1>>>(at);
                                        must(cudaDeviceSynchronize());
                                      },
                                      3)));
}

// -- the default stream of each thread

__global__ void raise_flag(unsigned* flag) { __nv_atomic_store_n(flag, 1u, __NV_ATOMIC_RELEASE); }
__global__ void wait_for_flag(unsigned* flag) {
  while (__nv_atomic_load_n(flag, __NV_ATOMIC_ACQUIRE) == 0) __nanosleep(10);
}

// Two threads, each of whose kernels is in a stream of its own; in one stream the second would never begin.
void launch_from_two_threads(cudaStream_t stream) {
  unsigned* flag = nullptr;
  must(cudaMallocHost(&flag, sizeof *flag));
  *flag = 0;
  wait_for_flag<<<1, 1, 0, stream>>>(flag);
  std::thread other([=] {
    raise_flag<<<1, 1, 0, stream>>>(flag);
    must(cudaStreamSynchronize(stream));
  });
  other.join();
  must(cudaStreamSynchronize(stream));
}

TEST(cuda_streams_of_threads, are_streams_of_their_own) {
  machine of_several({"resident=2"});
  EXPECT_TRUE(always(verdict::ok, of_several.run_many([] { launch_from_two_threads(cudaStreamPerThread); }, 20)));
  EXPECT_TRUE(always(verdict::deadlock, of_several.run_many([] { launch_from_two_threads(nullptr); }, 20)));
}

// -- what programs look up, and other names of the driver

__global__ void nv_atomics(unsigned* at, float* real) {
  SIM_CHECK(__nv_atomic_fetch_add(at, 2u, __NV_ATOMIC_RELAXED) == 0);
  __nv_atomic_sub(at, 1u, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK);
  unsigned expected = 1;
  SIM_CHECK(__nv_atomic_compare_exchange_n(at, &expected, 8u, true, __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_RELAXED,
                                           __NV_THREAD_SCOPE_CLUSTER));
  __nv_atomic_or(at, 1u, __NV_ATOMIC_RELAXED);
  unsigned found = 0;
  __nv_atomic_load(at, &found, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE);
  SIM_CHECK(found == 9 && __nv_atomic_fetch_max(at, 20u, __NV_ATOMIC_RELAXED) == 9);
  unsigned next = 4;
  __nv_atomic_exchange(at, &next, &found, __NV_ATOMIC_CONSUME);
  SIM_CHECK(found == 20 && __nv_atomic_exchange_n(at, 5u, __NV_ATOMIC_SEQ_CST) == 4);
  __nv_atomic_add(real, 1.5f, __NV_ATOMIC_RELAXED);
  __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_DEVICE);
  SIM_CHECK(__nv_atomic_load_n(real, __NV_ATOMIC_RELAXED) == 1.5f);
}

TEST(cuda_driver_calls, are_found_by_name_and_do_what_they_say) {
  const auto use = [] {
    nvtxRangePush("all of it");
    PFN_cuMemAlloc_v3020 allocates = nullptr;
    cudaDriverEntryPointQueryResult how;
    must(cudaGetDriverEntryPoint("cuMemAlloc", reinterpret_cast<void**>(&allocates), cudaEnableDefault, &how));
    SIM_CHECK(how == cudaDriverEntryPointSuccess);
    void* none = nullptr;
    must(cudaGetDriverEntryPoint("cuNoSuchCall", &none, cudaEnableDefault, &how));
    SIM_CHECK(none == nullptr && how == cudaDriverEntryPointSymbolNotFound);
    CUdeviceptr memory = 0;
    must(allocates(&memory, 64));
    must(cuMemsetD32(memory, 0, 16));
    nv_atomics<<<1, 1>>>(as<unsigned>(memory), as<float>(memory + 16));
    CUdeviceptr later = 0;
    must(cuMemAllocAsync(&later, 64, nullptr));
    must(cuMemsetD32Async(later, 0x01020304, 16, nullptr));
    must(cuMemcpyAsync(memory, later, 64, nullptr));
    must(cuMemFreeAsync(later, nullptr));
    unsigned here = 0;
    must(cuMemcpyDtoH(&here, memory + 60, sizeof here));
    SIM_CHECK(here == 0x01020304);
    must(cuMemFree(memory));
    nvtxRangePop();
  };
  EXPECT_TRUE(always(verdict::ok, machine({"fidelity=scoped"}).run_many(use, 10)));
  const auto contexts = [] {
    CUcontext second = nullptr;
    CUcontext popped = nullptr;
    CUdevice device = 7;
    must(cuDevicePrimaryCtxRetain(&second, 1));
    must(cuCtxPushCurrent(second));
    must(cuCtxGetDevice(&device));
    SIM_CHECK(device == 1);
    must(cuCtxPopCurrent(&popped));
    must(cuCtxGetDevice(&device));
    SIM_CHECK(popped == second && device == 0 && cuCtxPopCurrent(nullptr) == CUDA_ERROR_INVALID_CONTEXT);
  };
  EXPECT_TRUE(always(verdict::ok, of_two().run_many(contexts, 5)));
}

}  // namespace
