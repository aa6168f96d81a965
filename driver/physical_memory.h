// Which device has which physical addresses, and which pages of them are free. The bytes are in contents.h.
#pragma once

#include <heddle/driver/ids.h>
#include <heddle/rpc/result.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::driver {

/// Each device that has memory has a range of its own, in the order in which they are added. The first range begins one
/// page above 0, so that address 0 belongs to no device.
class physical_memory {
 public:
  explicit physical_memory(uint64_t page_bytes) : page_bytes_(page_bytes), next_base_(page_bytes) {}

  /// [base, base + size_bytes)
  struct range {
    uint64_t base = 0;
    uint64_t size_bytes = 0;
  };

  /// A range of that size for a device whose number is above all before it; pages begin at multiples of the page size,
  /// and what is left of the range behind the last whole page is never handed out. An error for less than a page, and
  /// for more than `end` bytes of all devices together.
  result<range> add(device_id device, uint64_t size_bytes, uint64_t end);

  /// The device that has this address; an error where none has.
  result<device_id> device_of(uint64_t physical_address) const;

  /// The range of a device; an empty one of a device without memory.
  range range_of(device_id device) const;
  uint64_t free_pages(device_id device) const;

  /// A free page of the device, which must have one: its physical address. What was given back last is taken first.
  uint64_t take(device_id device);
  /// Gives a page back that was taken.
  void give(device_id device, uint64_t physical_address);

 private:
  struct memory {
    range where;
    uint64_t pages = 0;
    uint64_t untouched = 0;  ///< pages from here on have never been taken
    std::vector<uint64_t> given_back;
  };
  uint64_t page_bytes_;
  uint64_t next_base_;
  std::vector<memory> devices_;  ///< by device; of unified devices an empty one
  std::vector<device_id> by_base_;
};

}  // namespace heddle::driver
