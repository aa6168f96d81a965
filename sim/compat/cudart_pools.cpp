// Pools of memory and rows in slices, of the CUDA runtime that nvcc's host code calls (cudart.cpp).
#include <heddle/sim/compat/cudart.h>

extern "C" {

int cudaDeviceGetDefaultMemPool(simulatedMemPool_t* pool, int device) {
  return simulatedDeviceGetDefaultMemPool(pool, device);
}
int cudaDeviceGetMemPool(simulatedMemPool_t* pool, int device) { return simulatedDeviceGetMemPool(pool, device); }
int cudaDeviceSetMemPool(int device, simulatedMemPool_t pool) { return simulatedDeviceSetMemPool(device, pool); }
int cudaMemPoolCreate(simulatedMemPool_t* pool, const simulatedMemPoolProps* how) {
  return simulatedMemPoolCreate(pool, how);
}
int cudaMemPoolDestroy(simulatedMemPool_t pool) { return simulatedMemPoolDestroy(pool); }
int cudaMemPoolGetAttribute(simulatedMemPool_t pool, simulatedMemPoolAttr attribute, void* value) {
  return simulatedMemPoolGetAttribute(pool, attribute, value);
}
int cudaMemPoolSetAttribute(simulatedMemPool_t pool, simulatedMemPoolAttr attribute, void* value) {
  return simulatedMemPoolSetAttribute(pool, attribute, value);
}
int cudaMemPoolTrimTo(simulatedMemPool_t pool, size_t kept_bytes) { return simulatedMemPoolTrimTo(pool, kept_bytes); }
int cudaMemPoolSetAccess(simulatedMemPool_t pool, const simulatedMemAccessDesc* all, size_t count) {
  return simulatedMemPoolSetAccess(pool, all, count);
}
int cudaMemPoolGetAccess(simulatedMemAccessFlags* flags, simulatedMemPool_t pool, simulatedMemLocation* where) {
  return simulatedMemPoolGetAccess(flags, pool, where);
}
int cudaMallocFromPoolAsync(void** memory, size_t bytes, simulatedMemPool_t pool, simulatedStream_t stream) {
  return simulatedMallocFromPoolAsync(memory, bytes, pool, stream);
}

int cudaMalloc3D(simulatedPitchedPtr* memory, simulatedExtent extent) { return simulatedMalloc3D(memory, extent); }
int cudaMemcpy3D(const simulatedMemcpy3DParms* what) { return simulatedMemcpy3D(what); }
int cudaMemcpy3DAsync(const simulatedMemcpy3DParms* what, simulatedStream_t stream) {
  return simulatedMemcpy3DAsync(what, stream);
}
int cudaMemset3D(simulatedPitchedPtr to, int value, simulatedExtent extent) {
  return simulatedMemset3D(to, value, extent);
}
int cudaMemset3DAsync(simulatedPitchedPtr to, int value, simulatedExtent extent, simulatedStream_t stream) {
  return simulatedMemset3DAsync(to, value, extent, stream);
}

}  // extern "C"
