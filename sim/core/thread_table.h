// The lanes and waves of a run, host threads among them, and the stacks that they run on.
#pragma once

#include <heddle/sim/base/reused_list.h>
#include <heddle/sim/machine/lane.h>
#include <heddle/sim/space/memory_map.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::sim {

/// Which stacks of an arena are in use, by number. A lane that has ended may still be running on its stack, which is given out again only when
/// the next lane has ended.
class stack_pool {
 public:
  static constexpr size_t none = ~size_t{0};

  void reset() {
    free_.clear();
    used_ = 0;
    to_free_ = none;
  }
  /// A number below `capacity`; none where all are in use.
  size_t take(size_t capacity) {
    if (free_.empty()) return used_ == capacity ? none : used_++;
    const size_t taken = free_.back();
    free_.pop_back();
    return taken;
  }
  bool is_used_up(size_t capacity) const { return used_ == capacity && free_.empty(); }
  void give_back(size_t stack) {
    if (to_free_ != none) scheduler::append(free_, to_free_);
    to_free_ = stack;
  }

  void check_invariants() const;

 private:
  std::vector<size_t> free_;
  size_t used_ = 0;
  size_t to_free_ = none;  ///< of the lane that ended last
};

struct thread_table {
  thread_table() { live_hosts.reserve(64); }

  reused_list<lane> lanes;  ///< [0, lanes_used) belong to this run
  reused_list<wave> waves;  ///< [0, waves_used) belong to this run
  size_t lanes_used = 0;
  size_t waves_used = 0;
  size_t live_lanes = 0;
  size_t kernels_under_way = 0;   ///< launched, and their queue has not ended
  uint32_t hosts_spawned = 0;     ///< without the main thread
  std::vector<lane*> live_hosts;  ///< of host threads, and of the driver; not of copies
  stack_pool device_stacks;
  stack_pool host_stacks;

  [[gnu::hot]] void reset() {
    lanes_used = waves_used = live_lanes = kernels_under_way = 0;
    hosts_spawned = 0;
    live_hosts.clear();
    device_stacks.reset();
    host_stacks.reset();
  }
  [[gnu::hot]] wave& new_wave(uint64_t step);
  [[gnu::hot]] lane& new_lane(wave& of, uint32_t index);

  /// The lane on whose stack, or in whose guard page, the address lies; null when no lane runs there. May be called in a signal handler.
  lane* lane_on(const std::byte* address);
  const lane* lane_on(const std::byte* address) const { return const_cast<thread_table*>(this)->lane_on(address); }
  /// The lane that has run last on the stack on which the address lies, which may have ended; null where none has.
  const lane* last_on(const std::byte* address) const;
  /// The lane whose stack ends at this page, which guards stacks; null when no lane runs there.
  const lane* owner_of_guard(const memory_map& map, const void* address) const;
  /// The host thread that has the address in a frame that has not returned; null when none has.
  lane* owner_of_frame(const void* address);

  void check_invariants() const;
};

}  // namespace heddle::sim
