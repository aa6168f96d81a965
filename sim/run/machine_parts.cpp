#include <heddle/sim/code/program_libraries.h>
#include <heddle/sim/code/program_state.h>
#include <heddle/sim/memory/link/link_memory.h>
#include <heddle/sim/memory/scoped/scoped_memory.h>
#include <heddle/sim/run/machine_parts.h>

namespace heddle::sim {

machine_parts::machine_parts() {
  if (is_program()) program_heap_ = lane_heap::make();
  core_.map.heap.take_program(program_heap_.get());
}
machine_parts::~machine_parts() = default;

void machine_parts::prepare(const parameters& values, scheduler::choice_source& choices, bool explain, bool record) {
  // Campaigns run the same settings over and over.
  if (values.revision() != settings_revision_) [[unlikely]]
    take_settings(values);
  core_.observers.records = record;
  reset_device_variables();
  reset_program_variables();
  if (is_program()) reset_program_libraries();
  hosts_.values.begin_run(is_program());
  reset_library_state();
  const bool had_tail = core_.phase.in_tail;
  core_.reset(choices);
  core_.looks_at_each = core_.assumes;
  memory_.reset();
  choose_memory();
  doorbells_.reset();
  launches_.reset();
  waits_.reset();
  collectives_.reset();
  lockstep_.reset();
  judge_.reset(had_tail);
  core_.enabled.next_limit = core_.machine.budget;
  if (!core_.ending.is_plain() || core_.observers.recorder != nullptr) [[unlikely]] {
    core_.ending.forget();
    core_.observers.recorder = nullptr;
    races_.forget_finding();
  }
  if (launches_.has_rest() || memory_.has_rest()) [[unlikely]]
    forget_rest();
  else if (!hosts_.empty()) [[unlikely]]
    hosts_.clear();
  if (explain || core_.machine.watch.starvation != 0) [[unlikely]] {
    if (explain) core_.observers.recorder = std::make_unique<recorder>();
    core_.observers.starvation.reset(core_.machine.watch.starvation);
    core_.observers.requests.reset(core_.machine.watch.starvation);
  }
  core_.observers.look_whether_on();
  races_.reset();
  if (lane_heap* const lanes = lanes_allocate_in()) lanes->begin_run();
}

void machine_parts::take_settings(const parameters& values) {
  settings& machine = core_.machine;
  machine = settings::from(values);
  assumed_.take(values.text("assume"));
  core_.assumes = assumed_.any();
  settings_revision_ = values.revision();
  core_.allowed = {.late = machine.late, .spurious = machine.spurious, .wakes = machine.wakes};
  link_ = nullptr;  // it is built for one set of them
  core_.map.take_stacks(machine.stack_bytes, machine.host_stack_bytes);
  core_.observers.starvation.reset(machine.watch.starvation);
  core_.observers.requests.reset(machine.watch.starvation);
  launches_.take_settings(drives_);
  forget_rest();
}

void machine_parts::forget_rest() {
  memory_.forget_rest();
  hosts_.clear();
  launches_.forget_rest();
}

void machine_parts::choose_memory() {
  late_memory* memory = nullptr;
  if (core_.machine.fidelity == fidelity::scoped) {
    if (scoped_ == nullptr) scoped_ = std::make_unique<scoped_memory>(core_, races_);
    memory = scoped_.get();
  } else if (core_.machine.fidelity == fidelity::link) {
    if (link_ == nullptr) link_ = std::make_unique<link_memory>(core_, waits_);
    memory = link_.get();
  }
  core_.link_delivers = false;  // as long as no other actor could see a difference
  core_.times = nullptr;
  if (call_times_ != nullptr) {
    if (timed_ == nullptr) timed_ = std::make_unique<timed_memory>(core_, memory_.devices());
    timed_->begin_run(memory, core_.machine.time, *call_times_);
    memory = timed_.get();
    core_.times = timed_.get();
  }
  core_.late = memory;
  if (memory == nullptr) return;
  memory->reset();
  memory->take_notes(core_.notes);
}

void machine_parts::check_invariants() const {
  core_.check_invariants();
  collectives_.check_invariants();
  lockstep_.check_invariants();
  waits_.check_invariants();
  doorbells_.check_invariants();
  launches_.check_invariants();
  judge_.check_invariants();
}

}  // namespace heddle::sim
