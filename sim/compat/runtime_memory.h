// More of memory as the runtimes of CUDA and HIP have it: rows, streams, peers, pointers and handles. Included by runtime_api.h alone.

// -- rows. A copy or fill of rows is one of each row, in order.

template <typename T>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(MallocPitch)(T** memory, size_t* pitch, size_t width, size_t height) {
  constexpr size_t unit = 512;
  *pitch = (width + unit - 1) / unit * unit;
  heddle::compat::allocate(memory, *pitch * height, heddle::compat::memory_place::HEDDLE_GPU_MEMORY,
                           HEDDLE_GPU_TEXT(MallocPitch));
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(Memcpy2DAsync)(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, HEDDLE_GPU(MemcpyKind) kind, HEDDLE_GPU(Stream_t) stream = nullptr) {
  if (width > to_pitch || width > from_pitch) return HEDDLE_GPU(ErrorInvalidValue);
  if (width == to_pitch && width == from_pitch) return HEDDLE_GPU(MemcpyAsync)(to, from, width * height, kind, stream);
  for (size_t row = 0; row < height; ++row) HEDDLE_GPU(MemcpyAsync)
  (static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width, kind, stream);
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(Memcpy2D)(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                                size_t width, size_t height, HEDDLE_GPU(MemcpyKind) kind) {
  if (width > to_pitch || width > from_pitch) return HEDDLE_GPU(ErrorInvalidValue);
  if (width == to_pitch && width == from_pitch) return HEDDLE_GPU(Memcpy)(to, from, width * height, kind);
  for (size_t row = 0; row < height; ++row) HEDDLE_GPU(Memcpy)
  (static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width, kind);
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(Memset2DAsync)(void* to, size_t pitch, int value, size_t width, size_t height,
                                                     HEDDLE_GPU(Stream_t) stream = nullptr) {
  if (width > pitch) return HEDDLE_GPU(ErrorInvalidValue);
  for (size_t row = 0; row < height; ++row)
    HEDDLE_GPU(MemsetAsync)(static_cast<char*>(to) + row * pitch, value, width, stream);
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(Memset2D)(void* to, size_t pitch, int value, size_t width, size_t height) {
  const HEDDLE_GPU(Error_t) done = HEDDLE_GPU(Memset2DAsync)(to, pitch, value, width, height);
  heddle::compat::complete(to);
  return done;
}

/// Slices of rows, one behind the other.
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(Malloc3D)(HEDDLE_GPU(PitchedPtr) * memory, HEDDLE_GPU(Extent) extent) {
  *memory = {nullptr, 0, extent.width, extent.height};
  return HEDDLE_GPU(MallocPitch)(&memory->ptr, &memory->pitch, extent.width, extent.height * extent.depth);
}
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(Memcpy3DAsync)(const HEDDLE_GPU(Memcpy3DParms) * what, HEDDLE_GPU(Stream_t) stream = nullptr) {
  if (what->srcArray != nullptr || what->dstArray != nullptr) return HEDDLE_GPU(ErrorNotSupported);
  for (size_t slice = 0; slice < what->extent.depth; ++slice) {
    const HEDDLE_GPU(Error_t) done =
        HEDDLE_GPU(Memcpy2DAsync)(heddle::compat::row_at(what->dstPtr, what->dstPos, 0, slice), what->dstPtr.pitch,
                                  heddle::compat::row_at(what->srcPtr, what->srcPos, 0, slice), what->srcPtr.pitch,
                                  what->extent.width, what->extent.height, what->kind, stream);
    if (done != HEDDLE_GPU(Success)) return done;
  }
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(Memcpy3D)(const HEDDLE_GPU(Memcpy3DParms) * what) {
  if (what->srcArray != nullptr || what->dstArray != nullptr) return HEDDLE_GPU(ErrorNotSupported);
  for (size_t slice = 0; slice < what->extent.depth; ++slice) {
    const HEDDLE_GPU(Error_t) done =
        HEDDLE_GPU(Memcpy2D)(heddle::compat::row_at(what->dstPtr, what->dstPos, 0, slice), what->dstPtr.pitch,
                             heddle::compat::row_at(what->srcPtr, what->srcPos, 0, slice), what->srcPtr.pitch,
                             what->extent.width, what->extent.height, what->kind);
    if (done != HEDDLE_GPU(Success)) return done;
  }
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(Memset3DAsync)(HEDDLE_GPU(PitchedPtr) to, int value, HEDDLE_GPU(Extent) extent,
                                                     HEDDLE_GPU(Stream_t) stream = nullptr) {
  for (size_t slice = 0; slice < extent.depth; ++slice) {
    const HEDDLE_GPU(Error_t) done = HEDDLE_GPU(Memset2DAsync)(heddle::compat::row_at(to, {}, 0, slice), to.pitch,
                                                               value, extent.width, extent.height, stream);
    if (done != HEDDLE_GPU(Success)) return done;
  }
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(Memset3D)(HEDDLE_GPU(PitchedPtr) to, int value, HEDDLE_GPU(Extent) extent) {
  const HEDDLE_GPU(Error_t) done = HEDDLE_GPU(Memset3DAsync)(to, value, extent);
  heddle::compat::complete(to.ptr);
  return done;
}

// -- symbols, in streams

template <typename T>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(MemcpyToSymbolAsync)(T& symbol, const void* from, size_t bytes, size_t offset, HEDDLE_GPU(MemcpyKind) kind,
                                HEDDLE_GPU(Stream_t) stream = nullptr) {
  return HEDDLE_GPU(MemcpyAsync)(reinterpret_cast<char*>(&symbol) + offset, from, bytes,
                                 kind == HEDDLE_GPU(MemcpyHostToDevice) ? HEDDLE_GPU(MemcpyDefault) : kind, stream);
}
template <typename T>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(MemcpyFromSymbolAsync)(void* to, const T& symbol, size_t bytes, size_t offset, HEDDLE_GPU(MemcpyKind) kind,
                                  HEDDLE_GPU(Stream_t) stream = nullptr) {
  return HEDDLE_GPU(MemcpyAsync)(to, reinterpret_cast<const char*>(&symbol) + offset, bytes,
                                 kind == HEDDLE_GPU(MemcpyDeviceToHost) ? HEDDLE_GPU(MemcpyDefault) : kind, stream);
}

// -- where memory is: hints, which change nothing

enum HEDDLE_GPU(MemLocationType) {
  HEDDLE_GPU(MemLocationTypeInvalid) = 0,
  HEDDLE_GPU(MemLocationTypeDevice) = 1,
  HEDDLE_GPU(MemLocationTypeHost) = 2,
};
struct HEDDLE_GPU(MemLocation) {
  HEDDLE_GPU(MemLocationType) type;
  int id;
};
enum HEDDLE_GPU(MemoryAdvise) {
  HEDDLE_GPU(MemAdviseSetReadMostly) = 1,
  HEDDLE_GPU(MemAdviseUnsetReadMostly) = 2,
  HEDDLE_GPU(MemAdviseSetPreferredLocation) = 3,
  HEDDLE_GPU(MemAdviseUnsetPreferredLocation) = 4,
  HEDDLE_GPU(MemAdviseSetAccessedBy) = 5,
  HEDDLE_GPU(MemAdviseUnsetAccessedBy) = 6,
};
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(MemPrefetchAsync)(const void*, size_t, int, HEDDLE_GPU(Stream_t) = nullptr) {
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(MemPrefetchAsync)(const void*, size_t, HEDDLE_GPU(MemLocation), unsigned int,
                                                        HEDDLE_GPU(Stream_t) = nullptr) {
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(MemAdvise)(const void*, size_t, HEDDLE_GPU(MemoryAdvise), int) {
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(MemAdvise)(const void*, size_t, HEDDLE_GPU(MemoryAdvise), HEDDLE_GPU(MemLocation)) {
  return HEDDLE_GPU(Success);
}
template <typename T>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(StreamAttachMemAsync)(HEDDLE_GPU(Stream_t), T*, size_t = 0, unsigned int = 0) {
  return HEDDLE_GPU(Success);
}

// -- memory of the host: a device reaches all of it, under the same address

inline constexpr unsigned int HEDDLE_GPU(HostRegisterDefault) = 0;
inline constexpr unsigned int HEDDLE_GPU(HostRegisterPortable) = 1;
inline constexpr unsigned int HEDDLE_GPU(HostRegisterMapped) = 2;
inline constexpr unsigned int HEDDLE_GPU(HostRegisterIoMemory) = 4;
inline constexpr unsigned int HEDDLE_GPU(HostRegisterReadOnly) = 8;
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(HostRegister)(void* memory, size_t bytes, unsigned int) {
  if (memory == nullptr || bytes == 0) return HEDDLE_GPU(ErrorInvalidValue);
  if (!heddle::compat::register_host(memory, bytes)) return HEDDLE_GPU(ErrorHostMemoryAlreadyRegistered);
  heddle::sim::runtime::open_frames(memory, bytes);
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(HostUnregister)(void* memory) {
  if (memory == nullptr) return HEDDLE_GPU(ErrorInvalidValue);
  if (!heddle::compat::unregister_host(memory)) return HEDDLE_GPU(ErrorHostMemoryNotRegistered);
  heddle::sim::runtime::close_frames(memory);
  return HEDDLE_GPU(Success);
}

// -- copies between devices

inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(MemcpyPeer)(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  if (!heddle::compat::has_device(to_device) || !heddle::compat::has_device(from_device))
    return HEDDLE_GPU(ErrorInvalidDevice);
  return HEDDLE_GPU(Memcpy)(to, from, bytes, HEDDLE_GPU(MemcpyDeviceToDevice));
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(MemcpyPeerAsync)(void* to, int to_device, const void* from, int from_device,
                                                       size_t bytes, HEDDLE_GPU(Stream_t) stream = nullptr) {
  if (!heddle::compat::has_device(to_device) || !heddle::compat::has_device(from_device))
    return HEDDLE_GPU(ErrorInvalidDevice);
  return HEDDLE_GPU(MemcpyAsync)(to, from, bytes, HEDDLE_GPU(MemcpyDeviceToDevice), stream);
}

// -- pointers

enum HEDDLE_GPU(MemoryType) {
  HEDDLE_GPU(MemoryTypeUnregistered) = 0,
  HEDDLE_GPU(MemoryTypeHost) = 1,
  HEDDLE_GPU(MemoryTypeDevice) = 2,
  HEDDLE_GPU(MemoryTypeManaged) = 3,
};
struct HEDDLE_GPU_POINTER_ATTRIBUTES {
  HEDDLE_GPU(MemoryType) type;
  int device;
  void* devicePointer;
  void* hostPointer;
};
/// What the runtime has allocated for the host counts as the device's where it lies there; of other memory nothing is known.
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(PointerGetAttributes)(HEDDLE_GPU_POINTER_ATTRIBUTES* attributes, const void* pointer) {
  if (attributes == nullptr) return HEDDLE_GPU(ErrorInvalidValue);
  void* const address = const_cast<void*>(pointer);
  const bool known = heddle::sim::runtime::is_allocated(pointer);
  const bool on_device = known && heddle::sim::runtime::is_on_device(pointer);
  *attributes = {.type = on_device                                         ? HEDDLE_GPU(MemoryTypeDevice)
                         : heddle::sim::runtime::is_managed(pointer)       ? HEDDLE_GPU(MemoryTypeManaged)
                         : known || heddle::compat::is_registered(pointer) ? HEDDLE_GPU(MemoryTypeHost)
                                                                           : HEDDLE_GPU(MemoryTypeUnregistered),
                 .device = known ? static_cast<int>(heddle::sim::runtime::device_of(pointer)) : -1,
                 .devicePointer = known ? address : nullptr,
                 .hostPointer = on_device ? nullptr : address};
  return HEDDLE_GPU(Success);
}

// -- handles for other processes, of which there is one: this one

struct HEDDLE_GPU(IpcMemHandle_t) {
  char reserved[64];
};
struct HEDDLE_GPU(IpcEventHandle_t) {
  char reserved[64];
};
inline constexpr unsigned int HEDDLE_GPU(IpcMemLazyEnablePeerAccess) = 1;
inline constexpr unsigned int HEDDLE_GPU(EventInterprocess) = 4;
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(IpcGetMemHandle)(HEDDLE_GPU(IpcMemHandle_t) * handle, void* memory) {
  *handle = {};
  __builtin_memcpy(handle->reserved, &memory, sizeof memory);
  return HEDDLE_GPU(Success);
}
template <typename T>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(IpcOpenMemHandle)(T** memory, HEDDLE_GPU(IpcMemHandle_t) handle, unsigned int) {
  __builtin_memcpy(memory, handle.reserved, sizeof *memory);
  const uint32_t owner = heddle::sim::runtime::device_of(*memory);
  if (owner != heddle::sim::runtime::current_device()) heddle::sim::runtime::set_peer_access(owner, true);
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(IpcCloseMemHandle)(void*) { return HEDDLE_GPU(Success); }
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(IpcGetEventHandle)(HEDDLE_GPU(IpcEventHandle_t) * handle, HEDDLE_GPU(Event_t) event) {
  *handle = {};
  __builtin_memcpy(handle->reserved, &event,
                   sizeof event);  // NOLINT(bugprone-sizeof-expression): the event is a pointer
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(IpcOpenEventHandle)(HEDDLE_GPU(Event_t) * event, HEDDLE_GPU(IpcEventHandle_t) handle) {
  __builtin_memcpy(event, handle.reserved, sizeof *event);
  return HEDDLE_GPU(Success);
}

// It needs what is before it.
#include <heddle/sim/compat/runtime_pools.h>
