// Pools of device memory, as the driver API has them: those of the runtime (pools.h). Included by <cuda.h> alone.
#pragma once

using CUmemoryPool = cudaMemPool_t;
enum CUmemPool_attribute {
  CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1,
  CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC = 2,
  CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3,
  CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4,
  CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
  CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH = 6,
  CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
  CU_MEMPOOL_ATTR_USED_MEM_HIGH = 8,
};
struct CUmemPoolProps {
  CUmemAllocationType allocType;
  CUmemAllocationHandleType handleTypes;
  CUmemLocation location;
  void* win32SecurityAttributes;
  size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};

inline CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return static_cast<CUresult>(cudaDeviceGetDefaultMemPool(pool, device));
}
inline CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  return static_cast<CUresult>(cudaDeviceGetMemPool(pool, device));
}
inline CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  return static_cast<CUresult>(cudaDeviceSetMemPool(device, pool));
}
inline CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* how) {
  return static_cast<CUresult>(heddle::compat::make_pool_of(pool, how));
}
inline CUresult cuMemPoolDestroy(CUmemoryPool pool) { return static_cast<CUresult>(cudaMemPoolDestroy(pool)); }
inline CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t kept_bytes) {
  return static_cast<CUresult>(cudaMemPoolTrimTo(pool, kept_bytes));
}
inline CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return static_cast<CUresult>(heddle::compat::get_attribute(pool, attribute, value));
}
inline CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return static_cast<CUresult>(heddle::compat::set_attribute(pool, attribute, value));
}
inline CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* all, size_t count) {
  return static_cast<CUresult>(heddle::compat::set_access(pool, all, count));
}
inline CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool, CUmemLocation* where) {
  return static_cast<CUresult>(heddle::compat::get_access(flags, pool, where));
}
inline CUresult cuMemAllocFromPoolAsync(CUdeviceptr* memory, size_t bytes, CUmemoryPool pool, CUstream stream) {
  void* made = nullptr;
  const heddle::compat::call_answer answer = heddle::compat::allocate_from(
      pool, &made, bytes,
      {heddle::compat::memory_place::device_alone, "cuMemAllocAsync", heddle::compat::stream_number(stream)});
  *memory = reinterpret_cast<uintptr_t>(made);
  return static_cast<CUresult>(answer);
}
