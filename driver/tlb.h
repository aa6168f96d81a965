// The translations that a GPU keeps, so that it need not walk the page table at each access.
#pragma once

#include <heddle/driver/page_table.h>

#include <array>
#include <cstdint>

namespace heddle::driver {

/// Each page has one place, which it shares with others: the last one that was walked holds it. An entry stays, right
/// or wrong, until it is replaced or shot down: code that moves a page must see to that.
class tlb {
 public:
  explicit tlb(unsigned page_bits) : page_bits_(page_bits) {}

  /// Null on a miss.
  const page* find(process_id process, uint64_t virtual_address) const {
    const page& at = places_[place(virtual_address)];
    return holds(at, process, virtual_address) ? &at : nullptr;
  }
  void put(const page& walked) { places_[place(walked.virtual_address)] = walked; }
  void shoot_down(process_id process, uint64_t virtual_address) {
    page& at = places_[place(virtual_address)];
    if (holds(at, process, virtual_address)) at = page{};
  }

 private:
  bool holds(const page& at, process_id process, uint64_t virtual_address) const {
    return at.valid && at.process == process && at.virtual_address >> page_bits_ == virtual_address >> page_bits_;
  }
  size_t place(uint64_t virtual_address) const { return virtual_address >> page_bits_ & (places_.size() - 1); }

  unsigned page_bits_;
  std::array<page, 64> places_ = {};
};

}  // namespace heddle::driver
