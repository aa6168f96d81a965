// The driver API by names and versions, as programs look it up that link no driver: <cudaTypedefs.h>, cuGetProcAddress and
// cudaGetDriverEntryPoint. (CUDA Driver API, "Driver Entry Point Access".)
#pragma once

#include <heddle/sim/compat/include/cuda.h>

#include <type_traits>

// use(function, a version that its type is named after)
// clang-format off
#define HEDDLE_DRIVER_ENTRIES(use) \
  use(cuCtxCreate, 3020) use(cuCtxDestroy, 2000) use(cuCtxDestroy, 4000) use(cuCtxEnablePeerAccess, 4000) use(cuCtxGetCurrent, 4000) \
  use(cuCtxGetDevice, 2000) use(cuCtxPopCurrent, 2000) use(cuCtxPopCurrent, 4000) use(cuCtxPushCurrent, 2000) \
  use(cuCtxPushCurrent, 4000) use(cuCtxSetCurrent, 4000) use(cuCtxSynchronize, 2000) use(cuDeviceCanAccessPeer, 4000) \
  use(cuDeviceComputeCapability, 2000) use(cuDeviceGet, 2000) use(cuDeviceGetAttribute, 2000) use(cuDeviceGetCount, 2000) \
  use(cuDeviceGetDefaultMemPool, 11020) use(cuDeviceGetMemPool, 11020) use(cuDeviceSetMemPool, 11020) \
  use(cuDeviceGetName, 2000) use(cuDevicePrimaryCtxRelease, 7000) use(cuDevicePrimaryCtxRelease, 11000) \
  use(cuDevicePrimaryCtxRetain, 7000) use(cuDeviceTotalMem, 3020) use(cuDriverGetVersion, 2020) use(cuEventCreate, 2000) \
  use(cuEventDestroy, 2000) use(cuEventDestroy, 4000) use(cuEventElapsedTime, 2000) use(cuEventElapsedTime, 12080) \
  use(cuEventQuery, 2000) use(cuEventRecord, 2000) use(cuEventSynchronize, 2000) use(cuGetErrorName, 6000) \
  use(cuGetErrorString, 6000) use(cuInit, 2000) use(cuLaunchCooperativeKernel, 9000) use(cuLaunchHostFunc, 10000) \
  use(cuLaunchKernel, 4000) use(cuLaunchKernelEx, 11060) use(cuMemAddressFree, 10020) use(cuMemAddressReserve, 10020) \
  use(cuMemAlloc, 3020) use(cuMemAllocAsync, 11020) use(cuMemAllocFromPoolAsync, 11020) use(cuMemAllocHost, 3020) use(cuMemAllocManaged, 6000) use(cuMemCreate, 10020) \
  use(cuMemExportToShareableHandle, 10020) use(cuMemFree, 3020) use(cuMemFreeAsync, 11020) use(cuMemFreeHost, 2000) \
  use(cuMemGetAccess, 10020) use(cuMemGetAddressRange, 3020) use(cuMemGetAllocationGranularity, 10020) \
  use(cuMemGetAllocationPropertiesFromHandle, 10020) use(cuMemGetHandleForAddressRange, 11070) use(cuMemHostAlloc, 2020) use(cuMemHostGetDevicePointer, 2020) \
  use(cuMemHostGetDevicePointer, 3020) use(cuMemHostRegister, 6050) use(cuMemHostUnregister, 4000) \
  use(cuMemImportFromShareableHandle, 10020) use(cuMemMap, 10020) use(cuMemPoolCreate, 11020) use(cuMemPoolDestroy, 11020) \
  use(cuMemPoolGetAccess, 11020) use(cuMemPoolGetAttribute, 11020) use(cuMemPoolSetAccess, 11020) \
  use(cuMemPoolSetAttribute, 11020) use(cuMemPoolTrimTo, 11020) use(cuMemRelease, 10020) use(cuMemRetainAllocationHandle, 11000) \
  use(cuMemSetAccess, 10020) use(cuMemUnmap, 10020) use(cuMemcpy, 4000) use(cuMemcpyAsync, 4000) use(cuMemcpyDtoD, 3020) \
  use(cuMemcpyDtoDAsync, 3000) use(cuMemcpyDtoDAsync, 3020) use(cuMemcpyDtoH, 3020) use(cuMemcpyDtoHAsync, 3020) \
  use(cuMemcpyHtoD, 3020) use(cuMemcpyHtoDAsync, 3020) use(cuMemcpyPeer, 4000) use(cuMemcpyPeerAsync, 4000) use(cuMemsetD32, 3020) \
  use(cuMemsetD32Async, 3020) use(cuMemsetD8, 3020) use(cuMemsetD8Async, 3020) use(cuModuleGetFunction, 2000) \
  use(cuModuleGetGlobal, 3020) use(cuModuleLoad, 2000) use(cuModuleLoadData, 2000) use(cuModuleUnload, 2000) \
  use(cuMulticastAddDevice, 12010) use(cuMulticastBindAddr, 12010) use(cuMulticastBindMem, 12010) use(cuMulticastCreate, 12010) \
  use(cuMulticastGetGranularity, 12010) use(cuMulticastUnbind, 12010) use(cuPointerGetAttribute, 4000) use(cuPointerGetAttributes, 7000) use(cuPointerSetAttribute, 6000) use(cuStreamBatchMemOp, 8000) \
  use(cuStreamBatchMemOp, 11070) use(cuStreamCreate, 2000) use(cuStreamCreateWithPriority, 5050) use(cuStreamDestroy, 2000) \
  use(cuStreamDestroy, 4000) use(cuStreamQuery, 2000) use(cuStreamSynchronize, 2000) use(cuStreamWaitEvent, 3020) \
  use(cuStreamWaitValue32, 8000) use(cuStreamWaitValue32, 11070) use(cuStreamWaitValue64, 9000) use(cuStreamWaitValue64, 11070) \
  use(cuStreamWriteValue32, 8000) use(cuStreamWriteValue32, 11070) use(cuStreamWriteValue64, 9000) use(cuStreamWriteValue64, 11070) \
  use(cuTensorMapEncodeIm2col, 12000) use(cuTensorMapEncodeTiled, 12000) use(cuTensorMapReplaceAddress, 12000)
// clang-format on

#define HEDDLE_DRIVER_ENTRY_TYPE(function, version)                       \
  using PFN_##function##_v##version = std::decay_t<decltype(::function)>; \
  using PFN_##function = PFN_##function##_v##version;
HEDDLE_DRIVER_ENTRIES(HEDDLE_DRIVER_ENTRY_TYPE)
#undef HEDDLE_DRIVER_ENTRY_TYPE

enum CUdriverProcAddressQueryResult {
  CU_GET_PROC_ADDRESS_SUCCESS = 0,
  CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
  CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2,
};
enum cudaDriverEntryPointQueryResult {
  cudaDriverEntryPointSuccess = 0,
  cudaDriverEntryPointSymbolNotFound = 1,
  cudaDriverEntryPointVersionNotSufficent = 2,
};
inline constexpr unsigned long long CU_GET_PROC_ADDRESS_DEFAULT = 0;
inline constexpr unsigned long long CU_GET_PROC_ADDRESS_LEGACY_STREAM = 1;
inline constexpr unsigned long long cudaEnableDefault = 0;
inline constexpr unsigned long long cudaEnableLegacyStream = 1;

// Templates, so that only a source that looks functions up has all of them compiled.

template <typename = void>
CUresult cuGetProcAddress(const char* name, void** function, int version, unsigned long long flags,
                          CUdriverProcAddressQueryResult* status = nullptr);

namespace heddle::compat {

/// Null where the name is none.
template <typename = void>
void* driver_entry(const char* name) {
#define HEDDLE_DRIVER_ENTRY(function, version) \
  if (__builtin_strcmp(name, #function) == 0) return reinterpret_cast<void*>(static_cast<PFN_##function>(::function));
  HEDDLE_DRIVER_ENTRIES(HEDDLE_DRIVER_ENTRY)
#undef HEDDLE_DRIVER_ENTRY
  if (__builtin_strcmp(name, "cuGetProcAddress") == 0) return reinterpret_cast<void*>(&cuGetProcAddress<>);
  return nullptr;
}

}  // namespace heddle::compat

template <typename>
CUresult cuGetProcAddress(const char* name, void** function, int, unsigned long long,
                          CUdriverProcAddressQueryResult* status) {
  *function = heddle::compat::driver_entry<>(name);
  if (status != nullptr)
    *status = *function == nullptr ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND : CU_GET_PROC_ADDRESS_SUCCESS;
  // Without a place for the status it is the error. (CUDA Driver API, "cuGetProcAddress".)
  return *function == nullptr && status == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
template <typename = void>
cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* status = nullptr) {
  *function = heddle::compat::driver_entry<>(name);
  if (status != nullptr)
    *status = *function == nullptr ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  return *function == nullptr && status == nullptr ? cudaErrorSymbolNotFound : cudaSuccess;
}
template <typename = void>
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned int, unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* status = nullptr) {
  return cudaGetDriverEntryPoint<>(name, function, flags, status);
}
