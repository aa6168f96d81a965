// What programs do on their host: calls in streams that know of a frame, and std::atomic::wait.
#include <cuda_runtime.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

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

// The library looks some times before it sleeps. Who says nothing, because the word says that nobody sleeps, leaves it asleep.
int waits_for_a_word(bool says_nothing) {
  std::atomic<int> word{0};
  std::thread waits([&] { word.wait(0); });
  word.store(1);
  if (!says_nothing) word.notify_one();
  waits.join();
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && std::strcmp(arguments[1], "calls") == 0) return calls_in_streams();
  return waits_for_a_word(count == 2 && std::strcmp(arguments[1], "silent") == 0);
}
