// What programs do on their host: calls in streams that know of a frame, std::atomic::wait, and what is said of races with copies and with parts of what is stored at once.
#include <cuda_runtime.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <thread>

#include <cuda/std/array>
#include <cuda/std/utility>

#include "test_case.h"

namespace {

__global__ void fill(int* to) { *to = 4; }

struct countdown {
  std::mutex lock;
  std::condition_variable ended;
  int left = 3;
  int seen = 0;

  void down(int value) {
    const std::lock_guard<std::mutex> held(lock);
    seen += value;
    if (--left == 0) ended.notify_all();
  }
  void wait() {
    std::unique_lock<std::mutex> held(lock);
    ended.wait(held, [this] { return left == 0; });
  }
};

struct call {
  countdown* to;
  const int* value;
};

// A thread that waits for what calls in streams tell it may keep that in its own frame.
int calls_in_streams() {
  int* memory = nullptr;
  cudaMallocHost(&memory, sizeof(int));
  countdown counts;
  call given = {&counts, memory};
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  fill<<<1, 1, 0, stream>>>(memory);
  const auto looks = [](void* what) { static_cast<call*>(what)->to->down(*static_cast<call*>(what)->value); };
  cudaLaunchHostFunc(stream, looks, &given);
  cudaStreamAddCallback(
      stream, [](cudaStream_t, cudaError_t, void* what) { static_cast<countdown*>(what)->down(1); }, &counts, 0);
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaLaunchHostFunc(stream, looks, &given);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&ready, graph, 0);
  cudaGraphLaunch(ready, stream);
  counts.wait();
  return counts.seen == 9 ? 0 : 1;
}

// The library looks some times before it sleeps. A side that says nothing, because the word says that nothing sleeps, leaves it asleep.
int waits_for_a_word(bool says_nothing) {
  std::atomic<int> word{0};
  std::thread waits([&] { word.wait(0); });
  word.store(1);
  if (!says_nothing) word.notify_one();
  waits.join();
  return 0;
}

// A line of 16 bytes that is stored at once, and half of one of its two words, which is looked at alone.
__global__ void store_line(uint32_t* line) {
  const cuda::std::array<uint64_t, 2> of = {cuda::std::exchange(line[0], 0), uint64_t{1} << 32};
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(line), "l"(of[0]), "l"(of[1]) : "memory");
}

int looks_at_a_part() {
  uint32_t* line = nullptr;
  cudaMallocHost(&line, 4 * sizeof(uint32_t));
  for (int n = 0; n < 4; ++n) line[n] = 0;
  store_line<<<1, 1>>>(line);
  while (std::atomic_ref<uint32_t>(line[3]).load() == 0) {
  }
  cudaDeviceSynchronize();
  return 0;
}

// A copy and a kernel in two streams.
int copies_too_early() {
  int* memory = nullptr;
  cudaMallocHost(&memory, 2 * sizeof(int));
  memory[0] = memory[1] = 0;
  cudaStream_t fills, copies;
  cudaStreamCreate(&fills);
  cudaStreamCreate(&copies);
  fill<<<1, 1, 0, fills>>>(memory);
  cudaMemcpyAsync(memory + 1, memory, sizeof(int), cudaMemcpyHostToHost, copies);
  cudaDeviceSynchronize();
  return 0;
}

__device__ void look_at(int* memory, int* result) {
  *memory = 5;
  *result = *memory;
}
__global__ void use(int* memory, int* result) { look_at(memory, result); }
__global__ void use_when_told(int* memory, int* result, const volatile int* told) {
  while (*told == 0) {
  }
  look_at(memory, result);
}

// Memory as a stream has it: another stream waits for it to be there, and the first one for the other before it is gone; no call waits. `what` leaves
// one of the waits out.
int memory_of_a_stream(std::string_view what) {
  int* shared = nullptr;
  cudaMallocHost(&shared, 2 * sizeof(int));
  shared[0] = shared[1] = 0;
  cudaStream_t streams[2];
  for (cudaStream_t& each : streams) cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking);
  cudaEvent_t made, used;
  cudaEventCreate(&made);
  cudaEventCreate(&used);
  int* memory = nullptr;
  cudaMallocAsync(&memory, sizeof(int), streams[0]);
  cudaEventRecord(made, streams[0]);
  if (what != "memory_too_early") cudaStreamWaitEvent(streams[1], made, 0);
  if (what == "memory_of_a_stream_beside_a_wait")
    use_when_told<<<1, 1, 0, streams[1]>>>(memory, shared, shared + 1);
  else
    use<<<1, 1, 0, streams[1]>>>(memory, shared);
  cudaEventRecord(used, streams[1]);
  if (what != "memory_gone") cudaStreamWaitEvent(streams[0], used, 0);
  cudaFreeAsync(memory, streams[0]);
  if (what == "result_too_early") return shared[0] == 5 ? 0 : 1;
  if (what == "memory_of_a_stream_beside_a_wait") *static_cast<volatile int*>(shared + 1) = 1;
  cudaDeviceSynchronize();
  return shared[0] == 5 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view what = count == 2 ? arguments[1] : "";
  if (what.starts_with("memory_") || what == "result_too_early") return memory_of_a_stream(what);
  if (what == "calls") return calls_in_streams();
  if (what == "parts") return looks_at_a_part();
  if (what == "copies") return copies_too_early();
  for (const test_case& each : cases_of_link())
    if (each.name == what) return each.run();
  return waits_for_a_word(what == "silent");
}
