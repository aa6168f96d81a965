#include <heddle/sim/sync/left_open.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace heddle::sim {
namespace {

uintptr_t end_of_pages(const void* memory, size_t size_bytes) {
  constexpr uintptr_t page_bytes = 4096;
  return (reinterpret_cast<uintptr_t>(memory) + size_bytes + page_bytes - 1) & ~(page_bytes - 1);
}

}  // namespace

void left_open::clear() {
  for (std::FILE* const each : std::exchange(streams_, {})) std::fclose(each);
  for (const open_file& each : std::exchange(files_, {})) close(each.number);
  opened_by_.clear();
  for (const auto& [first, end] : std::exchange(mappings_, {})) munmap(reinterpret_cast<void*>(first), end - first);
}

void left_open::mapped(const void* memory, size_t size_bytes) {
  // At a given address it may take the place of another one.
  unmapped(memory, size_bytes);
  mappings_.emplace_back(reinterpret_cast<uintptr_t>(memory), end_of_pages(memory, size_bytes));
}

void left_open::unmapped(const void* memory, size_t size_bytes) {
  const auto from = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t to = end_of_pages(memory, size_bytes);
  for (size_t n = mappings_.size(); n-- > 0;) {
    const auto [first, end] = mappings_[n];
    if (end <= from || to <= first) continue;
    mappings_.erase(mappings_.begin() + static_cast<std::ptrdiff_t>(n));
    if (first < from) mappings_.emplace_back(first, from);
    if (to < end) mappings_.emplace_back(to, end);
  }
}

}  // namespace heddle::sim
