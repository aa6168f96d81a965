// What virtual time has to hear of, where a run keeps it (timed/timed_memory.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::sim {

struct lane;

class load_times {
 public:
  /// The load that is being performed has found the store of that step.
  virtual void found(uint64_t store_step) = 0;
  /// The lane's operation lets blocks of a kernel start.
  virtual void starts_blocks(const lane& self) = 0;
  /// What time it is for the lane, in picoseconds.
  virtual uint64_t now(const lane& self) const = 0;
  /// Nothing that the lane does next happens before.
  virtual void not_before(const lane& self, uint64_t time_ps) = 0;
  /// What waits for the object goes on after what the lane has done, which orders nothing else.
  virtual void lets_go_on(const lane& self, const void* object) = 0;
  /// A collective carries values between these lanes, and orders nothing.
  virtual void carry(lane* const* lanes, size_t count) = 0;

 protected:
  ~load_times() = default;
};

}  // namespace heddle::sim
