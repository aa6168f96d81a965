// Memory of malloc(), mmap() and their like, which a kernel and its host reach at the same time, or two threads: races in it are found. The second argument
// says how the host looks at the word while the kernel counts it up, the first where it lies. And uses of such memory that are wrong, or just right.
#include <cuda_runtime.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

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
  if (kind == "memalign") return static_cast<int*>(memalign(64, bytes));
  if (kind == "mmap") {
    constexpr int flags = MAP_SHARED | MAP_ANONYMOUS;
    return static_cast<int*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0));
  }
  if (kind == "shared_file") {
    // Two mappings of one file are one memory.
    const int file = memfd_create("words", 0);
    if (file < 0 || ftruncate(file, bytes) != 0) return nullptr;
    int* mapped[2];
    for (int*& each : mapped)
      each = static_cast<int*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    close(file);
    mapped[0][3] = 7;
    return mapped[1][3] == 7 ? mapped[1] : nullptr;
  }
  auto* const made = static_cast<int*>(std::malloc(kind == "realloc" ? sizeof(int) : bytes));
  if (kind != "realloc") return made;
  made[0] = 7;
  auto* const grown = static_cast<int*>(std::realloc(made, bytes));
  return grown[0] == 7 ? grown : nullptr;
}

void give_back(int* words, const std::string& kind) {
  if (kind == "new")
    delete[] words;
  else if (kind == "mmap" || kind == "shared_file")
    munmap(words, 4 * sizeof(int));
  else
    std::free(words);
}

/// Copies them to the device, and changes one. -1 where there is no such way.
int copy_out_of(int* words, const std::string& how) {
  const bool is_registered = how.find("registered") != std::string::npos;
  if (how.find("copied") == std::string::npos) return -1;
  int* to = nullptr;
  cudaMalloc(&to, 16);
  if (is_registered && cudaHostRegister(words, 16, cudaHostRegisterDefault) != cudaSuccess) return 8;
  cudaMemcpyAsync(to, words, 16, cudaMemcpyHostToDevice, nullptr);
  if (how == "copied_registered_and_waited_for") cudaStreamSynchronize(nullptr);
  words[0] = 2;
  cudaDeviceSynchronize();
  return is_registered ? static_cast<int>(cudaHostUnregister(words)) : 0;
}

/// Uses the four words at the pointer, in the way that is named, and gives them back. -1 where there is no such way.
int use(int* words, const std::string& how, const std::string& kind) {
  // What the compiler knows of them it says itself.
  int* volatile hidden = words;
  auto* volatile bytes = reinterpret_cast<char*>(words);
  if (how == "to_the_end") {
    bytes[15] = 1;
    std::memset(bytes, 2, 16);
    const bool right = bytes[15] == 2 && words[3] == 0x02020202;
    give_back(words, kind);
    return right ? 0 : 7;
  }
  if (const int copied = copy_out_of(words, how); copied != -1) {
    give_back(words, kind);
    return copied;
  }
  if (how == "thread_in_order" || how == "thread_beside") {
    std::thread reads([&] { bytes[3] = bytes[2]; });
    if (how == "thread_in_order") reads.join();
    give_back(words, kind);
    if (how == "thread_beside") reads.join();
    return 0;
  }
  if (how == "kernel_beside") {
    count_up<<<1, 1>>>(words);
    give_back(words, kind);
    return static_cast<int>(cudaDeviceSynchronize());
  }
  if (how == "behind") {
    hidden[4] = 1;
  } else if (how == "last_byte") {
    // Seven bytes of four words.
    *reinterpret_cast<long long*>(bytes + 9) = 1;
  } else if (how == "before") {
    if (hidden[-1] != 0) return 7;
  } else if (how == "range") {
    std::memset(hidden, 0, 17);
  } else if (how == "read_after" || how == "write_after" || how == "atomic_after" || how == "twice") {
    give_back(words, kind);
    if (how == "read_after") return hidden[1];
    if (how == "write_after") hidden[1] = 2;
    if (how == "atomic_after") __atomic_fetch_add(&hidden[1], 1, __ATOMIC_RELAXED);
  } else if (how == "inside") {
    hidden = hidden + 1;
  } else {
    return -1;
  }
  give_back(hidden, kind);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  int* const words = memory_of(arguments[1]);
  if (words == nullptr || reinterpret_cast<size_t>(words) % alignof(int) != 0) return 3;
  words[1] = 0;
  if (const int used = use(words, arguments[2], arguments[1]); used != -1) return used;
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
  give_back(words, arguments[1]);
  return counted ? 0 : 5;
}
