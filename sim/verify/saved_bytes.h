// Where a search that was cut puts its bytes, and where a later one takes them from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace heddle::sim {

class bytes_out {
 public:
  virtual ~bytes_out() = default;
  virtual void put(const void* from, size_t size_bytes) = 0;

  void number(uint64_t value) { put(&value, sizeof value); }
  template <typename Element>
  void all(const std::vector<Element>& elements) {
    static_assert(std::is_trivially_copyable_v<Element>);
    number(elements.size());
    put(elements.data(), elements.size() * sizeof(Element));
  }
};

/// What is taken was put there by bytes_out, part by part.
class bytes_in {
 public:
  virtual ~bytes_in() = default;
  /// False where there are not so many bytes.
  virtual bool take(void* to, size_t size_bytes) = 0;
  /// How many are left.
  virtual uint64_t left_bytes() const = 0;

  bool number(uint64_t& value) { return take(&value, sizeof value); }
  template <typename Element>
  bool all(std::vector<Element>& elements) {
    static_assert(std::is_trivially_copyable_v<Element>);
    uint64_t count = 0;
    if (!number(count) || count > left_bytes() / sizeof(Element)) return false;
    elements.resize(count);
    return take(elements.data(), count * sizeof(Element));
  }
};

}  // namespace heddle::sim
