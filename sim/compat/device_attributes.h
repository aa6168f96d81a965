// What a simulated device says of itself: a small one of NVIDIA's or AMD's newest kind. Everything but the number of its multiprocessors is
// what programs of today are written for; that one is small, as they launch so many blocks.
#pragma once

#include <heddle/sim/runtime/gpu_calls.h>

#ifdef __CUDA_ARCH__
#define HEDDLE_COMPAT_ARCHITECTURE __CUDA_ARCH__
#else
#define HEDDLE_COMPAT_ARCHITECTURE 900
#endif

namespace heddle::compat {

inline constexpr int multiprocessors = 4;
inline constexpr int most_threads_of_block = 1024;
inline constexpr int most_threads_of_multiprocessor = 2048;
inline constexpr int most_blocks_of_multiprocessor = 32;
inline constexpr int registers = 65536;
inline constexpr int shared_bytes_of_block = 48 * 1024;
inline constexpr int shared_bytes_of_block_by_choice = 227 * 1024;
inline constexpr int shared_bytes_of_multiprocessor = 228 * 1024;
inline constexpr size_t memory_bytes = size_t{1} << 36;

inline bool has_device(int number) {
  return number >= 0 && static_cast<uint32_t>(number) < sim::runtime::device_count();
}

}  // namespace heddle::compat

// use(number in CUDA, name after cudaDevAttr and hipDeviceAttribute, name after CU_DEVICE_ATTRIBUTE_, value)
#define HEDDLE_DEVICE_ATTRIBUTES(use)                                                                                  \
  use(1, MaxThreadsPerBlock, MAX_THREADS_PER_BLOCK, ::heddle::compat::most_threads_of_block) use(                      \
      2, MaxBlockDimX, MAX_BLOCK_DIM_X, 1024) use(3, MaxBlockDimY, MAX_BLOCK_DIM_Y, 1024)                              \
      use(4, MaxBlockDimZ, MAX_BLOCK_DIM_Z, 64) use(5, MaxGridDimX, MAX_GRID_DIM_X, 2147483647) use(                   \
          6, MaxGridDimY, MAX_GRID_DIM_Y, 65535) use(7, MaxGridDimZ, MAX_GRID_DIM_Z, 65535)                            \
          use(8, MaxSharedMemoryPerBlock, MAX_SHARED_MEMORY_PER_BLOCK, ::heddle::compat::shared_bytes_of_block) use(   \
              9, TotalConstantMemory, TOTAL_CONSTANT_MEMORY,                                                           \
              65536) use(10, WarpSize, WARP_SIZE, HEDDLE_COMPAT_WAVE_LANES) use(11, MaxPitch, MAX_PITCH, 2147483647)   \
              use(12, MaxRegistersPerBlock, MAX_REGISTERS_PER_BLOCK, ::heddle::compat::registers) use(                 \
                  13, ClockRate, CLOCK_RATE, 1000000) use(14, TextureAlignment, TEXTURE_ALIGNMENT,                     \
                                                          512) use(15, GpuOverlap, GPU_OVERLAP, 1)                     \
                  use(16, MultiProcessorCount, MULTIPROCESSOR_COUNT, ::heddle::compat::multiprocessors) use(           \
                      17, KernelExecTimeout, KERNEL_EXEC_TIMEOUT, 0) use(18, Integrated, INTEGRATED, 0)                \
                      use(19, CanMapHostMemory, CAN_MAP_HOST_MEMORY, 1) use(20, ComputeMode, COMPUTE_MODE, 0) use(     \
                          31, ConcurrentKernels,                                                                       \
                          CONCURRENT_KERNELS,                                                                          \
                          1) use(32, EccEnabled, ECC_ENABLED,                                                          \
                                 1) use(33, PciBusId, PCI_BUS_ID,                                                      \
                                        1) use(34, PciDeviceId, PCI_DEVICE_ID, 0)                                      \
                          use(35, TccDriver, TCC_DRIVER, 0) use(36, MemoryClockRate, MEMORY_CLOCK_RATE, 1000000) use(  \
                              37,                                                                                      \
                              GlobalMemoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH,                                           \
                              4096) use(38, L2CacheSize,                                                               \
                                        L2_CACHE_SIZE, 50331648) use(39, MaxThreadsPerMultiProcessor,                  \
                                                                     MAX_THREADS_PER_MULTIPROCESSOR,                   \
                                                                     ::heddle::compat::most_threads_of_multiprocessor) \
                              use(40, AsyncEngineCount, ASYNC_ENGINE_COUNT, 3) use(                                    \
                                  41,                                                                                  \
                                  UnifiedAddressing,                                                                   \
                                  UNIFIED_ADDRESSING,                                                                  \
                                  1) use(50, PciDomainId, PCI_DOMAIN_ID,                                               \
                                         0) use(75, ComputeCapabilityMajor, COMPUTE_CAPABILITY_MAJOR,                  \
                                                HEDDLE_COMPAT_ARCHITECTURE /                                           \
                                                    100) use(76, ComputeCapabilityMinor, COMPUTE_CAPABILITY_MINOR,     \
                                                             HEDDLE_COMPAT_ARCHITECTURE / 10 % 10)                     \
                                  use(78, StreamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED,                      \
                                      1) use(79, GlobalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED,                    \
                                             1) use(80, LocalL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED,               \
                                                    1) use(81, MaxSharedMemoryPerMultiprocessor,                       \
                                                           MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,                       \
                                                           ::heddle::compat::shared_bytes_of_multiprocessor)           \
                                      use(82, MaxRegistersPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR,         \
                                          ::heddle::compat::registers) use(83, ManagedMemory, MANAGED_MEMORY, 1)       \
                                          use(84, IsMultiGpuBoard, MULTI_GPU_BOARD,                                    \
                                              0) use(86, HostNativeAtomicSupported, HOST_NATIVE_ATOMIC_SUPPORTED,      \
                                                     ::heddle::sim::runtime::link_of_run().bits                        \
                                                         ? 1                                                           \
                                                         : 0) use(88, PageableMemoryAccess, PAGEABLE_MEMORY_ACCESS, 1) \
                                              use(89, ConcurrentManagedAccess, CONCURRENT_MANAGED_ACCESS,              \
                                                  1) use(90, ComputePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED, \
                                                         1) use(91, CanUseHostPointerForRegisteredMem,                 \
                                                                CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM,               \
                                                                1) use(95, CooperativeLaunch, COOPERATIVE_LAUNCH, 1)   \
                                                  use(97, MaxSharedMemoryPerBlockOptin,                                \
                                                      MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,                               \
                                                      ::heddle::compat::shared_bytes_of_block_by_choice)               \
                                                      use(99, HostRegisterSupported, HOST_REGISTER_SUPPORTED, 1) use(  \
                                                          102, VirtualMemoryManagementSupported,                       \
                                                          VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,                         \
                                                          0) use(106, MaxBlocksPerMultiprocessor,                      \
                                                                 MAX_BLOCKS_PER_MULTIPROCESSOR,                        \
                                                                 ::heddle::compat::most_blocks_of_multiprocessor)      \
                                                          use(107, GenericCompressionSupported,                        \
                                                              GENERIC_COMPRESSION_SUPPORTED,                           \
                                                              0) use(108, MaxPersistingL2CacheSize,                    \
                                                                     MAX_PERSISTING_L2_CACHE_SIZE,                     \
                                                                     0) use(109, MaxAccessPolicyWindowSize,            \
                                                                            MAX_ACCESS_POLICY_WINDOW_SIZE,             \
                                                                            0) use(111, ReservedSharedMemoryPerBlock,  \
                                                                                   RESERVED_SHARED_MEMORY_PER_BLOCK,   \
                                                                                   1024)                               \
                                                              use(115, MemoryPoolsSupported, MEMORY_POOLS_SUPPORTED,   \
                                                                  1) use(116, GPUDirectRDMASupported,                  \
                                                                         GPU_DIRECT_RDMA_SUPPORTED,                    \
                                                                         0) use(120, ClusterLaunch, CLUSTER_LAUNCH, 1) \
                                                                  use(121, DeferredMappingCudaArraySupported,          \
                                                                      DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED,           \
                                                                      0) use(122, Reserved122,                         \
                                                                             CAN_USE_64_BIT_STREAM_MEM_OPS, 1)         \
                                                                      use(123, Reserved123,                            \
                                                                          CAN_USE_STREAM_WAIT_VALUE_NOR, 1)            \
                                                                          use(124, Reserved124, DMA_BUF_SUPPORTED, 0)  \
                                                                              use(132, MulticastSupported,             \
                                                                                  MULTICAST_SUPPORTED, 0)

namespace heddle::compat {

/// By its number in CUDA; false where there is no such attribute, or it is not known here.
inline bool attribute_of_device(int number, int& value) {
  switch (number) {
#define HEDDLE_ATTRIBUTE(known, name, upper, is) \
  case known:                                    \
    value = (is);                                \
    return true;
    HEDDLE_DEVICE_ATTRIBUTES(HEDDLE_ATTRIBUTE)
#undef HEDDLE_ATTRIBUTE
    default:
      return false;
  }
}

/// How many blocks of so many threads and bytes a multiprocessor holds; 0 where it holds none.
inline int blocks_of_multiprocessor(int threads, size_t shared_bytes) {
  if (threads <= 0 || threads > most_threads_of_block || shared_bytes > shared_bytes_of_block_by_choice) return 0;
  const int waves = (threads + HEDDLE_COMPAT_WAVE_LANES - 1) / HEDDLE_COMPAT_WAVE_LANES;
  int blocks = most_threads_of_multiprocessor / (waves * HEDDLE_COMPAT_WAVE_LANES);
  if (blocks > most_blocks_of_multiprocessor) blocks = most_blocks_of_multiprocessor;
  constexpr size_t reserved = 1024;
  const auto by_memory = static_cast<int>(shared_bytes_of_multiprocessor / (shared_bytes + reserved));
  return blocks < by_memory ? blocks : by_memory;
}

// cudaDeviceProp and hipDeviceProp_t, in two parts. What a device does not have is 0.

struct device_sizes {
  char name[256];
  size_t totalGlobalMem, sharedMemPerBlock, memPitch, totalConstMem, textureAlignment, texturePitchAlignment,
      surfaceAlignment;
  size_t sharedMemPerMultiprocessor, sharedMemPerBlockOptin, reservedSharedMemPerBlock,
      maxSharedMemoryPerMultiProcessor;
  int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate, major, minor;
  int multiProcessorCount, memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize;
  int maxThreadsPerMultiProcessor, regsPerMultiprocessor, maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize;
  int singleToDoublePrecisionPerfRatio, clockInstructionRate;
};
struct device_features {
  struct {
    char bytes[16];
  } uuid;
  int deviceOverlap, kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode, concurrentKernels, ECCEnabled;
  int pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount, unifiedAddressing, streamPrioritiesSupported;
  int globalL1CacheSupported, localL1CacheSupported, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID;
  int hostNativeAtomicSupported, pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported;
  int canUseHostPointerForRegisteredMem, cooperativeLaunch, cooperativeMultiDeviceLaunch, hostRegisterSupported;
  int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, memoryPoolsSupported, clusterLaunch;
  int unifiedFunctionPointers, isLargeBar;
  char gcnArchName[256];
};

inline device_sizes sizes_of_device() {
  return {.name = "heddle's simulated device",
          .totalGlobalMem = memory_bytes,
          .sharedMemPerBlock = shared_bytes_of_block,
          .memPitch = 2147483647,
          .totalConstMem = 65536,
          .textureAlignment = 512,
          .texturePitchAlignment = 32,
          .surfaceAlignment = 512,
          .sharedMemPerMultiprocessor = shared_bytes_of_multiprocessor,
          .sharedMemPerBlockOptin = shared_bytes_of_block_by_choice,
          .reservedSharedMemPerBlock = 1024,
          .maxSharedMemoryPerMultiProcessor = shared_bytes_of_multiprocessor,
          .regsPerBlock = registers,
          .warpSize = HEDDLE_COMPAT_WAVE_LANES,
          .maxThreadsPerBlock = most_threads_of_block,
          .maxThreadsDim = {1024, 1024, 64},
          .maxGridSize = {2147483647, 65535, 65535},
          .clockRate = 1000000,
          .major = HEDDLE_COMPAT_ARCHITECTURE / 100,
          .minor = HEDDLE_COMPAT_ARCHITECTURE / 10 % 10,
          .multiProcessorCount = multiprocessors,
          .memoryClockRate = 1000000,
          .memoryBusWidth = 4096,
          .l2CacheSize = 50331648,
          .persistingL2CacheMaxSize = 0,
          .maxThreadsPerMultiProcessor = most_threads_of_multiprocessor,
          .regsPerMultiprocessor = registers,
          .maxBlocksPerMultiProcessor = most_blocks_of_multiprocessor,
          .accessPolicyMaxWindowSize = 0,
          .singleToDoublePrecisionPerfRatio = 2,
          .clockInstructionRate = 1000000};
}
inline device_features features_of_device(int device) {
  device_features made = {};
  made.canMapHostMemory = made.concurrentKernels = made.ECCEnabled = made.unifiedAddressing = made.managedMemory = 1;
  made.deviceOverlap = made.streamPrioritiesSupported = made.globalL1CacheSupported = made.localL1CacheSupported = 1;
  made.pageableMemoryAccess = made.concurrentManagedAccess = made.computePreemptionSupported = 1;
  made.canUseHostPointerForRegisteredMem = made.cooperativeLaunch = made.hostRegisterSupported = 1;
  made.memoryPoolsSupported = made.unifiedFunctionPointers = made.isLargeBar = made.clusterLaunch = 1;
  made.pciBusID = device + 1;
  made.asyncEngineCount = 3;
  made.hostNativeAtomicSupported = sim::runtime::link_of_run().bits ? 1 : 0;
  for (size_t n = 0; n < sizeof "gfx942"; ++n) made.gcnArchName[n] = "gfx942"[n];
  return made;
}

}  // namespace heddle::compat
