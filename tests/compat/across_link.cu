// What device and host see of each other's stores where these are late (fidelity link): what has been waited for is there, and nothing else is.
#include <cuda.h>
#include <cuda_runtime.h>
#include <immintrin.h>
#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <thread>

#include "test_case.h"

namespace {

using word = volatile int;

__global__ void put(word* to) { *to = 1; }
__global__ void put_both(word* first, word* then) {
  *first = 1;
  *then = 1;
}
__global__ void put_in_order(word* first, word* then) {
  *first = 1;
  __threadfence_system();
  *then = 1;
}

int* on_host(unsigned flags = cudaHostAllocDefault) {
  int* memory = nullptr;
  cudaHostAlloc(&memory, sizeof(int), flags);
  *memory = 0;
  return memory;
}
int* on_device() {
  int* memory = nullptr;
  cudaMalloc(&memory, sizeof(int));
  cudaMemset(memory, 0, sizeof(int));
  cudaDeviceSynchronize();
  return memory;
}
cudaStream_t stream_of_its_own() {
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  return stream;
}
int look(const int* at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
int result_of(bool is_right) {
  cudaDeviceSynchronize();
  return is_right ? 0 : 1;
}

// -- a payload of a kernel in memory of the host, and a flag elsewhere

// A wait for a copy in another stream is none for the kernel.
int flag_is_copied(void (*kernel)(word*, word*)) {
  int* const payload = on_host();
  int* const flag = on_device();
  int* const copied = on_host();
  kernel<<<1, 1, 0, stream_of_its_own()>>>(payload, flag);
  const cudaStream_t beside = stream_of_its_own();
  cudaMemcpyAsync(copied, flag, sizeof *copied, cudaMemcpyDeviceToHost, beside);
  cudaStreamSynchronize(beside);
  return result_of(*copied == 0 || look(payload) == 1);
}

int flag_is_written(unsigned how) {
  int* const payload = on_host();
  int* const flag = on_host();
  const cudaStream_t stream = stream_of_its_own();
  put<<<1, 1, 0, stream>>>(payload);
  cuStreamWriteValue32(stream, reinterpret_cast<CUdeviceptr>(flag), 1, how);
  return result_of(look(flag) == 0 || look(payload) == 1);
}

int waits_for_the_kernel() {
  int* const payload = on_host();
  const cudaStream_t stream = stream_of_its_own();
  put<<<1, 1, 0, stream>>>(payload);
  cudaStreamSynchronize(stream);
  return result_of(look(payload) == 1);
}

// -- memory of the host that is mapped write-combining

__global__ void copy_when_told(word* flag, const word* payload, int* copied) {
  if (*flag == 0) return;
  __threadfence_system();
  *copied = *payload + 1;
}

__global__ void copy_at_once(word* flag, const word* payload, int* copied) {
  if (*flag != 0) *copied = *payload + 1;
}

int flag_is_read(void (*kernel)(word*, const word*, int*)) {
  int* const payload = on_host();
  int* const flag = on_host();
  int* const copied = on_host();
  kernel<<<1, 1, 0, stream_of_its_own()>>>(flag, payload, copied);
  __atomic_store_n(payload, 1, __ATOMIC_RELAXED);
  __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
  cudaDeviceSynchronize();
  return *copied == 0 || *copied == 2 ? 0 : 1;
}

int combines(unsigned of_flag, void (*between)()) {
  int* const payload = on_host(cudaHostAllocWriteCombined);
  int* const flag = on_host(of_flag);
  int* const copied = on_host();
  copy_when_told<<<1, 1, 0, stream_of_its_own()>>>(flag, payload, copied);
  *static_cast<word*>(payload) = 1;
  between();
  __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
  cudaDeviceSynchronize();
  return *copied == 0 || *copied == 2 ? 0 : 1;
}

// A launch is more than a store to the processor.
int combines_before_a_launch() {
  int* const payload = on_host(cudaHostAllocWriteCombined);
  int* const copied = on_host();
  *static_cast<word*>(payload) = 1;
  copy_when_told<<<1, 1>>>(payload, payload, copied);
  cudaDeviceSynchronize();
  return *copied == 2 ? 0 : 1;
}

// -- threads of the host

int first, second;
sem_t given;
pthread_barrier_t all_there;

// A wait of one thread for a kernel hurries no store of the other.
int stores_before_it_waits(bool has_fence) {
  int* const payload = on_host();
  static int seen;
  const cudaStream_t stream = stream_of_its_own();
  put<<<1, 1, 0, stream>>>(payload);
  std::thread other([has_fence] {
    __atomic_store_n(&first, 1, __ATOMIC_RELAXED);
    if (has_fence) __atomic_thread_fence(__ATOMIC_SEQ_CST);
    seen = __atomic_load_n(&second, __ATOMIC_RELAXED);
  });
  __atomic_store_n(&second, 1, __ATOMIC_RELAXED);
  cudaStreamSynchronize(stream);
  const int seen_here = __atomic_load_n(&first, __ATOMIC_RELAXED);
  other.join();
  return result_of(seen_here == 1 || seen == 1);
}

bool have_both() {
  return __atomic_load_n(&first, __ATOMIC_RELAXED) == 1 && __atomic_load_n(&second, __ATOMIC_RELAXED) == 1;
}

int semaphore_of_two(int taken) {
  sem_init(&given, 0, 0);
  const auto gives = [](int* to) {
    __atomic_store_n(to, 1, __ATOMIC_RELAXED);
    sem_post(&given);
  };
  std::thread one(gives, &first);
  std::thread other(gives, &second);
  for (int n = 0; n < taken; ++n) sem_wait(&given);
  const bool has_both = have_both();
  one.join();
  other.join();
  return has_both ? 0 : 1;
}

int barrier_of_three() {
  pthread_barrier_init(&all_there, nullptr, 3);
  const auto comes = [](int* to) {
    __atomic_store_n(to, 1, __ATOMIC_RELAXED);
    pthread_barrier_wait(&all_there);
  };
  std::thread one(comes, &first);
  std::thread other(comes, &second);
  pthread_barrier_wait(&all_there);
  const bool has_both = have_both();
  one.join();
  other.join();
  return has_both ? 0 : 1;
}

constexpr test_case cases[] = {
    {"flag_is_copied", [] { return flag_is_copied(put_in_order); }},
    {"flag_is_copied_without_a_fence", [] { return flag_is_copied(put_both); }},
    {"flag_is_written", [] { return flag_is_written(CU_STREAM_WRITE_VALUE_DEFAULT); }},
    {"flag_is_written_without_a_barrier", [] { return flag_is_written(CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER); }},
    {"waits_for_the_kernel", waits_for_the_kernel},
    {"flag_is_read", [] { return flag_is_read(copy_when_told); }},
    {"flag_is_read_without_a_fence", [] { return flag_is_read(copy_at_once); }},
    {"combines", [] { return combines(cudaHostAllocWriteCombined, [] {}); }},
    {"combines_payload", [] { return combines(cudaHostAllocDefault, [] {}); }},
    {"combines_with_sfence", [] { return combines(cudaHostAllocWriteCombined, [] { _mm_sfence(); }); }},
    {"combines_payload_with_sfence", [] { return combines(cudaHostAllocDefault, [] { _mm_sfence(); }); }},
    {"combines_before_a_launch", combines_before_a_launch},
    {"stores_before_it_waits", [] { return stores_before_it_waits(true); }},
    {"stores_before_it_waits_without_a_fence", [] { return stores_before_it_waits(false); }},
    {"semaphore_of_two", [] { return semaphore_of_two(2); }},
    {"semaphore_of_two_taken_once", [] { return semaphore_of_two(1); }},
    {"barrier_of_three", barrier_of_three},
};

}  // namespace

std::span<const test_case> cases_of_link() { return cases; }
