// Which calls of the host wait for what, and which threads run the functions that streams are given. A case is named by the argument.
#include <cuda.h>
#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <string_view>
#include <thread>

#include <cuda/atomic>

namespace {

using flag = cuda::atomic<int, cuda::thread_scope_system>;

__device__ int variable = 0;

__global__ void put(int* to, int value) { *to = value; }
__global__ void add_one(const int* from, int* to) { *to = *from + 1; }
__global__ void add_one_to_variable(int* to) { *to = variable + 1; }
__global__ void raise(flag* to) { to->store(1, cuda::memory_order_release); }
__global__ void wait_for(flag* what) {
  while (what->load(cuda::memory_order_acquire) == 0) {
  }
}

int* on_device() {
  int* memory = nullptr;
  cudaMalloc(&memory, sizeof(int));
  return memory;
}
int* on_host() {
  int* memory = nullptr;
  cudaMallocHost(&memory, sizeof(int));
  *memory = 0;
  return memory;
}
flag* lowered_flag() {
  void* memory = nullptr;
  cudaMallocHost(&memory, sizeof(flag));
  return new (memory) flag(0);
}
cudaStream_t stream_of_its_own() {
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  return stream;
}

// -- graphs whose kernels have gaps between their arguments

cudaGraphExec_t two_puts(int* memory) {
  cudaGraph_t graph;
  cudaGraphCreate(&graph, 0);
  cudaGraphNode_t nodes[2];
  for (int n = 0; n < 2; ++n) {
    int value = 1;
    int* to = memory + n;
    void* arguments[] = {&to, &value};
    cudaKernelNodeParams kernel = {};
    kernel.func = reinterpret_cast<void*>(put);
    kernel.gridDim = kernel.blockDim = dim3(1);
    kernel.kernelParams = arguments;
    cudaGraphAddKernelNode(&nodes[n], graph, n != 0 ? nodes : nullptr, n != 0 ? 1 : 0, &kernel);
  }
  cudaGraphExec_t ready;
  cudaGraphInstantiate(&ready, graph, 0);
  return ready;
}

int launches_graph(std::string_view what) {
  int* memory = nullptr;
  cudaMallocHost(&memory, 2 * sizeof(int));
  const cudaGraphExec_t ready = two_puts(memory);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaGraphLaunch(ready, stream);
  if (what != "graph_too_early") cudaDeviceSynchronize();
  const int sum = memory[0] + memory[1];
  cudaDeviceSynchronize();
  return sum == 2 ? 0 : 1;
}

// -- copies of the default stream, and a kernel of a stream that does not come behind it

int copies(std::string_view what) {
  int* const to = on_device();
  int* const from = on_device();
  int* const result = on_host();
  int pageable = 4;
  cudaMemset(from, 0, sizeof(int));
  cudaMemset(to, 0, sizeof(int));
  cudaDeviceSynchronize();
  cudaStream_t stream = nullptr;
  if (what.ends_with("_blocking"))
    cudaStreamCreate(&stream);
  else
    stream = stream_of_its_own();
  int expected = 1;
  if (what.starts_with("copy_between")) {
    cudaMemcpy(to, from, sizeof(int), cudaMemcpyDeviceToDevice);
  } else if (what.starts_with("copy_by_pointers")) {
    cudaMemcpy(to, from, sizeof(int), cudaMemcpyDefault);
  } else if (what.starts_with("copy_of_peers")) {
    cudaMemcpyPeer(to, 0, from, 0, sizeof(int));
  } else if (what.starts_with("copy_of_pinned")) {
    cudaMemcpy(to, on_host(), sizeof(int), cudaMemcpyHostToDevice);
  } else if (what.starts_with("copy_of_registered")) {
    cudaHostRegister(&pageable, sizeof pageable, cudaHostRegisterDefault);
    cudaMemcpy(to, &pageable, sizeof(int), cudaMemcpyHostToDevice);
    expected = 5;
  } else if (what.starts_with("copy_of_pageable")) {
    cudaMemcpy(to, &pageable, sizeof(int), cudaMemcpyHostToDevice);
    // What was read there counts.
    pageable = 7;
    expected = 5;
  } else if (what.starts_with("copy_to_symbol")) {
    cudaMemcpyToSymbol(variable, &pageable, sizeof(int));
    expected = 5;
  }
  if (what.ends_with("_waited_for")) cudaDeviceSynchronize();
  if (what.starts_with("copy_to_symbol"))
    add_one_to_variable<<<1, 1, 0, stream>>>(result);
  else
    add_one<<<1, 1, 0, stream>>>(to, result);
  cudaStreamSynchronize(stream);
  const bool is_right = *result == expected;
  cudaDeviceSynchronize();
  return is_right ? 0 : 1;
}

// Two copies take the same buffer, one after the other; a copy to the host is there when the call returns.
int copies_twice() {
  int* const to = on_device();
  int* const first = on_device();
  int value = 1;
  cudaMemcpy(first, &value, sizeof value, cudaMemcpyHostToDevice);
  value = 2;
  cudaMemcpy(to, &value, sizeof value, cudaMemcpyHostToDevice);
  int sum = 0;
  cudaMemcpy(&value, first, sizeof value, cudaMemcpyDeviceToHost);
  sum += value;
  cudaMemcpy(&value, to, sizeof value, cudaMemcpyDeviceToHost);
  return sum + value == 3 ? 0 : 1;
}

// A copy from one device to another comes behind what both have been given, and before what they are given later.
int copies_to_peer() {
  cudaSetDevice(1);
  int* const to = on_device();
  int* const result = on_host();
  put<<<1, 1>>>(to, 9);
  cudaSetDevice(0);
  int* const from = on_device();
  put<<<1, 1>>>(from, 3);
  cudaMemcpyPeer(to, 1, from, 0, sizeof(int));
  cudaSetDevice(1);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  add_one<<<1, 1, 0, stream>>>(to, result);
  cudaStreamSynchronize(stream);
  return *result == 4 ? 0 : 1;
}

// A kernel stores to memory of another device, by its address.
int stores_to_peer(bool lets) {
  cudaSetDevice(1);
  int* const to = on_device();
  cudaSetDevice(0);
  if (lets) cudaDeviceEnablePeerAccess(1, 0);
  put<<<1, 1>>>(to, 9);
  int value = 0;
  cudaDeviceSynchronize();
  cudaMemcpy(&value, to, sizeof value, cudaMemcpyDeviceToHost);
  return value == 9 ? 0 : 1;
}

// -- functions of the host

std::atomic<int> given{0};

void CUDART_CB wait_for_function(void*) {
  while (given.load(std::memory_order_acquire) == 0) {
  }
}
void CUDART_CB give(void*) { given.store(1, std::memory_order_release); }
void CUDART_CB wait_for_flag(void* what) {
  while (static_cast<flag*>(what)->load(cuda::memory_order_acquire) == 0) {
  }
}

int calls_functions(std::string_view what) {
  cudaStream_t one = stream_of_its_own();
  cudaStream_t other = stream_of_its_own();
  flag* const word = lowered_flag();
  cudaEvent_t event;
  cudaEventCreate(&event);
  if (what == "function_of_another_stream") {
    cudaLaunchHostFunc(one, wait_for_function, nullptr);
    cudaLaunchHostFunc(other, give, nullptr);
  } else if (what == "function_behind_another") {
    cudaLaunchHostFunc(other, give, nullptr);
    cudaEventRecord(event, other);
    cudaStreamWaitEvent(one, event, 0);
    cudaLaunchHostFunc(one, wait_for_function, nullptr);
  } else if (what == "function_before_a_kernel") {
    cudaLaunchHostFunc(one, wait_for_flag, word);
    raise<<<1, 1, 0, other>>>(word);
  } else if (what == "function_before_a_copy") {
    int* const set = on_host();
    *set = 1;
    cudaLaunchHostFunc(one, wait_for_flag, word);
    cudaMemcpyAsync(word, set, sizeof *set, cudaMemcpyDefault, other);
  } else if (what == "function_behind_a_kernel") {
    raise<<<1, 1, 0, other>>>(word);
    cudaEventRecord(event, other);
    cudaStreamWaitEvent(one, event, 0);
    cudaLaunchHostFunc(one, wait_for_flag, word);
    add_one<<<1, 1, 0, other>>>(on_host(), on_host());
  } else if (what == "function_for_a_kernel") {
    // What runs already goes on.
    wait_for<<<1, 1, 0, other>>>(word);
    cudaLaunchHostFunc(one, [](void* to) { static_cast<flag*>(to)->store(1, cuda::memory_order_release); }, word);
  } else {
    cudaGraph_t graph;
    cudaGraphCreate(&graph, 0);
    cudaGraphNode_t nodes[2];
    const bool is_ordered = what == "nodes_in_order";
    cudaHostNodeParams first = {is_ordered ? give : wait_for_function, nullptr};
    cudaHostNodeParams second = {is_ordered ? wait_for_function : give, nullptr};
    cudaGraphAddHostNode(&nodes[0], graph, nullptr, 0, &first);
    cudaGraphAddHostNode(&nodes[1], graph, nodes, is_ordered ? 1 : 0, &second);
    cudaGraphExec_t ready;
    cudaGraphInstantiate(&ready, graph, 0);
    cudaGraphLaunch(ready, one);
  }
  cudaDeviceSynchronize();
  return 0;
}

// A graph is one operation of its stream: all of it is ordered with what comes before and behind, be it of another thread, and by the default stream.
int launches_graph_beside(std::string_view what) {
  int* memory = nullptr;
  cudaMallocHost(&memory, 2 * sizeof(int));
  const cudaGraphExec_t ready = two_puts(memory);
  cudaStream_t blocking;
  cudaStreamCreate(&blocking);
  const cudaStream_t of_its_own = stream_of_its_own();
  if (what == "one_graph_of_a_thread" || what == "one_graph_of_a_thread_by_default") {
    const cudaStream_t both = what == "one_graph_of_a_thread" ? of_its_own : cudaStream_t{nullptr};
    std::thread gives([&] { put<<<1, 1, 0, both>>>(memory, 1); });
    cudaGraphLaunch(ready, both);
    gives.join();
  } else if (what == "one_graph_behind_an_event") {
    cudaEvent_t event;
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    put<<<1, 1, 0, of_its_own>>>(memory, 1);
    cudaEventRecord(event, of_its_own);
    cudaStreamWaitEvent(nullptr, event, 0);
    cudaGraphLaunch(ready, blocking);
  } else {
    const bool is_first = what != "one_graph_in_front_of_the_default";
    cudaGraphLaunch(ready, is_first ? cudaStream_t{nullptr} : blocking);
    const cudaStream_t other = what == "one_graph_beside_a_stream" ? of_its_own : blocking;
    put<<<1, 1, 0, is_first ? other : cudaStream_t{nullptr}>>>(memory, 1);
  }
  cudaDeviceSynchronize();
  return memory[0] == 1 && memory[1] == 1 ? 0 : 1;
}

// What is done in the default stream stands between work of blocking streams, be it no work itself: a record, or a wait for an event.
int passes_the_default(std::string_view what) {
  int* const result = on_host();
  cudaStream_t first, second;
  cudaStreamCreate(&first);
  cudaStreamCreate(&second);
  cudaEvent_t event;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  put<<<1, 1, 0, first>>>(result, 1);
  if (what == "passed_by_a_record") cudaEventRecord(event, nullptr);
  if (what == "passed_by_a_wait") {
    cudaEventRecord(event, stream_of_its_own());
    cudaStreamWaitEvent(nullptr, event, 0);
  }
  add_one<<<1, 1, 0, second>>>(result, result);
  cudaDeviceSynchronize();
  return *result == 2 ? 0 : 1;
}

// -- events

int asks_for_time(std::string_view what) {
  cudaStream_t stream = stream_of_its_own();
  const unsigned int flags = what == "time_of_none" ? cudaEventDisableTiming : cudaEventDefault;
  cudaEvent_t begin, end;
  cudaEventCreateWithFlags(&begin, cudaEventDefault);
  cudaEventCreateWithFlags(&end, flags);
  cudaEventRecord(begin, stream);
  put<<<1, 1, 0, stream>>>(on_device(), 1);
  if (what != "time_never_recorded") cudaEventRecord(end, stream);
  if (what != "time_too_early") cudaEventSynchronize(end);
  float milliseconds = 0;
  const cudaError_t told = cudaEventElapsedTime(&milliseconds, begin, end);
  cudaDeviceSynchronize();
  if (what == "time_of_none" || what == "time_never_recorded") return told == cudaErrorInvalidResourceHandle ? 0 : 1;
  return told == cudaSuccess ? 0 : 1;
}

// Loops of nothing but queries wait as loops of loads do.
int asks_again_and_again(std::string_view what) {
  cudaStream_t stream = stream_of_its_own();
  int* const result = on_host();
  flag* const never = lowered_flag();
  cudaEvent_t done;
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  if (what == "query_for_ever") wait_for<<<1, 1, 0, stream>>>(never);
  if (what == "query_of_the_wrong_event") cudaEventRecord(done, stream);
  put<<<1, 1, 0, stream>>>(result, 1);
  if (what != "query_of_the_wrong_event") cudaEventRecord(done, stream);
  if (what == "query_of_a_stream")
    while (cudaStreamQuery(stream) == cudaErrorNotReady) {
    }
  else
    while (cudaEventQuery(done) == cudaErrorNotReady) {
    }
  const bool is_right = *result == 1;
  cudaDeviceSynchronize();
  return is_right ? 0 : 1;
}

// The end of work comes at any time behind its last store, and before what stands behind it in its stream.
int asks_for_an_end(std::string_view what) {
  cudaStream_t stream = stream_of_its_own();
  flag* const raised = lowered_flag();
  flag* const raised_already = lowered_flag();
  raised_already->store(1, cuda::memory_order_relaxed);
  cudaEvent_t done;
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  if (what == "end_of_a_copy")
    cudaMemcpyAsync(raised, raised_already, sizeof(int), cudaMemcpyHostToHost, stream);
  else if (what == "end_before_a_kernel")
    wait_for<<<1, 1, 0, stream>>>(raised_already);
  else
    raise<<<1, 1, 0, stream>>>(raised);
  cudaEventRecord(done, stream);
  if (what == "end_before_a_kernel") raise<<<1, 1, 0, stream>>>(raised);
  while (raised->load(cuda::memory_order_acquire) == 0) {
  }
  const auto ask = [&] { return what == "end_of_a_stream" ? cudaStreamQuery(stream) : cudaEventQuery(done); };
  while (what == "end_asked_for_again" && ask() == cudaErrorNotReady) {
  }
  const bool is_over = ask() == cudaSuccess;
  cudaDeviceSynchronize();
  return is_over ? 0 : 1;
}

// Which context a thread finds below the one that it pops depends on when it looked.
int pops_a_context(std::string_view what) {
  flag* const raised = lowered_flag();
  CUcontext contexts[2];
  for (int n = 0; n < 2; ++n) {
    cuCtxCreate(&contexts[n], nullptr, 0, n);
    cuCtxPopCurrent(nullptr);
  }
  std::thread raises([&] { raised->store(1, cuda::memory_order_release); });
  const int seen = what == "context_of_a_race" ? raised->load(cuda::memory_order_acquire) : 0;
  cuCtxPushCurrent(contexts[seen]);
  cuCtxPushCurrent(contexts[0]);
  while (raised->load(cuda::memory_order_acquire) == 0) {
  }
  raises.join();
  cuCtxPopCurrent(nullptr);
  int device = 0;
  cudaGetDevice(&device);
  return device;
}

// One thread records the event that another one has a stream wait for: where the record comes first, the stream waits for a kernel that waits for it.
int recorded_by_another(std::string_view what) {
  flag* const raised = lowered_flag();
  cudaStream_t first = stream_of_its_own();
  cudaStream_t second = stream_of_its_own();
  cudaEvent_t event;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  wait_for<<<1, 1, 0, first>>>(raised);
  std::thread records([&] { cudaEventRecord(event, first); });
  if (what == "recorded_first") records.join();
  if (what == "recorded_and_waited_for") {
    raise<<<1, 1, 0, second>>>(raised);
    cudaEventSynchronize(event);
  } else {
    cudaStreamWaitEvent(second, event, 0);
    raise<<<1, 1, 0, second>>>(raised);
  }
  if (records.joinable()) records.join();
  cudaDeviceSynchronize();
  return 0;
}

// A thread gives a stream a kernel that waits; another one asks for the stream, or waits for it, before or behind that.
int given_by_another(std::string_view what) {
  flag* const raised = lowered_flag();
  cudaStream_t stream = stream_of_its_own();
  std::thread gives([&] { wait_for<<<1, 1, 0, stream>>>(raised); });
  bool is_busy = false;
  if (what == "given_and_asked_for") is_busy = cudaStreamQuery(stream) == cudaErrorNotReady;
  if (what == "given_and_waited_for") cudaStreamSynchronize(stream);
  if (what == "given_to_the_device") cudaDeviceSynchronize();
  raised->store(1, cuda::memory_order_release);
  gives.join();
  cudaDeviceSynchronize();
  return is_busy ? 1 : 0;
}

// A pool lets another device load from its memory, and not store to it.
int uses_pool_that_is_read(bool stores) {
  cudaSetDevice(1);
  cudaMemPool_t pool = nullptr;
  cudaDeviceGetDefaultMemPool(&pool, 1);
  const cudaMemAccessDesc reads = {{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtRead};
  if (cudaMemPoolSetAccess(pool, &reads, 1) != cudaSuccess) return 2;
  cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
  cudaMemLocation there = {cudaMemLocationTypeDevice, 0};
  cudaMemPoolGetAccess(&flags, pool, &there);
  if (flags != cudaMemAccessFlagsProtRead) return 3;
  int* from = nullptr;
  cudaMallocAsync(&from, sizeof *from, nullptr);
  put<<<1, 1>>>(from, 8);
  cudaDeviceSynchronize();
  cudaSetDevice(0);
  int* const result = on_host();
  if (stores)
    put<<<1, 1>>>(from, 9);
  else
    add_one<<<1, 1>>>(from, result);
  cudaDeviceSynchronize();
  return *result == 9 ? 0 : 1;
}

// Memory of a pool is reached by the devices that the pool names, whatever the devices were let to reach; by those that it names later, too.
int stores_to_pool_of_peer(std::string_view what) {
  cudaSetDevice(1);
  cudaMemPool_t pool = nullptr;
  cudaDeviceGetDefaultMemPool(&pool, 1);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMemAccessDesc reach = {};
  reach.location.type = cudaMemLocationTypeDevice;
  reach.flags = cudaMemAccessFlagsProtReadWrite;
  if (what == "pool_is_let") cudaMemPoolSetAccess(pool, &reach, 1);
  int* to = nullptr;
  if (what == "pool_of_the_driver") {
    CUdeviceptr made = 0;
    cuMemAllocAsync(&made, sizeof *to, stream);
    to = reinterpret_cast<int*>(made);
  } else {
    cudaMallocAsync(&to, sizeof *to, stream);
  }
  cudaStreamSynchronize(stream);
  if (what == "pool_is_let_later") cudaMemPoolSetAccess(pool, &reach, 1);
  if (what == "pool_is_let_no_more") {
    cudaMemPoolSetAccess(pool, &reach, 1);
    reach.flags = cudaMemAccessFlagsProtNone;
    cudaMemPoolSetAccess(pool, &reach, 1);
  }
  cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
  cudaMemLocation there = {cudaMemLocationTypeDevice, 0};
  cudaMemPoolGetAccess(&flags, pool, &there);
  if ((flags == cudaMemAccessFlagsProtReadWrite) != (what == "pool_is_let" || what == "pool_is_let_later")) return 2;
  cudaSetDevice(0);
  if (what != "pool_is_let" && what != "pool_is_let_later") cudaDeviceEnablePeerAccess(1, 0);
  put<<<1, 1>>>(to, 9);
  int value = 0;
  cudaDeviceSynchronize();
  cudaMemcpy(&value, to, sizeof value, cudaMemcpyDeviceToHost);
  return value == 9 ? 0 : 1;
}

// A fill, and a copy between devices, that the host does not wait for unless the memory says so.
int fills_what_is_waited_for(std::string_view what) {
  int* const to = on_device();
  int* const result = on_host();
  const auto address = reinterpret_cast<CUdeviceptr>(to);
  const unsigned int waits = what == "sync_memops_off" ? 0 : 1;
  // What is told behind the fill waits for it; and not for a kernel behind that.
  const bool is_late = what.starts_with("sync_memops_late");
  if (is_late) cudaMemset(to, 0, sizeof *to);
  if (what == "sync_memops_late_kernel") put<<<1, 1>>>(to, 0);
  if (cuPointerSetAttribute(&waits, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address) != CUDA_SUCCESS) return 2;
  bool is_set = false;
  cuPointerGetAttribute(&is_set, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address);
  if (is_set != (waits != 0)) return 3;
  if (cuPointerSetAttribute(&waits, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_ERROR_INVALID_VALUE) return 4;
  if (is_late) {
  } else if (what == "sync_memops_copy") {
    int* const from = on_device();
    cudaMemset(from, 0, sizeof *from);
    cudaMemcpy(to, from, sizeof *to, cudaMemcpyDeviceToDevice);
  } else if (what == "sync_memops_words") {
    cuMemsetD32(address, 0, 1);
  } else {
    cudaMemset(to, 0, sizeof *to);
  }
  const cudaStream_t stream = stream_of_its_own();
  add_one<<<1, 1, 0, stream>>>(to, result);
  cudaStreamSynchronize(stream);
  const bool is_right = *result == 1;
  cudaDeviceSynchronize();
  return is_right ? 0 : 1;
}

int asks_for_a_file_of_memory() {
  int has = 1;
  cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 0);
  if (has != 0) return 2;
  int file = -1;
  return cuMemGetHandleForAddressRange(&file, reinterpret_cast<CUdeviceptr>(on_device()), 4096,
                                       CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0) == CUDA_SUCCESS
             ? 0
             : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view what = count == 2 ? arguments[1] : "";
  if (what.starts_with("passed")) return passes_the_default(what);
  if (what.starts_with("one_graph")) return launches_graph_beside(what);
  if (what.starts_with("graph")) return launches_graph(what);
  if (what == "copy_twice") return copies_twice();
  if (what == "copy_to_peer") return copies_to_peer();
  if (what.starts_with("peer")) return stores_to_peer(what == "peer_is_let");
  if (what.starts_with("pool_is_read")) return uses_pool_that_is_read(what == "pool_is_read_and_stored_to");
  if (what.starts_with("pool")) return stores_to_pool_of_peer(what);
  if (what.starts_with("sync_memops")) return fills_what_is_waited_for(what);
  if (what == "file_of_memory") return asks_for_a_file_of_memory();
  if (what.starts_with("copy")) return copies(what);
  if (what.starts_with("function") || what.starts_with("nodes")) return calls_functions(what);
  if (what.starts_with("time")) return asks_for_time(what);
  if (what.starts_with("recorded")) return recorded_by_another(what);
  if (what.starts_with("given")) return given_by_another(what);
  if (what.starts_with("end")) return asks_for_an_end(what);
  if (what.starts_with("context")) return pops_a_context(what);
  if (what.starts_with("query")) return asks_again_and_again(what);
  return 2;
}
