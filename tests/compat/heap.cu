// Memory of malloc() and its like, which a kernel and its host reach at the same time, or two threads: races in it are found. The second argument
// says how the host looks at the word while the kernel counts it up, the first where it lies.
#include <cuda_runtime.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

namespace {

__global__ void count_up(int* words) {
  for (int n = 0; n < 3; ++n) atomicAdd_system(&words[1], 1);
}

// No order hands the first word over with the second; with `orders`, one does.
int threads_meet(int* words, bool orders) {
  std::atomic_ref<int> flag(words[1]);
  const std::string given = "more than a string keeps within itself";
  std::thread gives([=] {
    words[0] = static_cast<int>(given.size());
    flag.store(1, orders ? std::memory_order_release : std::memory_order_relaxed);
  });
  while (flag.load(std::memory_order_acquire) == 0) std::this_thread::yield();
  const bool is_there = words[0] == static_cast<int>(given.size());
  gives.join();
  return is_there ? 0 : 6;
}

int* memory_of(const std::string& kind) {
  constexpr size_t bytes = 4 * sizeof(int);
  if (kind == "new") return new int[4];
  if (kind == "calloc") return static_cast<int*>(std::calloc(4, sizeof(int)));
  if (kind == "aligned_alloc") return static_cast<int*>(std::aligned_alloc(64, 64));
  if (kind == "posix_memalign") {
    void* made = nullptr;
    return posix_memalign(&made, 256, bytes) == 0 ? static_cast<int*>(made) : nullptr;
  }
  auto* const made = static_cast<int*>(std::malloc(kind == "realloc" ? sizeof(int) : bytes));
  if (kind != "realloc") return made;
  made[0] = 7;
  auto* const grown = static_cast<int*>(std::realloc(made, bytes));
  return grown[0] == 7 ? grown : nullptr;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  int* const words = memory_of(arguments[1]);
  if (words == nullptr || reinterpret_cast<size_t>(words) % alignof(int) != 0) return 3;
  words[1] = 0;
  if (std::strncmp(arguments[2], "threads", 7) == 0)
    return threads_meet(words, std::strcmp(arguments[2], "threads_in_order") == 0);
  count_up<<<1, 1>>>(words);
  if (std::strcmp(arguments[2], "plain") == 0) {
    if (words[1] > 3) return 4;
  } else if (__atomic_load_n(&words[1], __ATOMIC_RELAXED) > 3) {
    return 4;
  }
  cudaDeviceSynchronize();
  const bool counted = words[1] == 3;
  if (std::strcmp(arguments[1], "new") == 0)
    delete[] words;
  else
    std::free(words);
  return counted ? 0 : 5;
}
