// The state of a run that is asked who goes on: what the search through all runs compares (verify/search.h).
//
// Not part of it is what only decides how soon a wait is recognised: how many fruitless turns a lane has had, what it has read in them,
// how often its wait may still end. Two runs that differ in these alone can do the same.
#include <heddle/sim/base/state_key.h>
#include <heddle/sim/run/world.h>
#include <heddle/sim/verify/lane_heap.h>

#include <algorithm>

namespace heddle::sim {
namespace {

/// From so many on a bound is none: no run that never repeats a state comes to it.
constexpr uint32_t unbounded = 1000;

bool uses_operands(operation_kind kind) {
  return kind == operation_kind::store || kind == operation_kind::read_modify_write ||
         kind == operation_kind::compare_exchange || kind == operation_kind::notify ||
         kind == operation_kind::lock_mutex || kind == operation_kind::unlock_mutex;
}

bool uses_call(operation_kind kind) {
  return kind == operation_kind::wait || kind == operation_kind::synchronize || kind == operation_kind::query ||
         kind == operation_kind::join || kind == operation_kind::launch || kind == operation_kind::spawn ||
         kind == operation_kind::copy;
}

bool is_access(operation_kind kind) {
  return kind == operation_kind::load || kind == operation_kind::store || kind == operation_kind::read_modify_write ||
         kind == operation_kind::compare_exchange || kind == operation_kind::notify || kind == operation_kind::fence ||
         kind == operation_kind::wait;
}

uint64_t as_fact(const void* address) { return reinterpret_cast<uintptr_t>(address); }

}  // namespace

bool world::tell_all(state_reader& to) {
  // Who was passed over how often no state of ours tells.
  if (starvation_.on()) return false;
  if (!tell_machine(to)) return false;
  for (size_t n = 0; n < waves_used_; ++n)
    if (!tell_wave(to, waves_[n])) return false;
  for (size_t n = 0; n < lanes_used_; ++n)
    if (!tell_lane_now(to, lanes_[n])) return false;
  to.fact(hidden_order_.low);
  to.fact(hidden_order_.high);
  return tell_memory(to);
}

bool world::tell_machine(state_reader& to) const {
  const bool counts = to.fact(lanes_used_) && to.fact(waves_used_) && to.fact(kernels_launched_) &&
                      to.fact(kernels_running_) && to.fact(resident_waves_) && to.fact(cache_.revision()) &&
                      to.fact(clock_) && to.fact(denied_ ? 1 : 0) && to.fact(places_lifted_ ? 1 : 0) &&
                      to.fact(tail_.begun ? 1 : 0) && tell_streams(to) && tell_mutexes(to);
  if (!counts) return false;
  // Where pages are that move.
  if (devices_.places_memory())
    for (const allocation& each : heap_.allocations())
      for (size_t at = 0; each.watched && !each.freed && at < each.size_bytes; at += device_set::page_bytes)
        to.fact(devices_.gpu_of(each.base, at));
  for (const launched_kernel& runs : kernels_) {
    to.fact(uint64_t{runs.ordinal} << 32 | runs.started_blocks);
    runs.for_each_share([&](const launched_kernel::share& of) {
      to.fact(uint64_t{of.gpu} << 32 | of.next);
      for (const uint32_t block : of.others) to.fact(block);
    });
    for (const uint32_t earlier : runs.after) to.fact(earlier);
    for (const block_state& block : runs.states) to.fact(block.at_barrier);
    if (runs.started_blocks < runs.blocks) to.bytes(runs.bytes.data(), runs.bytes.size());
  }
  for (const uint64_t end : kernel_ends_) to.fact(end);
  for (const uint32_t device : launch_devices_) to.fact(device);
  for (uint32_t device = devices_.gpus(); device < devices_.size(); ++device)
    for (const uint32_t gpu : devices_[device].gpus) to.fact(gpu);
  return rings_.tell(to, steps_);
}

bool world::tell_wave(state_reader& to, const wave& of) const {
  const uint64_t flags =
      (of.resident ? 1u : 0u) | (of.stepped ? 2u : 0u) | (of.guaranteed ? 4u : 0u) | (of.host ? 8u : 0u);
  to.fact(uint64_t{of.live_lanes} << 4 | flags);
  to.fact(of.ended_mask);
  to.fact(uint64_t{of.kernel} << 32 | of.block);
  if (of.current_device != 0) to.fact(of.current_device);
  if (of.copies)
    for (const uint32_t earlier : of.after) to.fact(earlier);
  if (!tell_rounds(to, of)) return false;
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

bool world::tell_lane_now(state_reader& to, const lane& who) const {
  to.fact(uint64_t{who.of->id} << 8 | who.index);
  const uint64_t flags = static_cast<uint64_t>(who.state) | (who.begun ? 8u : 0u) | (who.resolved ? 16u : 0u) |
                         (who.hides_operands ? 32u : 0u) | (who.in_same_call ? 64u : 0u);
  to.fact(flags);
  to.fact(who.hidden.low);
  to.fact(who.hidden.high);
  if (who.state == lane_state::ended || !who.begun) return true;
  const operation& next = who.pending;
  to.fact(as_fact(next.place));
  to.fact(static_cast<uint64_t>(next.kind));
  if (is_access(next.kind))
    to.fact(static_cast<uint64_t>(next.order) << 40 | static_cast<uint64_t>(next.reach) << 32 | next.size_bytes);
  if (next.address != nullptr) to.fact(as_fact(next.address));
  if (uses_operands(next.kind))
    for (const uint64_t each : who.operands) to.fact(each);
  if (who.hides_operands || uses_call(next.kind))
    for (const uint64_t each : who.call) to.fact(each);
  const bool together = is_collective(next.kind) || next.kind == operation_kind::block_barrier;
  if (together || next.kind == operation_kind::active_mask) {
    to.fact(next.mask);
    to.fact(who.result);
    if (next.kind == operation_kind::shuffle) to.fact(who.source);
  }
  if (machine_.late < unbounded) to.fact(who.left.late);
  if (machine_.spurious < unbounded) to.fact(who.left.spurious);
  const exceptions_in_flight& thrown = who.runs.exceptions();
  to.fact(as_fact(thrown.caught));
  to.fact(thrown.uncaught);
  const std::byte* const low = next.frame == nullptr ? who.runs.top() : next.private_state;
  return to.bytes(low, static_cast<size_t>(who.runs.stack().high() - low));
}

bool world::tell_memory(state_reader& to) {
  to.fact(heap_.frees());
  to.fact(heap_.allocations().size());
  for (const allocation& each : heap_.allocations()) {
    to.fact((each.freed ? 1u : 0u) | each.device << 1);
    if (!each.freed) to.bytes(each.base, each.size_bytes);
  }
  unflushed_.for_each(heap_, [&](const std::vector<std::byte>& bytes) { to.bytes(bytes.data(), bytes.size()); });
  notes_->lanes_allocate->tell(to);
  for (const auto& [address, size_bytes] : notes_->variables) {
    to.fact(as_fact(address));
    to.bytes(address, size_bytes);
  }
  if (late_ == nullptr) return true;
  still_to_come who;
  for (size_t n = 0; n < lanes_used_; ++n)
    if (lanes_[n].state != lane_state::ended || &lanes_[n] == ringer_) who.lanes.push_back(lanes_[n].id);
  for (const uint32_t waits : who.lanes) {
    const lane& first = lanes_[waits];
    if (first.awaits == nullptr || *first.awaits == first.awaited) continue;
    for (const uint32_t ends : who.lanes) {
      const wave& of = *lanes_[ends].of;
      if (ends != waits && waits_for_end_of(first, of)) who.joins.push_back({.waits = waits, .ends = ends});
    }
  }
  for (const launched_kernel& runs : kernels_) {
    if (runs.started_blocks == runs.blocks) continue;
    who.objects.push_back(launch_of(runs.ordinal));
  }
  return late_->tell(to, who);
}

// What is written there cannot be looked at later: the memory may be gone. But it follows from the state in which the writer is, who has it
// in a register or on its stack; so all of what a lane has written there follows from the states in which it was.
void world::note_hidden_store(lane& self, const void* address) {
  if (!may_vanish(address) || notes_->lanes_allocate->contains(address)) return;
  key_maker now;
  const auto granule = as_fact(address) / 8;
  now.add(granule);
  now.add(self.operands[0]);
  const std::byte* const low = self.pending.private_state;
  now.bytes(low, static_cast<size_t>(self.runs.stack().high() - low));
  const auto [known, first] = hidden_stores_.try_emplace(granule, self.id);
  const bool own = first || known->second == self.id;
  known->second = self.id;
  state_key& into = own ? self.hidden : hidden_order_;
  now.add(into.low);
  now.add(into.high);
  now.add(self.id);
  into = now.key();
}

void world::tell_wait(const lane& who, state_reader& stands, state_reader& has_read) const {
  stands.fact(who.id);
  stands.fact(as_fact(who.pending.place));
  const std::byte* const low = who.pending.private_state;
  stands.bytes(low, static_cast<size_t>(who.runs.stack().high() - low));
  for (const watched& one : who.reads.entries()) {
    has_read.fact(as_fact(one.address));
    has_read.fact(one.value);
  }
}

}  // namespace heddle::sim
