// Rings that do not count at once: what becomes of them, and when they arrive.
#pragma once

#include <heddle/sim/core/run_core.h>
#include <heddle/sim/sync/doorbell.h>
#include <heddle/sim/wait/waits.h>

#include <cstdint>
#include <vector>

namespace heddle::sim {

class doorbells {
 public:
  doorbells(run_core& core, waits& waiting) : core_(core), waits_(waiting) {}

  [[gnu::hot]] void reset() {
    rings_.reset(core_.machine.doorbells);
    ringer_ = nullptr;
  }

  /// What becomes of a ring that the lane is about to send.
  doorbell_line::fate fate_of(lane& self, const void* bell);
  /// Sends the ring of the lane's pending operation: it is in flight for `steps` steps.
  void send(lane& self, void* bell, uint64_t steps);
  /// All rings that are due by this step count.
  void let_arrive(uint64_t step) {
    if (rings_.next_due() != doorbell_line::never && rings_.next_due() <= step) [[unlikely]]
      take_arriving(step);
  }
  /// The step at which the next ring arrives; doorbell_line::never where none is in flight.
  uint64_t next_due() const { return rings_.next_due(); }

  bool visit_state(state_reader& to) const { return rings_.tell(to, core_.history.steps); }
  /// The lane that makes rings count, which never runs; null before the first.
  const lane* ringer() const { return ringer_; }

  void check_invariants() const;

 private:
  void take_arriving(uint64_t step);
  void count(const std::vector<doorbell_line::ring>& arriving);

  run_core& core_;
  waits& waits_;
  doorbell_line rings_;
  lane* ringer_ = nullptr;
};

}  // namespace heddle::sim
