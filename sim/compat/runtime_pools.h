// Pools of device memory, as the runtimes of CUDA and HIP have them: memory is there at once, and given back when what the stream has been given has
// ended. Included by runtime_memory.h alone.
#include <heddle/sim/compat/pools.h>

using HEDDLE_GPU(MemPool_t) = heddle::compat::memory_pool*;
enum HEDDLE_GPU(MemPoolAttr) {
  HEDDLE_GPU(MemPoolReuseFollowEventDependencies) = 1,
  HEDDLE_GPU(MemPoolReuseAllowOpportunistic) = 2,
  HEDDLE_GPU(MemPoolReuseAllowInternalDependencies) = 3,
  HEDDLE_GPU(MemPoolAttrReleaseThreshold) = 4,
  HEDDLE_GPU(MemPoolAttrReservedMemCurrent) = 5,
  HEDDLE_GPU(MemPoolAttrReservedMemHigh) = 6,
  HEDDLE_GPU(MemPoolAttrUsedMemCurrent) = 7,
  HEDDLE_GPU(MemPoolAttrUsedMemHigh) = 8,
};
enum HEDDLE_GPU(MemAllocationType) {
  HEDDLE_GPU(MemAllocationTypeInvalid) = 0,
  HEDDLE_GPU(MemAllocationTypePinned) = 1,
};
enum HEDDLE_GPU(MemAllocationHandleType) {
  HEDDLE_GPU(MemHandleTypeNone) = 0,
  HEDDLE_GPU(MemHandleTypePosixFileDescriptor) = 1,
};
struct HEDDLE_GPU(MemPoolProps) {
  HEDDLE_GPU(MemAllocationType) allocType;
  HEDDLE_GPU(MemAllocationHandleType) handleTypes;
  HEDDLE_GPU(MemLocation) location;
  void* win32SecurityAttributes;
  size_t maxSize;
  unsigned char reserved[56];
};
enum HEDDLE_GPU(MemAccessFlags) {
  HEDDLE_GPU(MemAccessFlagsProtNone) = 0,
  HEDDLE_GPU(MemAccessFlagsProtRead) = 1,
  HEDDLE_GPU(MemAccessFlagsProtReadWrite) = 3,
};
struct HEDDLE_GPU(MemAccessDesc) {
  HEDDLE_GPU(MemLocation) location;
  HEDDLE_GPU(MemAccessFlags) flags;
};

template <typename T>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(MallocFromPoolAsync)(T** memory, size_t bytes, HEDDLE_GPU(MemPool_t) pool, HEDDLE_GPU(Stream_t) stream) {
  return static_cast<HEDDLE_GPU(Error_t)>(
      heddle::compat::allocate_from(pool, memory, bytes,
                                    {heddle::compat::memory_place::HEDDLE_GPU_MEMORY, HEDDLE_GPU_TEXT(MallocAsync),
                                     heddle::compat::stream_number(stream)}));
}
template <typename T>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(MallocAsync)(T** memory, size_t bytes, HEDDLE_GPU(Stream_t) stream) {
  return HEDDLE_GPU(MallocFromPoolAsync)(memory, bytes, heddle::compat::pool_of_stream(stream), stream);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(FreeAsync)(void* memory, HEDDLE_GPU(Stream_t) stream) {
  heddle::compat::release_in_stream(memory, stream);
  return HEDDLE_GPU(Success);
}

inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(MemPoolCreate)(HEDDLE_GPU(MemPool_t) * pool, const HEDDLE_GPU(MemPoolProps) * how) {
  return static_cast<HEDDLE_GPU(Error_t)>(heddle::compat::make_pool_of(pool, how));
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(MemPoolDestroy)(HEDDLE_GPU(MemPool_t) pool) {
  return pool != nullptr && heddle::compat::destroy_pool(pool) ? HEDDLE_GPU(Success) : HEDDLE_GPU(ErrorInvalidValue);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(DeviceGetDefaultMemPool)(HEDDLE_GPU(MemPool_t) * pool, int device) {
  if (!heddle::compat::has_device(device)) return HEDDLE_GPU(ErrorInvalidDevice);
  *pool = heddle::compat::first_pool_of(static_cast<uint32_t>(device));
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(DeviceGetMemPool)(HEDDLE_GPU(MemPool_t) * pool, int device) {
  if (!heddle::compat::has_device(device)) return HEDDLE_GPU(ErrorInvalidDevice);
  *pool = heddle::compat::pool_of(static_cast<uint32_t>(device));
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(DeviceSetMemPool)(int device, HEDDLE_GPU(MemPool_t) pool) {
  if (!heddle::compat::has_device(device)) return HEDDLE_GPU(ErrorInvalidDevice);
  return heddle::compat::set_pool_of(static_cast<uint32_t>(device), pool) ? HEDDLE_GPU(Success)
                                                                          : HEDDLE_GPU(ErrorInvalidValue);
}
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(MemPoolGetAttribute)(HEDDLE_GPU(MemPool_t) pool, HEDDLE_GPU(MemPoolAttr) attribute, void* value) {
  return static_cast<HEDDLE_GPU(Error_t)>(heddle::compat::get_attribute(pool, attribute, value));
}
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(MemPoolSetAttribute)(HEDDLE_GPU(MemPool_t) pool, HEDDLE_GPU(MemPoolAttr) attribute, void* value) {
  return static_cast<HEDDLE_GPU(Error_t)>(heddle::compat::set_attribute(pool, attribute, value));
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(MemPoolTrimTo)(HEDDLE_GPU(MemPool_t) pool, size_t kept_bytes) {
  heddle::compat::trim_pool(pool, kept_bytes);
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(MemPoolSetAccess)(HEDDLE_GPU(MemPool_t) pool, const HEDDLE_GPU(MemAccessDesc) * all, size_t count) {
  return static_cast<HEDDLE_GPU(Error_t)>(heddle::compat::set_access(pool, all, count));
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(MemPoolGetAccess)(HEDDLE_GPU(MemAccessFlags) * flags, HEDDLE_GPU(MemPool_t) pool,
                                                        HEDDLE_GPU(MemLocation) * where) {
  return static_cast<HEDDLE_GPU(Error_t)>(heddle::compat::get_access(flags, pool, where));
}
