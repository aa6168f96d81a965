// The parts of a run_core that have no code of their own: one struct each.
#pragma once

#include <heddle/scheduler/choice.h>
#include <heddle/scheduler/digest.h>
#include <heddle/scheduler/verdict.h>
#include <heddle/sim/code/source_line.h>
#include <heddle/sim/machine/lane.h>
#include <heddle/sim/observe/behaviour.h>
#include <heddle/sim/observe/headway.h>
#include <heddle/sim/observe/recorder.h>
#include <heddle/sim/observe/starvation.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace heddle::sim {

// In which phase a run is: chosen by the strategy, in the fair tail, or under the check for quiescence.

/// While it is not `none`: runs each blocked spin loop of these lanes again, on memory that does not change and without the strategy. A lane
/// that returns to its registers and live stack is blocked for ever.
enum class quiescence_check : uint8_t {
  none,
  of_guaranteed,  ///< lanes that the progress model guarantees a turn
  of_all,
};

struct run_phase {
  quiescence_check checks = quiescence_check::none;
  bool in_tail = false;         ///< the fair tail has begun
  bool all_take_turns = false;  ///< in the fair tail no spin loop blocks: each iterates when its lane has a turn
  /// A hang that the progress model allows has been found; all lanes run on in turn, to learn whether a stronger model avoids it.
  bool denied = false;
  bool places_lifted = false;  ///< and all blocks have a place on the device
  /// Something waits for places that others may be evicted from: turns on the device are looked at before each step.
  bool places_wanted = false;
  bool in_rounds = false;   ///< lockstep waves: which lanes of a wave go next is decided after each step
  bool after_each = false;  ///< in rounds, or places are wanted: something is decided after each step

  void want_places(bool wanted) {
    places_wanted = wanted;
    after_each = in_rounds || wanted;
  }
  bool is_checking() const { return checks != quiescence_check::none; }
  /// Whether what the machine leaves open is chosen. When it is not, each choice is answered by 0, what the machine does by default.
  bool is_open() const { return checks == quiescence_check::none && !in_tail; }
};

// What has been done in a run so far, as numbers.

struct run_history {
  scheduler::digest digest;
  uint64_t steps = 0;
  uint64_t switches = 0;       ///< to another lane
  uint64_t library_steps = 0;  ///< of the steps: plain accesses to the C++ heap
  uint64_t uncounted = 0;      ///< operations before operations were steps
  /// How many steps an operation counts as: 0 while the main thread is the only actor, then 1.
  uint32_t counted = 0;

  /// The number of the step that is being taken; 0 before operations are steps.
  uint64_t this_step() const { return steps + counted; }

  void reset() {
    digest = {};
    steps = switches = library_steps = uncounted = 0;
    counted = 0;
  }
};

// The source of the strategy's answers in a run, and the lane that asks.

struct chooser {
  scheduler::choice_source* source = nullptr;
  lane* asks = nullptr;  ///< the lane that has come to the last choice
  bool stopped = false;  ///< the source gave no answer

  uint64_t made() const { return source == nullptr ? 0 : source->recorded().size(); }
};

// The clock that programs read, in cycles.

class program_clock {
 public:
  void reset() {
    cycle_ = 0;
    looks_.clear();
  }
  uint64_t cycle() const { return cycle_; }

  /// So often may a lane that makes no progress advance the clock while others can go on: by 2^17 cycles in all.
  static constexpr uint32_t patient_reads = 16;
  /// The cycle at this step, as the lane reads it. Until the lane makes progress, each of its reads advances the clock twice as far as the one
  /// before: loops that wait for a time terminate. Without `runs` only as long as its reads are few, and then by a cycle.
  uint64_t read(lane& self, uint64_t step, bool runs) {
    constexpr uint64_t cycles_per_step = 100;
    if (self.id >= looks_.size()) looks_.resize(self.id + size_t{1});
    ++looks_[self.id];
    const bool advances = runs || self.at_clock.reads < patient_reads;
    if (advances && self.at_clock.reads < most_doublings) ++self.at_clock.reads;
    cycle_ = std::max(cycle_, step * cycles_per_step) + (advances ? uint64_t{1} << self.at_clock.reads : 1);
    return cycle_;
  }
  /// So often it doubles: a time beyond that does not come.
  static constexpr uint32_t most_doublings = 40;
  /// What a lane that waits is driving on, though nothing of it stays in its frame: with it no two turns of a loop are the same that looks at the
  /// clock, as long as another look may bring the time that it waits for.
  uint64_t driven_by(const lane& who) const {
    return who.id < looks_.size() && who.at_clock.reads < most_doublings ? looks_[who.id] * 0x9e3779b97f4a7c15u : 0;
  }
  // A thread sleeps for so many cycles, or until that one. Without effect where the run has not read the clock yet.
  void pass(uint64_t cycles) {
    if (cycle_ != 0) cycle_ += cycles;
  }
  void pass_until(uint64_t cycle) {
    if (cycle_ != 0 && cycle_ < cycle) cycle_ = cycle;
  }

 private:
  uint64_t cycle_ = 0;
  std::vector<uint32_t> looks_;  ///< by lane; of those that have looked
};

// The OS thread's own stack: where a run begins and ends, and where work is done that may need more stack than a lane has.

struct root_stack {
  fiber root;
  exceptions_in_flight* exceptions = nullptr;   ///< of the OS thread
  const std::function<void()>* task = nullptr;  ///< to be run on the root stack
  lane* task_of = nullptr;                      ///< the lane that asked for it, which is entered again afterwards

  /// Leaves the lane, which is never entered again.
  [[noreturn]] void leave(lane& self) {
    fiber::switch_to(self.runs, root, *exceptions);
    std::abort();
  }
  /// Runs the work on the root stack, while no lane runs.
  void run(lane& self, const std::function<void()>& work) {
    task = &work;
    task_of = &self;
    fiber::switch_to(self.runs, root, *exceptions);
  }
};

// What observes a run and changes nothing of it: the recorder, and the watches for starvation, requests, headway and behaviour.

struct observers {
  std::unique_ptr<sim::recorder> recorder;
  starvation_watch starvation;
  request_watch requests;
  headway_watch headway;
  behaviour_watch behaviour;
  bool records = false;      ///< the run's record is asked for; then it holds waits, too
  bool tells_steps = false;  ///< the strategy is told of each
  bool on = false;           ///< any of them

  void look_whether_on() {
    on = recorder != nullptr || starvation.on() || headway.on() || behaviour.on() || tells_steps;
  }
};

// How a run ends: its verdict, and what is told of it.

struct ending {
  scheduler::verdict verdict = scheduler::verdict::ok;
  std::string message;
  std::vector<std::string> waiting;  ///< the lanes and host threads that waited when the hang was found
  call_chain about = {};             ///< the place in the code under test that the verdict is about
  const lane* ended_by = nullptr;    ///< the lane whose operation the verdict is about; null: it is about none
  std::string report;                ///< written when a hang was judged; empty: it is still to be written

  bool is_plain() const { return verdict == scheduler::verdict::ok && message.empty(); }
  void forget() {
    verdict = scheduler::verdict::ok;
    message.clear();
    waiting.clear();
    about = {};
    ended_by = nullptr;
    report.clear();
  }
};

}  // namespace heddle::sim
