// A program over the driver API: its kernels are a module that it loads by itself, kernels.ptx. `driver_api FILE [planted]`.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace {

void must(CUresult answer, int line) {
  if (answer == CUDA_SUCCESS) return;
  std::printf("line %d: error %d\n", line, answer);
  std::exit(1);
}
#define MUST(call) must(call, __LINE__)

constexpr unsigned threads = 64;

/// Its arguments by their addresses, or all in a buffer.
void rotate(CUfunction kernel, CUdeviceptr out, unsigned planted, bool in_buffer) {
  struct {
    CUdeviceptr out;
    unsigned planted;
  } given{out, planted};
  size_t bytes = sizeof given;
  void* addresses[] = {&given.out, &given.planted};
  void* buffer[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &given, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  MUST(cuLaunchKernel(kernel, 1, 1, 1, threads, 1, 1, 0, nullptr, in_buffer ? nullptr : addresses,
                      in_buffer ? buffer : nullptr));
  MUST(cuCtxSynchronize());
}

}  // namespace

int main(int argument_count, char** arguments) {
  const std::string path = arguments[1];
  const bool planted = argument_count > 2;
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction kernel;
  MUST(cuInit(0));
  MUST(cuDeviceGet(&device, 0));
  MUST(cuDevicePrimaryCtxRetain(&context, device));
  MUST(cuCtxSetCurrent(context));
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  MUST(cuModuleLoadData(&module, text.c_str()));
  MUST(cuModuleGetFunction(&kernel, module, "rotates"));
  CUdeviceptr counter;
  size_t bytes;
  MUST(cuModuleGetGlobal(&counter, &bytes, module, "counter"));
  unsigned value = 0;
  MUST(cuMemcpyDtoH(&value, counter, sizeof value));
  if (bytes != sizeof value || value != 5) return 1;
  CUdeviceptr out;
  MUST(cuMemAlloc(&out, threads * sizeof value));
  for (const bool in_buffer : {false, true}) {
    MUST(cuMemsetD32(out, 7, threads));
    rotate(kernel, out, planted ? 1 : 0, in_buffer);
    unsigned found[threads];
    MUST(cuMemcpyDtoH(found, out, sizeof found));
    for (unsigned n = 0; n < threads && !planted; ++n)
      if (found[n] != (n + 1) % threads) return 2;
  }
  return cuModuleGetFunction(&kernel, module, "nothing") == CUDA_ERROR_NOT_FOUND ? 0 : 3;
}
