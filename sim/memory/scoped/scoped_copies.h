// Copies by cp.async that are under way over scoped memory (scoped_memory.h).
//
// Such a copy reads its source and writes its target at any time from its issue on until its lane waits for it. What comes before the issue is
// compared with it there, and what comes behind the wait with what the lane makes there. An access in between is ordered with neither, be it the
// lane's own. (PTX ISA, "cp.async".)
#pragma once

#include <heddle/sim/core/run_core.h>
#include <heddle/sim/machine/kernel.h>
#include <heddle/sim/memory/race.h>
#include <heddle/sim/memory/scoped/race_log.h>
#include <heddle/sim/memory/scoped/scoped_knowledge.h>
#include <heddle/sim/memory/scoped/scoped_lane.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace heddle::sim::scoped {

class copies_under_way {
 public:
  copies_under_way(run_core& core, race_log& log, const knowledge& known) : core_(core), log_(log), known_(known) {}

  void reset() {
    if (any()) [[unlikely]]
      lines_.clear();
  }
  bool any() const { return !lines_.empty(); }
  void begin(const lane& self, const lane_facts& mine, const async_copy& what);
  void end(const lane& self, const async_copy& what);
  /// Reports the copies that the access which the lane is about to make conflicts with.
  void look_before(lane& self, const operation& how, size_t size_bytes, bool writes) {
    if (any()) [[unlikely]]
      look(self, how.address, size_bytes, writes);
  }

 private:
  [[gnu::cold, gnu::noinline]] void look(lane& self, const void* address, size_t size_bytes, bool writes);
  static constexpr uintptr_t line_bytes = 16;
  /// What a copy does with some bytes of a line.
  struct use {
    access_record issued;
    uint32_t bytes = 0;  ///< a bit each
    bool writes = false;
    const void* to = nullptr;  ///< of the copy
    const void* from = nullptr;
  };
  /// Calls `each(line, bytes)` for the lines of a part of memory.
  template <typename Each>
  static void for_each_line(const void* address, size_t size_bytes, Each&& each);
  void drop(const lane& self, const async_copy& what, const void* address, size_t size_bytes, bool writes);
  bool has_come_to_its_end(const lane& self, const use& one) const;

  run_core& core_;
  race_log& log_;
  const knowledge& known_;
  std::map<uintptr_t, std::vector<use>> lines_;
};

}  // namespace heddle::sim::scoped
