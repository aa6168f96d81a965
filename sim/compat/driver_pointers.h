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
  CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE = 10,
  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
  CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
  CU_POINTER_ATTRIBUTE_MAPPED = 13,
  CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES = 14,
  CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE = 15,
  CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE = 17,
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
enum CUmemorytype {
  CU_MEMORYTYPE_HOST = 1,
  CU_MEMORYTYPE_DEVICE = 2,
  CU_MEMORYTYPE_ARRAY = 3,
  CU_MEMORYTYPE_UNIFIED = 4
};
inline constexpr CUdevice CU_DEVICE_INVALID = -2;

namespace heddle::compat {

inline CUresult done_if(bool done) { return done ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }

}  // namespace heddle::compat

/// Where the allocation begins that holds the address, and its size.
inline CUresult cuMemGetAddressRange(CUdeviceptr* begin, size_t* bytes, CUdeviceptr address) {
  const heddle::sim::runtime::named_object of = heddle::sim::runtime::allocation_of(heddle::compat::memory_at(address));
  if (of.address == nullptr) return CUDA_ERROR_NOT_FOUND;
  if (begin != nullptr) *begin = reinterpret_cast<uintptr_t>(of.address);
  if (bytes != nullptr) *bytes = of.size_bytes;
  return CUDA_SUCCESS;
}
namespace heddle::compat {

/// Of an address in what is allocated or mapped. Memory that moves counts as the device's, as by NVIDIA's driver.
inline CUresult get_pointer_attribute(void* value, CUpointer_attribute attribute, const void* pointer) {
  const auto answer = [&](auto found) {
    *static_cast<decltype(found)*>(value) = found;
    return CUDA_SUCCESS;
  };
  const sim::runtime::named_object of = sim::runtime::allocation_of(pointer);
  const uint32_t device = sim::runtime::device_of(pointer);
  const bool on_device = sim::runtime::is_on_device(pointer);
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return answer(handle_of<CUcontext>(device + 1));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return answer(static_cast<unsigned int>(on_device || sim::runtime::is_managed(pointer) ? CU_MEMORYTYPE_DEVICE
                                                                                             : CU_MEMORYTYPE_HOST));
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (on_device) return CUDA_ERROR_INVALID_VALUE;
      [[fallthrough]];
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return answer(CUdeviceptr{reinterpret_cast<uintptr_t>(pointer)});
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return answer(sim::runtime::waits_for_copies(pointer));
    // No address is given twice.
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return answer(static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(of.address)));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return answer(sim::runtime::is_managed(pointer));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return answer(static_cast<int>(device));
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return answer(on_device && pool_that_gave(of.address) == nullptr);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return answer(CUdeviceptr{reinterpret_cast<uintptr_t>(of.address)});
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return answer(of.size_bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return answer(true);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return answer(0ULL);
    // As CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED says.
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return answer(false);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return answer(pool_that_gave(of.address));
  }
  return CUDA_ERROR_INVALID_VALUE;
}

/// What stands for no value.
inline CUresult clear_pointer_attribute(void* value, CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned int*>(value) = 0;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(value) = CU_DEVICE_INVALID;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      *static_cast<bool*>(value) = false;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      *static_cast<unsigned long long*>(value) = 0;
      return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace heddle::compat

inline CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  const void* const pointer = heddle::compat::memory_at(address);
  if (value == nullptr || heddle::sim::runtime::allocation_of(pointer).address == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  return heddle::compat::get_pointer_attribute(value, attribute, pointer);
}
/// Attributes of no memory of CUDA's, and those that it lacks, stand for no value.
inline CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes, void** values,
                                       CUdeviceptr address) {
  if (attributes == nullptr || values == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const void* const pointer = heddle::compat::memory_at(address);
  const bool is_known = heddle::sim::runtime::allocation_of(pointer).address != nullptr;
  for (unsigned int n = 0; n < count; ++n) {
    const CUresult cleared = heddle::compat::clear_pointer_attribute(values[n], attributes[n]);
    if (cleared != CUDA_SUCCESS) return cleared;
    if (is_known) heddle::compat::get_pointer_attribute(values[n], attributes[n], pointer);
  }
  return CUDA_SUCCESS;
}
inline CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  return heddle::compat::done_if(
      heddle::compat::set_pointer_attribute(value, attribute, heddle::compat::memory_at(address)));
}

enum CUmemRangeHandleType { CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD = 1 };
/// No driver of another device is here that such a file could be given to.
inline CUresult cuMemGetHandleForAddressRange(void*, CUdeviceptr, size_t, CUmemRangeHandleType, unsigned long long) {
  heddle::sim::runtime::refuse_call("cuMemGetHandleForAddressRange",
                                    "there is no dma-buf, as CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED says; ask for that "
                                    "first, or give the other side the pointer");
}
