// The driver API under NVIDIA's names, for host code that nvcc has compiled: what <cuda.h> of this folder has, by the names that theirs makes of them, and
// modules, which are files of PTX that the program was built with (heddle_simulate_ptx(... MODULES ...)).
#include <cuda.h>
#include <heddle/sim/compat/exported.h>
#include <heddle/sim/compat/ptx/module.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace runtime = heddle::sim::runtime;
using heddle::compat::handle_of;

/// A fat binary that lies in a program is wrapped: its address stands behind two numbers.
const unsigned char* unwrapped(const void* image) {
  constexpr uint32_t wrapped = 0x466243b1;
  uint32_t magic = 0;
  std::memcpy(&magic, image, sizeof magic);
  const unsigned char* inner = nullptr;
  if (magic == wrapped) std::memcpy(&inner, static_cast<const unsigned char*>(image) + 8, sizeof inner);
  return inner != nullptr ? inner : static_cast<const unsigned char*>(image);
}

/// PTX, which ends with a zero, or a fat binary, which says how large it is.
std::string_view image_at(const unsigned char* image) {
  constexpr uint32_t fat = 0xba55ed50;
  const auto* const text = reinterpret_cast<const char*>(image);
  uint32_t magic = 0;
  std::memcpy(&magic, image, sizeof magic);
  if (magic != fat) return text;
  uint16_t header_bytes = 0;
  uint64_t content_bytes = 0;
  std::memcpy(&header_bytes, image + 6, sizeof header_bytes);
  std::memcpy(&content_bytes, image + 8, sizeof content_bytes);
  return {text, header_bytes + content_bytes};
}

CUresult load(CUmodule* module, std::string_view image) {
  const heddle::ptx::known_module* const known = heddle::ptx::module_of(image);
  if (known == nullptr)
    runtime::refuse_call("cuModuleLoad",
                         "this program was not built with that image: name its file behind MODULES of "
                         "heddle_simulate_ptx(), or among those that heddle nvcc links");
  if (!heddle::ptx::load(*known))
    runtime::refuse_call("cuModuleLoad", "the same image once more in a run would be other variables");
  *module = reinterpret_cast<CUmodule>(const_cast<heddle::ptx::known_module*>(known));
  return CUDA_SUCCESS;
}

const heddle::ptx::known_module& module_behind(CUmodule module) {
  return *reinterpret_cast<const heddle::ptx::known_module*>(module);
}

/// Where each argument lies, of those that stand in a buffer. False where that is too short.
bool arguments_in(const heddle::ptx::kernel& of, void** extra, void** addresses) {
  unsigned char* buffer = nullptr;
  size_t bytes = 0;
  for (size_t n = 0; extra[n] != CU_LAUNCH_PARAM_END; n += 2) {
    if (extra[n] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = static_cast<unsigned char*>(extra[n + 1]);
    if (extra[n] == CU_LAUNCH_PARAM_BUFFER_SIZE) std::memcpy(&bytes, extra[n + 1], sizeof bytes);
  }
  for (size_t n = 0; n < of.parameters.size(); ++n) {
    if (buffer == nullptr || of.parameters[n].offset + of.parameters[n].bytes > bytes) return false;
    addresses[n] = buffer + of.parameters[n].offset;
  }
  return true;
}

struct driver_launch {
  dim3 grid;
  dim3 block;
  unsigned shared_bytes;
  CUstream stream;
};

CUresult launch(CUfunction function, const driver_launch& how, void** arguments, void** extra, bool is_cooperative) {
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const auto& kernel = *reinterpret_cast<const heddle::ptx::kernel*>(function);
  auto** const addresses = static_cast<void**>(__builtin_alloca((kernel.parameters.size() + 1) * sizeof(void*)));
  if (arguments == nullptr && !kernel.parameters.empty()) {
    if (extra == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!arguments_in(kernel, extra, addresses)) {
      runtime::trap(heddle::fault::assertion, "a launch whose buffer is smaller than the arguments of its kernel");
      return CUDA_ERROR_INVALID_VALUE;
    }
    arguments = addresses;
  }
  const heddle::sim::grid_shape shape = heddle::compat::shape(how.grid, how.block, how.shared_bytes, how.stream);
  if (is_cooperative) heddle::compat::check_meeting(shape);
  heddle::ptx::launch(kernel, shape, arguments, is_cooperative, heddle::compat::launch_or_keep);
  return CUDA_SUCCESS;
}

}  // namespace

// -- what <cuda.h> has, under the names of the library

HEDDLE_EXPORTED_2(cuGetErrorName, "cuGetErrorName", CUresult, const char**)
HEDDLE_EXPORTED_2(cuGetErrorString, "cuGetErrorString", CUresult, const char**)
HEDDLE_EXPORTED_1(cuInit, "cuInit", unsigned)
HEDDLE_EXPORTED_1(cuDeviceGetCount, "cuDeviceGetCount", int*)
HEDDLE_EXPORTED_2(cuDeviceGet, "cuDeviceGet", CUdevice*, int)
HEDDLE_EXPORTED_3(cuDeviceGetName, "cuDeviceGetName", char*, int, CUdevice)
HEDDLE_EXPORTED_3(cuDeviceGetAttribute, "cuDeviceGetAttribute", int*, CUdevice_attribute, CUdevice)
HEDDLE_EXPORTED_2(cuDeviceTotalMem, "cuDeviceTotalMem_v2", size_t*, CUdevice)
HEDDLE_EXPORTED_3(cuDeviceCanAccessPeer, "cuDeviceCanAccessPeer", int*, CUdevice, CUdevice)
HEDDLE_EXPORTED_4(cuDeviceGetP2PAttribute, "cuDeviceGetP2PAttribute", int*, CUdevice_P2PAttribute, CUdevice, CUdevice)
HEDDLE_EXPORTED_2(cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess", CUcontext, unsigned)
HEDDLE_EXPORTED_1(cuCtxDisablePeerAccess, "cuCtxDisablePeerAccess", CUcontext)
HEDDLE_EXPORTED_2(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", CUcontext*, CUdevice)
HEDDLE_EXPORTED_1(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", CUdevice)
HEDDLE_EXPORTED_3(cuCtxCreate, "cuCtxCreate_v2", CUcontext*, unsigned, CUdevice)
HEDDLE_EXPORTED_1(cuCtxDestroy, "cuCtxDestroy_v2", CUcontext)
HEDDLE_EXPORTED_1(cuCtxSetCurrent, "cuCtxSetCurrent", CUcontext)
HEDDLE_EXPORTED_1(cuCtxGetCurrent, "cuCtxGetCurrent", CUcontext*)
HEDDLE_EXPORTED_1(cuCtxGetDevice, "cuCtxGetDevice", CUdevice*)
HEDDLE_EXPORTED(cuCtxSynchronize, "cuCtxSynchronize", (), ())
HEDDLE_EXPORTED_2(cuMemAlloc, "cuMemAlloc_v2", CUdeviceptr*, size_t)
HEDDLE_EXPORTED_3(cuMemAllocManaged, "cuMemAllocManaged", CUdeviceptr*, size_t, unsigned)
HEDDLE_EXPORTED_2(cuMemAllocHost, "cuMemAllocHost_v2", void**, size_t)
HEDDLE_EXPORTED_3(cuMemHostAlloc, "cuMemHostAlloc", void**, size_t, unsigned)
HEDDLE_EXPORTED_3(cuMemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2", CUdeviceptr*, void*, unsigned)
HEDDLE_EXPORTED_1(cuMemFree, "cuMemFree_v2", CUdeviceptr)
HEDDLE_EXPORTED_1(cuMemFreeHost, "cuMemFreeHost", void*)
HEDDLE_EXPORTED_3(cuMemcpy, "cuMemcpy", CUdeviceptr, CUdeviceptr, size_t)
HEDDLE_EXPORTED_3(cuMemcpyDtoH, "cuMemcpyDtoH_v2", void*, CUdeviceptr, size_t)
HEDDLE_EXPORTED_3(cuMemcpyHtoD, "cuMemcpyHtoD_v2", CUdeviceptr, const void*, size_t)
HEDDLE_EXPORTED_3(cuMemcpyDtoD, "cuMemcpyDtoD_v2", CUdeviceptr, CUdeviceptr, size_t)
HEDDLE_EXPORTED_4(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", void*, CUdeviceptr, size_t, CUstream)
HEDDLE_EXPORTED_4(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", CUdeviceptr, const void*, size_t, CUstream)
HEDDLE_EXPORTED_4(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", CUdeviceptr, CUdeviceptr, size_t, CUstream)
HEDDLE_EXPORTED_3(cuMemsetD8, "cuMemsetD8_v2", CUdeviceptr, unsigned char, size_t)
HEDDLE_EXPORTED_3(cuMemGetAddressRange, "cuMemGetAddressRange_v2", CUdeviceptr*, size_t*, CUdeviceptr)
HEDDLE_EXPORTED_3(cuPointerGetAttribute, "cuPointerGetAttribute", void*, CUpointer_attribute, CUdeviceptr)
HEDDLE_EXPORTED_4(cuPointerGetAttributes, "cuPointerGetAttributes", unsigned, CUpointer_attribute*, void**, CUdeviceptr)
HEDDLE_EXPORTED_3(cuPointerSetAttribute, "cuPointerSetAttribute", const void*, CUpointer_attribute, CUdeviceptr)
HEDDLE_EXPORTED(cuMemGetHandleForAddressRange, "cuMemGetHandleForAddressRange",
                (void* a, CUdeviceptr b, size_t c, CUmemRangeHandleType d, unsigned long long e), (a, b, c, d, e))
HEDDLE_EXPORTED_2(cuStreamCreate, "cuStreamCreate", CUstream*, unsigned)
HEDDLE_EXPORTED_1(cuStreamDestroy, "cuStreamDestroy_v2", CUstream)
HEDDLE_EXPORTED_1(cuStreamQuery, "cuStreamQuery", CUstream)
HEDDLE_EXPORTED_1(cuStreamSynchronize, "cuStreamSynchronize", CUstream)
HEDDLE_EXPORTED_3(cuStreamWaitEvent, "cuStreamWaitEvent", CUstream, CUevent, unsigned)
HEDDLE_EXPORTED_4(cuStreamWriteValue32, "cuStreamWriteValue32_v2", CUstream, CUdeviceptr, cuuint32_t, unsigned)
HEDDLE_EXPORTED_4(cuStreamWriteValue64, "cuStreamWriteValue64_v2", CUstream, CUdeviceptr, cuuint64_t, unsigned)
HEDDLE_EXPORTED_4(cuStreamWaitValue32, "cuStreamWaitValue32_v2", CUstream, CUdeviceptr, cuuint32_t, unsigned)
HEDDLE_EXPORTED_4(cuStreamWaitValue64, "cuStreamWaitValue64_v2", CUstream, CUdeviceptr, cuuint64_t, unsigned)
HEDDLE_EXPORTED_4(cuStreamBatchMemOp, "cuStreamBatchMemOp_v2", CUstream, unsigned, CUstreamBatchMemOpParams*, unsigned)
HEDDLE_EXPORTED_2(cuEventCreate, "cuEventCreate", CUevent*, unsigned)
HEDDLE_EXPORTED_2(cuEventRecord, "cuEventRecord", CUevent, CUstream)
HEDDLE_EXPORTED_1(cuEventQuery, "cuEventQuery", CUevent)
HEDDLE_EXPORTED_1(cuEventSynchronize, "cuEventSynchronize", CUevent)
HEDDLE_EXPORTED_1(cuEventDestroy, "cuEventDestroy_v2", CUevent)

// -- what is another thing here

#define HEDDLE_DRIVER(exported, parameters)                                   \
  extern "C" CUresult heddle_driver_##exported parameters __asm__(#exported); \
  CUresult heddle_driver_##exported parameters

/// With parameters of the context, of which none has a meaning here.
HEDDLE_DRIVER(cuCtxCreate_v4,
              (CUcontext * context, const CUctxCreateParams* parameters, unsigned flags, CUdevice device)) {
  return cuCtxCreate(context, parameters, flags, device);
}
HEDDLE_DRIVER(cuDriverGetVersion, (int* version)) {
  *version = 13000;
  return CUDA_SUCCESS;
}
HEDDLE_DRIVER(cuModuleLoadData, (CUmodule * module, const void* image)) {
  if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return load(module, image_at(unwrapped(image)));
}
/// The options are those of the driver's compiler.
HEDDLE_DRIVER(cuModuleLoadDataEx, (CUmodule * module, const void* image, unsigned, void*, void**)) {
  return heddle_driver_cuModuleLoadData(module, image);
}
HEDDLE_DRIVER(cuModuleLoadFatBinary, (CUmodule * module, const void* image)) {
  return heddle_driver_cuModuleLoadData(module, image);
}
HEDDLE_DRIVER(cuModuleLoad, (CUmodule * module, const char* path)) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::ifstream file(path, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  constexpr auto file_not_found = static_cast<CUresult>(301);
  return file ? load(module, content) : file_not_found;
}
HEDDLE_DRIVER(cuModuleUnload, (CUmodule module)) {
  return module == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}
HEDDLE_DRIVER(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char* name)) {
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const heddle::ptx::kernel* const found = heddle::ptx::kernel_of(module_behind(module), name);
  if (found == nullptr) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(const_cast<heddle::ptx::kernel*>(found));
  return CUDA_SUCCESS;
}
HEDDLE_DRIVER(cuModuleGetGlobal_v2, (CUdeviceptr * address, size_t* bytes, CUmodule module, const char* name)) {
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const heddle::ptx::device_variable found = heddle::ptx::variable_of(module_behind(module), name);
  if (found.address == nullptr) return CUDA_ERROR_NOT_FOUND;
  if (address != nullptr) *address = reinterpret_cast<uintptr_t>(found.address);
  if (bytes != nullptr) *bytes = found.bytes;
  return CUDA_SUCCESS;
}
HEDDLE_DRIVER(cuLaunchKernel, (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                               unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,
                               void** arguments, void** extra)) {
  return launch(function, {dim3(grid_x, grid_y, grid_z), dim3(block_x, block_y, block_z), shared_bytes, stream},
                arguments, extra, false);
}
HEDDLE_DRIVER(cuLaunchCooperativeKernel,
              (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
               unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void** arguments)) {
  return launch(function, {dim3(grid_x, grid_y, grid_z), dim3(block_x, block_y, block_z), shared_bytes, stream},
                arguments, nullptr, true);
}
/// Of the driver's compiler and caches.
HEDDLE_DRIVER(cuFuncSetAttribute, (CUfunction, int, int)) { return CUDA_SUCCESS; }
HEDDLE_DRIVER(cuFuncSetCacheConfig, (CUfunction, int)) { return CUDA_SUCCESS; }
HEDDLE_DRIVER(cuMemsetD32_v2, (CUdeviceptr to, unsigned value, size_t count)) {
  const std::vector<unsigned> words(count, value);
  return cuMemcpyHtoD(to, words.data(), count * sizeof value);
}

// -- of the runtime: versions, and what the link can do

HEDDLE_DRIVER(cudaDriverGetVersion, (int* version)) { return heddle_driver_cuDriverGetVersion(version); }
HEDDLE_DRIVER(cudaRuntimeGetVersion, (int* version)) { return heddle_driver_cuDriverGetVersion(version); }

/// cudaAtomicCapability of each cudaAtomicOperation, on memory of the host.
extern "C" int cudaDeviceGetHostAtomicCapabilities(unsigned* capabilities, const int* operations, unsigned count,
                                                   int device) {
  constexpr unsigned has_sign = 1U << 0 | 1U << 1, scalars = 1U << 3 | 1U << 4;
  constexpr int add = 0, last_of_bits = 7, exchange = 8, compare = 9, float_add = 10, invalid_device = 101;
  if (!heddle::compat::is_device(device)) return invalid_device;
  const heddle::link_properties link = runtime::link_of_run();
  for (unsigned n = 0; n < count; ++n) {
    const int asked = operations[n];
    const bool can = asked == add || asked == float_add ? link.add
                     : asked <= last_of_bits            ? link.bits
                     : asked == exchange                ? link.swap
                                                        : asked == compare && link.compare;
    capabilities[n] = !can ? 0 : asked <= last_of_bits ? has_sign | scalars : scalars;
  }
  return 0;
}
