// Memory of malloc() and its like, which a kernel and its host reach at the same time: races in it are found. The second argument says how the host
// looks at the word while the kernel counts it up, the first where it lies.
#include <cuda_runtime.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

__global__ void count_up(int* words) {
  for (int n = 0; n < 3; ++n) atomicAdd_system(&words[1], 1);
}

int* memory_of(const std::string& kind) {
  constexpr size_t bytes = 4 * sizeof(int);
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
  count_up<<<1, 1>>>(words);
  if (std::strcmp(arguments[2], "plain") == 0) {
    if (words[1] > 3) return 4;
  } else if (__atomic_load_n(&words[1], __ATOMIC_RELAXED) > 3) {
    return 4;
  }
  cudaDeviceSynchronize();
  const bool counted = words[1] == 3;
  std::free(words);
  return counted ? 0 : 5;
}
