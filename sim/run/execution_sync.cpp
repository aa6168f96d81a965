// What blocks a lane: mutexes, conditions, collectives, barriers, and the ends of launches.
#include <heddle/sim/launch/command_driver.h>
#include <heddle/sim/run/execution.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace heddle::sim {

// -- mutexes ------------------------------------------------------------------------------------------------------------------------

void check_object(execution& here, lane& self, const void* object) {
  const operation published = self.pending;
  self.pending.address = object;
  self.pending.size_bytes = 1;
  here.check_access(self);
  self.pending = published;
}

int execution::lock_mutex(lane& self, const void* mutex, mutex_kind kind, const operation& how) {
  self.operands = {reinterpret_cast<uintptr_t>(mutex), static_cast<uint64_t>(kind)};
  step(self, how);
  starvation_watch& starvation = core_.observers.starvation;
  while (true) {
    check_object(*this, self, mutex);
    switch (hosts_.mutexes.try_lock(mutex, kind, self)) {
      case mutex_table::answer::locked:
        core_.note_progress(self);
        if (core_.late != nullptr) core_.late->acquire_object(self, mutex);
        performed(self, 0);
        if (starvation.on()) core_.note_bypass(self);
        return 0;
      case mutex_table::answer::deadlock:
        performed(self, EDEADLK);
        return EDEADLK;
      case mutex_table::answer::must_wait:
        self.reads.clear();
        self.reads.add(mutex, 1, 0);
        if (starvation.on()) starvation.performed(self);
        wait(self);
    }
  }
}

int execution::try_lock_mutex(lane& self, const void* mutex, mutex_kind kind, const operation& how) {
  self.operands = {reinterpret_cast<uintptr_t>(mutex), static_cast<uint64_t>(kind)};
  step(self, how);
  check_object(*this, self, mutex);
  const bool locked = hosts_.mutexes.try_lock(mutex, kind, self) == mutex_table::answer::locked;
  performed(self, locked ? 1 : 0);
  if (!locked) {
    self.reads.add(mutex, 1, waits_.change_of(mutex), true);
    // A loop that tries again and again waits for a change.
    ++self.fruitless_reads;
    if (self.may_spin()) look_for_spin(self, how.private_state);
    return EBUSY;
  }
  if (core_.late != nullptr) core_.late->acquire_object(self, mutex);
  core_.note_progress(self);
  if (core_.observers.starvation.on()) core_.note_bypass(self);
  return 0;
}

int execution::unlock_mutex(lane& self, const void* mutex, mutex_kind kind, const operation& how) {
  self.operands = {reinterpret_cast<uintptr_t>(mutex), 0};
  step(self, how);
  check_object(*this, self, mutex);
  if (core_.late != nullptr) core_.late->release_object(self, mutex);
  const bool held = hosts_.mutexes.unlock(mutex, self);
  // (POSIX, pthread_mutex_unlock: EPERM of the other kinds, undefined behavior of normal ones.)
  if (!held && kind == mutex_kind::normal) [[unlikely]]
    hosts_.mutexes.misused(core_, self, "unlocks", mutex);
  performed(self, held ? 1 : 0);
  if (!held) return EPERM;
  waits_.notice(self, mutex);
  return 0;
}

// -- time --------------------------------------------------------------------------------------------------------------------------

namespace {

// Whether no other lane could change what the lane looks at beside the clock. In the fair tail all lanes have turns, and as many as they need
// to change something.
bool time_runs(run_core& core, const waits& waiting, lane& self) {
  if (core.machine.early_timeouts) return true;
  if (core.phase.in_tail) {
    constexpr uint32_t looks = 64;
    if (std::exchange(self.at_clock.changes, waiting.changes()) == waiting.changes())
      return ++self.at_clock.still >= looks;
    self.at_clock.still = 0;
    return false;
  }
  // One that sleeps or gives way, and waits for nothing, can go on; unless it is known to go round for ever.
  const auto goes_round = [&](const lane& each) {
    return (each.proven && core.phase.checks != quiescence_check::none) ||
           each.at_clock.reads >= program_clock::most_doublings;
  };
  bool any_sleeps = false;
  for (size_t n = 0; n < core.threads.lanes_used; ++n) {
    lane& each = core.threads.lanes[n];
    if (each.state != lane_state::waiting || each.private_state == nullptr || !each.reads.entries().empty()) continue;
    if (each.of->together != nullptr || goes_round(each)) continue;
    core.enable(each);
    any_sleeps = true;
  }
  if (any_sleeps) return false;
  // One that has looked at the clock as often as it may waits for a time too, or for what has come since it looked.
  return std::none_of(core.enabled.lanes.begin(), core.enabled.lanes.end(), [&](const lane* each) {
    return each != &self && (each->at_clock.reads < program_clock::patient_reads || waiting.finds_another(*each));
  });
}

}  // namespace

uint64_t execution::look_at_clock(lane& self) {
  self.at_clock.to_look_again = false;
  self.reads.forget_change();
  return core_.clock.read(self, core_.history.steps,
                          self.at_clock.reads < program_clock::patient_reads || time_runs(core_, waits_, self));
}

// -- collectives and barriers -------------------------------------------------------------------------------------------------------

uint64_t execution::active_mask(lane& self, const operation& how) {
  const wave& of = *self.of;
  if (of.lanes.size() == 1) return 1;
  step(self, how);
  uint64_t mask = 0;
  if (of.together != nullptr) {
    mask = of.together->arm;
  } else if (self.resolved) {
    self.resolved = false;
    mask = self.result;
  } else {
    mask = collectives_.mask_of_active(self);
  }
  performed(self, mask);
  return mask;
}

uint64_t execution::collective(lane& self, const operation& how, uint64_t value) {
  wave& of = *self.of;
  const bool alone = how.mask == lane_bit(self) && how.kind != operation_kind::shuffle;
  if (of.together == nullptr && alone) return how.kind == operation_kind::ballot ? (value != 0 ? how.mask : 0) : value;
  finish_plain_store(self, how.frame);
  self.pending = how;
  if (assumes()) assume(*this, self);
  if (!of.stepped) {
    core_.first_step(of);
    launches_.early().seen().see_before(of);
  }
  if (of.together == nullptr) {
    if (collectives_.arrive(self, value) == collectives::arrival::blocks) {
      if (lane* const next = core_.issues.next_in_order())
        enter(self, *next);
      else
        block(self);
    }
  } else {
    // The wave goes on when all lanes of the arm have arrived.
    self.result = value;
    core_.disable(self);
    self.state = lane_state::at_collective;
    if (core_.observers.records) core_.observers.recorder->waits(self, core_.history.steps);
    block(self);
  }
  performed(self, self.result);
  return self.result;
}

uint64_t execution::barrier(lane& self, const operation& how, uint64_t value) {
  wave& of = *self.of;
  if (how.kind == operation_kind::cluster_arrive || how.kind == operation_kind::block_arrive) {
    step(self, how);
    if (how.kind == operation_kind::block_arrive)
      collectives_.arrive_in_passing(self);
    else
      collectives_.arrive_at_cluster(self);
    performed(self, 0);
    return 0;
  }
  finish_plain_store(self, how.frame);
  self.pending = how;
  const bool of_cluster = how.kind == operation_kind::cluster_wait;
  if (!of_cluster && assumes()) assume(*this, self);
  // Lanes that are masked off do not arrive.
  if (of.together != nullptr) yield(self);
  if (!of.stepped) {
    core_.first_step(of);
    launches_.early().seen().see_before(of);
  }
  const collectives::arrival came =
      of_cluster ? collectives_.wait_at_cluster(self) : collectives_.arrive_at_barrier(self, value);
  if (came == collectives::arrival::blocks) block(self);
  if (of_cluster) collectives_.acquire_cluster(self, how.order);
  performed(self, of_cluster ? 0 : self.result);
  return self.result;
}

// -- pages --------------------------------------------------------------------------------------------------------------------------

void execution::wait_for_pages(lane& self) {
  command_driver& commands = *launches_.commands();
  while (check_access(self) && !commands.reaches(self)) {
    const uint64_t& news = commands.news_of_pages();
    const uint64_t before = news;
    waits::forget_reads(self);
    self.reads.add(&news, sizeof news, before);
    wait(self);
    if (core_.times != nullptr) core_.times->not_before(self, commands.pages_came_at());
    // A loop that has come here has not read all that it waits for since then: it goes round once more.
    self.reads.add(&news, sizeof news, before);
    let_arrive(self);
  }
}

// -- launches -----------------------------------------------------------------------------------------------------------------------

void execution::wait_for_launches(lane& self, const std::vector<uint32_t>& work, const operation& how) {
  step(self, how);
  performed(self, work.size());
  for (const uint32_t launch : work) {
    self.call[2] = launch;  // what the call still waits for
    if (const uint64_t& end = launches_.end_of_work(launch); end == 0) {
      self.pending = how;
      wait_for(self, end, 1);
    }
    launches_.early().seen().see(launch);
    if (core_.late != nullptr) core_.late->acquire_object(self, object_of_end(launch));
  }
}

void execution::begin_copy(lane& engine, const operation& how) {
  wait_for_launches(engine, engine.of->after, how);
  if (core_.late != nullptr) core_.late->has_begun(engine);
  function_turns& turns = launches_.functions();
  if (!turns.in_one_thread()) return;
  if (static_cast<const stream_copy*>(engine.body)->function == nullptr) {
    while (const auto runs = turns.holding(engine.of->kernel)) wait_for_launches(engine, {*runs}, how);
    return;
  }
  while (const auto runs = turns.running()) wait_for_launches(engine, {*runs}, how);
  if (turns.last() && core_.late != nullptr) core_.late->acquire_object(engine, object_of_end(*turns.last()));
  turns.begins(engine.of->kernel);
}

bool execution::have_ended(lane& self, const std::vector<uint32_t>& work, const operation& how,
                           const std::byte* private_state) {
  self.pending = how;
  self.called = true;
  const auto has_come = [&](uint32_t launch) { return launches_.end_of_work(launch) != 0; };
  seen_ends& seen = launches_.early().seen();
  const auto is_seen = [&](uint32_t launch) { return seen.is_seen(launch); };
  const bool have_come = std::all_of(work.begin(), work.end(), has_come);
  const bool comes_before =
      have_come && !std::all_of(work.begin(), work.end(), is_seen) && seen_ends::is_missed(core_, self);
  const bool all = have_come && !comes_before;
  for (const uint32_t launch : work) {
    const uint64_t& end = launches_.end_of_work(launch);
    self.reads.add(&end, sizeof end, comes_before && !is_seen(launch) ? 0 : end);
    if (all) seen.see(launch);
  }
  performed(self, all ? 1 : 0);
  if (!all) {
    ++self.fruitless_reads;
    if (self.may_spin()) look_for_spin(self, private_state);
    return false;
  }
  if (core_.late == nullptr) return true;
  for (const uint32_t launch : work) core_.late->acquire_object(self, object_of_end(launch));
  return true;
}

void execution::enter_driver(lane& self, bool is_launch, operation how) {
  if (core_.machine.driver == driver_calls::context) {
    how.kind = operation_kind::lock_mutex;
    lock_mutex(self, &context_, mutex_kind::normal, how);
  } else if (!is_launch) {
    how.kind = operation_kind::synchronize;
    finish_plain_store(self, how.frame);
    self.pending = how;
    wait_for(self, launches_.running_anywhere(), 0);
    for (uint32_t device = 0; device < memory_.devices().size(); ++device) launches_.acquire_kernels(self, device);
  }
}

void execution::leave_driver(lane& self, operation how) {
  if (core_.machine.driver != driver_calls::context) return;
  how.kind = operation_kind::unlock_mutex;
  unlock_mutex(self, &context_, mutex_kind::normal, how);
}

}  // namespace heddle::sim
