// Memory that a program maps by itself, as the driver API has it. Included by <cuda.h> alone. Sizes and offsets are multiples of 64 KiB.
// (CUDA Driver API, "Virtual Memory Management", "Multicast Object Management".)
//
// Errors of a program that the driver does not see, such as an access where nothing is mapped, are verdicts of the run.
#pragma once

#include <heddle/sim/runtime/mapping_calls.h>

using CUmemGenericAllocationHandle = unsigned long long;

enum CUmemAllocationHandleType {
  CU_MEM_HANDLE_TYPE_NONE = 0,
  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1,
  CU_MEM_HANDLE_TYPE_FABRIC = 8,
};
enum CUmemAccess_flags {
  CU_MEM_ACCESS_FLAGS_PROT_NONE = 0,
  CU_MEM_ACCESS_FLAGS_PROT_READ = 1,
  CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3,
};
enum CUmemAllocationType { CU_MEM_ALLOCATION_TYPE_INVALID = 0, CU_MEM_ALLOCATION_TYPE_PINNED = 1 };
enum CUmemAllocationGranularity_flags {
  CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
  CU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1,
};
enum CUmulticastGranularity_flags { CU_MULTICAST_GRANULARITY_MINIMUM = 0, CU_MULTICAST_GRANULARITY_RECOMMENDED = 1 };
struct CUmemAllocationProp {
  CUmemAllocationType type;
  CUmemAllocationHandleType requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  struct {
    unsigned char compressionType;
    unsigned char gpuDirectRDMACapable;
    unsigned short usage;
    unsigned char reserved[4];
  } allocFlags;
};
struct CUmemAccessDesc {
  CUmemLocation location;
  CUmemAccess_flags flags;
};
struct CUmulticastObjectProp {
  unsigned int numDevices;
  size_t size;
  unsigned long long handleTypes;
  unsigned long long flags;
};
struct CUmemFabricHandle {
  unsigned char data[64];
};

namespace heddle::compat {

inline bool is_on_host(const CUmemLocation& where) { return where.type >= CU_MEM_LOCATION_TYPE_HOST; }
inline bool is_place(const CUmemLocation& where) {
  return is_on_host(where) || (where.type == CU_MEM_LOCATION_TYPE_DEVICE && is_device(where.id));
}
inline bool is_whole(size_t bytes) { return bytes != 0 && bytes % sim::runtime::mapping_granule() == 0; }
inline CUresult result_of(sim::runtime::binding said) {
  return said == sim::runtime::binding::lacks_devices ? CUDA_ERROR_ILLEGAL_STATE
                                                      : done_if(said == sim::runtime::binding::done);
}

}  // namespace heddle::compat

// -- objects of memory

inline CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp* prop,
                                              CUmemAllocationGranularity_flags) {
  *bytes = heddle::sim::runtime::mapping_granule();
  return heddle::compat::done_if(heddle::compat::is_place(prop->location));
}
inline CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp* prop,
                            unsigned long long flags) {
  if (flags != 0 || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED || !heddle::compat::is_place(prop->location) ||
      !heddle::compat::is_whole(bytes))
    return CUDA_ERROR_INVALID_VALUE;
  const bool on_host = heddle::compat::is_on_host(prop->location);
  *handle = heddle::sim::runtime::create_mappable(bytes, on_host ? 0 : static_cast<uint32_t>(prop->location.id),
                                                  on_host, "cuMemCreate");
  return CUDA_SUCCESS;
}
inline CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return heddle::compat::done_if(heddle::sim::runtime::release_mappable(handle));
}
inline CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  *handle = heddle::sim::runtime::mappable_at(address);
  return heddle::compat::done_if(heddle::sim::runtime::retain_mappable(*handle));
}
inline CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop, CUmemGenericAllocationHandle handle) {
  const heddle::sim::runtime::mappable_facts facts = heddle::sim::runtime::facts_of(handle);
  *prop = {};
  prop->type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop->location = {facts.on_host ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE,
                    static_cast<int>(facts.device)};
  return heddle::compat::done_if(facts.size_bytes != 0);
}
/// For another thread that takes the place of a process: a file descriptor that the program closes, or 64 bytes.
inline CUresult cuMemExportToShareableHandle(void* to, CUmemGenericAllocationHandle handle,
                                             CUmemAllocationHandleType type, unsigned long long flags) {
  if (flags != 0 || heddle::sim::runtime::facts_of(handle).size_bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (type == CU_MEM_HANDLE_TYPE_FABRIC) {
    CUmemFabricHandle made = {};
    __builtin_memcpy(made.data, &handle, sizeof handle);
    *static_cast<CUmemFabricHandle*>(to) = made;
    return CUDA_SUCCESS;
  }
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_INVALID_VALUE;
  *static_cast<int*>(to) = heddle::sim::runtime::export_mappable(handle);
  return heddle::compat::done_if(*static_cast<int*>(to) >= 0);
}
/// A file descriptor is given as the pointer.
inline CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* from,
                                               CUmemAllocationHandleType type) {
  if (type == CU_MEM_HANDLE_TYPE_FABRIC) {
    __builtin_memcpy(handle, static_cast<const CUmemFabricHandle*>(from)->data, sizeof *handle);
    return heddle::compat::done_if(heddle::sim::runtime::retain_mappable(*handle));
  }
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_INVALID_VALUE;
  *handle = heddle::sim::runtime::import_mappable(static_cast<int>(reinterpret_cast<intptr_t>(from)));
  return heddle::compat::done_if(*handle != 0);
}

// -- ranges of addresses

inline CUresult cuMemAddressReserve(CUdeviceptr* range, size_t bytes, size_t alignment, CUdeviceptr,
                                    unsigned long long flags) {
  if (flags != 0 || !heddle::compat::is_whole(bytes) || (alignment & (alignment - 1)) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  *range = reinterpret_cast<uintptr_t>(heddle::sim::runtime::reserve_range(bytes, alignment));
  return *range == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
inline CUresult cuMemAddressFree(CUdeviceptr range, size_t bytes) {
  return heddle::compat::done_if(heddle::sim::runtime::free_range(heddle::compat::memory_at(range), bytes));
}
inline CUresult cuMemMap(CUdeviceptr to, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                         unsigned long long flags) {
  return heddle::compat::done_if(flags == 0 &&
                                 heddle::sim::runtime::map_range(heddle::compat::memory_at(to), bytes, handle, offset));
}
inline CUresult cuMemUnmap(CUdeviceptr from, size_t bytes) {
  return heddle::compat::done_if(heddle::sim::runtime::unmap_range(heddle::compat::memory_at(from), bytes));
}
/// Without it a device reaches nothing of what is mapped.
inline CUresult cuMemSetAccess(CUdeviceptr range, size_t bytes, const CUmemAccessDesc* all, size_t count) {
  for (size_t n = 0; n < count; ++n) {
    if (!heddle::compat::is_place(all[n].location)) return CUDA_ERROR_INVALID_DEVICE;
    if (heddle::compat::is_on_host(all[n].location)) continue;
    if (!heddle::sim::runtime::allow_in_range(heddle::compat::memory_at(range), bytes,
                                              static_cast<uint32_t>(all[n].location.id),
                                              heddle::compat::right_of_flags(all[n].flags)))
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
inline CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  if (!heddle::compat::is_place(*location)) return CUDA_ERROR_INVALID_DEVICE;
  *flags = heddle::compat::flags_of(
      heddle::sim::runtime::right_in_range(heddle::compat::memory_at(address), static_cast<uint32_t>(location->id)));
  return CUDA_SUCCESS;
}

// -- objects of several devices' memory, which multimem instructions reach

inline CUresult cuMulticastGetGranularity(size_t* bytes, const CUmulticastObjectProp*, CUmulticastGranularity_flags) {
  *bytes = heddle::sim::runtime::mapping_granule();
  return CUDA_SUCCESS;
}
inline CUresult cuMulticastCreate(CUmemGenericAllocationHandle* handle, const CUmulticastObjectProp* prop) {
  if (prop->numDevices == 0 || prop->numDevices > heddle::sim::runtime::device_count() ||
      !heddle::compat::is_whole(prop->size))
    return CUDA_ERROR_INVALID_VALUE;
  *handle = heddle::sim::runtime::create_multicast(prop->size, prop->numDevices);
  return CUDA_SUCCESS;
}
inline CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle handle, CUdevice device) {
  if (!heddle::compat::is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  return heddle::compat::done_if(heddle::sim::runtime::add_device(handle, static_cast<uint32_t>(device)));
}
/// All devices must have been added.
inline CUresult cuMulticastBindMem(CUmemGenericAllocationHandle handle, size_t offset,
                                   CUmemGenericAllocationHandle memory, size_t memory_offset, size_t bytes,
                                   unsigned long long flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return heddle::compat::result_of(heddle::sim::runtime::bind_memory(handle, offset, memory, memory_offset, bytes));
}
inline CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle handle, size_t offset, CUdeviceptr address,
                                    size_t bytes, unsigned long long flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return heddle::compat::result_of(
      heddle::sim::runtime::bind_address(handle, offset, heddle::compat::memory_at(address), bytes));
}
inline CUresult cuMulticastUnbind(CUmemGenericAllocationHandle handle, CUdevice device, size_t offset, size_t bytes) {
  if (!heddle::compat::is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  return heddle::compat::done_if(
      heddle::sim::runtime::unbind_memory(handle, static_cast<uint32_t>(device), offset, bytes));
}
