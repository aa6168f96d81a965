// The page tables of all processes: which physical page a virtual one is, and which device has it. And what a GPU keeps of them.
#pragma once

#include <heddle/driver/ids.h>
#include <heddle/driver/radix_map.h>
#include <heddle/rpc/result.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace heddle::driver {

/// One entry. Addresses are those of the page's first byte.
struct page {
  process_id process = 0;
  device_id device = 0;  ///< whose memory it lies in
  uint64_t virtual_address = 0;
  uint64_t physical_address = 0;
  uint64_t size_bytes = 0;
  bool valid = false;
  bool unified = false;    ///< may be moved to the device that uses it
  bool migrating = false;  ///< is being moved, or about to be
  bool pinned = false;     ///< has been moved, and stays: otherwise two devices could hand it to and fro for ever
};

/// An entry as the table keeps it. `buffer` and `in_flight` are for the driver alone.
struct page_slot {
  page entry;
  uint64_t buffer = 0;          ///< the virtual address at which the buffer begins that it is part of; 0 for none
  uint32_t in_flight = 0;       ///< copies of its bytes that are under way
  page_slot* before = nullptr;  ///< in the order of insertion
  page_slot* after = nullptr;
};

/// A walk takes a bounded number of steps, forwards and backwards. Addresses need not be those of a first byte, in any
/// call: they are aligned down. Errors name the call and its arguments, and leave everything as it was.
class page_table {
 public:
  /// A page has 2^`page_bits` bytes; addresses are below 2^(36 + `page_bits`).
  explicit page_table(unsigned page_bits) : page_bits_(page_bits) {}

  uint64_t page_bytes() const { return uint64_t{1} << page_bits_; }
  uint64_t first_byte(uint64_t address) const { return address >> page_bits_ << page_bits_; }
  /// The first address that is too high.
  uint64_t end() const { return uint64_t{1} << (radix_map<page_slot>::key_bits + page_bits_); }

  /// Of an entry that is there already, and of a physical page that belongs to another one: an error.
  result<page_slot*> insert(const page& fresh);
  /// Null where there is none. The entry must not be given another process or virtual address, and its physical one only by update().
  page_slot* find(process_id process, uint64_t virtual_address) const;
  /// Puts the page's new place, marks and validity into the entry of its process and virtual address, whose order of insertion stays.
  result<void> update(const page& changed) { return update(std::span(&changed, 1)); }
  /// Of several pages at once: a physical page may pass from one of them to another.
  result<void> update(std::span<const page> changed);
  result<void> remove(process_id process, uint64_t virtual_address);

  /// The entry of whatever process that holds this physical address; null where there is none.
  page_slot* find_physical(uint64_t physical_address) const;

  size_t pages(process_id process) const;

  /// The entries of a process in the order of their insertion. They must not be inserted or removed meanwhile.
  template <typename Visit>
  void for_each(process_id process, Visit&& visit) const {
    if (process >= spaces_.size() || spaces_[process] == nullptr) return;
    for (const page_slot* at = spaces_[process]->oldest; at != nullptr; at = at->after) visit(at->entry);
  }

 private:
  struct address_space {
    radix_map<page_slot> slots;
    page_slot* oldest = nullptr;
    page_slot* newest = nullptr;
  };

  unsigned page_bits_;
  std::vector<std::unique_ptr<address_space>> spaces_;  ///< by process
  radix_map<page_slot*> by_physical_;
};

// The translations that a GPU keeps, so that it need not walk the page table at each access.

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
