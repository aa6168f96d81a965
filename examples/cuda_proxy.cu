// A proxy as libraries for communication between GPUs have one: a kernel that stays on the device asks for messages to be sent, through a ring in
// mapped host memory; a thread of the host takes requests from the ring, and hands them to another thread, which sends. A program as CUDA
// programmers write it; nothing in it knows of heddle. nvcc compiles it, and so does heddle_simulate_cuda() for the simulator:
//
//   heddle_simulate_cuda(cuda_proxy cuda_proxy.cu)      # build/examples/cuda_proxy fuzz -- 3
//
// One bug can be planted: with -DPLANT_LOST_WAKEUP a notice comes too early for a thread that is about to wait for it.
#include <cuda_runtime.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cuda/atomic>
#include <mutex>
#include <new>
#include <queue>
#include <string>
#include <thread>

#include <pthread.h>

#define CHECK(call)                                                                       \
  do {                                                                                    \
    const cudaError_t error = (call);                                                     \
    if (error != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      std::exit(EXIT_FAILURE);                                                            \
    }                                                                                     \
  } while (false)

constexpr unsigned blocks = 2;
constexpr unsigned slots = 2;

using word = cuda::atomic<unsigned, cuda::thread_scope_system>;

struct request {
  unsigned block;
  unsigned bytes;
};

// What device and host share.
struct channel {
  word tail;         // requests that have been asked for
  word turn[slots];  // 2n: empty for request n * slots + i; 2n + 1: it holds that request
  request ring[slots];
  word sent[blocks];  // messages of each block
  word stop;          // the kernel may end
};

// Stays on the device until the host stops it, and asks for a message a round.
__global__ void serve(channel* shared, unsigned rounds) {
  const unsigned block = blockIdx.x;
  for (unsigned round = 0; round < rounds; ++round) {
    const unsigned number = shared->tail.fetch_add(1, cuda::memory_order_relaxed);
    const unsigned slot = number % slots;
    const unsigned empty = number / slots * 2;
    while (shared->turn[slot].load(cuda::memory_order_acquire) != empty) __nanosleep(100);
    shared->ring[slot] = {block, 8 * (round + 1)};
    shared->turn[slot].store(empty + 1, cuda::memory_order_release);
    // The buffer of the message is free once it has been sent.
    while (shared->sent[block].load(cuda::memory_order_acquire) <= round) __nanosleep(100);
  }
  while (shared->stop.load(cuda::memory_order_acquire) == 0) __nanosleep(100);
}

// Sends what it is given, on a thread of its own.
class sender {
 public:
  explicit sender(channel* shared) : shared_(shared), thread_([this] { run(); }) {}
  ~sender() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ended_ = true;
    }
    ready_.notify_one();
    thread_.join();
  }

  void give(const request& what) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      waiting_.push(what);
#ifndef PLANT_LOST_WAKEUP
      ++count_;
#endif
    }
#ifdef PLANT_LOST_WAKEUP
    // Not under the lock: the thread may have looked at the count, and not wait yet.
    ++count_;
#endif
    ready_.notify_one();
  }
  unsigned long long bytes() const { return bytes_; }

 private:
  void run() {
    pthread_setname_np(pthread_self(), "sender");
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      while (count_ == 0 && !ended_) ready_.wait(lock);
      if (count_ == 0) return;
      const request next = waiting_.front();
      waiting_.pop();
      --count_;
      lock.unlock();
      bytes_ += next.bytes;
      shared_->sent[next.block].fetch_add(1, cuda::memory_order_release);
      lock.lock();
    }
  }

  channel* shared_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::queue<request> waiting_;
  std::atomic<int> count_{0};
  bool ended_ = false;
  std::atomic<unsigned long long> bytes_{0};
  std::thread thread_;
};

// Takes `count` requests out of the ring.
void poll(channel* shared, sender* to, unsigned count) {
  pthread_setname_np(pthread_self(), "proxy");
  for (unsigned number = 0; number < count; ++number) {
    const unsigned slot = number % slots;
    const unsigned full = number / slots * 2 + 1;
    while (shared->turn[slot].load(cuda::memory_order_acquire) != full) std::this_thread::yield();
    to->give(shared->ring[slot]);
    shared->turn[slot].store(full + 1, cuda::memory_order_release);
  }
}

int main(int count, char** arguments) {
  const unsigned rounds = count > 1 ? static_cast<unsigned>(std::stoul(arguments[1])) : 2;
  void* memory = nullptr;
  CHECK(cudaHostAlloc(&memory, sizeof(channel), cudaHostAllocMapped));
  auto* const shared = new (memory) channel{};

  unsigned long long bytes = 0;
  {
    sender sends(shared);
    std::thread proxy(poll, shared, &sends, blocks * rounds);
    serve<<<blocks, 1>>>(shared, rounds);
    CHECK(cudaGetLastError());
    proxy.join();
    for (word& each : shared->sent)
      while (each.load(cuda::memory_order_acquire) != rounds) std::this_thread::yield();
    shared->stop.store(1, cuda::memory_order_release);
    CHECK(cudaDeviceSynchronize());
    bytes = sends.bytes();
  }
  CHECK(cudaFreeHost(memory));
  const unsigned long long expected = 8ULL * blocks * rounds * (rounds + 1) / 2;
  if (bytes != expected) std::fprintf(stderr, "%llu bytes were sent instead of %llu\n", bytes, expected);
  return bytes == expected ? EXIT_SUCCESS : EXIT_FAILURE;
}
