#include <heddle/sim/base/state_key.h>
#include <heddle/sim/convergence/lockstep_waves.h>
#include <heddle/sim/judge/visit_threads.h>

namespace heddle::sim {
namespace {

/// A bound of so many or more is none: no run that never repeats a state reaches it.
constexpr uint32_t unbounded = 1000;

bool uses_operands(operation_kind kind) {
  return kind == operation_kind::store || kind == operation_kind::read_modify_write ||
         kind == operation_kind::compare_exchange || kind == operation_kind::notify ||
         kind == operation_kind::lock_mutex || kind == operation_kind::unlock_mutex ||
         kind == operation_kind::wait_notice || kind == operation_kind::give_notice;
}

// Calls whose arguments are in their own frame alone, not in the pending operation.
bool is_call(operation_kind kind) {
  return kind == operation_kind::wait || kind == operation_kind::synchronize || kind == operation_kind::query ||
         kind == operation_kind::join || kind == operation_kind::launch || kind == operation_kind::spawn ||
         kind == operation_kind::copy || kind == operation_kind::drive || kind == operation_kind::wait_notice ||
         kind == operation_kind::give_notice;
}

bool is_access(operation_kind kind) {
  return kind == operation_kind::load || kind == operation_kind::store || kind == operation_kind::read_modify_write ||
         kind == operation_kind::compare_exchange || kind == operation_kind::notify || kind == operation_kind::fence ||
         kind == operation_kind::wait;
}

uint64_t as_fact(const void* address) { return reinterpret_cast<uintptr_t>(address); }

}  // namespace

bool hides_operands(const lane& who) { return who.hides_operands || is_call(who.pending.kind); }

bool visit_lane(state_reader& to, const lane& who, bool is_running) {
  const operation& next = who.pending;
  const uint64_t flags = static_cast<uint64_t>(who.state) | (who.begun ? 8u : 0u) | (who.resolved ? 16u : 0u) |
                         (who.hides_operands ? 32u : 0u);
  const bool facts = to.fact(flags) && to.fact(reinterpret_cast<uintptr_t>(next.place)) &&
                     to.fact(reinterpret_cast<uintptr_t>(next.address)) &&
                     to.fact(static_cast<uint64_t>(next.kind) << 48 | static_cast<uint64_t>(next.order) << 40 |
                             static_cast<uint64_t>(next.reach) << 32 | next.size_bytes) &&
                     to.fact(next.mask) && to.fact(uint64_t{who.source} << 1 | (next.without_ended ? 1u : 0u)) &&
                     to.fact(who.operands[0]) && to.fact(who.operands[1]) && to.fact(who.result) &&
                     to.fact(who.leads) && to.fact(who.noticed) && to.fact(who.at_clock.guard_rounds);
  if (!facts) return false;
  if (who.state == lane_state::ended || !who.begun) return true;
  // Not the frames of the call itself: dead words there differ from one call to the next for ever.
  if (hides_operands(who))
    for (const uint64_t each : who.call)
      if (!to.fact(each)) return false;
  const std::byte* const low = next.frame == nullptr ? who.runs.top() : next.private_state;
  if (!is_running) {
    const exceptions_in_flight& thrown = who.runs.exceptions();
    if (!to.fact(reinterpret_cast<uintptr_t>(thrown.caught)) || !to.fact(thrown.uncaught)) return false;
  }
  return to.bytes(low, static_cast<size_t>(who.runs.stack().high() - low));
}

bool visit_lane_of_any_run(state_reader& to, const lane& who, const settings& machine) {
  to.fact(uint64_t{who.of->id} << 8 | who.index);
  const uint64_t flags = static_cast<uint64_t>(who.state) | (who.begun ? 8u : 0u) | (who.resolved ? 16u : 0u) |
                         (who.hides_operands ? 32u : 0u) | (who.in_same_call || who.assumed.in_same_call ? 64u : 0u);
  to.fact(flags);
  to.fact(who.noticed);
  if (who.at_clock.guard_rounds != 0) to.fact(who.at_clock.guard_rounds);
  if (who.assumed.met != 0) [[unlikely]]
    to.fact(who.assumed.met);
  if (who.state == lane_state::ended || !who.begun) return true;
  const operation& next = who.pending;
  to.fact(as_fact(next.place));
  to.fact(static_cast<uint64_t>(next.kind));
  if (is_access(next.kind))
    to.fact(static_cast<uint64_t>(next.order) << 40 | static_cast<uint64_t>(next.reach) << 32 | next.size_bytes);
  if (next.address != nullptr) to.fact(as_fact(next.address));
  if (uses_operands(next.kind))
    for (const uint64_t each : who.operands) to.fact(each);
  if (hides_operands(who))
    for (const uint64_t each : who.call) to.fact(each);
  const bool together = is_collective(next.kind) || is_barrier(next.kind);
  if (together || next.kind == operation_kind::active_mask) {
    to.fact(next.mask);
    to.fact(who.result);
    if (next.kind == operation_kind::shuffle) to.fact(who.source);
  }
  if (machine.late < unbounded) to.fact(who.left.late);
  if (machine.spurious < unbounded) to.fact(who.left.spurious);
  if (who.at_clock.reads != 0)
    to.fact((who.at_clock.to_look_again ? 1u : 0u) | (who.at_clock.missed_newest ? 2u : 0u) |
            (who.reads.saw_change_lately() ? 4u : 0u));
  const exceptions_in_flight& thrown = who.runs.exceptions();
  to.fact(as_fact(thrown.caught));
  to.fact(thrown.uncaught);
  const std::byte* const low = next.frame == nullptr ? who.runs.top() : next.private_state;
  return to.bytes(low, static_cast<size_t>(who.runs.stack().high() - low));
}

bool visit_wave(state_reader& to, const wave& of, comparison what) {
  const bool any = what == comparison::of_all_runs;
  const uint64_t flags =
      (of.resident ? 1u : 0u) | (of.stepped ? 2u : 0u) | (of.guaranteed ? 4u : 0u) | (any && of.host ? 8u : 0u);
  if (!to.fact(uint64_t{of.live_lanes} << 4 | flags) || !to.fact(of.ended_mask)) return false;
  if (any) {
    to.fact(uint64_t{of.kernel} << 32 | of.block);
    if (of.current_device != 0) to.fact(of.current_device);
    if (of.copies)
      for (const uint32_t earlier : of.after) to.fact(earlier);
  }
  if (!lockstep_waves::visit_rounds(to, of)) return false;
  if (!any) {
    for (const open_collective& open : of.collectives)
      if (!to.fact(static_cast<uint64_t>(open.kind)) || !to.fact(open.mask) || !to.fact(open.arrived)) return false;
    return true;
  }
  // Their order is that in which they were opened, which no lane can tell.
  key_sum open;
  for (const open_collective& one : of.collectives) {
    key_maker made;
    made.add(static_cast<uint64_t>(one.kind) << 1 | (one.without_ended ? 1u : 0u));
    made.add(one.mask);
    made.add(one.arrived);
    open.add(made.key());
  }
  open.tell(to);
  return true;
}

}  // namespace heddle::sim
