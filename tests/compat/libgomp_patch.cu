// The host side of libgomp's first patch for reverse offload on nvptx, as it was posted and with what its review asks for: its own text, which is
// cut out of the posting (tests/compat/CMakeLists.txt), over the driver API. The rest of the plugin that the text stands in, and the kernel, are
// made up here.
#include <cuda.h>
#include <heddle/tools/scenario.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

// libgomp is C: there, void* becomes any pointer.
template <typename To, typename From>
To as_in_c(From from) {
  if constexpr (std::is_pointer_v<To> && std::is_same_v<From, void*>)
    return static_cast<To>(from);
  else if constexpr (std::is_pointer_v<To> && std::is_integral_v<From>)
    return nullptr;  // NULL
  else
    return from;
}
template <typename... Parameters, typename... Arguments>
CUresult call_as_in_c(CUresult (*function)(Parameters...), Arguments... arguments) {
  return function(as_in_c<Parameters>(arguments)...);
}
#define CUDA_CALL_NOCHECK(FN, ...) call_as_in_c(FN __VA_OPT__(, ) __VA_ARGS__)
#define CUDA_CALL_ASSERT(FN, ...) HEDDLE_CHECK(CUDA_CALL_NOCHECK(FN, __VA_ARGS__) == CUDA_SUCCESS, #FN)
#define CUDA_CALL_EXISTS(FN) driver_has_##FN
#define GOMP_REV_OFFLOAD_VAR __gomp_rev_offload_var
#define XSTRING_OF(name) #name
#define XSTRING(name) XSTRING_OF(name)

static bool driver_has_cuMemAllocManaged;
static const char maybe_abort_msg[] = "(perhaps abort was called)";

static const char* cuda_error(CUresult error) {
  const char* text = nullptr;
  cuGetErrorString(error, &text);
  return text;
}
template <typename... Arguments>
[[noreturn]] void GOMP_PLUGIN_fatal(const char* format, Arguments... arguments) {
  fprintf(stderr, format, arguments...);
  exit(EXIT_FAILURE);
}

#include "libgomp_struct.inc"

struct ptx_device {
  bool concurr_managed_access;
  rev_offload* rev_data;
  CUdeviceptr rev_data_dev;
};

#include "libgomp_copies.inc"

// -- the kernel ------------------------------------------------------------------------------------------------------------------------

extern "C" {
__device__ rev_offload* volatile GOMP_REV_OFFLOAD_VAR = nullptr;
}
__device__ uint32_t lock_of_device;

/// A request, as the review has it: plain stores, and behind them one that releases.
static __device__ void request(uint64_t function, uint64_t* addresses) {
  rev_offload* const at = GOMP_REV_OFFLOAD_VAR;
  while (__atomic_exchange_n(&lock_of_device, 1, __ATOMIC_ACQUIRE) != 0) {
  }
  at->mapnum = 1;
  at->addrs = reinterpret_cast<uintptr_t>(addresses);
  at->sizes = function * 5;
  at->kinds = function * 7;
  at->dev_num = 0;
  __atomic_store_n(&at->fn, function, __ATOMIC_RELEASE);
  while (__atomic_load_n(&at->fn, __ATOMIC_ACQUIRE) != 0) {
  }
  __atomic_store_n(&lock_of_device, 0, __ATOMIC_RELEASE);
}

extern "C" __global__ void target_region(uint64_t* data, uint32_t requests) {
  if (threadIdx.x != 0) return;
  for (uint32_t n = 0; n < requests; ++n) {
    uint64_t* const mine = &data[2 * (blockIdx.x * requests + n)];
    mine[0] = blockIdx.x * 100 + n;
    request(blockIdx.x * requests + n + 1, mine);
    if (mine[1] != mine[0] * 3 + 1) __trap();
  }
}

// -- the plugin's surroundings -----------------------------------------------------------------------------------------------------------

using copy_function = void (*)(void*, const void*, size_t, CUstream);

static uint32_t handled;
static void GOMP_PLUGIN_target_rev(uint64_t fn, uint64_t mapnum, uint64_t addrs, uint64_t sizes, uint64_t kinds,
                                   int device, copy_function dev_to_host, copy_function host_to_dev, CUstream stream) {
  HEDDLE_CHECK(mapnum == 1 && sizes == fn * 5 && kinds == fn * 7 && device == 0, "the arguments of another request");
  uint64_t both[2] = {};
  auto* const data = reinterpret_cast<uint64_t*>(addrs);
  dev_to_host(both, data, sizeof both[0], stream);
  both[1] = both[0] * 3 + 1;
  host_to_dev(&data[1], &both[1], sizeof both[1], stream);
  ++handled;
}

/// What GOMP_OFFLOAD_load_image does for reverse offload.
static void load_image(ptx_device* dev, CUmodule module) {
  const bool rev_fn_table = true;
#include "libgomp_load.inc"
}

/// What GOMP_OFFLOAD_run does about it.
static void run_region(ptx_device* ptx_dev, CUfunction function, unsigned teams, void** config) {
  CUresult r = CUDA_SUCCESS;
  const unsigned threads = 1;
  // clang-format off
#include "libgomp_variables.inc"
#include "libgomp_run.inc"
  // The text's last statement is an if of its own.
  else if (r != CUDA_SUCCESS) GOMP_PLUGIN_fatal("cuCtxSynchronize error: %s", cuda_error(r));
  // clang-format on
}

static void offload(const heddle::parameters& set) {
  driver_has_cuMemAllocManaged = set.text("managed") == "yes";
  handled = 0;
  const uint32_t teams = set.count("teams");
  uint32_t requests = set.count("requests");
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  int concurrent = 0;
  HEDDLE_CHECK(cuInit(0) == CUDA_SUCCESS && cuDeviceGet(&device, 0) == CUDA_SUCCESS &&
                   cuCtxCreate(&context, 0, device) == CUDA_SUCCESS && cuModuleLoadData(&module, "") == CUDA_SUCCESS,
               "no device");
  cuDeviceGetAttribute(&concurrent, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, device);
  ptx_device plugin = {.concurr_managed_access = concurrent != 0, .rev_data = nullptr, .rev_data_dev = 0};
  load_image(&plugin, module);
  // The text zeroes the host's copy of a mailbox that the device has, and no other.
  if (set.text("zeroed") == "yes") {
    const rev_offload none = {};
    cuMemcpyHtoD(plugin.rev_data_dev != 0 ? plugin.rev_data_dev : reinterpret_cast<uintptr_t>(plugin.rev_data), &none,
                 sizeof none);
  }
  HEDDLE_CHECK(cuModuleGetFunction(&function, module, "target_region") == CUDA_SUCCESS, "the kernel is not found");
  CUdeviceptr data = 0;
  cuMemAllocManaged(&data, uint64_t{teams} * requests * 16, CU_MEM_ATTACH_GLOBAL);
  struct {
    CUdeviceptr data;
    uint32_t requests;
  } arguments = {data, requests};
  size_t size = sizeof arguments;
  void* config[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &arguments, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                    CU_LAUNCH_PARAM_END};
  run_region(&plugin, function, teams, config);
  HEDDLE_CHECK(handled == teams * requests, "a request was not run, or twice");
}
HEDDLE_SCENARIO(offload, {.name = "libgomp-patch",
                          .summary = "libgomp's plugin over the driver API",
                          .parameters = {heddle::parameter::number("teams", 2, 1, 8, "", "teams"),
                                         heddle::parameter::number("requests", 2, 1, 8, "", "requests of each"),
                                         heddle::parameter::one_of("managed", "yes", {"yes", "no"},
                                                                   "the driver has managed memory"),
                                         heddle::parameter::one_of("zeroed", "yes", {"yes", "no"},
                                                                   "the mailbox is zeroed before the launch")}});
