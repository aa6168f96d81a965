// The heap of what lanes allocate with `new` in a search over all runs of a program.
//
// The C++ heap gives other addresses in every run, and a run that is given up leaks what it has allocated: no two states would be equal,
// and memory would run out. So in such a run, and only there, each lane has a heap of its own, which starts empty every time.
#pragma once

#include <heddle/sim/base/state_reader.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
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
  bool contains(const void* address) const {
    return static_cast<size_t>(static_cast<const std::byte*>(address) - base_) < slice_bytes;
  }
  /// What lies there now.
  void tell(state_reader& to) const;

  static constexpr uint32_t lanes = 64;

 private:
  static constexpr size_t slices_most = 64;
  static constexpr size_t slice_bytes = size_t{1} << 30;
  static constexpr size_t range_bytes = slices_most * slice_bytes;
  // One range for all heaps: the address alone says which of them released memory belongs to.
  static std::byte* range;
  static std::array<lane_heap*, slices_most> owners;
  static void release_in_range(std::byte* memory, const lane_heap* in_use);

  static constexpr size_t part_bytes = slice_bytes / lanes;
  static constexpr size_t step_bytes = 16;
  static constexpr size_t sizes =
      64;  ///< of freed pieces that are kept apart, in steps; longer ones are not used again

  struct piece {
    size_t size_bytes = 0;  ///< whole steps, without this header
    bool freed = false;
  };
  struct part {
    size_t used_bytes = 0;
    std::array<std::vector<uint32_t>, sizes> freed;
  };
  std::byte* base_ = nullptr;
  size_t slice_ = 0;
  std::array<part, lanes> parts_;

  void give_back(std::byte* memory);
};

}  // namespace heddle::sim
