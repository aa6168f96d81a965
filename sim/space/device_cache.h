// What a device caches of memory that nothing keeps coherent for it (cached.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace heddle::sim {

/// What the device holds of memory that is mapped so.
class device_cache {
 public:
  /// A new run, in which nothing is mapped.
  void reset() {
    mapped_.clear();
    if (!lines_.empty()) lines_.clear();
    revision_ = 0;
  }
  bool on() const { return !mapped_.empty(); }
  void map(const void* base, size_t size_bytes) {
    mapped_.push_back({static_cast<const std::byte*>(base), size_bytes});
  }

  /// Whether the device caches what lies there.
  bool holds(const void* address) const {
    for (const range& each : mapped_)
      if (static_cast<size_t>(static_cast<const std::byte*>(address) - each.base) < each.size_bytes) return true;
    return false;
  }

  /// What a lane of the device reads where memory has `value`.
  uint64_t load(const void* address, size_t size_bytes, uint64_t value);
  /// A lane of the device has stored `value`.
  void stored(const void* address, size_t size_bytes, uint64_t value);
  /// A lane of the device has performed a read-modify-write, at the memory.
  void modified(const void* address);
  /// A kernel begins: drops all lines.
  void forget();

  /// Changes whenever the contents do.
  uint64_t revision() const { return revision_; }

 private:
  struct range {
    const std::byte* base;
    size_t size_bytes;
  };
  static constexpr uintptr_t line_bytes = 64;
  static uintptr_t line_of(const void* address) { return reinterpret_cast<uintptr_t>(address) / line_bytes; }
  static size_t place_of(const void* address) { return reinterpret_cast<uintptr_t>(address) % line_bytes; }

  std::vector<range> mapped_;
  std::unordered_map<uintptr_t, std::array<std::byte, line_bytes>> lines_;
  uint64_t revision_ = 0;
};

}  // namespace heddle::sim
