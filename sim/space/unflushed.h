// What the memory of devices holds while the stores of kernels stay in a cache that is never written back.
#pragma once

#include <heddle/sim/space/heap.h>

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
      if (!each.freed && each.kind == memory_kind::device)
        before_.try_emplace(each.base, each.base, each.base + each.size_bytes);
  }
  void freed(const void* base) {
    if (!before_.empty()) before_.erase(static_cast<const std::byte*>(base));
  }

  /// Where a copy finds the byte that lies there: null for there itself.
  std::byte* found_by_copy(const heap& memory, const void* address) {
    if (!memory.contains(address)) return nullptr;
    const allocation* const of = memory.nearest(address);
    const auto known = of == nullptr ? before_.end() : before_.find(of->base);
    return known == before_.end() ? nullptr
                                  : known->second.data() + (static_cast<const std::byte*>(address) - of->base);
  }

  /// In the order of the addresses.
  template <typename Visit>
  void for_each(const heap& memory, Visit&& visit) const {
    for (const allocation& each : memory.allocations())
      if (const auto known = before_.find(each.base); known != before_.end()) visit(known->second);
  }

 private:
  bool on_ = false;
  std::unordered_map<const std::byte*, std::vector<std::byte>> before_;
};

}  // namespace heddle::sim
