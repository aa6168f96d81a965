// The calls of the host side that CUDA and HIP have in common, under the prefix HEDDLE_GPU_PREFIX: cudaMalloc or hipMalloc. Included by
// cuda.h and hip.h alone. What is not here is not simulated, and a compile error.
//
// Errors of a program are verdicts of the run; a call that returns has succeeded.

#ifndef HEDDLE_GPU_PREFIX
#error "include cuda_runtime.h or hip/hip_runtime.h"
#endif

#include <heddle/sim/compat/device_attributes.h>
#include <heddle/sim/compat/graphs.h>
#include <stdio.h>

#define HEDDLE_GPU_JOIN(prefix, name) prefix##name
#define HEDDLE_GPU_NAMED(prefix, name) HEDDLE_GPU_JOIN(prefix, name)
#define HEDDLE_GPU(name) HEDDLE_GPU_NAMED(HEDDLE_GPU_PREFIX, name)
#define HEDDLE_GPU_MAKE(name) HEDDLE_GPU_NAMED(HEDDLE_GPU_NAMED(make_, HEDDLE_GPU_PREFIX), name)
#define HEDDLE_GPU_TEXT2(name) #name
#define HEDDLE_GPU_TEXT1(name) HEDDLE_GPU_TEXT2(name)
#define HEDDLE_GPU_TEXT(name) HEDDLE_GPU_TEXT1(HEDDLE_GPU(name))

// Names and numbers are those of CUDA, which HIP has too.
#define HEDDLE_GPU_ERRORS(use)                                                                                         \
  use(Success, 0, "no error") use(ErrorInvalidValue, 1, "invalid argument") use(                                       \
      ErrorMemoryAllocation, 2, "out of memory") use(ErrorInitializationError, 3, "initialization error")              \
      use(ErrorCudartUnloading, 4, "driver shutting down") use(                                                        \
          ErrorInvalidConfiguration, 9, "invalid configuration argument") use(ErrorInvalidSymbol, 13,                  \
                                                                              "invalid device symbol")                 \
          use(ErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy") use(                               \
              ErrorInsufficientDriver, 35,                                                                             \
              "driver version is insufficient for runtime version") use(ErrorMissingConfiguration, 52,                 \
                                                                        "__global__ function call is not configured")  \
              use(ErrorInvalidDeviceFunction, 98, "invalid device function") use(                                      \
                  ErrorNoDevice, 100,                                                                                  \
                  "no device is detected") use(ErrorInvalidDevice, 101,                                                \
                                               "invalid device ordinal") use(ErrorECCUncorrectable, 214,               \
                                                                             "uncorrectable ECC error encountered")    \
                  use(ErrorPeerAccessUnsupported, 217, "peer access is not supported between these two devices") use(  \
                      ErrorInvalidPtx, 218, "a PTX JIT compilation failed") use(ErrorFileNotFound, 301,                \
                                                                                "file not found")                      \
                      use(ErrorOperatingSystem, 304, "OS call failed or operation not supported on this OS") use(      \
                          ErrorInvalidResourceHandle, 400,                                                             \
                          "invalid resource handle") use(ErrorIllegalState, 401,                                       \
                                                         "the operation cannot be performed in the present state")     \
                          use(ErrorSymbolNotFound, 500, "named symbol not found") use(                                 \
                              ErrorNotReady, 600, "device not ready") use(ErrorIllegalAddress, 700,                    \
                                                                          "an illegal memory access was encountered")  \
                              use(ErrorLaunchOutOfResources, 701, "too many resources requested for launch") use(      \
                                  ErrorLaunchTimeout, 702, "the launch timed out and was terminated")                  \
                                  use(ErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled") use(       \
                                      ErrorPeerAccessNotEnabled, 705,                                                  \
                                      "peer access has not been enabled") use(ErrorContextIsDestroyed, 709,            \
                                                                              "context is destroyed")                  \
                                      use(ErrorAssert, 710, "device-side assert triggered") use(                       \
                                          ErrorHostMemoryAlreadyRegistered, 712,                                       \
                                          "part or all of the requested memory range is already mapped")               \
                                          use(ErrorHostMemoryNotRegistered, 713,                                       \
                                              "pointer does not correspond to a registered memory region")             \
                                              use(ErrorMisalignedAddress, 716, "misaligned address")                   \
                                                  use(ErrorLaunchFailure, 719, "unspecified launch failure") use(      \
                                                      ErrorCooperativeLaunchTooLarge, 720,                             \
                                                      "too many blocks in cooperative launch")                         \
                                                      use(ErrorNotPermitted, 800, "operation not permitted")           \
                                                          use(ErrorNotSupported, 801, "operation not supported") use(  \
                                                              ErrorStreamCaptureUnsupported, 900,                      \
                                                              "operation not permitted when stream is capturing")      \
                                                              use(ErrorStreamCaptureInvalidated, 901,                  \
                                                                  "operation failed due to a previous error during "   \
                                                                  "capture") use(ErrorStreamCaptureUnjoined, 904,      \
                                                                                 "capturing stream has unjoined work") \
                                                                  use(ErrorStreamCaptureImplicit, 906,                 \
                                                                      "operation would make the legacy stream depend " \
                                                                      "on a capturing blocking stream")                \
                                                                      use(ErrorGraphExecUpdateFailure, 910,            \
                                                                          "the graph update was not performed "        \
                                                                          "because it included changes")               \
                                                                          use(ErrorUnknown, 999, "unknown error")

enum HEDDLE_GPU(Error) {
#define HEDDLE_ERROR(name, number, text) HEDDLE_GPU(name) = number,
  HEDDLE_GPU_ERRORS(HEDDLE_ERROR)
#undef HEDDLE_ERROR
};
using HEDDLE_GPU(Error_t) = HEDDLE_GPU(Error);

inline const char* HEDDLE_GPU(GetErrorName)(HEDDLE_GPU(Error_t) error) {
  switch (error) {
#define HEDDLE_ERROR(name, number, text) \
  case HEDDLE_GPU(name):                 \
    return HEDDLE_GPU_TEXT(name);
    HEDDLE_GPU_ERRORS(HEDDLE_ERROR)
#undef HEDDLE_ERROR
  }
  return "unrecognized error code";
}
inline const char* HEDDLE_GPU(GetErrorString)(HEDDLE_GPU(Error_t) error) {
  switch (error) {
#define HEDDLE_ERROR(name, number, text) \
  case HEDDLE_GPU(name):                 \
    return text;
    HEDDLE_GPU_ERRORS(HEDDLE_ERROR)
#undef HEDDLE_ERROR
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
  if (heddle::compat::spoils_captures()) return HEDDLE_GPU(ErrorStreamCaptureUnsupported);
  heddle::sim::runtime::synchronize(heddle::sim::runtime::current_device());
  return HEDDLE_GPU(Success);
}

// -- memory --------------------------------------------------------------------------------------------------------------------------

template <typename T>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(Malloc)(T** memory, size_t bytes) {
  *memory = nullptr;
  if (heddle::compat::spoils_captures()) return HEDDLE_GPU(ErrorStreamCaptureUnsupported);
  heddle::compat::allocate(memory, bytes, heddle::compat::memory_place::HEDDLE_GPU_MEMORY, HEDDLE_GPU_TEXT(Malloc));
  return HEDDLE_GPU(Success);
}
template <typename T>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(MallocHost)(T** memory, size_t bytes, unsigned int = 0) {
  heddle::compat::allocate(memory, bytes, heddle::compat::memory_place::host, HEDDLE_GPU_TEXT(MallocHost));
  return HEDDLE_GPU(Success);
}
template <typename T>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(MallocManaged)(T** memory, size_t bytes, unsigned int = 1) {
  heddle::compat::allocate(memory, bytes, heddle::compat::memory_place::host, HEDDLE_GPU_TEXT(MallocManaged));
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
  if (heddle::compat::spoils_captures()) return HEDDLE_GPU(ErrorStreamCaptureUnsupported);
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

using HEDDLE_GPU(Pos) = heddle::compat::memory_position;
using HEDDLE_GPU(Extent) = heddle::compat::memory_extent;
using HEDDLE_GPU(PitchedPtr) = heddle::compat::pitched_memory;
using HEDDLE_GPU(Array_t) = struct HEDDLE_GPU(Array) *;
struct HEDDLE_GPU(Memcpy3DParms) {
  HEDDLE_GPU(Array_t) srcArray;
  HEDDLE_GPU(Pos) srcPos;
  HEDDLE_GPU(PitchedPtr) srcPtr;
  HEDDLE_GPU(Array_t) dstArray;
  HEDDLE_GPU(Pos) dstPos;
  HEDDLE_GPU(PitchedPtr) dstPtr;
  HEDDLE_GPU(Extent) extent;
  HEDDLE_GPU(MemcpyKind) kind;
};
constexpr HEDDLE_GPU(Pos) HEDDLE_GPU_MAKE(Pos)(size_t x, size_t y, size_t z) { return {x, y, z}; }
constexpr HEDDLE_GPU(Extent) HEDDLE_GPU_MAKE(Extent)(size_t width, size_t height, size_t depth) {
  return {width, height, depth};
}
constexpr HEDDLE_GPU(PitchedPtr) HEDDLE_GPU_MAKE(PitchedPtr)(void* memory, size_t pitch, size_t width, size_t height) {
  return {memory, pitch, width, height};
}

inline HEDDLE_GPU(Error_t) HEDDLE_GPU(Memcpy)(void* to, const void* from, size_t bytes, HEDDLE_GPU(MemcpyKind) kind) {
  if (heddle::compat::spoils_captures()) return HEDDLE_GPU(ErrorStreamCaptureImplicit);
  heddle::compat::copy(to, from, bytes, static_cast<heddle::compat::direction>(kind), HEDDLE_GPU_STAGES);
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(Memset)(void* to, int value, size_t bytes) {
  if (heddle::compat::spoils_captures()) return HEDDLE_GPU(ErrorStreamCaptureImplicit);
  heddle::compat::fill(to, value, bytes);
  return HEDDLE_GPU(Success);
}
template <typename T>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(MemcpyToSymbol)(T& symbol, const void* from, size_t bytes, size_t offset = 0,
                           HEDDLE_GPU(MemcpyKind) = HEDDLE_GPU(MemcpyHostToDevice)) {
  heddle::compat::copy(reinterpret_cast<char*>(&symbol) + offset, from, bytes, heddle::compat::direction::by_pointers,
                       HEDDLE_GPU_STAGES);
  return HEDDLE_GPU(Success);
}
template <typename T>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(MemcpyFromSymbol)(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                             HEDDLE_GPU(MemcpyKind) = HEDDLE_GPU(MemcpyDeviceToHost)) {
  heddle::compat::copy(to, reinterpret_cast<const char*>(&symbol) + offset, bytes,
                       heddle::compat::direction::by_pointers, HEDDLE_GPU_STAGES);
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

using HEDDLE_GPU(Stream_t) = struct HEDDLE_GPU_STREAM*;
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
  *stream = static_cast<HEDDLE_GPU(Stream_t)>(heddle::compat::stream_handle(number));
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
  return HEDDLE_GPU(StreamCreateWithFlags)(stream, 0);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(StreamDestroy)(HEDDLE_GPU(Stream_t) stream) {
  heddle::sim::runtime::destroy_stream(heddle::compat::stream_number(stream));
  return HEDDLE_GPU(Success);
}
HEDDLE_COMPAT_INLINE HEDDLE_GPU(Error_t) HEDDLE_GPU(StreamQuery)(HEDDLE_GPU(Stream_t) stream) {
  if (heddle::compat::spoils_capture(heddle::compat::stream_number(stream)))
    return HEDDLE_GPU(ErrorStreamCaptureUnsupported);
  return heddle::sim::runtime::query_stream(heddle::compat::stream_number(stream)) ? HEDDLE_GPU(Success)
                                                                                   : HEDDLE_GPU(ErrorNotReady);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(StreamSynchronize)(HEDDLE_GPU(Stream_t) stream) {
  if (heddle::compat::spoils_capture(heddle::compat::stream_number(stream)))
    return HEDDLE_GPU(ErrorStreamCaptureUnsupported);
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

// -- events: places in a stream

using HEDDLE_GPU(Event_t) = struct HEDDLE_GPU_EVENT*;
inline constexpr unsigned int HEDDLE_GPU(EventDefault) = 0;
inline constexpr unsigned int HEDDLE_GPU(EventBlockingSync) = 1;
inline constexpr unsigned int HEDDLE_GPU(EventDisableTiming) = 2;

inline constexpr uintptr_t heddle_event_has_no_time = uintptr_t{1} << 47;
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(EventCreateWithFlags)(HEDDLE_GPU(Event_t) * event, unsigned int flags) {
  // Null is no event. The handle's upper half is the event's device, and whether it has a time.
  const auto device = uintptr_t{heddle::sim::runtime::current_device()} << 32 |
                      ((flags & HEDDLE_GPU(EventDisableTiming)) != 0 ? heddle_event_has_no_time : 0);
  *event = reinterpret_cast<HEDDLE_GPU(Event_t)>(device | (uintptr_t{heddle::sim::runtime::create_event()} + 1));
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(EventCreate)(HEDDLE_GPU(Event_t) * event) {
  return HEDDLE_GPU(EventCreateWithFlags)(event, HEDDLE_GPU(EventDefault));
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(EventCreate)(HEDDLE_GPU(Event_t) * event, unsigned int flags) {
  return HEDDLE_GPU(EventCreateWithFlags)(event, flags);
}
inline uint32_t heddle_event_number(HEDDLE_GPU(Event_t) event) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(event)) - 1;
}
inline uint32_t heddle_event_device(HEDDLE_GPU(Event_t) event) {
  return static_cast<uint32_t>((reinterpret_cast<uintptr_t>(event) & ~heddle_event_has_no_time) >> 32);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(EventDestroy)(HEDDLE_GPU(Event_t) event) {
  if (event == nullptr) return HEDDLE_GPU(ErrorInvalidValue);
  heddle::sim::runtime::destroy_event(heddle_event_number(event));
  return HEDDLE_GPU(Success);
}
inline HEDDLE_GPU(Error_t) HEDDLE_GPU(EventRecord)(HEDDLE_GPU(Event_t) event, HEDDLE_GPU(Stream_t) stream = nullptr) {
  const uint32_t number = heddle::compat::stream_number(stream);
  if (heddle_event_device(event) != heddle::sim::runtime::device_of_stream(number))
    return HEDDLE_GPU(ErrorInvalidResourceHandle);
  if (heddle::compat::captures_record(heddle_event_number(event), number)) return HEDDLE_GPU(Success);
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
  const uint32_t number = heddle::compat::stream_number(stream);
  if (heddle::compat::captures_wait(number, heddle_event_number(event))) return HEDDLE_GPU(Success);
  heddle::sim::runtime::wait_event(number, heddle_event_number(event));
  return HEDDLE_GPU(Success);
}

// -- launches by call. Of a cooperative one, all blocks must have a place at a time, which is for the setting `resident` to say.

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
inline HEDDLE_GPU(Error_t)
    HEDDLE_GPU(LaunchCooperativeKernel)(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                        size_t shared_bytes = 0, HEDDLE_GPU(Stream_t) stream = nullptr) {
  heddle::compat::launch_by_address(kernel, heddle::compat::shape(grid, block, shared_bytes, stream),
                                    {.addresses = arguments, .cooperative = true});
  return HEDDLE_GPU(Success);
}
template <typename... Parameters>
HEDDLE_GPU(Error_t)
HEDDLE_GPU(LaunchCooperativeKernel)(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                                    size_t shared_bytes = 0, HEDDLE_GPU(Stream_t) stream = nullptr) {
  heddle::compat::launch_with_addresses(kernel, heddle::compat::shape(grid, block, shared_bytes, stream), arguments,
                                        true);
  return HEDDLE_GPU(Success);
}

// Each needs what is before it.
#include <heddle/sim/compat/runtime_devices.h>

#include <heddle/sim/compat/runtime_memory.h>

#include <heddle/sim/compat/runtime_graphs.h>
