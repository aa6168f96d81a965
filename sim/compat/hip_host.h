// The host side of HIP, where HIP has names of its own. Included by hip.h alone.
#pragma once

inline constexpr hipError_t hipErrorOutOfMemory = hipErrorMemoryAllocation;
inline constexpr hipDeviceAttribute_t hipDeviceAttributeMultiprocessorCount = hipDeviceAttributeMultiProcessorCount;
inline constexpr hipDeviceAttribute_t hipDeviceAttributeWallClockRate = hipDeviceAttributeClockRate;
// Its number in CUDA is that of words of 8 bytes, which streams write and wait for too.
inline constexpr hipDeviceAttribute_t hipDeviceAttributeCanUseStreamWaitValue = hipDeviceAttributeReserved122;
using hipDeviceptr_t = void*;
using hipDevice_t = int;

inline hipError_t hipInit(unsigned int flags) { return flags == 0 ? hipSuccess : hipErrorInvalidValue; }
inline hipError_t hipDeviceGet(hipDevice_t* device, int number) {
  if (!heddle::compat::has_device(number)) return hipErrorInvalidDevice;
  *device = number;
  return hipSuccess;
}

// -- contexts: each device has one, its primary one, which becomes the thread's current. (HIP, "Context Management", which is deprecated there.)

using hipCtx_t = struct ihipCtx_t*;
namespace heddle::compat {
inline hipCtx_t hip_context(uint32_t device) { return reinterpret_cast<hipCtx_t>(uintptr_t{device} + 1); }
}  // namespace heddle::compat
inline hipError_t hipDevicePrimaryCtxRetain(hipCtx_t* context, hipDevice_t device) {
  if (!heddle::compat::has_device(device)) return hipErrorInvalidDevice;
  *context = heddle::compat::hip_context(static_cast<uint32_t>(device));
  return hipSuccess;
}
inline hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device) {
  return heddle::compat::has_device(device) ? hipSuccess : hipErrorInvalidDevice;
}
inline hipError_t hipCtxSetCurrent(hipCtx_t context) {
  const auto number = static_cast<int>(reinterpret_cast<uintptr_t>(context)) - 1;
  return hipSetDevice(number) == hipSuccess ? hipSuccess : hipErrorInvalidValue;
}
inline hipError_t hipCtxCreate(hipCtx_t* context, unsigned int, hipDevice_t device) {
  const hipError_t made = hipDevicePrimaryCtxRetain(context, device);
  return made == hipSuccess ? hipCtxSetCurrent(*context) : made;
}
inline hipError_t hipCtxDestroy(hipCtx_t context) { return context == nullptr ? hipErrorInvalidValue : hipSuccess; }
inline hipError_t hipCtxGetCurrent(hipCtx_t* context) {
  *context = heddle::compat::hip_context(heddle::sim::runtime::current_device());
  return hipSuccess;
}
inline hipError_t hipCtxGetDevice(hipDevice_t* device) { return hipGetDevice(device); }
inline hipError_t hipCtxSynchronize() { return hipDeviceSynchronize(); }

inline constexpr unsigned int hipDeviceScheduleAuto = 0;
inline constexpr unsigned int hipDeviceScheduleSpin = 1;
inline constexpr unsigned int hipDeviceScheduleYield = 2;
inline constexpr unsigned int hipDeviceScheduleBlockingSync = 4;
inline constexpr unsigned int hipDeviceScheduleMask = 7;
inline constexpr unsigned int hipDeviceMapHost = 8;
inline constexpr unsigned int hipDeviceLmemResizeToMax = 16;
/// How a thread waits is for the schedule to say.
inline hipError_t hipSetDeviceFlags(unsigned int flags) {
  return (flags & ~(hipDeviceScheduleMask | hipDeviceMapHost | hipDeviceLmemResizeToMax)) == 0 ? hipSuccess
                                                                                               : hipErrorInvalidValue;
}
inline hipError_t hipGetDeviceFlags(unsigned int* flags) {
  *flags = hipDeviceMapHost;
  return hipSuccess;
}

// -- memory

inline constexpr unsigned int hipHostMallocDefault = 0;
inline constexpr unsigned int hipHostMallocPortable = 1;
inline constexpr unsigned int hipHostMallocMapped = 2;
inline constexpr unsigned int hipHostMallocWriteCombined = 4;
inline constexpr unsigned int hipHostMallocUncached = 0x10000000;
inline constexpr unsigned int hipHostMallocNumaUser = 0x20000000;
inline constexpr unsigned int hipHostMallocCoherent = 0x40000000;
// What is not coherent is seen by the other side at the end of a kernel: that is not modelled (docs/memory.md), and told where the name is used
// (tools/rewrite/unlike_names.h).
namespace heddle::compat {
inline constexpr unsigned int not_coherent = 0x80000000;
}
inline constexpr unsigned int hipHostMallocNonCoherent = heddle::compat::not_coherent;
inline constexpr unsigned int hipHostAllocDefault = 0;
inline constexpr unsigned int hipHostAllocPortable = 1;
inline constexpr unsigned int hipHostAllocMapped = 2;
inline constexpr unsigned int hipHostAllocWriteCombined = 4;
inline constexpr unsigned int hipDeviceMallocDefault = 0;
inline constexpr unsigned int hipDeviceMallocFinegrained = 1;
inline constexpr unsigned int hipMallocSignalMemory = 2;
inline constexpr unsigned int hipDeviceMallocUncached = 3;
inline constexpr unsigned int hipMemAttachGlobal = 1;
inline constexpr unsigned int hipMemAttachHost = 2;
inline constexpr unsigned int hipMemAttachSingle = 4;

template <typename T>
hipError_t hipHostMalloc(T** memory, size_t bytes, unsigned int flags = hipHostMallocDefault) {
  constexpr unsigned int known = hipHostMallocPortable | hipHostMallocMapped | hipHostMallocWriteCombined |
                                 hipHostMallocUncached | hipHostMallocNumaUser | hipHostMallocCoherent |
                                 heddle::compat::not_coherent;
  if ((flags & ~known) != 0) return hipErrorInvalidValue;
  const bool combines = (flags & hipHostMallocWriteCombined) != 0;
  heddle::compat::allocate(memory, bytes, heddle::compat::place_on_host(combines), "hipHostMalloc");
  return hipSuccess;
}
template <typename T>
hipError_t hipHostAlloc(T** memory, size_t bytes, unsigned int flags = hipHostAllocDefault) {
  return hipHostMalloc(memory, bytes, flags);
}
template <typename T>
hipError_t hipExtMallocWithFlags(T** memory, size_t bytes, unsigned int flags) {
  if (flags > hipDeviceMallocUncached) return hipErrorInvalidValue;
  if (flags == hipDeviceMallocDefault) return hipMalloc(memory, bytes);
  // A signal is the host's. Other devices reach what is fine-grained or not cached, and the host as it does all.
  const auto place =
      flags == hipMallocSignalMemory ? heddle::compat::memory_place::host : heddle::compat::memory_place::device;
  heddle::compat::allocate(memory, bytes, place, "hipExtMallocWithFlags");
  return hipSuccess;
}
enum hipPointer_attribute { HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6 };
inline hipError_t hipPointerSetAttribute(const void* value, hipPointer_attribute attribute, hipDeviceptr_t pointer) {
  return heddle::compat::set_pointer_attribute(value, attribute, pointer) ? hipSuccess : hipErrorInvalidValue;
}
inline hipError_t hipHostFree(void* memory) { return hipFree(memory); }

inline hipError_t hipMemcpyDtoH(void* to, hipDeviceptr_t from, size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyDeviceToHost);
}
inline hipError_t hipMemcpyHtoD(hipDeviceptr_t to, const void* from, size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyHostToDevice);
}
inline hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyDeviceToDevice);
}
inline hipError_t hipMemcpyDtoHAsync(void* to, hipDeviceptr_t from, size_t bytes, hipStream_t stream) {
  return hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToHost, stream);
}
inline hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, const void* from, size_t bytes, hipStream_t stream) {
  return hipMemcpyAsync(to, from, bytes, hipMemcpyHostToDevice, stream);
}
inline hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes, hipStream_t stream) {
  return hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToDevice, stream);
}
inline hipError_t hipMemcpyWithStream(void* to, const void* from, size_t bytes, hipMemcpyKind which,
                                      hipStream_t stream) {
  const hipError_t said = hipMemcpyAsync(to, from, bytes, which, stream);
  return said == hipSuccess ? hipStreamSynchronize(stream) : said;
}

inline hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t count, hipStream_t stream = nullptr) {
  return hipMemsetAsync(to, value, count, stream);
}
inline hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short value, size_t count,
                                    hipStream_t stream = nullptr) {
  heddle::compat::fill_words_in_stream(to, value, count, stream);
  return hipSuccess;
}
inline hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, size_t count, hipStream_t stream = nullptr) {
  heddle::compat::fill_words_in_stream(to, static_cast<unsigned int>(value), count, stream);
  return hipSuccess;
}
inline hipError_t hipMemsetD8(hipDeviceptr_t to, unsigned char value, size_t count) {
  return hipMemset(to, value, count);
}
inline hipError_t hipMemsetD16(hipDeviceptr_t to, unsigned short value, size_t count) {
  const hipError_t done = hipMemsetD16Async(to, value, count);
  heddle::compat::complete(to);
  return done;
}
inline hipError_t hipMemsetD32(hipDeviceptr_t to, int value, size_t count) {
  const hipError_t done = hipMemsetD32Async(to, value, count);
  heddle::compat::complete(to);
  return done;
}

// -- events, whose records release to the system whether or not they are asked to

inline constexpr unsigned int hipEventReleaseToSystem = 0x80000000;

// -- words that streams write and wait for. (HIP Runtime API, "Stream Memory Operations".)

inline constexpr unsigned int hipStreamWaitValueGte = 0;
inline constexpr unsigned int hipStreamWaitValueEq = 1;
inline constexpr unsigned int hipStreamWaitValueAnd = 2;
inline constexpr unsigned int hipStreamWaitValueNor = 3;
inline hipError_t hipStreamWaitValue32(hipStream_t stream, void* at, uint32_t value, unsigned int test,
                                       uint32_t mask = 0xffffffffU) {
  return heddle::compat::wait_in_stream<uint32_t>(stream, at, value, test, mask) ? hipSuccess : hipErrorInvalidValue;
}
inline hipError_t hipStreamWaitValue64(hipStream_t stream, void* at, uint64_t value, unsigned int test,
                                       uint64_t mask = ~uint64_t{0}) {
  return heddle::compat::wait_in_stream<uint64_t>(stream, at, value, test, mask) ? hipSuccess : hipErrorInvalidValue;
}
inline hipError_t hipStreamWriteValue32(hipStream_t stream, void* to, uint32_t value, unsigned int = 0) {
  heddle::compat::write_in_stream<uint32_t>(stream, to, value, true);
  return hipSuccess;
}
inline hipError_t hipStreamWriteValue64(hipStream_t stream, void* to, uint64_t value, unsigned int = 0) {
  heddle::compat::write_in_stream<uint64_t>(stream, to, value, true);
  return hipSuccess;
}

enum hipStreamBatchMemOpType {
  hipStreamMemOpWaitValue32 = 1,
  hipStreamMemOpWriteValue32 = 2,
  hipStreamMemOpFlushRemoteWrites = 3,
  hipStreamMemOpWaitValue64 = 4,
  hipStreamMemOpWriteValue64 = 5,
  hipStreamMemOpBarrier = 6
};
struct hipStreamMemOpValueParams {
  hipStreamBatchMemOpType operation;
  hipDeviceptr_t address;
  union {
    uint32_t value;
    uint64_t value64;
  };
  unsigned int flags;
  hipDeviceptr_t alias;
};
struct hipStreamMemOpOrderParams {
  hipStreamBatchMemOpType operation;
  unsigned int flags;
};
union hipStreamBatchMemOpParams {
  hipStreamBatchMemOpType operation;
  hipStreamMemOpValueParams waitValue;
  hipStreamMemOpValueParams writeValue;
  hipStreamMemOpOrderParams flushRemoteWrites;
  hipStreamMemOpOrderParams memoryBarrier;
  uint64_t pad[6];
};
inline hipError_t hipStreamBatchMemOp(hipStream_t stream, unsigned int count, hipStreamBatchMemOpParams* all,
                                      unsigned int) {
  constexpr unsigned int most = 256;
  if (count > most) return hipErrorInvalidValue;
  for (unsigned int n = 0; n < count; ++n) {
    const hipStreamMemOpValueParams& one = all[n].waitValue;
    hipError_t said = hipSuccess;
    switch (all[n].operation) {
      case hipStreamMemOpWaitValue32:
        said = hipStreamWaitValue32(stream, one.address, one.value, one.flags);
        break;
      case hipStreamMemOpWaitValue64:
        said = hipStreamWaitValue64(stream, one.address, one.value64, one.flags);
        break;
      case hipStreamMemOpWriteValue32:
        said = hipStreamWriteValue32(stream, one.address, one.value, one.flags);
        break;
      case hipStreamMemOpWriteValue64:
        said = hipStreamWriteValue64(stream, one.address, one.value64, one.flags);
        break;
      case hipStreamMemOpFlushRemoteWrites:  // waits do that
      case hipStreamMemOpBarrier:            // what a stream is given comes one behind the other
        break;
      default:
        said = hipErrorInvalidValue;
    }
    if (said != hipSuccess) return said;
  }
  return hipSuccess;
}
