// <cuda.h> of a source that heddle_simulate_cuda() compiles: the driver API over the simulated devices, beside the runtime API and with the
// same streams and memory. What is not here is not simulated, and a compile error.
//
// A module is this program, whatever image it is loaded from: its kernels and its variables of the device are found by the names that the
// linker knows, as in CUDA, so that C++ ones are mangled. A context is a device's primary one. Errors of a program are verdicts of the run;
// what comes back as an error here is an argument that cannot be.
#pragma once

// By this name other headers know that this one has been included.
#define __cuda_cuda_h__

#include <heddle/sim/compat/cuda.h>

#include <string.h>

using CUdeviceptr = unsigned long long;
using CUdevice = int;
using CUcontext = struct heddle_context*;
using CUmodule = struct heddle_module*;
using CUfunction = struct heddle_function*;
using CUstream = cudaStream_t;
using CUevent = cudaEvent_t;

#define CUDA_VERSION CUDART_VERSION
#define CUDAAPI

enum CUresult {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_ILLEGAL_STATE = 401,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
  CUDA_ERROR_PEER_ACCESS_NOT_ENABLED = 705,
  CUDA_ERROR_LAUNCH_FAILED = 719,  ///< never: what would fail ends the run
  CUDA_ERROR_NOT_PERMITTED = 800,
  CUDA_ERROR_NOT_SUPPORTED = 801,
};

enum CUdevice_attribute {
#define HEDDLE_ATTRIBUTE(number, name, upper, is) CU_DEVICE_ATTRIBUTE_##upper = number,
  HEDDLE_DEVICE_ATTRIBUTES(HEDDLE_ATTRIBUTE)
#undef HEDDLE_ATTRIBUTE
      CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED =
          CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
};

inline constexpr unsigned int CU_STREAM_DEFAULT = 0;
inline constexpr unsigned int CU_STREAM_NON_BLOCKING = 1;
inline constexpr unsigned int CU_MEM_ATTACH_GLOBAL = 1;
inline constexpr unsigned int CU_MEMHOSTALLOC_PORTABLE = 1;
inline constexpr unsigned int CU_MEMHOSTALLOC_DEVICEMAP = 2;
inline constexpr unsigned int CU_MEMHOSTALLOC_WRITECOMBINED = 4;
inline constexpr unsigned int CU_EVENT_DEFAULT = 0;
inline constexpr unsigned int CU_EVENT_DISABLE_TIMING = 2;
#define CU_LAUNCH_PARAM_END (static_cast<void*>(nullptr))
#define CU_LAUNCH_PARAM_BUFFER_POINTER (reinterpret_cast<void*>(uintptr_t{1}))
#define CU_LAUNCH_PARAM_BUFFER_SIZE (reinterpret_cast<void*>(uintptr_t{2}))

namespace heddle::compat {

inline void* memory_at(CUdeviceptr address) { return reinterpret_cast<void*>(static_cast<uintptr_t>(address)); }
template <typename Handle>
Handle handle_of(uintptr_t number) {
  return reinterpret_cast<Handle>(number);
}
inline CUcontext context_of(uint32_t device) { return handle_of<CUcontext>(uintptr_t{device} + 1); }
/// False where the handle is none; makes its device the thread's current one.
inline bool enter(CUcontext context) {
  const auto number = reinterpret_cast<uintptr_t>(context);
  if (number == 0 || number > sim::runtime::device_count()) return false;
  sim::runtime::set_current_device(static_cast<uint32_t>(number - 1));
  return true;
}
inline bool is_device(CUdevice device) {
  return device >= 0 && static_cast<uint32_t>(device) < sim::runtime::device_count();
}

}  // namespace heddle::compat

inline CUresult cuGetErrorName(CUresult error, const char** name) {
  *name = nullptr;
#define HEDDLE_CU_NAME(value) \
  if (error == value) *name = #value
  HEDDLE_CU_NAME(CUDA_SUCCESS);
  HEDDLE_CU_NAME(CUDA_ERROR_INVALID_VALUE);
  HEDDLE_CU_NAME(CUDA_ERROR_OUT_OF_MEMORY);
  HEDDLE_CU_NAME(CUDA_ERROR_INVALID_DEVICE);
  HEDDLE_CU_NAME(CUDA_ERROR_INVALID_CONTEXT);
  HEDDLE_CU_NAME(CUDA_ERROR_INVALID_HANDLE);
  HEDDLE_CU_NAME(CUDA_ERROR_ILLEGAL_STATE);
  HEDDLE_CU_NAME(CUDA_ERROR_NOT_FOUND);
  HEDDLE_CU_NAME(CUDA_ERROR_NOT_READY);
  HEDDLE_CU_NAME(CUDA_ERROR_LAUNCH_FAILED);
  HEDDLE_CU_NAME(CUDA_ERROR_NOT_PERMITTED);
  HEDDLE_CU_NAME(CUDA_ERROR_NOT_SUPPORTED);
#undef HEDDLE_CU_NAME
  return *name == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
inline CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_SUCCESS                 ? "no error"
          : error == CUDA_ERROR_INVALID_VALUE   ? "invalid argument"
          : error == CUDA_ERROR_OUT_OF_MEMORY   ? "out of memory"
          : error == CUDA_ERROR_INVALID_DEVICE  ? "invalid device ordinal"
          : error == CUDA_ERROR_INVALID_CONTEXT ? "invalid device context"
          : error == CUDA_ERROR_INVALID_HANDLE  ? "invalid resource handle"
          : error == CUDA_ERROR_ILLEGAL_STATE   ? "the operation cannot be performed in the present state"
          : error == CUDA_ERROR_NOT_FOUND       ? "named symbol not found"
          : error == CUDA_ERROR_NOT_READY       ? "device not ready"
          : error == CUDA_ERROR_LAUNCH_FAILED   ? "unspecified launch failure"
          : error == CUDA_ERROR_NOT_PERMITTED   ? "operation not permitted"
          : error == CUDA_ERROR_NOT_SUPPORTED   ? "operation not supported"
                                                : nullptr;
  return *text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// -- devices and contexts ------------------------------------------------------------------------------------------------------------

inline CUresult cuInit(unsigned int flags) { return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }
inline CUresult cuDriverGetVersion(int* version) {
  constexpr int version_12_0 = 12000;
  *version = version_12_0;
  return CUDA_SUCCESS;
}
inline CUresult cuDeviceGetCount(int* count) {
  *count = static_cast<int>(heddle::sim::runtime::device_count());
  return CUDA_SUCCESS;
}
inline CUresult cuDeviceGet(CUdevice* device, int number) {
  if (!heddle::compat::is_device(number)) return CUDA_ERROR_INVALID_DEVICE;
  *device = number;
  return CUDA_SUCCESS;
}
inline CUresult cuDeviceGetName(char* name, int size, CUdevice device) {
  if (!heddle::compat::is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (size <= 0) return CUDA_ERROR_INVALID_VALUE;
  strncpy(name, "heddle", static_cast<size_t>(size));
  name[size - 1] = 0;
  return CUDA_SUCCESS;
}
/// What read-modify-writes of the device do to memory of the host is the setting `link.rmw`; the rest is the same of all devices.
inline CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  if (!heddle::compat::is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  return heddle::compat::attribute_of_device(attribute, *value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
inline CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  *bytes = heddle::compat::memory_bytes;
  return heddle::compat::is_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
inline CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return static_cast<CUresult>(cudaDeviceCanAccessPeer(can, device, peer));
}
inline CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (!heddle::compat::is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *context = heddle::compat::context_of(static_cast<uint32_t>(device));
  return CUDA_SUCCESS;
}
inline CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return heddle::compat::is_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
/// The device's primary one, which becomes the thread's current.
inline CUresult cuCtxCreate(CUcontext* context, unsigned int, CUdevice device) {
  const CUresult made = cuDevicePrimaryCtxRetain(context, device);
  if (made == CUDA_SUCCESS) heddle::compat::enter(*context);
  return made;
}
inline CUresult cuCtxDestroy(CUcontext context) {
  return context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}
inline CUresult cuCtxSetCurrent(CUcontext context) {
  return heddle::compat::enter(context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
inline CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = heddle::compat::context_of(heddle::sim::runtime::current_device());
  return CUDA_SUCCESS;
}
inline CUresult cuCtxGetDevice(CUdevice* device) {
  *device = static_cast<int>(heddle::sim::runtime::current_device());
  return CUDA_SUCCESS;
}
inline CUresult cuCtxSynchronize() { return static_cast<CUresult>(cudaDeviceSynchronize()); }

// -- memory --------------------------------------------------------------------------------------------------------------------------

inline CUresult cuMemAlloc(CUdeviceptr* memory, size_t bytes) {
  void* made = nullptr;
  heddle::compat::allocate(&made, bytes, heddle::compat::memory_place::device_alone, "cuMemAlloc");
  *memory = reinterpret_cast<uintptr_t>(made);
  return CUDA_SUCCESS;
}
inline CUresult cuMemAllocManaged(CUdeviceptr* memory, size_t bytes, unsigned int flags) {
  if (flags != CU_MEM_ATTACH_GLOBAL) return CUDA_ERROR_INVALID_VALUE;
  void* made = nullptr;
  heddle::compat::allocate(&made, bytes, heddle::compat::memory_place::host, "cuMemAllocManaged");
  *memory = reinterpret_cast<uintptr_t>(made);
  return CUDA_SUCCESS;
}
inline CUresult cuMemAllocHost(void** memory, size_t bytes) {
  heddle::compat::allocate(memory, bytes, heddle::compat::memory_place::host, "cuMemAllocHost");
  return CUDA_SUCCESS;
}
inline CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned int flags) {
  if (flags > (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED))
    return CUDA_ERROR_INVALID_VALUE;
  const bool combines = (flags & CU_MEMHOSTALLOC_WRITECOMBINED) != 0;
  heddle::compat::allocate(memory, bytes, heddle::compat::place_on_host(combines), "cuMemHostAlloc");
  return CUDA_SUCCESS;
}
/// The same address: host and device have one space of addresses.
inline CUresult cuMemHostGetDevicePointer(CUdeviceptr* device, void* host, unsigned int) {
  *device = reinterpret_cast<uintptr_t>(host);
  return CUDA_SUCCESS;
}
inline CUresult cuMemFree(CUdeviceptr memory) {
  heddle::compat::release(heddle::compat::memory_at(memory));
  return CUDA_SUCCESS;
}
inline CUresult cuMemFreeHost(void* memory) {
  heddle::compat::release(memory);
  return CUDA_SUCCESS;
}

inline CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  heddle::compat::copy(heddle::compat::memory_at(to), heddle::compat::memory_at(from), bytes,
                       heddle::compat::direction::by_pointers, true);
  return CUDA_SUCCESS;
}
inline CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  heddle::compat::copy(to, heddle::compat::memory_at(from), bytes, heddle::compat::direction::device_to_host, true);
  return CUDA_SUCCESS;
}
inline CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  heddle::compat::copy(heddle::compat::memory_at(to), from, bytes, heddle::compat::direction::host_to_device, true);
  return CUDA_SUCCESS;
}
inline CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  heddle::compat::copy(heddle::compat::memory_at(to), heddle::compat::memory_at(from), bytes,
                       heddle::compat::direction::device_to_device, true);
  return CUDA_SUCCESS;
}
inline CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  heddle::compat::copy_in_stream(to, heddle::compat::memory_at(from), bytes, heddle::compat::direction::device_to_host,
                                 stream);
  return CUDA_SUCCESS;
}
inline CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  heddle::compat::copy_in_stream(heddle::compat::memory_at(to), from, bytes, heddle::compat::direction::host_to_device,
                                 stream);
  return CUDA_SUCCESS;
}
inline CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  heddle::compat::copy_in_stream(heddle::compat::memory_at(to), heddle::compat::memory_at(from), bytes,
                                 heddle::compat::direction::device_to_device, stream);
  return CUDA_SUCCESS;
}
inline CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t bytes) {
  heddle::compat::fill(heddle::compat::memory_at(to), value, bytes);
  return CUDA_SUCCESS;
}

// -- modules -------------------------------------------------------------------------------------------------------------------------

inline CUresult cuModuleLoad(CUmodule* module, const char* path) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *module = heddle::compat::handle_of<CUmodule>(1);
  return CUDA_SUCCESS;
}
inline CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *module = heddle::compat::handle_of<CUmodule>(1);
  return CUDA_SUCCESS;
}
inline CUresult cuModuleUnload(CUmodule module) { return module == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS; }
inline CUresult cuModuleGetGlobal(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const heddle::sim::runtime::named_object found = heddle::sim::runtime::device_variable_named(name);
  if (found.address == nullptr) return CUDA_ERROR_NOT_FOUND;
  if (address != nullptr) *address = reinterpret_cast<uintptr_t>(found.address);
  if (bytes != nullptr) *bytes = found.size_bytes;
  return CUDA_SUCCESS;
}
inline CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const void* const kernel = heddle::sim::runtime::kernel_named(name);
  if (kernel == nullptr) return CUDA_ERROR_NOT_FOUND;
  *function = heddle::compat::handle_of<CUfunction>(reinterpret_cast<uintptr_t>(kernel));
  return CUDA_SUCCESS;
}

/// The arguments by their addresses, or in a buffer as `extra` says. (CUDA Driver API, "Execution Control".)
inline constexpr auto cuLaunchKernel =
    +[](CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x,
        unsigned int block_y, unsigned int block_z, unsigned int shared_bytes, CUstream stream, void** arguments,
        void** extra) -> CUresult {
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (arguments != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  heddle::sim::runtime::kernel_arguments given{.addresses = arguments};
  for (size_t n = 0; extra != nullptr && extra[n] != CU_LAUNCH_PARAM_END; n += 2) {
    if (extra[n] == CU_LAUNCH_PARAM_BUFFER_POINTER)
      given.buffer = extra[n + 1];
    else if (extra[n] == CU_LAUNCH_PARAM_BUFFER_SIZE)
      given.buffer_bytes = *static_cast<const size_t*>(extra[n + 1]);
    else
      return CUDA_ERROR_INVALID_VALUE;
  }
  heddle::compat::launch_by_address(
      function,
      heddle::compat::shape(dim3(grid_x, grid_y, grid_z), dim3(block_x, block_y, block_z), shared_bytes, stream),
      given);
  return CUDA_SUCCESS;
};

// -- streams and events --------------------------------------------------------------------------------------------------------------

inline CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  return static_cast<CUresult>(cudaStreamCreateWithFlags(stream, flags));
}
inline CUresult cuStreamDestroy(CUstream stream) { return static_cast<CUresult>(cudaStreamDestroy(stream)); }
HEDDLE_COMPAT_INLINE CUresult cuStreamQuery(CUstream stream) { return static_cast<CUresult>(cudaStreamQuery(stream)); }
inline CUresult cuStreamSynchronize(CUstream stream) { return static_cast<CUresult>(cudaStreamSynchronize(stream)); }
inline CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
  return static_cast<CUresult>(cudaStreamWaitEvent(stream, event, flags));
}
inline CUresult cuEventCreate(CUevent* event, unsigned int flags) {
  return static_cast<CUresult>(cudaEventCreateWithFlags(event, flags));
}
inline CUresult cuEventRecord(CUevent event, CUstream stream) {
  return static_cast<CUresult>(cudaEventRecord(event, stream));
}
HEDDLE_COMPAT_INLINE CUresult cuEventQuery(CUevent event) { return static_cast<CUresult>(cudaEventQuery(event)); }
inline CUresult cuEventSynchronize(CUevent event) { return static_cast<CUresult>(cudaEventSynchronize(event)); }
inline CUresult cuEventDestroy(CUevent event) { return static_cast<CUresult>(cudaEventDestroy(event)); }

// clang-format off: each uses what is before it
#include <heddle/sim/compat/driver_pointers.h>
#include <heddle/sim/compat/virtual_memory.h>
#include <heddle/sim/compat/driver_pools.h>
#include <heddle/sim/compat/driver_calls.h>
#include <heddle/sim/compat/driver_streams.h>
#include <heddle/sim/compat/tensor_maps.h>
// clang-format on

#include <heddle/sim/compat/include/cudaTypedefs.h>
