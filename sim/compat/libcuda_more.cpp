// The driver API for host code that nvcc has compiled: memory that programs map by themselves, and what works in streams.
#include <cuda.h>
#include <heddle/sim/compat/exported.h>

HEDDLE_EXPORTED_3(cuMemGetAllocationGranularity, "cuMemGetAllocationGranularity", size_t*, const CUmemAllocationProp*,
                  CUmemAllocationGranularity_flags)
HEDDLE_EXPORTED_4(cuMemCreate, "cuMemCreate", CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*,
                  unsigned long long)
HEDDLE_EXPORTED_1(cuMemRelease, "cuMemRelease", CUmemGenericAllocationHandle)
HEDDLE_EXPORTED_2(cuMemRetainAllocationHandle, "cuMemRetainAllocationHandle", CUmemGenericAllocationHandle*, void*)
HEDDLE_EXPORTED_2(cuMemGetAllocationPropertiesFromHandle, "cuMemGetAllocationPropertiesFromHandle",
                  CUmemAllocationProp*, CUmemGenericAllocationHandle)
HEDDLE_EXPORTED_4(cuMemExportToShareableHandle, "cuMemExportToShareableHandle", void*, CUmemGenericAllocationHandle,
                  CUmemAllocationHandleType, unsigned long long)
HEDDLE_EXPORTED_3(cuMemImportFromShareableHandle, "cuMemImportFromShareableHandle", CUmemGenericAllocationHandle*,
                  void*, CUmemAllocationHandleType)
HEDDLE_EXPORTED(cuMemAddressReserve, "cuMemAddressReserve",
                (CUdeviceptr * a, size_t b, size_t c, CUdeviceptr d, unsigned long long e), (a, b, c, d, e))
HEDDLE_EXPORTED_2(cuMemAddressFree, "cuMemAddressFree", CUdeviceptr, size_t)
HEDDLE_EXPORTED(cuMemMap, "cuMemMap",
                (CUdeviceptr a, size_t b, size_t c, CUmemGenericAllocationHandle d, unsigned long long e),
                (a, b, c, d, e))
HEDDLE_EXPORTED_2(cuMemUnmap, "cuMemUnmap", CUdeviceptr, size_t)
HEDDLE_EXPORTED_4(cuMemSetAccess, "cuMemSetAccess", CUdeviceptr, size_t, const CUmemAccessDesc*, size_t)
HEDDLE_EXPORTED_3(cuMemGetAccess, "cuMemGetAccess", unsigned long long*, const CUmemLocation*, CUdeviceptr)
HEDDLE_EXPORTED_3(cuMulticastGetGranularity, "cuMulticastGetGranularity", size_t*, const CUmulticastObjectProp*,
                  CUmulticastGranularity_flags)
HEDDLE_EXPORTED_2(cuMulticastCreate, "cuMulticastCreate", CUmemGenericAllocationHandle*, const CUmulticastObjectProp*)
HEDDLE_EXPORTED_2(cuMulticastAddDevice, "cuMulticastAddDevice", CUmemGenericAllocationHandle, CUdevice)
HEDDLE_EXPORTED(cuMulticastBindMem, "cuMulticastBindMem",
                (CUmemGenericAllocationHandle a, size_t b, CUmemGenericAllocationHandle c, size_t d, size_t e,
                 unsigned long long f),
                (a, b, c, d, e, f))
HEDDLE_EXPORTED(cuMulticastBindAddr, "cuMulticastBindAddr",
                (CUmemGenericAllocationHandle a, size_t b, CUdeviceptr c, size_t d, unsigned long long e),
                (a, b, c, d, e))
HEDDLE_EXPORTED_4(cuMulticastUnbind, "cuMulticastUnbind", CUmemGenericAllocationHandle, CUdevice, size_t, size_t)
HEDDLE_EXPORTED_1(cuCtxPushCurrent, "cuCtxPushCurrent_v2", CUcontext)
HEDDLE_EXPORTED_1(cuCtxPopCurrent, "cuCtxPopCurrent_v2", CUcontext*)
HEDDLE_EXPORTED_3(cuLaunchHostFunc, "cuLaunchHostFunc", CUstream, CUhostFn, void*)
HEDDLE_EXPORTED_2(cuDeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool", CUmemoryPool*, CUdevice)
HEDDLE_EXPORTED_2(cuDeviceGetMemPool, "cuDeviceGetMemPool", CUmemoryPool*, CUdevice)
HEDDLE_EXPORTED_2(cuDeviceSetMemPool, "cuDeviceSetMemPool", CUdevice, CUmemoryPool)
HEDDLE_EXPORTED_2(cuMemPoolCreate, "cuMemPoolCreate", CUmemoryPool*, const CUmemPoolProps*)
HEDDLE_EXPORTED_1(cuMemPoolDestroy, "cuMemPoolDestroy", CUmemoryPool)
HEDDLE_EXPORTED_2(cuMemPoolTrimTo, "cuMemPoolTrimTo", CUmemoryPool, size_t)
HEDDLE_EXPORTED_3(cuMemPoolGetAttribute, "cuMemPoolGetAttribute", CUmemoryPool, CUmemPool_attribute, void*)
HEDDLE_EXPORTED_3(cuMemPoolSetAttribute, "cuMemPoolSetAttribute", CUmemoryPool, CUmemPool_attribute, void*)
HEDDLE_EXPORTED_3(cuMemPoolSetAccess, "cuMemPoolSetAccess", CUmemoryPool, const CUmemAccessDesc*, size_t)
HEDDLE_EXPORTED_3(cuMemPoolGetAccess, "cuMemPoolGetAccess", CUmemAccess_flags*, CUmemoryPool, CUmemLocation*)
HEDDLE_EXPORTED_4(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", CUdeviceptr*, size_t, CUmemoryPool, CUstream)
HEDDLE_EXPORTED_3(cuMemAllocAsync, "cuMemAllocAsync", CUdeviceptr*, size_t, CUstream)
HEDDLE_EXPORTED_2(cuMemFreeAsync, "cuMemFreeAsync", CUdeviceptr, CUstream)
HEDDLE_EXPORTED_4(cuMemcpyAsync, "cuMemcpyAsync", CUdeviceptr, CUdeviceptr, size_t, CUstream)
HEDDLE_EXPORTED_4(cuMemsetD8Async, "cuMemsetD8Async", CUdeviceptr, unsigned char, size_t, CUstream)
HEDDLE_EXPORTED_4(cuMemsetD32Async, "cuMemsetD32Async", CUdeviceptr, unsigned, size_t, CUstream)
HEDDLE_EXPORTED_3(cuStreamCreateWithPriority, "cuStreamCreateWithPriority", CUstream*, unsigned, int)
