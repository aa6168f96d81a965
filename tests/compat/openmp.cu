// OpenMP on the host of a program with kernels: regions, loops, sections, critical sections, locks and tasks. The argument says what, and what is wrong.
#include <cuda_runtime.h>
#include <omp.h>

#include <atomic>
#include <cstddef>
#include <string>

namespace {

__global__ void add(int* to, int value) { atomicAdd(to, value); }
__global__ void ask(int* box) {
  box[2] = 20;
  __threadfence_system();
  atomicExch_system(&box[0], 1);
  while (*static_cast<volatile int*>(&box[1]) == 0) {
  }
}

int* zeroed(size_t count) {
  int* memory = nullptr;
  cudaMallocManaged(&memory, count * sizeof(int));
  for (size_t n = 0; n < count; ++n) memory[n] = 0;
  return memory;
}

// Each thread gives the device work of its own.
int kernels() {
  int* const sum = zeroed(1);
#pragma omp parallel num_threads(3)
  {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    add<<<1, 2, 0, stream>>>(sum, omp_get_thread_num() + 1);
    cudaStreamSynchronize(stream);
  }
  return *sum == 12 && omp_get_num_threads() == 1 && omp_in_parallel() == 0 ? 0 : 1;
}

int loops() {
  int fixed = 0, one_by_one = 0, smaller = 0, down = 0, seen[7] = {};
  size_t wide = 0;
#pragma omp parallel num_threads(2)
  {
#pragma omp for reduction(+ : fixed)
    for (int n = 0; n < 10; ++n) fixed += n;
#pragma omp for schedule(dynamic) reduction(+ : one_by_one) nowait
    for (int n = 0; n < 7; n += 2) one_by_one += n;
#pragma omp for schedule(guided) reduction(+ : smaller)
    for (int n = 0; n < 9; ++n) smaller += n;
#pragma omp for schedule(dynamic, 2) reduction(+ : down)
    for (int n = 6; n >= 0; --n) {
      down += n;
      ++seen[n];
    }
#pragma omp for schedule(dynamic) reduction(+ : wide)
    for (size_t n = 0; n < 5; ++n) wide += n;
  }
  unsigned long long odd = 0;
#pragma omp parallel for schedule(dynamic, 2) num_threads(2) reduction(+ : odd)
  for (unsigned long long n = 9; n > 2; n -= 2) odd += n;
  int rest = 0;
#pragma omp parallel for schedule(dynamic, 3) num_threads(2) reduction(+ : rest)
  for (int n = 0; n < 8; ++n) rest += n;
  for (const int each : seen)
    if (each != 1) return 2;
  return fixed == 45 && one_by_one == 12 && smaller == 36 && down == 21 && wide == 10 && odd == 24 && rest == 28 ? 0
                                                                                                                 : 1;
}

// No thread knows which iterations it gets, nor when.
int order(bool static_ones) {
  int last = 0;
  if (static_ones) {
#pragma omp parallel for schedule(static, 1) num_threads(2) lastprivate(last)
    for (int n = 0; n < 4; ++n) last = omp_get_thread_num();
    return last == 1 ? 0 : 1;
  }
#pragma omp parallel for schedule(dynamic, 1) num_threads(2) lastprivate(last)
  for (int n = 0; n < 4; ++n) last = omp_get_thread_num();
  return last == 1 ? 0 : 1;
}

int counts(const std::string& how) {
  int count = 0;
#pragma omp parallel num_threads(2)
  {
    if (how == "critical") {
#pragma omp critical(counting)
      ++count;
    } else if (how == "atomic") {
#pragma omp atomic
      ++count;
    } else {
      ++count;
    }
  }
  return count == 2 ? 0 : 1;
}

// What one thread has made, the others read behind the barrier at the end of its block.
int one_of_them(bool waits) {
  int made = 0, right = 0;
#pragma omp parallel num_threads(2) reduction(+ : right)
  {
    if (waits) {
#pragma omp single
      made = 7;
    } else {
#pragma omp single nowait
      made = 7;
    }
    right += made == 7 ? 1 : 0;
    int own = 0;
#pragma omp single copyprivate(own)
    own = 3;
    right += own == 3 ? 1 : 0;
#pragma omp master
    made = 8;
#pragma omp barrier
    right += made == 8 ? 1 : 0;
  }
  return right == 6 ? 0 : 1;
}

// A kernel asks, and the other section answers: the two need a thread each.
int proxy(int threads) {
  int* const box = zeroed(3);
  int seen = 0;
#pragma omp parallel sections num_threads(threads)
  {
#pragma omp section
    {
      ask<<<1, 1>>>(box);
      cudaDeviceSynchronize();
    }
#pragma omp section
    {
      while (__atomic_load_n(&box[0], __ATOMIC_ACQUIRE) == 0) {
      }
      seen = box[2];
      __atomic_store_n(&box[1], 1, __ATOMIC_RELEASE);
    }
  }
  return seen == 20 ? 0 : 1;
}

int locks(bool crossed) {
  omp_lock_t one, two;
  omp_init_lock(&one);
  omp_init_lock(&two);
  int held = 0;
#pragma omp parallel num_threads(2)
  {
    const bool first = omp_get_thread_num() == 0 || !crossed;
    omp_set_lock(first ? &one : &two);
    omp_set_lock(first ? &two : &one);
    ++held;
    omp_unset_lock(&two);
    omp_unset_lock(&one);
  }
  return held == 2 ? 0 : 1;
}

int tasks() {
  int sum = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
    for (int n = 1; n <= 3; ++n) {
#pragma omp task firstprivate(n) shared(sum)
      {
#pragma omp atomic
        sum += n;
      }
    }
#pragma omp taskwait
  }
  return sum == 6 ? 0 : 1;
}

int ordered() {
  int last = -1;
#pragma omp parallel for ordered schedule(dynamic) num_threads(2)
  for (int n = 0; n < 3; ++n) {
#pragma omp ordered
    last = n;
  }
  return last == 2 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count == 2 ? arguments[1] : "";
  if (what == "kernels") return kernels();
  if (what == "loops") return loops();
  if (what == "order" || what == "fixed_order") return order(what == "fixed_order");
  if (what == "plain" || what == "critical" || what == "atomic") return counts(what);
  if (what == "single" || what == "single_nowait") return one_of_them(what == "single");
  if (what == "proxy" || what == "proxy_alone") return proxy(what == "proxy" ? 2 : 1);
  if (what == "locks" || what == "locks_crossed") return locks(what == "locks_crossed");
  if (what == "tasks") return tasks();
  return what == "ordered" ? ordered() : 2;
}
