// The heap of what lanes allocate with `new` in a search over all runs of a program.
//
// The C++ heap gives other addresses in every run, and a run that is given up leaks what it has allocated: no two states would be equal,
// and memory would run out. So in such a run, and only there, each lane has a heap of its own, which starts empty every time. It knows of each
// byte whether it is allocated: a shadow has one byte for 16 of them (Serebryany et al., AddressSanitizer, USENIX ATC 2012, section 3.1).
#pragma once

#include <heddle/sim/base/state_reader.h>
#include <heddle/sim/code/source_line.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace heddle::sim {

class lane_heap {
 public:
  /// Ends in std::bad_alloc where there are as many as there can be.
  lane_heap();
  ~lane_heap();
  /// Null in that case.
  static std::unique_ptr<lane_heap> make();
  lane_heap(const lane_heap&) = delete;
  lane_heap& operator=(const lane_heap&) = delete;

  /// Everything is given back.
  void begin_run();
  /// How often something was allocated or given back in this run.
  uint64_t changes() const { return changes_; }
  /// Null when the lane's part is used up. The alignment is a power of two, up to a page.
  void* allocate(uint32_t lane, size_t size_bytes, size_t alignment);
  /// Whether the memory is of such a heap. Gives it back when it is of `in_use`, the heap in use on this OS thread; null: there is none. Memory
  /// of earlier runs was given back when they ended.
  static bool release(void* memory, const lane_heap* in_use) {
    auto* const at = static_cast<std::byte*>(memory);
    if (range == nullptr || static_cast<size_t>(at - range) >= range_bytes) return false;
    release_in_range(at, in_use);
    return true;
  }
  /// How many bytes of such a heap lie there; 0 where the memory is of none.
  static size_t bytes_at(const void* memory) {
    const auto* const at = static_cast<const std::byte*>(memory);
    if (range == nullptr || static_cast<size_t>(at - range) >= range_bytes) return 0;
    return reinterpret_cast<const piece*>(at - sizeof(piece))->size_bytes;
  }

  enum class block_state : uint8_t { none, allocated, freed };
  /// What was allocated in this run and lies at an address or next to it.
  struct block {
    const std::byte* base = nullptr;
    size_t size_bytes = 0;
    uint32_t lane = 0;  ///< that has allocated it
    block_state state = block_state::none;
  };
  /// Whether all the bytes, which begin in this heap, are of one block that is allocated.
  [[gnu::always_inline]] bool is_allocated(const void* address, size_t bytes) const {
    const auto offset = static_cast<size_t>(static_cast<const std::byte*>(address) - base_);
    const size_t end = offset % step_bytes + bytes;
    if (end <= step_bytes) [[likely]]
      return static_cast<ptrdiff_t>(end) <= shadow()[offset / step_bytes];
    return are_steps_allocated(offset, bytes);
  }
  /// Whether any word that the lane's part holds is as `is_sought` says. Up to a mebibyte is looked at; of more the answer is that there is one.
  template <typename Sought>
  bool holds_any(uint32_t lane, const Sought& is_sought) const {
    constexpr size_t most_bytes = size_t{1} << 20;
    const size_t used_bytes = parts_[lane % lanes].used_bytes;
    if (used_bytes > most_bytes) return true;
    const std::byte* const begin = base_ + lane % lanes * part_bytes;
    for (size_t at = 0; at + sizeof(void*) <= used_bytes; at += sizeof(void*)) {
      const void* word = nullptr;
      __builtin_memcpy(&word, begin + at, sizeof word);
      if (is_sought(word)) return true;
    }
    return false;
  }
  /// The block that holds an address of this heap, or else the one that lies nearest.
  block nearest(const void* address) const;
  /// Notes which calls have allocated the block that begins there.
  void note(const void* memory, const call_chain& calls);
  /// Where that was: "proxy.cu:40"; empty where it is not known.
  std::string made_at(const block& one) const;
  /// "memory of proxy.cu:40+0x8"; with "#2" behind the line for the second block that was allocated there in this run.
  std::string describe(const void* address) const;
  [[gnu::always_inline]] bool contains(const void* address) const {
    return static_cast<size_t>(static_cast<const std::byte*>(address) - base_) < slice_bytes;
  }
  /// What lies there now.
  void tell(state_reader& to) const;

  static constexpr uint32_t lanes = 64;

 private:
  static constexpr size_t slices_most = 64;
  static constexpr size_t slice_bytes = size_t{1} << 30;
  static constexpr size_t step_bytes = 16;
  static constexpr size_t shadow_bytes = slice_bytes / step_bytes;
  static constexpr size_t range_bytes = slices_most * (slice_bytes + shadow_bytes);
  // One range for all heaps: the address alone says which of them released memory belongs to.
  static std::byte* range;
  static std::array<lane_heap*, slices_most> owners;
  static void release_in_range(std::byte* memory, const lane_heap* in_use);

  static constexpr size_t part_bytes = slice_bytes / lanes;
  static constexpr size_t sizes =
      64;  ///< of freed pieces that are kept apart, in steps; longer ones are not used again

  struct piece {
    size_t size_bytes = 0;  ///< without this header
    bool freed = false;
    size_t steps() const { return steps_of(size_bytes); }
  };
  static constexpr size_t steps_of(size_t size_bytes) { return (size_bytes + step_bytes - 1) / step_bytes; }
  // Of each step of a slice: how many of its bytes are allocated, from the first on, or one of these.
  static constexpr int8_t of_header = -1;
  static constexpr int8_t of_freed = -2;
  int8_t* shadow() const { return reinterpret_cast<int8_t*>(base_ + slice_bytes); }
  bool are_steps_allocated(size_t offset, size_t bytes) const;
  void open(std::byte* memory, size_t size_bytes);
  struct part {
    size_t used_bytes = 0;
    std::array<std::vector<uint32_t>, sizes> freed;
  };
  std::byte* base_ = nullptr;
  size_t slice_ = 0;
  uint64_t changes_ = 0;
  mutable size_t found_last_ = 0;  ///< the step of the header that nearest() found last; 0: none
  mutable std::unordered_map<const std::byte*, std::string> names_;  ///< of describe(), by block
  std::array<part, lanes> parts_;
  struct note_of_block {
    const std::byte* base = nullptr;
    call_chain calls = {};
  };
  // Those behind so many have no place.
  static constexpr size_t most_notes = 65536;
  std::vector<note_of_block> notes_;  ///< in the order in which they were made

  void give_back(std::byte* memory);
};

}  // namespace heddle::sim
