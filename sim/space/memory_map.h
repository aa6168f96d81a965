// Where the memory of a run lies: what the device allocates, the stacks of lanes and hosts, the program's image. And what an address is
// called so that every process says the same.
#pragma once

#include <heddle/sim/code/program_state.h>
#include <heddle/sim/fiber/fiber.h>
#include <heddle/sim/space/heap.h>
#include <heddle/sim/space/mapped_ranges.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace heddle::sim {

struct memory_map {
  static constexpr uint64_t unstable = ~uint64_t{0};
  // A whole MI300X is 304 x 32 waves of 64 lanes. Only address space is taken for those that have not begun.
  static constexpr size_t most_lanes_at_once = size_t{1} << 20;
  static constexpr size_t most_hosts = 1024;

  sim::heap heap;
  mapped_ranges ranges;
  std::unique_ptr<stack_arena> device_stacks;
  std::unique_ptr<stack_arena> host_stacks;
  std::vector<variable_block>
      unseen;  ///< variables of code that heddle has not compiled, which is not seen to store to them

  memory_map();

  /// Stacks of these sizes in bytes; those that are there are kept where the sizes are the same.
  void take_stacks(size_t device_stack_bytes, size_t host_stack_bytes);

  /// Where a word points to, as every process would say it; `unstable` when it points to nothing that the simulator knows.
  uint64_t stable(uint64_t word) const;
  uint64_t stable(const void* address) const { return stable(reinterpret_cast<uintptr_t>(address)); }
  static constexpr uint64_t in_heap(size_t offset_bytes) { return uint64_t{1} << 60 | offset_bytes; }
  /// A value as every process would say it, be it a number or an address.
  uint64_t stable_value(uint64_t value) const {
    // Numbers are small.
    if (value >> 40 == 0) return value;
    const uint64_t as_address = stable(value);
    if (as_address != unstable) return as_address;
    // What may be an address of something else says nothing that another process would repeat.
    const bool in_user_space = value >> 44 != 0 && value >> 47 == 0;
    return in_user_space ? unstable : value;
  }

  bool is_on_host_stack(const void* address) const { return host_stacks->contains(address); }
  /// Whether the memory is on the C++ heap, or mapped by other code, and may be gone by the time that it is looked at.
  bool may_vanish(const void* address) const {
    return !heap.contains(address) && (stable(address) == unstable || mapped_ranges::contains(address));
  }
  /// Whether what lies there can be read: it does not vanish, or is of the program's own heap, where it can be read when it is freed, too.
  bool stays_readable(const void* address) const;
  /// Whether the address lies in the program itself, and in none of its libraries.
  bool is_in_image(const void* address) const {
    return reinterpret_cast<uintptr_t>(address) - image_low_ < image_high_ - image_low_;
  }
  /// "pipe #2" where the address stands for a file that lanes wait for (file_words.h); empty for others.
  static std::string file_at(const void* address);
  bool guards(const void* address) const { return device_stacks->is_guard(address) || host_stacks->is_guard(address); }
  /// Whether a read of these bytes is no step: they never change.
  bool is_constant(const void* address) const {
    return reinterpret_cast<uintptr_t>(address) - variable_low_ >= variable_bytes_ && look_whether_constant(address);
  }

 private:
  [[gnu::noinline]] bool look_whether_constant(const void* address) const;

  uintptr_t image_low_ = 0;  ///< of the program, which is loaded elsewhere in every process
  uintptr_t image_high_ = 0;
  // Nothing in these bytes never changes: they are between two ranges of what does not, where the last look was.
  mutable uintptr_t variable_low_ = 0;
  mutable uintptr_t variable_bytes_ = 0;
};

}  // namespace heddle::sim
