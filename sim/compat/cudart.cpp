// The CUDA runtime that nvcc's host code calls, for programs whose kernels are made from PTX: the names and layouts are those of
// NVIDIA's library (version 13), what they do is the simulator's. What is not here does not link.
//
// Files compiled by nvcc register their kernels and variables before main(), by the names that the PTX has.
#include <heddle/sim/compat/cudart.h>
#include <heddle/sim/compat/ptx/module.h>

#include <cstring>

namespace {

namespace runtime = heddle::sim::runtime;
using heddle::compat::direction;

/// What a file compiled by nvcc says of itself: which name in the PTX the host's stand-in has. A program says so at the start of each run, the same
/// each time: nothing of it is on the heap, which begins anew.
struct registered {
  const void* stand_in = nullptr;
  const char* name = nullptr;
  void** managed = nullptr;  ///< where host code looks for the address, of a managed variable
};
struct registry {
  static constexpr size_t most = 16384;
  registered of[most];
  size_t count = 0;

  /// Null where there is none.
  registered* find(const void* stand_in) {
    for (size_t n = 0; n < count; ++n)
      if (of[n].stand_in == stand_in) return &of[n];
    return nullptr;
  }
  void add(const registered& what) {
    registered* known = find(what.stand_in);
    if (known == nullptr && count == most)
      runtime::trap(heddle::fault::assertion, "more than 16384 kernels or variables in files of nvcc");
    *(known != nullptr ? known : &of[count++]) = what;
  }
};
registry kernels;
registry variables;

const heddle::ptx::kernel* kernel_of(const void* stand_in) {
  const registered* const known = kernels.find(stand_in);
  return known == nullptr ? nullptr : heddle::ptx::kernel_named(known->name);
}

/// The variable of the device that the host's one stands for; null where there is none.
heddle::ptx::device_variable variable_of(const void* stand_in) {
  const registered* const known = variables.find(stand_in);
  return known == nullptr ? heddle::ptx::device_variable{} : heddle::ptx::variable_named(known->name);
}

/// What stands between <<< and >>>, from there to the launch.
struct configuration {
  dim3 grid;
  dim3 block;
  size_t shared_bytes = 0;
  void* stream = nullptr;
};
/// Of each host thread; not on the heap, which begins anew with each run.
struct configurations {
  static constexpr uint32_t most_threads = 256;
  static constexpr uint32_t deepest = 4;
  configuration of[most_threads][deepest];
  uint32_t count[most_threads];
};
configurations pushed;
uint32_t own_row() { return runtime::wave_id() % configurations::most_threads; }

int launch(const void* stand_in, const heddle::sim::grid_shape& shape, void** arguments, bool is_cooperative = false) {
  const heddle::ptx::kernel* const kernel = kernel_of(stand_in);
  constexpr int invalid_device_function = 98;
  constexpr auto no_kernel = "a launch of what is no kernel of a file compiled by heddle_simulate_ptx()";
  if (kernel == nullptr) return runtime::trap(heddle::fault::assertion, no_kernel), invalid_device_function;
  if (is_cooperative) heddle::compat::check_meeting(shape);
  heddle::ptx::launch(*kernel, shape, arguments, is_cooperative, heddle::compat::launch_or_keep);
  return 0;
}

/// What a node of a graph does.
heddle::compat::graph_work work_of(const simulatedKernelNodeParams& what) {
  heddle::compat::keep_next_launch();
  launch(what.func, heddle::compat::shape(what.gridDim, what.blockDim, what.sharedMemBytes), what.kernelParams);
  return heddle::compat::kept_launch();
}

/// cudaLaunchConfig_t.
struct launch_configuration {
  dim3 grid;
  dim3 block;
  size_t shared_bytes;
  void* stream;
  const unsigned char* attributes;
  unsigned count;
};

/// The attribute of that number, or null: of 72 bytes each, with its value behind 8.
const unsigned char* attribute_of(const launch_configuration& launch, uint32_t wanted) {
  constexpr size_t attribute_bytes = 72;
  for (unsigned n = 0; n < launch.count; ++n) {
    uint32_t number = 0;
    std::memcpy(&number, launch.attributes + n * attribute_bytes, sizeof number);
    if (number == wanted) return launch.attributes + n * attribute_bytes + 8;
  }
  return nullptr;
}

constexpr int success = 0;
constexpr int invalid_value = 1;
constexpr int invalid_symbol = 13;
constexpr int invalid_device = 101;

struct error_text {
  int number;
  const char* name;
  const char* text;
};
constexpr error_text errors[] = {
#define HEDDLE_ERROR(name, number, text) {number, "cuda" #name, text},
    HEDDLE_GPU_ERRORS(HEDDLE_ERROR)
#undef HEDDLE_ERROR
};
error_text text_of(int number) {
  for (const error_text& one : errors)
    if (one.number == number) return one;
  return {number, "unrecognized error code", "unrecognized error code"};
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): NVIDIA chose the names

// -- what nvcc calls by itself

void** __cudaRegisterFatBinary(void* binary) {
  static void* handle;
  handle = binary;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
// What follows the names is of no use here: an ellipsis takes it.
void __cudaRegisterFunction(void**, const char* host, char*, const char* name, ...) {
  kernels.add({host, name, nullptr});
}
void __cudaRegisterVar(void**, char* host, char*, const char* name, ...) { variables.add({host, name, nullptr}); }
void __cudaRegisterManagedVar(void**, void** host, char*, const char* name, ...) { variables.add({host, name, host}); }
/// Before the first use of a managed variable: where it lies.
char __cudaInitModule(void**) {
  for (size_t n = 0; n < variables.count; ++n)
    if (variables.of[n].managed != nullptr)
      *variables.of[n].managed = heddle::ptx::variable_named(variables.of[n].name).address;
  return 1;
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, void* stream) {
  uint32_t& count = pushed.count[own_row()];
  // One that a run has left behind.
  if (count == configurations::deepest) count = 0;
  pushed.of[own_row()][count++] = {grid, block, shared_bytes, stream};
  return 0;
}
int __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
  uint32_t& count = pushed.count[own_row()];
  if (count == 0) return invalid_value;
  const configuration& last = pushed.of[own_row()][--count];
  *grid = last.grid;
  *block = last.block;
  *shared_bytes = last.shared_bytes;
  *static_cast<void**>(stream) = last.stream;
  return success;
}
int __cudaGetKernel(const void** kernel, const void* stand_in) {
  *kernel = stand_in;
  return success;
}
int __cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes, void* stream) {
  return launch(kernel, heddle::compat::shape(grid, block, shared_bytes, stream), arguments);
}
int cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes, void* stream) {
  return launch(kernel, heddle::compat::shape(grid, block, shared_bytes, stream), arguments);
}
int cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                                void* stream) {
  return launch(kernel, heddle::compat::shape(grid, block, shared_bytes, stream), arguments, true);
}
/// Of the attributes, those of a cooperative launch, of clusters and of an early begin have a meaning here.
int cudaLaunchKernelExC(const launch_configuration* how, const void* kernel, void** arguments) {
  constexpr uint32_t cooperative = 2;
  constexpr uint32_t cluster = 4;
  constexpr uint32_t programmatic = 6;
  int is_cooperative = 0;
  if (const unsigned char* const value = attribute_of(*how, cooperative))
    std::memcpy(&is_cooperative, value, sizeof is_cooperative);
  heddle::sim::grid_shape shape = heddle::compat::shape(how->grid, how->block, how->shared_bytes, how->stream);
  if (const unsigned char* const value = attribute_of(*how, cluster))
    std::memcpy(&shape.cluster, value, sizeof shape.cluster);
  int is_early = 0;
  if (const unsigned char* const value = attribute_of(*how, programmatic))
    std::memcpy(&is_early, value, sizeof is_early);
  shape.early = is_early != 0;
  return launch(kernel, shape, arguments, is_cooperative != 0);
}

int cudaGraphAddKernelNode(simulatedGraphNode_t* node, simulatedGraph_t graph, const simulatedGraphNode_t* after,
                           size_t count, const simulatedKernelNodeParams* what) {
  *node = heddle::compat::add_node(*graph, work_of(*what), after, count);
  return success;
}
int cudaGraphKernelNodeSetParams(simulatedGraphNode_t node, const simulatedKernelNodeParams* what) {
  heddle::compat::set_work(*node, work_of(*what));
  return success;
}

// -- errors

int cudaGetLastError() { return success; }
int cudaPeekAtLastError() { return success; }
const char* cudaGetErrorName(int error) { return text_of(error).name; }
const char* cudaGetErrorString(int error) { return text_of(error).text; }

// -- devices

int cudaGetDeviceCount(int* count) { return simulatedGetDeviceCount(count); }
int cudaSetDevice(int device) { return simulatedSetDevice(device); }
int cudaGetDevice(int* device) { return simulatedGetDevice(device); }
int cudaSetDeviceFlags(unsigned) { return success; }
int cudaDeviceSynchronize() { return simulatedDeviceSynchronize(); }
int cudaDeviceReset() { return simulatedDeviceSynchronize(); }
int cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
int cudaThreadExit() { return cudaDeviceReset(); }
using limit = simulatedLimit;
int cudaDeviceSetLimit(int which, size_t to) { return simulatedDeviceSetLimit(static_cast<limit>(which), to); }
int cudaDeviceGetLimit(size_t* is, int which) { return simulatedDeviceGetLimit(is, static_cast<limit>(which)); }
int cudaDeviceSetCacheConfig(int) { return success; }
int cudaDeviceGetAttribute(int* value, int which, int device) {
  if (device < 0 || static_cast<uint32_t>(device) >= runtime::device_count()) return invalid_device;
  return heddle::compat::attribute_of_device(which, *value) ? success : invalid_value;
}
/// cudaDeviceProp of version 13, of 1,008 bytes; what is not named here is 0.
int cudaGetDeviceProperties(void* properties, int device) {
  if (device < 0 || static_cast<uint32_t>(device) >= runtime::device_count()) return invalid_device;
  auto* const to = static_cast<unsigned char*>(std::memset(properties, 0, 1008));
  std::strcpy(reinterpret_cast<char*>(to), "heddle's simulated device");
  const auto put = [&](size_t offset, auto value) { std::memcpy(to + offset, &value, sizeof value); };
  put(288, size_t{1} << 36);  // totalGlobalMem
  put(352, size_t{65536});    // totalConstMem
  put(296, size_t{49152});    // sharedMemPerBlock
  put(624, size_t{233472});   // sharedMemPerMultiprocessor
  put(672, size_t{232448});   // sharedMemPerBlockOptin
  // The numbers of cudaDeviceAttr, and where the same stands in cudaDeviceProp.
  constexpr std::pair<int, size_t> same[] = {
      {12, 304}, {10, 308}, {1, 320},  {2, 324},  {3, 328},  {4, 332},   {5, 336},  {6, 340},  {7, 344},
      {75, 360}, {76, 364}, {16, 384}, {18, 388}, {19, 392}, {31, 560},  {40, 584}, {41, 588}, {38, 596},
      {39, 604}, {83, 636}, {86, 648}, {89, 656}, {95, 668}, {106, 688}, {32, 564}, {78, 608}, {79, 612},
      {80, 616}, {82, 632}, {88, 652}, {90, 660}, {91, 664}, {99, 704},  {115, 720}};
  for (const auto& [number, offset] : same) {
    int value = 0;
    heddle::compat::attribute_of_device(number, value);
    put(offset, value);
  }
  return success;
}
int cudaFuncSetAttribute(const void*, int, int) { return success; }
/// cudaFuncAttributes; registers and static memory are not known.
int cudaFuncGetAttributes(void* attributes, const void*) {
  constexpr size_t bytes = 144;
  std::memset(attributes, 0, bytes);
  constexpr int values[] = {heddle::compat::most_threads_of_block,           32, 90, 90, 0,
                            heddle::compat::shared_bytes_of_block_by_choice, -1};
  std::memcpy(static_cast<unsigned char*>(attributes) + 24, values, sizeof values);
  return success;
}
int cudaFuncSetCacheConfig(const void*, int) { return success; }
int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int threads, size_t shared_bytes,
                                                           unsigned) {
  if (threads <= 0) return invalid_value;
  *blocks = heddle::compat::blocks_of_multiprocessor(threads, shared_bytes);
  return success;
}
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int threads, size_t bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads, bytes, 0);
}

// -- memory

int cudaMalloc(void** memory, size_t bytes) {
  heddle::compat::allocate(memory, bytes, heddle::compat::memory_place::device_alone, "cudaMalloc");
  return success;
}
int cudaMallocAsync(void** memory, size_t bytes, simulatedStream_t stream) {
  return simulatedMallocAsync(memory, bytes, stream);
}
int cudaMallocHost(void** memory, size_t bytes) {
  heddle::compat::allocate(memory, bytes, heddle::compat::memory_place::host, "cudaMallocHost");
  return success;
}
int cudaHostAlloc(void** memory, size_t bytes, unsigned flags) {
  constexpr unsigned write_combined = 4;
  const bool combines = (flags & write_combined) != 0;
  heddle::compat::allocate(memory, bytes, heddle::compat::place_on_host(combines), "cudaHostAlloc");
  return success;
}
int cudaMallocManaged(void** memory, size_t bytes, unsigned) {
  heddle::compat::allocate(memory, bytes, heddle::compat::memory_place::host, "cudaMallocManaged");
  return success;
}
int cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return success;
}
int cudaFree(void* memory) { return simulatedFree(memory); }
int cudaFreeAsync(void* memory, simulatedStream_t stream) {
  heddle::compat::release_in_stream(memory, stream);
  return success;
}
int cudaFreeHost(void* memory) { return simulatedFree(memory); }
int cudaMemcpy(void* to, const void* from, size_t bytes, int kind) {
  return simulatedMemcpy(to, from, bytes, static_cast<simulatedMemcpyKind>(kind));
}
int cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, simulatedStream_t stream) {
  return simulatedMemcpyAsync(to, from, bytes, static_cast<simulatedMemcpyKind>(kind), stream);
}
int cudaMemset(void* to, int value, size_t bytes) { return simulatedMemset(to, value, bytes); }
int cudaMemsetAsync(void* to, int value, size_t bytes, simulatedStream_t stream) {
  return simulatedMemsetAsync(to, value, bytes, stream);
}
int cudaGetSymbolAddress(void** address, const void* symbol) {
  *address = variable_of(symbol).address;
  return *address == nullptr ? invalid_symbol : success;
}
int cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  *bytes = variable_of(symbol).bytes;
  return *bytes == 0 ? invalid_symbol : success;
}
int cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset, int) {
  void* const address = variable_of(symbol).address;
  if (address == nullptr) return invalid_symbol;
  heddle::compat::copy(static_cast<char*>(address) + offset, from, bytes, direction::by_pointers, true);
  return success;
}
int cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset, int) {
  const void* const address = variable_of(symbol).address;
  if (address == nullptr) return invalid_symbol;
  heddle::compat::copy(to, static_cast<const char*>(address) + offset, bytes, direction::by_pointers, true);
  return success;
}
int cudaHostRegister(void* memory, size_t bytes, unsigned flags) { return simulatedHostRegister(memory, bytes, flags); }
int cudaHostUnregister(void* memory) { return simulatedHostUnregister(memory); }
int cudaMemPrefetchAsync(const void*, size_t, uint64_t, unsigned, simulatedStream_t) { return success; }
int cudaMemAdvise(const void*, size_t, int, uint64_t) { return success; }

// -- streams and events

int cudaStreamCreate(simulatedStream_t* stream) { return simulatedStreamCreate(stream); }
int cudaStreamCreateWithFlags(simulatedStream_t* stream, unsigned flags) {
  return simulatedStreamCreateWithFlags(stream, flags);
}
int cudaStreamCreateWithPriority(simulatedStream_t* stream, unsigned flags, int priority) {
  return simulatedStreamCreateWithPriority(stream, flags, priority);
}
int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return simulatedDeviceGetStreamPriorityRange(least, greatest);
}
int cudaStreamDestroy(simulatedStream_t stream) { return simulatedStreamDestroy(stream); }
int cudaStreamQuery(simulatedStream_t stream) { return simulatedStreamQuery(stream); }
int cudaStreamSynchronize(simulatedStream_t stream) { return simulatedStreamSynchronize(stream); }
int cudaStreamWaitEvent(simulatedStream_t stream, simulatedEvent_t event, unsigned flags) {
  return simulatedStreamWaitEvent(stream, event, flags);
}
int cudaStreamAddCallback(simulatedStream_t stream, simulatedStreamCallback_t callback, void* given, unsigned flags) {
  return simulatedStreamAddCallback(stream, callback, given, flags);
}
int cudaLaunchHostFunc(simulatedStream_t stream, simulatedHostFn_t function, void* given) {
  return simulatedLaunchHostFunc(stream, function, given);
}
int cudaProfilerStart() { return success; }
int cudaProfilerStop() { return success; }
int cudaEventCreate(simulatedEvent_t* event) { return simulatedEventCreate(event); }
int cudaEventCreateWithFlags(simulatedEvent_t* event, unsigned flags) {
  return simulatedEventCreateWithFlags(event, flags);
}
int cudaEventDestroy(simulatedEvent_t event) { return simulatedEventDestroy(event); }
int cudaEventRecord(simulatedEvent_t event, simulatedStream_t stream) { return simulatedEventRecord(event, stream); }
int cudaEventQuery(simulatedEvent_t event) { return simulatedEventQuery(event); }
int cudaEventSynchronize(simulatedEvent_t event) { return simulatedEventSynchronize(event); }
int cudaEventElapsedTime(float* milliseconds, simulatedEvent_t from, simulatedEvent_t to) {
  return simulatedEventElapsedTime(milliseconds, from, to);
}

// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

}  // extern "C"
