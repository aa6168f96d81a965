// What the memory of devices holds while the stores of kernels stay in a cache that is never written back.
#pragma once

#include <heddle/sim/space/heap.h>

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <vector>

namespace heddle::sim {

/// A driver has caches written back before it copies what a kernel may have stored. One that does not (driver.flush=off) copies what was in
/// memory before the first kernel, and what other copies have brought there since: nothing leaves a cache on its own, which is the worst
/// case, as in driver/l2_cache.h. Kernels and host threads see each other's stores as ever; it is copies that go past the cache.
class unflushed_memory {
 public:
  void reset(bool on) {
    on_ = on;
    if (!before_.empty()) before_.clear();
  }
  bool on() const { return on_; }

  /// A kernel is launched: device memory is from now on what it is at this moment.
  void kernel_launched(const heap& memory) {
    for (const allocation& each : memory.allocations())
      if (!each.freed && each.kind == memory_kind::device) keep(each);
  }
  /// The cache of a GPU is written back; its pages are those for which `is_mine(base, offset)`. Where kernels run, what they store next is in the
  /// cache again.
  template <typename IsMine>
  void write_back(bool kernels_run, IsMine&& is_mine) {
    for (auto& [base, of] : before_)
      for (size_t page = 0; page < of.is_clean.size(); ++page) {
        if (of.is_clean[page] || !is_mine(base, page * page_bytes)) continue;
        copy_page(base, of, page);
        of.is_clean[page] = !kernels_run;
      }
    std::erase_if(before_, [](const auto& each) {
      return std::all_of(each.second.is_clean.begin(), each.second.is_clean.end(), [](bool clean) { return clean; });
    });
  }
  void freed(const void* base) {
    if (!before_.empty()) before_.erase(static_cast<const std::byte*>(base));
  }

  /// Where a copy finds the byte that lies there: null for there itself.
  std::byte* found_by_copy(const heap& memory, const void* address) {
    if (!memory.contains(address)) return nullptr;
    const allocation* const of = memory.nearest(address);
    const auto known = of == nullptr ? before_.end() : before_.find(of->base);
    if (known == before_.end()) return nullptr;
    const auto offset = static_cast<size_t>(static_cast<const std::byte*>(address) - of->base);
    // Of no bytes none are kept.
    if (offset >= known->second.bytes.size() || known->second.is_clean[offset / page_bytes]) return nullptr;
    return known->second.bytes.data() + offset;
  }

  /// In the order of the addresses.
  template <typename Visit>
  void for_each(const heap& memory, Visit&& visit) const {
    for (const allocation& each : memory.allocations())
      if (const auto known = before_.find(each.base); known != before_.end()) visit(known->second.bytes);
  }

 private:
  static constexpr size_t page_bytes = 4096;
  /// What memory holds of an allocation where its cache holds something else, or may.
  struct kept {
    std::vector<std::byte> bytes;
    std::vector<bool> is_clean;  ///< by page: memory and cache hold the same
  };

  static void copy_page(const std::byte* base, kept& of, size_t page) {
    const size_t first = page * page_bytes;
    std::copy(base + first, base + std::min(first + page_bytes, of.bytes.size()),
              of.bytes.begin() + static_cast<std::ptrdiff_t>(first));
  }
  void keep(const allocation& what) {
    kept& of = before_[what.base];
    if (of.bytes.empty()) {
      of.bytes.assign(what.base, what.base + what.size_bytes);
      of.is_clean.assign((what.size_bytes + page_bytes - 1) / page_bytes, false);
    }
    for (size_t page = 0; page < of.is_clean.size(); ++page) {
      if (!of.is_clean[page]) continue;
      copy_page(what.base, of, page);
      of.is_clean[page] = false;
    }
  }

  bool on_ = false;
  std::unordered_map<const std::byte*, kept> before_;
};

}  // namespace heddle::sim
