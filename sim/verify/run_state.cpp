#include <heddle/sim/base/state_key.h>
#include <heddle/sim/judge/visit_threads.h>
#include <heddle/sim/verify/run_state.h>

#include <algorithm>
#include <array>
#include <utility>

namespace heddle::sim {
namespace {

uint64_t as_fact(const void* address) { return reinterpret_cast<uintptr_t>(address); }

bool visit_machine(const execution& run, state_reader& to) {
  const run_core& core = run.core();
  const run_phase& phase = core.phase;
  const bool counts = to.fact(core.threads.lanes_used) && to.fact(core.threads.waves_used) &&
                      to.fact(run.memory().cache().revision()) && to.fact(core.clock.cycle()) &&
                      to.fact(phase.denied ? 1 : 0) && to.fact(phase.places_lifted ? 1 : 0) &&
                      to.fact(phase.in_tail ? 1 : 0) && core.map.ranges.tell(to) && core.frames.tell(to) &&
                      run.launched().visit_state(to) && run.hosts().visit_state(to) &&
                      to.fact(run.hosts().changed_outside);
  if (!counts) return false;
  const device_set& devices = run.memory().devices();
  for (uint32_t n = 0; n < devices.size(); ++n) to.fact(devices[n].peers);
  for (const auto& [stream, work] : run.memory().left_to_streams()) {
    to.fact(uint64_t{stream} << 32 | work.size());
    for (const uint32_t launch : work) to.fact(launch);
  }
  // Where pages are that move.
  if (devices.places_memory())
    for (const allocation& each : core.map.heap.allocations())
      for (size_t at = 0; each.watched && !each.freed && at < each.size_bytes; at += device_set::page_bytes)
        to.fact(devices.gpu_of(each.base, at));
  run.launched().visit_kernels(to);
  return run.rings().visit_state(to);
}

/// The lanes that can still act, and what they will know then.
still_to_come still_to_come_of(const execution& run) {
  const thread_table& threads = run.core().threads;
  still_to_come told;
  for (size_t n = 0; n < threads.lanes_used; ++n)
    if (threads.lanes[n].state != lane_state::ended || &threads.lanes[n] == run.rings().ringer())
      told.lanes.push_back(threads.lanes[n].id);
  for (const uint32_t waits : told.lanes) {
    const lane& first = threads.lanes[waits];
    if (first.awaits == nullptr || *first.awaits == first.awaited) continue;
    for (const uint32_t ends : told.lanes) {
      const wave& of = *threads.lanes[ends].of;
      if (ends != waits && run.launched().waits_for_end_of(first, of))
        told.joins.push_back({.waits = waits, .ends = ends});
    }
  }
  for (const launched_kernel& kernel : run.launched().kernels()) {
    if (kernel.started_blocks == kernel.blocks) continue;
    told.objects.push_back(object_of_launch(kernel.ordinal));
  }
  // What the driver has yet to begin is in no list of lanes or kernels.
  for (uint32_t n = 0; run.launched().commands() != nullptr && n < run.launched().launched(); ++n) {
    told.objects.push_back(object_of_launch(n));
    told.objects.push_back(object_of_end(n));
  }
  return told;
}

void visit_memory(const execution& run, state_reader& to) {
  const run_core& core = run.core();
  const heap& heap = core.map.heap;
  to.fact(heap.frees());
  to.fact(heap.allocations().size());
  for (const allocation& each : heap.allocations()) {
    to.fact((each.freed ? 1u : 0u) | (each.is_waited_for ? 2u : 0u) | static_cast<uint32_t>(each.peers) << 2 |
            uint64_t{each.device} << 4);
    if (each.peers == peer_reach::let_to_it) to.fact(uint64_t{each.let_to_load} << 32 | each.let_to_store);
    if (!each.freed) to.bytes(each.base, each.size_bytes);
  }
  run.memory().unflushed().for_each(heap,
                                    [&](const std::vector<std::byte>& bytes) { to.bytes(bytes.data(), bytes.size()); });
  core.notes->lanes_allocate->tell(to);
  for (const auto& [address, size_bytes] : core.notes->variables) {
    to.fact(as_fact(address));
    to.bytes(address, size_bytes);
  }
}

}  // namespace

bool visit_state(const execution& run, state_reader& to) {
  const run_core& core = run.core();
  // How often a lane was passed over no state of ours tells.
  if (core.observers.starvation.on()) return false;
  if (!visit_machine(run, to)) return false;
  for (size_t n = 0; n < core.threads.waves_used; ++n)
    if (!visit_wave(to, core.threads.waves[n], comparison::of_all_runs)) return false;
  for (size_t n = 0; n < core.threads.lanes_used; ++n)
    if (!visit_lane_of_any_run(to, core.threads.lanes[n], core.machine)) return false;
  core.hidden.tell(to);
  visit_memory(run, to);
  return true;
}

bool visit_late(const execution& run, state_reader& to) {
  late_memory* const late = run.core().late;
  return late == nullptr || late->tell(to, still_to_come_of(run));
}

bool visit_apart(const execution& run, state_reader& to, known_facts& known) {
  late_memory* const late = run.core().late;
  return late != nullptr && late->tell_apart(to, still_to_come_of(run), known);
}

diamonds::standing standing_of(const execution& run) {
  const run_core& core = run.core();
  diamonds::standing made;
  for (const lane* each : core.enabled.lanes) made.enabled |= uint64_t{1} << each->id;
  made.allocated = core.map.heap.allocations().size() + core.map.heap.frees() + core.notes->lanes_allocate->changes();
  key_maker machine;
  visit_machine(run, machine);
  made.machine = machine.key();
  return made;
}

void visit_wait(const lane& waiter, state_reader& stands, state_reader& has_read) {
  stands.fact(waiter.id);
  stands.fact(as_fact(waiter.pending.place));
  const std::byte* const low = waiter.pending.private_state;
  stands.bytes(low, static_cast<size_t>(waiter.runs.stack().high() - low));
  for (const watched& one : waiter.reads.entries()) {
    has_read.fact(as_fact(one.address));
    has_read.fact(one.value);
  }
}

namespace {

/// What comes first: what is run in both orders anyway; then what changes memory; and last what looks at it, again and again.
uint64_t turn_of(const lane& candidate) {
  switch (candidate.pending.kind) {
    case operation_kind::pause:
    case operation_kind::load:
    case operation_kind::plain_load:
    case operation_kind::volatile_load:
      return 2;
    case operation_kind::store:
    case operation_kind::plain_store:
    case operation_kind::volatile_store:
    case operation_kind::read_modify_write:
    case operation_kind::compare_exchange:
    case operation_kind::fence:
      return 1;
    default:
      return 0;
  }
}

}  // namespace

// A way follows from those of lanes that come before in this order. Waves have begun later than the threads of the host that serve them.
uint64_t order_of_lanes(const std::vector<lane*>& candidates) {
  constexpr size_t most = 16;
  if (candidates.size() > most) return 0;
  std::array<std::pair<uint64_t, uint32_t>, most> ranked;
  for (uint32_t n = 0; n < candidates.size(); ++n) {
    const lane& each = *candidates[n];
    ranked[n] = {turn_of(each) << 32 | ~each.id, n};
  }
  std::sort(ranked.begin(), ranked.begin() + static_cast<ptrdiff_t>(candidates.size()));
  uint64_t made = 0;
  for (size_t n = candidates.size(); n > 0; --n) made = made << 4 | ranked[n - 1].second;
  return made;
}

}  // namespace heddle::sim
