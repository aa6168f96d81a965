// What becomes of a ring between notify() and the word that counts it: doorbells and interrupts that fail.
//
// A doorbell is a hint, and the protocols above it must stand all of this: a ring may come late, twice, together with others, or
// never. But a ring never shows less than it should: whatever happens to it, a lane that sees it sees all that its sender did
// before.
#pragma once

#include <heddle/sim/base/state_reader.h>
#include <heddle/sim/settings/doorbell.h>

#include <cstdint>
#include <vector>

namespace heddle::sim {

/// The rings in flight. It knows neither memory nor lanes: its user (wait/doorbells.h) gives the time and makes the rings count.
class doorbell_line {
 public:
  struct ring {
    void* bell = nullptr;
    const void* place = nullptr;  ///< in the code under test, where it was sent
    uint32_t sender = 0;
    uint64_t number = 0;  ///< among those that were under way in this run
    uint64_t due = 0;     ///< the step at which it arrives
  };
  /// What becomes of a ring that is sent now.
  struct fate {
    uint32_t counts_now = 1;  ///< how often it counts at once
    bool under_way = false;   ///< it counts later, `steps` from now
    uint64_t steps = 0;
  };

  static constexpr uint64_t never = ~uint64_t{0};

  /// Forgets everything.
  [[gnu::hot]] void reset(const doorbell_settings& how);

  /// How many fates a ring may have, to be asked of the scheduler; the first is that it counts once and at once. Delays are
  /// powers of two, so that long ones are as likely as short ones.
  uint32_t fates() const;
  fate fate_of(uint32_t answer) const;

  /// Sends a ring that arrives at step `due`; returns its number.
  uint64_t send(void* bell, const void* place, uint32_t sender, uint64_t due);

  /// The step at which the next ring arrives; `never` when none is under way.
  uint64_t next_due() const { return next_due_; }

  /// Takes what arrives next, if it does by this step: rings that count as one, the oldest of them first. Empty when there is
  /// none. The answer lives until the next call.
  const std::vector<ring>& take(uint64_t step);

  /// What is under way, and in how many steps from `step` on it arrives.
  bool tell(state_reader& to, uint64_t step) const;

 private:
  void find_next();

  doorbell_settings how_;
  std::vector<ring> under_way_;  ///< oldest first
  std::vector<ring> arriving_;
  uint64_t next_due_ = never;
  uint64_t sent_ = 0;
};

}  // namespace heddle::sim
