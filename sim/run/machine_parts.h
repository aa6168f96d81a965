// The simulated machine: its parts, which a run begins anew, and what they are set to.
//
// It enters no lane: that is execution (execution.h), which is this machine at work.
#pragma once

#include <heddle/sim/call_times.h>
#include <heddle/sim/core/run_core.h>
#include <heddle/sim/judge/judge.h>
#include <heddle/sim/launch/device_allocations.h>
#include <heddle/sim/launch/launches.h>
#include <heddle/sim/memory/scoped/race_log.h>
#include <heddle/sim/memory/timed/timed_memory.h>
#include <heddle/sim/run/assumptions.h>
#include <heddle/sim/sync/collectives.h>
#include <heddle/sim/sync/host_objects.h>
#include <heddle/sim/wait/doorbells.h>
#include <heddle/sim/wait/waits.h>

#include <cstdint>
#include <memory>

namespace heddle::sim {

class machine_parts {
 public:
  machine_parts(const machine_parts&) = delete;
  machine_parts& operator=(const machine_parts&) = delete;

  run_core& core() { return core_; }
  const run_core& core() const { return core_; }
  waits& waiting() { return waits_; }
  collectives& meeting() { return collectives_; }
  launches& launched() { return launches_; }
  const launches& launched() const { return launches_; }
  device_allocations& memory() { return memory_; }
  const device_allocations& memory() const { return memory_; }
  host_objects& hosts() { return hosts_; }
  const host_objects& hosts() const { return hosts_; }
  doorbells& rings() { return doorbells_; }
  const doorbells& rings() const { return doorbells_; }
  judge& verdicts() { return judge_; }
  const judge& verdicts() const { return judge_; }
  const race_log& races() const { return races_; }
  /// Whether the run assumes anything of the program that is not so.
  bool assumes() const { return core_.assumes; }
  assumptions& assumed() { return assumed_; }
  /// The memory of this run; null when there is one memory for all.
  late_memory* late() { return core_.late; }
  device_cache& cache() { return memory_.cache(); }
  const settings& machine() const { return core_.machine; }
  /// Null where this run keeps no virtual time.
  timed_memory* timed() const { return call_times_ == nullptr ? nullptr : timed_.get(); }
  /// Every run from the next one on keeps virtual time, and tells what its calls took; null: none does.
  void time_calls(call_times* into) { call_times_ = into; }
  /// Every run from the next one on is part of a search, which is told what it must know; null: none is.
  void explore(search_notes* notes) {
    core_.notes = notes;
    // A program's is memory that the simulator knows, with races and values of its own: in a search as in the run that repeats a finding.
    if (notes != nullptr && program_heap_ != nullptr) notes->lanes_allocate = program_heap_.get();
  }
  /// Null: where everything does. Each run of a search, and each of a program that begins anew, has its own.
  lane_heap* lanes_allocate_in() const {
    return program_heap_ != nullptr || core_.notes == nullptr ? program_heap_.get() : core_.notes->lanes_allocate;
  }

  /// Ends the program where an invariant of the machine does not hold. Between steps of a run.
  void check_invariants() const;

 protected:
  machine_parts();
  ~machine_parts();

  /// A new run with these settings, of these choices. `explain`: it is recorded; `record`: so are waits.
  [[gnu::hot]] void prepare(const parameters& values, scheduler::choice_source& choices, bool explain, bool record);

  run_core core_;
  collectives collectives_{core_};
  lockstep_waves lockstep_{core_, collectives_};
  waits waits_{core_, lockstep_, collectives_};
  doorbells doorbells_{core_, waits_};
  host_objects hosts_;
  device_allocations memory_{core_};
  launches launches_{core_, memory_, lockstep_, waits_};
  judge judge_{core_, hosts_, waits_, lockstep_, memory_, launches_};
  std::unique_ptr<late_memory> scoped_;
  race_log races_{core_};  // behind that memory: what it keeps of a race is that memory's
  std::unique_ptr<late_memory> link_;
  std::unique_ptr<timed_memory> timed_;
  call_times* call_times_ = nullptr;
  assumptions assumed_;
  const fiber_body* drives_ = nullptr;  ///< what the driver's actor runs
  std::unique_ptr<lane_heap> program_heap_;
  uint64_t settings_revision_ = 0;  ///< of the list that the settings were read from

 private:
  [[gnu::cold]] void take_settings(const parameters& values);
  // Of what the run before has left, where it has: most runs leave none of it.
  [[gnu::cold]] void forget_rest();
  [[gnu::hot]] void choose_memory();
};

}  // namespace heddle::sim
