// Devices as the runtimes of CUDA and HIP describe them: properties, attributes, limits, occupancy, peers, what is known of kernels. Included by
// runtime_api.h alone.

enum HEDDLE_GPU_ATTRIBUTE_TYPE {
#define HEDDLE_ATTRIBUTE(number, name, upper, is) HEDDLE_GPU_ATTRIBUTE(name) = number,
  HEDDLE_DEVICE_ATTRIBUTES(HEDDLE_ATTRIBUTE)
#undef HEDDLE_ATTRIBUTE
};
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(DeviceGetAttribute)(int* value, HEDDLE_GPU_ATTRIBUTE_TYPE attribute, int device) {
  if (!heddle::compat::has_device(device)) return HEDDLE_GPU(ErrorInvalidDevice);
  return heddle::compat::attribute_of_device(attribute, *value) ? HEDDLE_GPU(Success) : HEDDLE_GPU(ErrorInvalidValue);
}

enum HEDDLE_GPU(ComputeMode) {
  HEDDLE_GPU(ComputeModeDefault) = 0,
  HEDDLE_GPU(ComputeModeExclusive) = 1,
  HEDDLE_GPU(ComputeModeProhibited) = 2,
  HEDDLE_GPU(ComputeModeExclusiveProcess) = 3,
};

struct HEDDLE_GPU_PROPERTIES : heddle::compat::device_sizes, heddle::compat::device_features {};

inline HEDDLE_GPU(Error_t) HEDDLE_GPU(GetDeviceProperties)(HEDDLE_GPU_PROPERTIES* properties, int device) {
  if (properties == nullptr) return HEDDLE_GPU(ErrorInvalidValue);
  if (!heddle::compat::has_device(device)) return HEDDLE_GPU(ErrorInvalidDevice);
  *properties = {heddle::compat::sizes_of_device(), heddle::compat::features_of_device(device)};
  return HEDDLE_GPU(Success);
}
/// The one that has what is wanted, which all have.
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(ChooseDevice)(int* device, const HEDDLE_GPU_PROPERTIES*) {
  *device = 0;
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(DeviceGetPCIBusId)(char* text, int length, int device) {
  if (text == nullptr || length < 13) return HEDDLE_GPU(ErrorInvalidValue);
  if (!heddle::compat::has_device(device)) return HEDDLE_GPU(ErrorInvalidDevice);
  snprintf(text, static_cast<size_t>(length), "0000:%02x:00.0", static_cast<unsigned int>(device + 1));
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(DriverGetVersion)(int* version) {
  *version = HEDDLE_GPU_VERSION;
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(RuntimeGetVersion)(int* version) {
  *version = HEDDLE_GPU_VERSION;
  return HEDDLE_GPU(Success);
}
/// Waits for the device; what the program has allocated stays.
/// All that was allocated for the device is gone.
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(DeviceReset)() {
  const HEDDLE_GPU(Error_t) ended = HEDDLE_GPU(DeviceSynchronize)();
  if (ended == HEDDLE_GPU(Success)) heddle::sim::runtime::release_all(heddle::sim::runtime::current_device());
  return ended;
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(MemGetInfo)(size_t* available, size_t* total) {
  *available = *total = heddle::compat::memory_bytes;
  return HEDDLE_GPU(Success);
}

// -- limits and preferences: taken, and nothing depends on them

namespace heddle::compat {

/// What a limit of this number is in this run; null where there is none. (CUDA Runtime API, "cudaLimit".)
size_t* limit_of(int number);

}  // namespace heddle::compat

enum HEDDLE_GPU(Limit) {
  HEDDLE_GPU(LimitStackSize) = 0,
  HEDDLE_GPU(LimitPrintfFifoSize) = 1,
  HEDDLE_GPU(LimitMallocHeapSize) = 2,
  HEDDLE_GPU(LimitDevRuntimeSyncDepth) = 3,
  HEDDLE_GPU(LimitDevRuntimePendingLaunchCount) = 4,
  HEDDLE_GPU(LimitMaxL2FetchGranularity) = 5,
  HEDDLE_GPU(LimitPersistingL2CacheSize) = 6,
};
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(DeviceSetLimit)(HEDDLE_GPU(Limit) which, size_t value) {
  size_t* const known = heddle::compat::limit_of(which);
  if (known == nullptr) return HEDDLE_GPU(ErrorInvalidValue);
  *known = value;
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(DeviceGetLimit)(size_t* value, HEDDLE_GPU(Limit) which) {
  const size_t* const known = heddle::compat::limit_of(which);
  if (known == nullptr) return HEDDLE_GPU(ErrorInvalidValue);
  *value = *known;
  return HEDDLE_GPU(Success);
}
enum HEDDLE_GPU(FuncCache) {
  HEDDLE_GPU(FuncCachePreferNone),
  HEDDLE_GPU(FuncCachePreferShared),
  HEDDLE_GPU(FuncCachePreferL1),
  HEDDLE_GPU(FuncCachePreferEqual),
};
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(DeviceSetCacheConfig)(HEDDLE_GPU(FuncCache)) { return HEDDLE_GPU(Success); }
template <typename Kernel>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(FuncSetCacheConfig)(Kernel*, HEDDLE_GPU(FuncCache)) {
  return HEDDLE_GPU(Success);
}
/// As devices have it whose caches cannot be set.
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(DeviceGetCacheConfig)(HEDDLE_GPU(FuncCache) * config) {
  *config = HEDDLE_GPU(FuncCachePreferNone);
  return HEDDLE_GPU(Success);
}
enum HEDDLE_GPU(SharedMemConfig) {
  HEDDLE_GPU(SharedMemBankSizeDefault),
  HEDDLE_GPU(SharedMemBankSizeFourByte),
  HEDDLE_GPU(SharedMemBankSizeEightByte),
};
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(DeviceSetSharedMemConfig)(HEDDLE_GPU(SharedMemConfig)) {
  return HEDDLE_GPU(Success);
}
/// Likewise of banks.
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(DeviceGetSharedMemConfig)(HEDDLE_GPU(SharedMemConfig) * config) {
  *config = HEDDLE_GPU(SharedMemBankSizeFourByte);
  return HEDDLE_GPU(Success);
}
template <typename Kernel>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(FuncSetSharedMemConfig)(Kernel*, HEDDLE_GPU(SharedMemConfig)) {
  return HEDDLE_GPU(Success);
}

// -- kernels

enum HEDDLE_GPU(FuncAttribute) {
  HEDDLE_GPU(FuncAttributeMaxDynamicSharedMemorySize) = 8,
  HEDDLE_GPU(FuncAttributePreferredSharedMemoryCarveout) = 9,
  HEDDLE_GPU(FuncAttributeClusterDimMustBeSet) = 10,
  HEDDLE_GPU(FuncAttributeNonPortableClusterSizeAllowed) = 14,
};
struct HEDDLE_GPU(FuncAttributes) {
  size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes,
      preferredShmemCarveout;
};
/// More dynamic shared memory than is usual must be asked for. The other attributes change nothing.
template <typename Kernel>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(FuncSetAttribute)(Kernel*, HEDDLE_GPU(FuncAttribute) which, int value) {
  if (which != HEDDLE_GPU(FuncAttributeMaxDynamicSharedMemorySize)) return HEDDLE_GPU(Success);
  if (value > heddle::compat::shared_bytes_of_block_by_choice) return HEDDLE_GPU(ErrorInvalidValue);
  heddle::compat::allow_shared_bytes(value);
  return HEDDLE_GPU(Success);
}
/// What a compiler for GPUs would know of a kernel is not known: as of one that needs little.
template <typename Kernel>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(FuncGetAttributes)(HEDDLE_GPU(FuncAttributes) * attributes, Kernel*) {
  *attributes = {.sharedSizeBytes = 0,
                 .constSizeBytes = 0,
                 .localSizeBytes = 0,
                 .maxThreadsPerBlock = heddle::compat::most_threads_of_block,
                 .numRegs = 32,
                 .ptxVersion = HEDDLE_COMPAT_ARCHITECTURE / 10,
                 .binaryVersion = HEDDLE_COMPAT_ARCHITECTURE / 10,
                 .cacheModeCA = 0,
                 .maxDynamicSharedSizeBytes = heddle::compat::shared_bytes_of_block_by_choice,
                 .preferredShmemCarveout = -1};
  return HEDDLE_GPU(Success);
}

/// By threads and dynamic memory; registers and static memory are not known.
template <typename Kernel>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(OccupancyMaxActiveBlocksPerMultiprocessor)(int* blocks, Kernel*, int threads, size_t shared_bytes) {
  if (threads <= 0) return HEDDLE_GPU(ErrorInvalidValue);
  *blocks = heddle::compat::blocks_of_multiprocessor(threads, shared_bytes);
  return HEDDLE_GPU(Success);
}
template <typename Kernel>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(OccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(int* blocks, Kernel* kernel, int threads,
                                                               size_t shared_bytes, unsigned int) {
  return HEDDLE_GPU(OccupancyMaxActiveBlocksPerMultiprocessor)(blocks, kernel, threads, shared_bytes);
}
/// The largest block that keeps most threads on a multiprocessor, and how many fill the device. `bytes_of` says how many bytes of dynamic
/// shared memory a block of so many threads has.
template <typename BytesOf, typename Kernel>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(OccupancyMaxPotentialBlockSizeVariableSMem)(int* grid, int* block, Kernel*, BytesOf bytes_of, int most = 0) {
  if (most <= 0 || most > heddle::compat::most_threads_of_block) most = heddle::compat::most_threads_of_block;
  *grid = *block = 0;
  for (int threads = most; threads > 0; threads -= threads % warpSize == 0 ? warpSize : threads % warpSize) {
    const int blocks = heddle::compat::blocks_of_multiprocessor(threads, bytes_of(threads));
    if (blocks * threads <= *grid / heddle::compat::multiprocessors * *block) continue;
    *block = threads;
    *grid = blocks * heddle::compat::multiprocessors;
  }
  return HEDDLE_GPU(Success);
}
template <typename Kernel>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(OccupancyMaxPotentialBlockSize)(int* grid, int* block, Kernel* kernel, size_t shared_bytes = 0,
                                           int most = 0) {
  return HEDDLE_GPU(OccupancyMaxPotentialBlockSizeVariableSMem)(
      grid, block, kernel, [=](int) { return shared_bytes; }, most);
}

// -- peers: every device can reach the memory of the others

inline HEDDLE_GPU(Error_t) HEDDLE_GPU(DeviceCanAccessPeer)(int* can, int device, int peer) {
  if (!heddle::compat::has_device(device) || !heddle::compat::has_device(peer)) return HEDDLE_GPU(ErrorInvalidDevice);
  *can = device != peer ? 1 : 0;
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(DeviceEnablePeerAccess)(int peer, unsigned int flags) {
  if (!heddle::compat::has_device(peer) || static_cast<uint32_t>(peer) == heddle::sim::runtime::current_device())
    return HEDDLE_GPU(ErrorInvalidDevice);
  if (flags != 0) return HEDDLE_GPU(ErrorInvalidValue);
  return heddle::sim::runtime::set_peer_access(static_cast<uint32_t>(peer), true)
             ? HEDDLE_GPU(Success)
             : HEDDLE_GPU(ErrorPeerAccessAlreadyEnabled);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(DeviceDisablePeerAccess)(int peer) {
  if (!heddle::compat::has_device(peer)) return HEDDLE_GPU(ErrorInvalidDevice);
  return heddle::sim::runtime::set_peer_access(static_cast<uint32_t>(peer), false)
             ? HEDDLE_GPU(Success)
             : HEDDLE_GPU(ErrorPeerAccessNotEnabled);
}

enum HEDDLE_GPU(DeviceP2PAttr) {
  HEDDLE_GPU(DevP2PAttrPerformanceRank) = HEDDLE_COMPAT_FIRST_P2P_ATTRIBUTE,
  HEDDLE_GPU(DevP2PAttrAccessSupported),
  HEDDLE_GPU(DevP2PAttrNativeAtomicSupported),
};
/// All links between two devices are alike, and carry atomics.
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(DeviceGetP2PAttribute)(int* value, HEDDLE_GPU(DeviceP2PAttr) attribute, int from, int to) {
  if (!heddle::compat::has_device(from) || !heddle::compat::has_device(to) || from == to)
    return HEDDLE_GPU(ErrorInvalidDevice);
  *value =
      attribute == HEDDLE_GPU(DevP2PAttrAccessSupported) || attribute == HEDDLE_GPU(DevP2PAttrNativeAtomicSupported)
          ? 1
          : 0;
  return HEDDLE_GPU(Success);
}
