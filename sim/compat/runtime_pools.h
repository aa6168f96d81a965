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
  const uint32_t device = heddle::sim::runtime::current_device();
  heddle::sim::runtime::set_current_device(heddle::compat::device_of(pool));
  heddle::compat::allocate_in_stream(memory, bytes, heddle::compat::memory_place::HEDDLE_GPU_MEMORY,
                                     HEDDLE_GPU_TEXT(MallocAsync), stream);
  heddle::sim::runtime::set_current_device(device);
  heddle::compat::note_allocated(pool, *memory, bytes);
  return HEDDLE_GPU(Success);
}
template <typename T>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(MallocAsync)(T** memory, size_t bytes, HEDDLE_GPU(Stream_t) stream) {
  const uint32_t device = heddle::sim::runtime::current_device();
  return HEDDLE_GPU(MallocFromPoolAsync)(memory, bytes, heddle::compat::pool_of(device), stream);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(FreeAsync)(void* memory, HEDDLE_GPU(Stream_t) stream) {
  heddle::compat::release_in_stream(memory, stream);
  return HEDDLE_GPU(Success);
}

inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(MemPoolCreate)(HEDDLE_GPU(MemPool_t) * pool, const HEDDLE_GPU(MemPoolProps) * how) {
  if (pool == nullptr || how == nullptr || how->allocType != HEDDLE_GPU(MemAllocationTypePinned) ||
      how->location.type != HEDDLE_GPU(MemLocationTypeDevice))
    return HEDDLE_GPU(ErrorInvalidValue);
  if (!heddle::compat::has_device(how->location.id)) return HEDDLE_GPU(ErrorInvalidDevice);
  *pool = heddle::compat::make_pool(static_cast<uint32_t>(how->location.id));
  return HEDDLE_GPU(Success);
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
/// The first three are of type int, the others of 64 bits.
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(MemPoolGetAttribute)(HEDDLE_GPU(MemPool_t) pool, HEDDLE_GPU(MemPoolAttr) attribute, void* value) {
  const uint64_t* const found = heddle::compat::attribute_of(pool, attribute);
  if (found == nullptr) return HEDDLE_GPU(ErrorInvalidValue);
  if (attribute <= heddle::compat::last_pool_flag)
    *static_cast<int*>(value) = static_cast<int>(*found);
  else
    *static_cast<uint64_t*>(value) = *found;
  return HEDDLE_GPU(Success);
}
/// Of what counts bytes, the most that were can be set to 0 alone.
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(MemPoolSetAttribute)(HEDDLE_GPU(MemPool_t) pool, HEDDLE_GPU(MemPoolAttr) attribute, void* value) {
  uint64_t* const found = heddle::compat::attribute_of(pool, attribute);
  if (found == nullptr) return HEDDLE_GPU(ErrorInvalidValue);
  const bool is_flag = attribute <= heddle::compat::last_pool_flag;
  const uint64_t wanted = is_flag ? static_cast<uint64_t>(*static_cast<int*>(value)) : *static_cast<uint64_t*>(value);
  const bool is_most =
      attribute == HEDDLE_GPU(MemPoolAttrReservedMemHigh) || attribute == HEDDLE_GPU(MemPoolAttrUsedMemHigh);
  if (attribute > heddle::compat::pool_threshold && (!is_most || wanted != 0)) return HEDDLE_GPU(ErrorInvalidValue);
  *found = is_most ? *heddle::compat::attribute_of(pool, attribute - 1) : wanted;
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(MemPoolTrimTo)(HEDDLE_GPU(MemPool_t) pool, size_t kept_bytes) {
  heddle::compat::trim_pool(pool, kept_bytes);
  return HEDDLE_GPU(Success);
}
/// The pool's own device reaches its memory whatever is said.
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(MemPoolSetAccess)(HEDDLE_GPU(MemPool_t) pool, const HEDDLE_GPU(MemAccessDesc) * all, size_t count) {
  for (size_t n = 0; n < count; ++n) {
    if (all[n].location.type != HEDDLE_GPU(MemLocationTypeDevice)) return HEDDLE_GPU(ErrorInvalidValue);
    if (!heddle::compat::has_device(all[n].location.id)) return HEDDLE_GPU(ErrorInvalidDevice);
  }
  for (size_t n = 0; n < count; ++n)
    heddle::compat::let_reach(pool, static_cast<uint32_t>(all[n].location.id),
                              all[n].flags != HEDDLE_GPU(MemAccessFlagsProtNone));
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(MemPoolGetAccess)(HEDDLE_GPU(MemAccessFlags) * flags, HEDDLE_GPU(MemPool_t) pool,
                                                        HEDDLE_GPU(MemLocation) * where) {
  if (!heddle::compat::has_device(where->id)) return HEDDLE_GPU(ErrorInvalidDevice);
  *flags = heddle::compat::reaches(pool, static_cast<uint32_t>(where->id)) ? HEDDLE_GPU(MemAccessFlagsProtReadWrite)
                                                                           : HEDDLE_GPU(MemAccessFlagsProtNone);
  return HEDDLE_GPU(Success);
}
