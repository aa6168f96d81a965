// Conditional jumps of the code under test that tell which way they go. Lanes are seen at their visible operations alone. Where two ways
// through the code lead from one of these to the next, no look at the code says which one a lane has taken: the jump between them does.
//
// An invalid instruction of one byte stands in the place of such a jump. The handler of the signal does what the jump would have done.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace heddle::sim {

struct branch_probe {
  uintptr_t at = 0;
  uintptr_t end = 0;      ///< where it goes on, when it is not taken
  uintptr_t target = 0;   ///< when it is
  uint8_t condition = 0;  ///< the four bits that the instruction has for it
  uint32_t node = 0;      ///< that it ends, in its function's control flow
};

/// The ways that a lane has taken at probed branches since its last visible operation, in order. Long ones are given up.
class branch_log {
 public:
  struct decision {
    uint16_t probe = 0;  ///< 0: none is left
    bool taken = false;
  };

  void clear() { count_ = next_ = 0; }
  void add(uint16_t probe, bool taken) {
    if (count_ == lost) return;
    if (count_ == entries_.size())
      count_ = next_ = lost;
    else
      entries_[count_++] = static_cast<uint16_t>(probe << 1 | (taken ? 1 : 0));
  }
  bool any() const { return next_ < count_; }
  /// The first that was not passed yet.
  decision next() const {
    if (!any()) return {};
    return {static_cast<uint16_t>(entries_[next_] >> 1), (entries_[next_] & 1) != 0};
  }
  void pass() { ++next_; }
  /// Whether the same are left.
  bool is_left_like(const branch_log& other) const { return (!any() && !other.any()) || is_equal(other); }
  /// Equal for logs of which the same is left, in every process.
  uint64_t digest() const;

 private:
  bool is_equal(const branch_log& other) const;

  static constexpr uint16_t lost = 0xffff;
  uint16_t count_ = 0;
  uint16_t next_ = 0;
  std::array<uint16_t, 62> entries_{};
};

/// The probes of this process. They are there for all its threads, and stay.
class branch_probes {
 public:
  /// Has the jump tell; its number, which is not 0. 0: it cannot be written to, or there are too many.
  static uint16_t plant(const branch_probe& what);
  /// The number of the probe at this address, or 0.
  static uint16_t at(uintptr_t address);
  static const branch_probe& numbered(uint16_t number);
  /// Whether there is one at all.
  static bool any();
  /// Puts into `copy`, of the code at `low`, what stood there before.
  static void restore(uintptr_t low, std::span<std::byte> copy);
  /// In a handler of SIGILL at `pc`: goes on as the jump there does, by the processor's flags, and tells its number and whether it was
  /// taken. Number 0: no probe is there.
  static branch_log::decision jump(uintptr_t& pc, uint64_t flags);
};

}  // namespace heddle::sim
