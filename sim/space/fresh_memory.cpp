#include <heddle/sim/space/fresh_memory.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>

namespace heddle::sim {
namespace {

constexpr size_t much = size_t{4} << 20;
constexpr size_t page_bytes = 65536;  // the largest of any processor here
constexpr size_t pattern_bytes = size_t{4} << 20;

/// A file of so many equal bytes, which stays; -1 where there can be none.
int file_of(int value) {
  static std::mutex access;
  static int known_value = -1;
  static int file = -1;
  const std::lock_guard lock(access);
  if (known_value == value) return file;
  const int made = memfd_create("heddle fill", MFD_CLOEXEC);
  if (made < 0) return -1;
  void* const bytes = ftruncate(made, pattern_bytes) == 0
                          ? mmap(nullptr, pattern_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, made, 0)
                          : MAP_FAILED;
  if (bytes == MAP_FAILED) {
    close(made);
    return -1;
  }
  std::memset(bytes, value, pattern_bytes);
  munmap(bytes, pattern_bytes);
  // What is mapped keeps its file.
  if (file >= 0) close(file);
  known_value = value;
  return file = made;
}

/// Calls `map(address, bytes)` for the whole pages, in pieces of `piece_bytes` at most, and fills what is left.
template <typename Map>
void by_pages(std::byte* memory, int value, size_t size_bytes, size_t piece_bytes, Map&& map) {
  const auto at = reinterpret_cast<uintptr_t>(memory);
  std::byte* const first = memory + ((at + page_bytes - 1) / page_bytes * page_bytes - at);
  std::byte* const end = memory + size_bytes;
  std::byte* last = first;
  while (end - last >= static_cast<std::ptrdiff_t>(page_bytes)) {
    const size_t bytes = std::min(piece_bytes, static_cast<size_t>(end - last) / page_bytes * page_bytes);
    if (!map(last, bytes)) break;
    last += bytes;
  }
  std::memset(memory, value, static_cast<size_t>(first - memory));
  std::memset(last, value, static_cast<size_t>(end - last));
}

constexpr int how = PROT_READ | PROT_WRITE;

}  // namespace

void clear_fresh(std::byte* memory, size_t size_bytes) {
  if (size_bytes < much) {
    std::memset(memory, 0, size_bytes);
    return;
  }
  by_pages(memory, 0, size_bytes, size_bytes, [](std::byte* at, size_t bytes) {
    return mmap(at, bytes, how, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == at;
  });
}

void fill_fresh(std::byte* memory, int value, size_t size_bytes) {
  if (value == 0) return;
  const int file = size_bytes < much ? -1 : file_of(value);
  if (file < 0) {
    std::memset(memory, value, size_bytes);
    return;
  }
  by_pages(memory, value, size_bytes, pattern_bytes, [&](std::byte* at, size_t bytes) {
    return mmap(at, bytes, how, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, file, 0) == at;
  });
}

}  // namespace heddle::sim
