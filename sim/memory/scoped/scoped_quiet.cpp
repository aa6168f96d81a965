// What a search need not try at every point: accesses that find nothing new, and accesses that no other lane can notice (quiet_words.h).
#include <heddle/sim/memory/scoped/scoped_memory.h>

#include <algorithm>

namespace heddle::sim {
namespace {

constexpr bool is_modification(operation_kind kind) {
  return kind == operation_kind::read_modify_write || kind == operation_kind::compare_exchange ||
         kind == operation_kind::notify;
}

/// The full fences of x86 threads, as if each wrote one word: what one of them makes seen, the next one sees.
constexpr const void* host_fences = nullptr;
constexpr size_t host_fences_bytes = 1;

}  // namespace

bool scoped_memory::finds_nothing_new(const lane& self) {
  const operation& how = self.pending;
  if (!locations_.covers(how.address) || how.order == memory_order::seq_cst ||
      reinterpret_cast<uintptr_t>(how.address) % granule_bytes + how.size_bytes > granule_bytes)
    return false;
  lane_facts& mine = known_[self.id];
  const part at = scoped::part_in(mine, locations_.at(how.address), how.address, how.size_bytes);
  const message* const newest = latest(*at.in, at.in->count - 1, at.mask);
  if (how.kind != operation_kind::load && !known_.adds_nothing(mine, how, at, newest)) return false;
  if (newest == nullptr) return true;
  const settled_store& settled = at.place->settled;
  if (settled.serial == newest->serial && settled.known && newest->unordered.empty() &&
      (settled.nothing_more || (settled.noted && settled.mask == at.mask && settled.reach == reach_of(mine, how) &&
                                settled.acquires == acquires(how.order))))
    return true;
  if (!known_.knows(mine, *newest) || !newest->unordered.empty()) return false;
  return !newest->releases || std::none_of(newest->releases->entries.begin(), newest->releases->entries.end(),
                                           [&](const scoped::release_entry& given) { return teaches(mine, given); });
}

// -- accesses that no other lane can notice ----------------------------------------------------------------------------------------

// Before there is a second actor no lane has had a choice.
void scoped_memory::note_new_access(const lane& self, const operation& how, bool writes) {
  if (core_.history.counted == 0 || self.id >= quiet_words::most_lanes) return;
  const bool host = known_[self.id].tso;
  note_user(self, how);
  notes_->quiet.note(how.address, how.size_bytes, {.lane = self.id, .writes = writes, .joins = host},
                     known_.lanes_beside(self));
  notes_->quiet.note_place(self.id, how.place);
  if (host && is_modification(how.kind)) note_new_host_fence(self);
}

void scoped_memory::note_user(const lane& self, const operation& how) {
  if (core_.history.counted == 0 || self.id >= quiet_words::most_lanes || known_.lanes_beside(self) == 0) return;
  const auto first = reinterpret_cast<uintptr_t>(how.address) & ~uintptr_t{granule_bytes - 1};
  const auto end = reinterpret_cast<uintptr_t>(how.address) + how.size_bytes;
  for (uintptr_t at = first; at < end; at += granule_bytes)
    notes_->quiet.note_user(reinterpret_cast<const void*>(at), self.id);
}

void scoped_memory::note_new_host_fence(const lane& self) {
  if (core_.history.counted == 0 || self.id >= quiet_words::most_lanes) return;
  notes_->quiet.note(host_fences, host_fences_bytes, {.lane = self.id, .writes = true}, known_.lanes_beside(self));
}

void scoped_memory::note_freed(const lane& self, const void* address, size_t size_bytes) {
  if (core_.history.counted == 0 || self.id >= quiet_words::most_lanes) return;
  notes_->quiet.note_freed(address, size_bytes, self.id, known_.lanes_beside(self));
}

bool scoped_memory::is_quiet(const lane& self) {
  const operation& how = self.pending;
  const settings& machine = core_.machine;
  const bool modifies = is_modification(how.kind);
  // A ring that is under way for some steps counts the steps of all; posted stores that stay in order arrive by any read.
  if (notes_ == nullptr || !machine.races_end() || machine.convergence == convergence::lockstep ||
      machine.doorbells.behaviour != doorbell_behaviour::delivered || !machine.link.pool)
    return false;
  if (how.kind == operation_kind::notify || how.order == memory_order::seq_cst) return false;
  if (!modifies && how.kind != operation_kind::load && how.kind != operation_kind::store) return false;
  if (!locations_.covers(how.address) ||
      reinterpret_cast<uintptr_t>(how.address) % granule_bytes + how.size_bytes > granule_bytes)
    return false;
  uint64_t live = ~uint64_t{0};
  for (uint32_t n = 0; n < core_.threads.lanes_used; ++n)
    if (core_.threads.lanes[n].state == lane_state::ended) live &= ~(uint64_t{1} << n);
  const bool host = known_[self.id].tso;
  if (modifies && host &&
      !notes_->quiet.is_quiet(host_fences, host_fences_bytes, {.lane = self.id, .writes = true}, live))
    return false;
  const quiet_words::access next = {.lane = self.id, .writes = how.kind != operation_kind::load, .joins = host};
  return notes_->quiet.is_quiet(how.address, how.size_bytes, next, live) &&
         (self.of->guaranteed || !notes_->quiet.may_end_behind(how.place));
}

}  // namespace heddle::sim
