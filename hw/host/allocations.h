// What a device has handed out and not yet got back.
#pragma once

#include <heddle/hw/host/trap.h>
#include <heddle/rpc/device_memory.h>
#include <heddle/rpc/result.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace heddle::host {

enum class memory_kind { shared, device };

/// The bytes of `count` elements, at least one; traps when they do not fit an address space.
template <typename T>
size_t bytes_of(size_t count) {
  static_assert(std::is_trivially_destructible_v<T>, "memory is given back without running destructors");
  static_assert(alignof(T) <= 64, "every machine aligns an allocation to 64 bytes, and not to more");
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, sizeof(T), &bytes)) trap(fault::assertion, "an allocation larger than memory");
  return bytes == 0 ? 1 : bytes;
}

/// What a machine without such a device answers.
inline error not_unified(std::span<const uint32_t> indices, const char* text) {
  std::string named;
  for (const uint32_t index : indices) named += (named.empty() ? "" : ", ") + std::to_string(index);
  return {"open_unified", "{" + named + "}", "not supported", text};
}

/// What a machine answers whose page tables cannot be looked at.
struct without_page_tables {
  static error refusal(const char* call, std::string arguments) {
    return {call, std::move(arguments), "not supported",
            "a program is one process here, and nothing says where its pages are; the simulator has this"};
  }
  static result<device_page> page_of(const void*) { return refusal("page_of", ""); }
  static result<void*> at(uint64_t) { return refusal("at", ""); }
  template <typename T>
  static result<T*> try_allocate_moving(size_t, const char* name) {
    return refusal("try_allocate_moving", name);
  }
};

/// All live allocations of a device; any thread may use it.
class allocations {
 public:
  void add(void* memory, memory_kind kind) {
    const std::lock_guard lock(mutex_);
    live_.push_back({memory, kind});
  }

  /// Forgets one allocation and says which kind it was; traps when it is none of this device's. Looks among all, the latest first.
  memory_kind remove(void* memory) {
    const std::lock_guard lock(mutex_);
    size_t n = live_.size();
    while (n != 0 && live_[n - 1].memory != memory) --n;
    if (n == 0) trap(fault::assertion, "free of a pointer that this device did not allocate");
    const memory_kind kind = live_[n - 1].kind;
    live_[n - 1] = live_.back();
    live_.pop_back();
    return kind;
  }

  /// Calls `give_back(memory, kind)` for all that is left.
  template <typename GiveBack>
  void clear(GiveBack give_back) {
    const std::lock_guard lock(mutex_);
    for (const allocation& each : live_) give_back(each.memory, each.kind);
    live_.clear();
  }

 private:
  struct allocation {
    void* memory;
    memory_kind kind;
  };
  std::mutex mutex_;
  std::vector<allocation> live_;
};

}  // namespace heddle::host
