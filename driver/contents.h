// The bytes of the physical memory of all devices, as they are in memory itself: what a cache holds back is not in them.
#pragma once

#include <heddle/driver/radix_map.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace heddle::driver {

/// Takes room only for pages that have been written. A page that was never written, and one that was given back, holds
/// zeros. A page that is poisoned holds bytes without a meaning: reads of it say so until its bytes are written.
class contents {
 public:
  explicit contents(unsigned page_bits) : page_bits_(page_bits) {}

  /// The bytes from this address on, over any number of pages. How many of them are poisoned.
  uint64_t read(uint64_t physical_address, std::span<std::byte> to) const;
  void write(uint64_t physical_address, std::span<const std::byte> from);

  /// One page.
  void poison(uint64_t physical_address);
  void clear(uint64_t physical_address);
  /// One page onto another, poison included.
  void copy_page(uint64_t from, uint64_t to);

  /// What poisoned bytes look like.
  static constexpr std::byte poisoned{0xdb};

 private:
  struct frame {
    std::unique_ptr<std::byte[]> bytes;
    std::vector<bool> is_poisoned;  ///< by byte; empty when none is
    uint64_t poisoned_bytes = 0;
  };

  uint64_t page_bytes() const { return uint64_t{1} << page_bits_; }
  frame& touch(uint64_t physical_address);

  unsigned page_bits_;
  radix_map<frame> frames_;  ///< by page
  std::vector<frame> spare_;
};

}  // namespace heddle::driver
