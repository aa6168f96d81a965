// Programs that hang or race, by what is at fault: what is said of them must be what helps.
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda/atomic>
#include <cuda/barrier>
#include <mutex>
#include <string_view>
#include <thread>

namespace {

using flag = cuda::atomic<int, cuda::thread_scope_system>;

__global__ void waits_for_two(int* word) {
  cuda::atomic_ref<int, cuda::thread_scope_device> count(*word);
  count.fetch_add(1, cuda::memory_order_release);
  while (count.load(cuda::memory_order_acquire) < 2) __nanosleep(20);
}

__global__ void meets(int* out, int too_many) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x + too_many);
  __syncthreads();
  out[threadIdx.x] = 1;
  barrier.arrive_and_wait();
  out[threadIdx.x] += 1;
}
/// A barrier in memory counts one thread more than come.
void at_a_barrier() {
  constexpr int threads = 4;
  int* out = nullptr;
  cudaMallocManaged(&out, threads * sizeof *out);
  meets<<<1, threads>>>(out, 1);
  cudaDeviceSynchronize();
}

/// A fill stands in front of what waits for a store that does not come.
void behind_a_fill() {
  int* word = nullptr;
  cudaMalloc(&word, sizeof *word);
  cudaMemset(word, 0, sizeof *word);
  waits_for_two<<<1, 1>>>(word);
  cudaDeviceSynchronize();
}

__global__ void waits_for_any(int* word) {
  const cuda::atomic_ref<int, cuda::thread_scope_system> any(*word);
  while (any.load(cuda::memory_order_acquire) == 0) __nanosleep(20);
}

/// What would end the wait, a copy does: it comes behind the kernel, and the one behind that.
void for_a_copy() {
  int* word = nullptr;
  cudaMalloc(&word, sizeof *word);
  cudaMemset(word, 0, sizeof *word);
  cudaStream_t work;
  cudaStreamCreate(&work);
  waits_for_any<<<1, 1, 0, work>>>(word);
  waits_for_any<<<1, 1, 0, work>>>(word);
  const int two = 2;
  cudaMemcpy(word, &two, sizeof two, cudaMemcpyHostToDevice);
  cudaDeviceSynchronize();
}

__global__ void one_leaves(flag* done) {
  const auto grid = cooperative_groups::this_grid();
  grid.sync();
  if (blockIdx.x == 1) return;
  grid.sync();
  done->store(1, cuda::memory_order_release);
}

/// A block does not come to the barrier of its grid.
void at_a_grid() {
  flag* done = nullptr;
  cudaMallocManaged(&done, sizeof *done);
  done->store(0);
  void* arguments[] = {&done};
  cudaLaunchCooperativeKernel(reinterpret_cast<void*>(one_leaves), dim3(2), dim3(1), arguments, 0, nullptr);
  while (done->load(cuda::memory_order_acquire) == 0) std::this_thread::yield();
}

__global__ void asks(flag* words, int count) {
  for (int n = 0; n < count; ++n) words[n].store(1);
  for (int n = 0; n < count; ++n)
    while (words[n].load() != 2) __nanosleep(50);
}

/// Several notices that are one: a thread waits for the second of them.
void for_a_notice() {
  constexpr int count = 2;
  flag* words = nullptr;
  cudaMallocManaged(&words, count * sizeof *words);
  for (int n = 0; n < count; ++n) words[n].store(0);
  const int file = eventfd(0, 0);
  std::thread polls([=] {
    for (int n = 0; n < count; ++n) {
      while (words[n].load() != 1) std::this_thread::yield();
      const uint64_t one = 1;
      if (write(file, &one, sizeof one) != sizeof one) std::abort();
    }
  });
  std::thread works([=] {
    for (int n = 0; n < count; ++n) {
      uint64_t notices = 0;
      if (read(file, &notices, sizeof notices) != sizeof notices) std::abort();
      words[n].store(2);
    }
  });
  asks<<<1, 1>>>(words, count);
  cudaDeviceSynchronize();
  polls.join();
  works.join();
  close(file);
}

__global__ void counts_without_a_barrier(int* counts) {
  __shared__ int own[4];
  if (threadIdx.x < 4) own[threadIdx.x] = 0;
  atomicAdd(&own[threadIdx.x % 4], 1);
  __syncthreads();
  if (threadIdx.x < 4) atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}

/// Lanes count what other lanes may not have set yet.
void in_a_block() {
  int* counts = nullptr;
  cudaMalloc(&counts, 4 * sizeof *counts);
  cudaMemset(counts, 0, 4 * sizeof *counts);
  counts_without_a_barrier<<<1, 8>>>(counts);
  cudaDeviceSynchronize();
}

__global__ void signals_before_all_have_stored(int* data, flag* ready, int* seen) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = 1;
    if (threadIdx.x == 0) ready->store(1, cuda::memory_order_release);
  } else {
    if (threadIdx.x == 0)
      while (ready->load(cuda::memory_order_acquire) == 0) __nanosleep(20);
    __syncthreads();
    seen[threadIdx.x] = data[threadIdx.x];
  }
}

/// One lane tells another block of what others of its own may not have stored yet.
void past_a_signal() {
  int* data = nullptr;
  flag* ready = nullptr;
  cudaMalloc(&data, 4 * sizeof *data);
  cudaMallocHost(&ready, sizeof *ready);
  new (ready) flag(0);
  signals_before_all_have_stored<<<2, 2>>>(data, ready, data + 2);
  cudaDeviceSynchronize();
}

}  // namespace

__global__ void nothing() {}

/// A thread looks at a word by a pointer that its lambda has captured: it waits for the word.
void by_a_capture() {
  flag* bell = nullptr;
  cudaMallocHost(&bell, sizeof *bell);
  bell->store(0);
  std::thread waits([&] {
    while (bell->load() == 0) std::this_thread::yield();
  });
  nothing<<<1, 1>>>();
  cudaDeviceSynchronize();
  waits.join();
}

__global__ void waits_for_unset(flag* told, int* data, int* out) {
  while (told->load() == 0) {
  }
  *out = *data;
}
int in_the_program[64];
/// Two threads access a variable of the program.
void at_a_variable() {
  nothing<<<1, 1>>>();
  cudaDeviceSynchronize();
  std::thread stores([] { in_the_program[7] = 2; });
  const int seen = in_the_program[7];
  stores.join();
  if (seen > 2) std::abort();
}

/// The flag has never been set to 0: what it holds is no 0.
void by_what_was_there() {
  flag* told = nullptr;
  int* data = nullptr;
  cudaMallocManaged(&told, sizeof *told);
  cudaMallocManaged(&data, 2 * sizeof *data);
  std::thread gives([=] {
    data[0] = 1;
    told->store(1);
  });
  waits_for_unset<<<1, 1>>>(told, data, data + 1);
  cudaDeviceSynchronize();
  gives.join();
}

extern "C" void call_back(void (*what)(void*), void* with);
void wait_for(void* flag) {
  while (static_cast<std::atomic<int>*>(flag)->load() == 0) std::this_thread::yield();
}
/// A library, whose debug information begins as that of the program does, calls what waits for a store that does not come.
void out_of_a_library() {
  nothing<<<1, 1>>>();
  cudaDeviceSynchronize();
  static std::atomic<int> never = 0;
  call_back(wait_for, &never);
}

/// Two threads wait at one condition, each for something else. Notice that one of them gets is not for it.
void at_one_condition(bool tells_all) {
  static std::mutex lock;
  static std::condition_variable ready;
  static bool has_first = false, has_second = false;
  const auto waits_for = [](const bool& what) {
    std::unique_lock<std::mutex> held(lock);
    ready.wait(held, [&] { return what; });
  };
  const auto gives = [&](bool& what) {
    const std::lock_guard<std::mutex> held(lock);
    what = true;
    if (tells_all)
      ready.notify_all();
    else
      ready.notify_one();
  };
  std::thread first([&] { waits_for(has_first); });
  std::thread second([&] { waits_for(has_second); });
  gives(has_second);
  second.join();
  gives(has_first);
  first.join();
}

__global__ void waits_for_all(unsigned* words) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> count(words[0]), all_have_come(words[1]);
  if (threadIdx.x == 0) {
    if (count.fetch_add(1) + 1 == gridDim.x) all_have_come.store(1);
    while (all_have_come.load() == 0) __nanosleep(20);
  }
  __syncthreads();
}
/// A barrier of a grid that has more blocks than have places.
void without_places() {
  unsigned* words = nullptr;
  cudaMalloc(&words, 2 * sizeof *words);
  cudaMemset(words, 0, 2 * sizeof *words);
  waits_for_all<<<4, 2>>>(words);
  cudaDeviceSynchronize();
  std::puts("all have come");
}

__global__ void takes_from_the_first(const int* from, int* to, bool all_come) {
  const int mine = from[threadIdx.x];
  if (mine < 0 && !all_come) return;
  to[threadIdx.x] = __shfl_sync(3, mine, 0);
}
/// A lane that a mask names has left before.
void without_a_lane(bool all_come) {
  int* memory = nullptr;
  cudaMallocManaged(&memory, 4 * sizeof *memory);
  memory[0] = -1;
  memory[1] = 1;
  takes_from_the_first<<<1, 2>>>(memory, memory + 2, all_come);
  cudaDeviceSynchronize();
}

__global__ void hands_over(flag* words) {
  words[0].store(1);
  while (words[1].load() == 0) __nanosleep(20);
}
__global__ void takes_up(flag* words) {
  while (words[0].load() == 0) __nanosleep(20);
  words[2].store(1);
}
/// A kernel waits for another, which answers at another word.
void for_another_kernel() {
  flag* words = nullptr;
  cudaMallocManaged(&words, 3 * sizeof *words);
  cudaStream_t streams[2];
  for (cudaStream_t& each : streams) cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking);
  cudaMemsetAsync(words, 0, 3 * sizeof *words, streams[0]);
  cudaStreamSynchronize(streams[0]);
  hands_over<<<1, 1, 0, streams[0]>>>(words);
  takes_up<<<1, 1, 0, streams[1]>>>(words);
  cudaDeviceSynchronize();
}

__global__ void answers_where_it_finds_one(flag* words) {
  while (words[0].load() == 0) __nanosleep(20);
  if (words[2].load() != 0) words[1].store(1);
}
/// A kernel has an answer where a thread has stored before, and ends without one where not.
void for_a_kernel_that_ends() {
  flag* words = nullptr;
  cudaMallocManaged(&words, 3 * sizeof *words);
  for (int n = 0; n < 3; ++n) words[n].store(0);
  cudaStream_t streams[2];
  for (cudaStream_t& each : streams) cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking);
  hands_over<<<1, 1, 0, streams[0]>>>(words);
  answers_where_it_finds_one<<<1, 1, 0, streams[1]>>>(words);
  words[2].store(1);
  cudaDeviceSynchronize();
}

__global__ void asks_twice(flag* words) {
  for (int n = 1; n <= 2; ++n) {
    words[0].store(n);
    while (words[1].load() != n) __nanosleep(20);
  }
}
/// A proxy is told to stop while it still has requests to answer, or answers no more than `most`.
void for_a_proxy_that_ends(int most) {
  flag* words = nullptr;
  cudaMallocManaged(&words, 2 * sizeof *words);
  for (int n = 0; n < 2; ++n) words[n].store(0);
  std::atomic<bool> stops = false;
  std::thread proxy([&] {
    for (int seen = 0; !stops.load() && seen != most; std::this_thread::yield())
      if (const int now = words[0].load(); now > seen) words[1].store(seen = now);
  });
  asks_twice<<<1, 1>>>(words);
  while (words[0].load() == 0) std::this_thread::yield();
  if (most > 2) stops = true;
  proxy.join();
  cudaDeviceSynchronize();
}

/// A notice that comes between a look and the wait; `holds`: the two are one to the giver.
void for_a_lost_notice(bool holds) {
  struct {
    std::mutex lock;
    std::condition_variable bell;
    std::atomic<int> work = 0;
  } desk;
  std::thread server([&] {
    std::unique_lock<std::mutex> held(desk.lock, std::defer_lock);
    if (holds) held.lock();
    while (desk.work.load() == 0) {
      if (!holds) held.lock();
      desk.bell.wait(held);
      if (!holds) held.unlock();
    }
  });
  {
    std::unique_lock<std::mutex> held(desk.lock, std::defer_lock);
    if (holds) held.lock();
    desk.work.store(1);
  }
  desk.bell.notify_one();
  server.join();
}

/// A loop that waits, and counts how often it has looked.
void with_a_count(int looks_most) {
  std::atomic<bool> comes = false;
  std::thread other([&] { comes = true; });
  int looks = 0;
  while (!comes && looks != looks_most) ++looks;
  other.join();
  if (looks < 0) std::abort();
}

std::mutex game_lock;
std::condition_variable game_turns, game_over;
int game_turn = 0;
bool game_ends = false;

/// Two threads hand each other the turn until a third one ends that, if any: after that time it gives up waiting for what never comes.
void at_a_game(std::chrono::seconds patience) {
  const auto plays = [](int self) {
    std::unique_lock<std::mutex> held(game_lock);
    while (!game_ends) {
      game_turns.wait(held, [&] { return game_turn == self || game_ends; });
      game_turn = 1 - self;
      game_turns.notify_all();
    }
  };
  std::thread first(plays, 0), second(plays, 1);
  if (patience.count() != 0) {
    std::unique_lock<std::mutex> held(game_lock);
    game_over.wait_for(held, patience, [] { return false; });
    game_ends = true;
    game_turns.notify_all();
  }
  first.join();
  second.join();
}

int main(int count, char** arguments) {
  const std::string_view where = count == 2 ? arguments[1] : "";
  if (where == "fill") behind_a_fill();
  if (where == "copy") for_a_copy();
  if (where == "barrier") at_a_barrier();
  if (where == "kernels") for_another_kernel();
  if (where == "grid") at_a_grid();
  if (where == "notice") for_a_notice();
  if (where == "counts") in_a_block();
  if (where == "signal") past_a_signal();
  if (where == "capture") by_a_capture();
  if (where == "unset") by_what_was_there();
  if (where == "variable") at_a_variable();
  if (where == "library") out_of_a_library();
  if (where == "condition") at_one_condition(false);
  if (where == "condition_all") at_one_condition(true);
  if (where == "places") without_places();
  if (where == "lane") without_a_lane(false);
  if (where == "lane_comes") without_a_lane(true);
  if (where == "kernel_ends") for_a_kernel_that_ends();
  if (where == "proxy_ends") for_a_proxy_that_ends(3);
  if (where == "proxy_answers_once") for_a_proxy_that_ends(1);
  if (where == "lost_notice") for_a_lost_notice(false);
  if (where == "kept_notice") for_a_lost_notice(true);
  if (where == "counted") with_a_count(-1);
  if (where == "counted_to_ten") with_a_count(10);
  if (where == "game") at_a_game(std::chrono::seconds(0));
  if (where == "short_game") at_a_game(std::chrono::seconds(1));
  if (where == "long_game") at_a_game(std::chrono::seconds(20));
  return 0;
}
