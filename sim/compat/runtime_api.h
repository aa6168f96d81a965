// The calls of the host side that CUDA and HIP have in common, under the prefix HEDDLE_GPU_PREFIX: cudaMalloc or hipMalloc. Included by
// cuda.h and hip.h alone. What is not here is not simulated, and a compile error.
//
// Errors of a program are verdicts of the run; a call that returns has succeeded.

#ifndef HEDDLE_GPU_PREFIX
#error "include cuda_runtime.h or hip/hip_runtime.h"
#endif

#define HEDDLE_GPU_JOIN(prefix, name) prefix##name
#define HEDDLE_GPU_NAMED(prefix, name) HEDDLE_GPU_JOIN(prefix, name)
#define HEDDLE_GPU(name) HEDDLE_GPU_NAMED(HEDDLE_GPU_PREFIX, name)
#define HEDDLE_GPU_TEXT2(name) #name
#define HEDDLE_GPU_TEXT1(name) HEDDLE_GPU_TEXT2(name)
#define HEDDLE_GPU_TEXT(name) HEDDLE_GPU_TEXT1(HEDDLE_GPU(name))

enum HEDDLE_GPU(Error_t) {
  HEDDLE_GPU(Success) = 0,
  HEDDLE_GPU(ErrorInvalidValue) = 1,
  HEDDLE_GPU(ErrorMemoryAllocation) = 2,
  HEDDLE_GPU(ErrorInvalidDevice) = 101,
  HEDDLE_GPU(ErrorInvalidResourceHandle) = 400,
  HEDDLE_GPU(ErrorNotReady) = 600,
};

inline const char* HEDDLE_GPU(GetErrorName)(HEDDLE_GPU(Error_t) error) {
  switch (error) {
    case HEDDLE_GPU(Success):
      return HEDDLE_GPU_TEXT(Success);
    case HEDDLE_GPU(ErrorInvalidValue):
      return HEDDLE_GPU_TEXT(ErrorInvalidValue);
    case HEDDLE_GPU(ErrorMemoryAllocation):
      return HEDDLE_GPU_TEXT(ErrorMemoryAllocation);
    case HEDDLE_GPU(ErrorInvalidDevice):
      return HEDDLE_GPU_TEXT(ErrorInvalidDevice);
    case HEDDLE_GPU(ErrorInvalidResourceHandle):
      return HEDDLE_GPU_TEXT(ErrorInvalidResourceHandle);
    case HEDDLE_GPU(ErrorNotReady):
      return HEDDLE_GPU_TEXT(ErrorNotReady);
  }
  return "unrecognized error code";
}
inline const char* HEDDLE_GPU(GetErrorString)(HEDDLE_GPU(Error_t) error) {
  switch (error) {
    case HEDDLE_GPU(Success):
      return "no error";
    case HEDDLE_GPU(ErrorInvalidValue):
      return "invalid argument";
    case HEDDLE_GPU(ErrorMemoryAllocation):
      return "out of memory";
    case HEDDLE_GPU(ErrorInvalidDevice):
      return "invalid device ordinal";
    case HEDDLE_GPU(ErrorInvalidResourceHandle):
      return "invalid resource handle";
    case HEDDLE_GPU(ErrorNotReady):
      return "device not ready";
  }
  return "unrecognized error code";
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(GetLastError)() { return HEDDLE_GPU(Success); }
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(PeekAtLastError)() { return HEDDLE_GPU(Success); }

// -- the device ----------------------------------------------------------------------------------------------------------------------

inline HEDDLE_GPU(Error_t) HEDDLE_GPU(GetDeviceCount)(int* count) {
  if (count == nullptr) return HEDDLE_GPU(ErrorInvalidValue);
  *count = static_cast<int>(heddle::sim::runtime::device_count());
  return HEDDLE_GPU(Success);
}
/// Of the calling thread; what it allocates, launches and creates from then on is that device's.
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(SetDevice)(int device) {
  if (device < 0 || static_cast<uint32_t>(device) >= heddle::sim::runtime::device_count())
    return HEDDLE_GPU(ErrorInvalidDevice);
  heddle::sim::runtime::set_current_device(static_cast<uint32_t>(device));
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(GetDevice)(int* device) {
  if (device == nullptr) return HEDDLE_GPU(ErrorInvalidValue);
  *device = static_cast<int>(heddle::sim::runtime::current_device());
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(DeviceSynchronize)() {
  heddle::sim::runtime::synchronize(heddle::sim::runtime::current_device());
  return HEDDLE_GPU(Success);
}

// -- memory --------------------------------------------------------------------------------------------------------------------------

template <typename T>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(Malloc)(T** memory, size_t bytes) {
  heddle::compat::allocate(memory, bytes, true, HEDDLE_GPU_TEXT(Malloc));
  return HEDDLE_GPU(Success);
}
template <typename T>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(MallocHost)(T** memory, size_t bytes, unsigned int = 0) {
  heddle::compat::allocate(memory, bytes, false, HEDDLE_GPU_TEXT(MallocHost));
  return HEDDLE_GPU(Success);
}
template <typename T>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(MallocManaged)(T** memory, size_t bytes, unsigned int = 1) {
  heddle::compat::allocate(memory, bytes, false, HEDDLE_GPU_TEXT(MallocManaged));
  return HEDDLE_GPU(Success);
}
/// The same address: host and device have one space of addresses.
template <typename T>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(HostGetDevicePointer)(T** device, void* host, unsigned int) {
  *device = static_cast<T*>(host);
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(Free)(void* memory) {
  heddle::compat::release(memory);
  return HEDDLE_GPU(Success);
}

enum HEDDLE_GPU(MemcpyKind) {
  HEDDLE_GPU(MemcpyHostToHost),
  HEDDLE_GPU(MemcpyHostToDevice),
  HEDDLE_GPU(MemcpyDeviceToHost),
  HEDDLE_GPU(MemcpyDeviceToDevice),
  HEDDLE_GPU(MemcpyDefault),
};

inline HEDDLE_GPU(Error_t) HEDDLE_GPU(Memcpy)(void* to, const void* from, size_t bytes, HEDDLE_GPU(MemcpyKind) kind) {
  heddle::compat::copy(to, from, bytes, static_cast<heddle::compat::direction>(kind));
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(Memset)(void* to, int value, size_t bytes) {
  heddle::compat::fill_in_stream(to, value, bytes, nullptr);
  return HEDDLE_GPU(Success);
}
template <typename T>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(MemcpyToSymbol)(T& symbol, const void* from, size_t bytes, size_t offset = 0,
                           HEDDLE_GPU(MemcpyKind) = HEDDLE_GPU(MemcpyHostToDevice)) {
  heddle::compat::copy(reinterpret_cast<char*>(&symbol) + offset, from, bytes, heddle::compat::direction::by_pointers);
  return HEDDLE_GPU(Success);
}
template <typename T>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(MemcpyFromSymbol)(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                             HEDDLE_GPU(MemcpyKind) = HEDDLE_GPU(MemcpyDeviceToHost)) {
  heddle::compat::copy(to, reinterpret_cast<const char*>(&symbol) + offset, bytes,
                       heddle::compat::direction::by_pointers);
  return HEDDLE_GPU(Success);
}

/// Host and device have one space of addresses: the variable's own.
template <typename T>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(GetSymbolAddress)(void** address, const T& symbol) {
  if (address == nullptr) return HEDDLE_GPU(ErrorInvalidValue);
  *address = const_cast<void*>(static_cast<const volatile void*>(&symbol));
  return HEDDLE_GPU(Success);
}
template <typename T>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(GetSymbolSize)(size_t* bytes, const T& symbol) {
  if (bytes == nullptr) return HEDDLE_GPU(ErrorInvalidValue);
  *bytes = sizeof symbol;
  return HEDDLE_GPU(Success);
}

// -- streams -------------------------------------------------------------------------------------------------------------------------

using HEDDLE_GPU(Stream_t) = struct heddle_stream*;
inline constexpr unsigned int HEDDLE_GPU(StreamDefault) = 0;
inline constexpr unsigned int HEDDLE_GPU(StreamNonBlocking) = 1;

/// The lower number is the higher priority.
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(DeviceGetStreamPriorityRange)(int* least, int* greatest) {
  if (least != nullptr) *least = HEDDLE_GPU_LEAST_PRIORITY;
  if (greatest != nullptr) *greatest = HEDDLE_GPU_GREATEST_PRIORITY;
  return HEDDLE_GPU(Success);
}
/// A priority outside of the range counts as the nearest in it.
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(StreamCreateWithPriority)(HEDDLE_GPU(Stream_t) * stream, unsigned int flags, int priority) {
  *stream = nullptr;
  if (flags > HEDDLE_GPU(StreamNonBlocking)) return HEDDLE_GPU(ErrorInvalidValue);
  if (priority > HEDDLE_GPU_LEAST_PRIORITY) priority = HEDDLE_GPU_LEAST_PRIORITY;
  if (priority < HEDDLE_GPU_GREATEST_PRIORITY) priority = HEDDLE_GPU_GREATEST_PRIORITY;
  const uint32_t number = heddle::sim::runtime::create_stream(flags != HEDDLE_GPU(StreamNonBlocking),
                                                              heddle::sim::runtime::current_device(), -priority);
  *stream = reinterpret_cast<HEDDLE_GPU(Stream_t)>(uintptr_t{number});
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(StreamGetPriority)(HEDDLE_GPU(Stream_t) stream, int* priority) {
  if (priority == nullptr) return HEDDLE_GPU(ErrorInvalidValue);
  *priority = -heddle::sim::runtime::priority_of_stream(heddle::compat::stream_number(stream));
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(StreamCreateWithFlags)(HEDDLE_GPU(Stream_t) * stream, unsigned int flags) {
  return HEDDLE_GPU(StreamCreateWithPriority)(stream, flags, 0);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(StreamCreate)(HEDDLE_GPU(Stream_t) * stream) {
  return HEDDLE_GPU(StreamCreateWithFlags)(stream, HEDDLE_GPU(StreamDefault));
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(StreamDestroy)(HEDDLE_GPU(Stream_t) stream) {
  heddle::sim::runtime::destroy_stream(heddle::compat::stream_number(stream));
  return HEDDLE_GPU(Success);
}
HEDDLE_COMPAT_INLINE HEDDLE_GPU(Error_t) HEDDLE_GPU(StreamQuery)(HEDDLE_GPU(Stream_t) stream) {
  return heddle::sim::runtime::query_stream(heddle::compat::stream_number(stream)) ? HEDDLE_GPU(Success)
                                                                                   : HEDDLE_GPU(ErrorNotReady);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(StreamSynchronize)(HEDDLE_GPU(Stream_t) stream) {
  heddle::sim::runtime::synchronize_stream(heddle::compat::stream_number(stream));
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(MemcpyAsync)(void* to, const void* from, size_t bytes,
                                                   HEDDLE_GPU(MemcpyKind) kind, HEDDLE_GPU(Stream_t) stream = nullptr) {
  heddle::compat::copy_in_stream(to, from, bytes, static_cast<heddle::compat::direction>(kind), stream);
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(MemsetAsync)(void* to, int value, size_t bytes, HEDDLE_GPU(Stream_t) stream = nullptr) {
  heddle::compat::fill_in_stream(to, value, bytes, stream);
  return HEDDLE_GPU(Success);
}

// -- events: places in a stream. Time is not simulated, and neither is cudaEventElapsedTime().

using HEDDLE_GPU(Event_t) = struct heddle_event*;
inline constexpr unsigned int HEDDLE_GPU(EventDefault) = 0;
inline constexpr unsigned int HEDDLE_GPU(EventBlockingSync) = 1;
inline constexpr unsigned int HEDDLE_GPU(EventDisableTiming) = 2;

inline HEDDLE_GPU(Error_t) HEDDLE_GPU(EventCreateWithFlags)(HEDDLE_GPU(Event_t) * event, unsigned int) {
  // Null is no event. The handle's upper half is the event's device.
  const auto device = uintptr_t{heddle::sim::runtime::current_device()} << 32;
  *event = reinterpret_cast<HEDDLE_GPU(Event_t)>(device | (uintptr_t{heddle::sim::runtime::create_event()} + 1));
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(EventCreate)(HEDDLE_GPU(Event_t) * event) {
  return HEDDLE_GPU(EventCreateWithFlags)(event, HEDDLE_GPU(EventDefault));
}
inline uint32_t heddle_event_number(HEDDLE_GPU(Event_t) event) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(event)) - 1;
}
inline uint32_t heddle_event_device(HEDDLE_GPU(Event_t) event) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(event) >> 32);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(EventDestroy)(HEDDLE_GPU(Event_t) event) {
  return event == nullptr ? HEDDLE_GPU(ErrorInvalidValue) : HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(EventRecord)(HEDDLE_GPU(Event_t) event, HEDDLE_GPU(Stream_t) stream = nullptr) {
  const uint32_t number = heddle::compat::stream_number(stream);
  if (heddle_event_device(event) != heddle::sim::runtime::device_of_stream(number))
    return HEDDLE_GPU(ErrorInvalidResourceHandle);
  heddle::sim::runtime::record_event(heddle_event_number(event), number);
  return HEDDLE_GPU(Success);
}
HEDDLE_COMPAT_INLINE HEDDLE_GPU(Error_t) HEDDLE_GPU(EventQuery)(HEDDLE_GPU(Event_t) event) {
  return heddle::sim::runtime::query_event(heddle_event_number(event)) ? HEDDLE_GPU(Success)
                                                                       : HEDDLE_GPU(ErrorNotReady);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(EventSynchronize)(HEDDLE_GPU(Event_t) event) {
  heddle::sim::runtime::synchronize_event(heddle_event_number(event));
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(StreamWaitEvent)(HEDDLE_GPU(Stream_t) stream, HEDDLE_GPU(Event_t) event, unsigned int = 0) {
  heddle::sim::runtime::wait_event(heddle::compat::stream_number(stream), heddle_event_number(event));
  return HEDDLE_GPU(Success);
}

// -- launches by call ------------------------------------------------------------------------------------------------------------------

inline HEDDLE_GPU(Error_t) HEDDLE_GPU(LaunchKernel)(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                                    size_t shared_bytes = 0, HEDDLE_GPU(Stream_t) stream = nullptr) {
  heddle::compat::launch_by_address(kernel, heddle::compat::shape(grid, block, shared_bytes, stream),
                                    {.addresses = arguments});
  return HEDDLE_GPU(Success);
}
template <typename... Parameters>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(LaunchKernel)(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                         size_t shared_bytes = 0, HEDDLE_GPU(Stream_t) stream = nullptr) {
  heddle::compat::launch_with_addresses(kernel, heddle::compat::shape(grid, block, shared_bytes, stream), arguments);
  return HEDDLE_GPU(Success);
}
// All blocks must have a place at a time, which is for the setting `resident` to say; there is no barrier of a grid.
template <typename Kernel>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(LaunchCooperativeKernel)(Kernel kernel, dim3 grid, dim3 block, void** arguments,
                                    unsigned int shared_bytes = 0, HEDDLE_GPU(Stream_t) stream = nullptr) {
  return HEDDLE_GPU(LaunchKernel)(kernel, grid, block, arguments, shared_bytes, stream);
}
