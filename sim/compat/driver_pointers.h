// What the driver API says of pointers, and is told of them. Included by <cuda.h> alone.
#pragma once

enum CUpointer_attribute {
  CU_POINTER_ATTRIBUTE_CONTEXT = 1,
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
  CU_POINTER_ATTRIBUTE_HOST_POINTER = 4,
  CU_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6,
  CU_POINTER_ATTRIBUTE_BUFFER_ID = 7,
  CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
  CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
  CU_POINTER_ATTRIBUTE_MAPPED = 13,
  CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE = 15,
};
enum CUmemLocationType {
  CU_MEM_LOCATION_TYPE_INVALID = 0,
  CU_MEM_LOCATION_TYPE_DEVICE = 1,
  CU_MEM_LOCATION_TYPE_HOST = 2,
  CU_MEM_LOCATION_TYPE_HOST_NUMA = 3,
  CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT = 4,
};
struct CUmemLocation {
  CUmemLocationType type;
  int id;
};
enum CUmemorytype { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2 };
/// Where the allocation begins that holds the address, and its size.
inline CUresult cuMemGetAddressRange(CUdeviceptr* begin, size_t* bytes, CUdeviceptr address) {
  const heddle::sim::runtime::named_object of = heddle::sim::runtime::allocation_of(heddle::compat::memory_at(address));
  if (of.address == nullptr) return CUDA_ERROR_NOT_FOUND;
  if (begin != nullptr) *begin = reinterpret_cast<uintptr_t>(of.address);
  if (bytes != nullptr) *bytes = of.size_bytes;
  return CUDA_SUCCESS;
}
inline CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  const void* const pointer = heddle::compat::memory_at(address);
  const heddle::sim::runtime::named_object of = heddle::sim::runtime::allocation_of(pointer);
  if (of.address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<CUcontext*>(value) =
          heddle::compat::handle_of<CUcontext>(heddle::sim::runtime::device_of(pointer) + 1);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned int*>(value) =
          heddle::sim::runtime::is_on_device(pointer) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      *static_cast<CUdeviceptr*>(value) = address;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      *static_cast<bool*>(value) = heddle::sim::runtime::waits_for_copies(pointer);
      return CUDA_SUCCESS;
    // No address is given twice.
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      *static_cast<unsigned long long*>(value) = reinterpret_cast<uintptr_t>(of.address);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<bool*>(value) = heddle::sim::runtime::is_managed(pointer);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(value) = static_cast<int>(heddle::sim::runtime::device_of(pointer));
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<CUdeviceptr*>(value) = reinterpret_cast<uintptr_t>(of.address);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *static_cast<size_t*>(value) = of.size_bytes;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
      *static_cast<bool*>(value) = true;
      return CUDA_SUCCESS;
    // As CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED says.
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      *static_cast<bool*>(value) = false;
      return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}
/// Calls that copy or fill this memory, and that may return before that has ended, wait for it from now on. (CUDA Driver API,
/// "cuPointerSetAttribute".)
inline CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  const void* const pointer = heddle::compat::memory_at(address);
  if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ||
      heddle::sim::runtime::allocation_of(pointer).address == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  heddle::sim::runtime::set_waits_for_copies(pointer, *static_cast<const unsigned int*>(value) != 0);
  return CUDA_SUCCESS;
}

enum CUmemRangeHandleType { CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD = 1 };
/// No driver of another device is here that such a file could be given to.
inline CUresult cuMemGetHandleForAddressRange(void*, CUdeviceptr, size_t, CUmemRangeHandleType, unsigned long long) {
  heddle::sim::runtime::refuse_call("cuMemGetHandleForAddressRange",
                                    "there is no dma-buf, as CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED says; ask for that "
                                    "first, or give the other side the pointer");
}
