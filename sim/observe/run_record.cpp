// What the recorder keeps beside the steps: when lanes waited, which store each load has read, and when stores arrived.
#include <heddle/sim/machine/kernel.h>
#include <heddle/sim/observe/recorder.h>
#include <heddle/sim/space/heap.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <ranges>
#include <utility>

namespace heddle::sim {
namespace {

constexpr uint64_t granule_bytes = 8;
constexpr uint64_t most_granules = 4096;  // of one access; the writers of a longer one are not kept
constexpr size_t most_locations = 4;      // that a wait is told to be for

bool is_read(operation_kind kind) {
  return kind == operation_kind::load || kind == operation_kind::plain_load || kind == operation_kind::volatile_load ||
         kind == operation_kind::read_modify_write || kind == operation_kind::compare_exchange;
}

template <typename Each>
void for_each_granule(const void* address, uint64_t size_bytes, Each&& each) {
  const auto first_byte = reinterpret_cast<uintptr_t>(address);
  if (size_bytes == 0 || size_bytes > most_granules * granule_bytes) return;
  for (uint64_t granule = first_byte / granule_bytes; granule <= (first_byte + size_bytes - 1) / granule_bytes;
       ++granule)
    each(granule);
}

wait_reason reason_of(const lane& who) {
  if (who.state == lane_state::evicted) return wait_reason::evicted;
  if (who.state == lane_state::at_collective)
    return is_barrier(who.pending.kind) ? wait_reason::barrier : wait_reason::collective;
  if (who.private_state != nullptr) return wait_reason::change;
  switch (who.pending.kind) {
    case operation_kind::lock_mutex:
      return wait_reason::mutex;
    case operation_kind::wait_notice:
      return wait_reason::notice;
    case operation_kind::join:
      return wait_reason::join;
    case operation_kind::synchronize:
      return wait_reason::device;
    default:
      return who.pending.kind == operation_kind::wait ? wait_reason::change : wait_reason::call;
  }
}

}  // namespace

recorder::taken* recorder::at_step(uint64_t step) {
  const auto found = std::lower_bound(taken_.begin(), taken_.end(), step,
                                      [](const taken& one, uint64_t wanted) { return one.step < wanted; });
  return found == taken_.end() || found->step != step ? nullptr : &*found;
}

// -- stores and their readers ------------------------------------------------------------------------------------------------------

void recorder::look_at_memory(taken& one, bool under_way, bool readable) {
  const operation_kind kind = one.what.kind;
  if (is_read(kind)) look_at_read(one, readable);
  const auto early = early_bytes_.find(one.step);
  const uint64_t early_bytes = early == early_bytes_.end() ? 0 : early->second;
  if (early != early_bytes_.end()) early_bytes_.erase(early);
  if (loses_change_.erase(one.who) != 0) {
    one.lost = true;
    return;
  }
  if (!is_store(kind)) return;
  if (kind == operation_kind::notify) {
    if (loses_ring_.erase(one.who) != 0) {
      one.lost = true;
      return;
    }
    if (std::exchange(sends_ring_, 0) == one.step) return;
  }
  if (under_way && kind != operation_kind::notify && early_bytes < one.what.size_bytes) {
    one.arrived_bytes = early_bytes;
    under_way_[one.who].push_back(one.step);
    return;
  }
  one.arrived = one.step;
  note_store(one);
}

void recorder::note_store(const taken& one) {
  for_each_granule(one.what.address, one.what.size_bytes, [&](uint64_t granule) {
    granule_stores& of = stores_[granule];
    of.steps.push_back(one.step);
    for (size_t byte = 0; byte < granule_bytes; ++byte)
      if (granule * granule_bytes + byte - reinterpret_cast<uintptr_t>(one.what.address) < one.what.size_bytes)
        of.last[byte] = of.steps.size();
  });
}

void recorder::found(const lane& who, uint64_t store_step, bool is_newest, uint64_t newest_step) {
  finding& now = finds_now_[&who];
  // Of an access of several locations, the latest store counts, and an old value anywhere.
  if (!now.fresh) now = {.store_step = store_step, .is_old = !is_newest, .fresh = true};
  now.store_step = std::max(now.store_step, store_step);
  now.is_old = now.is_old || !is_newest;
  if (!is_newest) now.newest_step = newest_step;
}

void recorder::look_at_read(taken& one, bool readable) {
  finding& now = finds_now_[one.who];
  auto& known = found_[one.who];
  if (std::exchange(now.fresh, false)) known[one.what.address] = now;
  // A load that finds the same as the one before is not told of again.
  if (const auto last = known.find(one.what.address); last != known.end()) {
    one.reads = last->second.store_step;
    one.is_old = last->second.is_old;
    one.missed = last->second.is_old ? last->second.newest_step : run_record::never;
    return;
  }
  infer_read(one, readable);
}

// Where memory does not say which store was read, it is the last one of these bytes; of a value that is not the newest, the last that
// wrote that value.
void recorder::infer_read(taken& one, bool readable) {
  const watched bytes = {one.what.address, 0, one.what.size_bytes};
  const auto overlaps = [&](const taken& store) { return bytes.overlaps(store.what.address, store.what.size_bytes); };
  if (const auto own = under_way_.find(one.who); own != under_way_.end())
    for (const uint64_t step : std::ranges::reverse_view(own->second))
      if (const taken* const store = at_step(step); store != nullptr && overlaps(*store)) {
        one.reads = step;
        return;
      }
  const bool is_word = one.what.size_bytes <= sizeof one.value;
  const bool is_load =
      one.what.kind != operation_kind::read_modify_write && one.what.kind != operation_kind::compare_exchange;
  one.is_old = is_word && is_load && readable && watched::value_at(one.what.address, one.what.size_bytes) != one.value;
  uint64_t latest = 0;
  for_each_granule(one.what.address, one.what.size_bytes, [&](uint64_t granule) {
    const auto stores = stores_.find(granule);
    if (stores == stores_.end()) return;
    const granule_stores& of = stores->second;
    size_t behind = 0;  // the last that can be the one
    for (size_t byte = 0; byte < granule_bytes; ++byte)
      if (granule * granule_bytes + byte - reinterpret_cast<uintptr_t>(one.what.address) < one.what.size_bytes)
        behind = std::max(behind, of.last[byte]);
    const auto first = of.steps.rbegin() + static_cast<ptrdiff_t>(of.steps.size() - behind);
    for (auto step = first; step != of.steps.rend() && *step > latest; ++step) {
      const taken* const store = at_step(*step);
      if (store == nullptr || !overlaps(*store)) continue;
      const bool wrote_it = store->what.address == one.what.address && store->what.size_bytes == one.what.size_bytes &&
                            (store->changes ? store->after : store->value) == one.value;
      if (one.is_old && !wrote_it) {
        if (one.missed == run_record::never || *step > one.missed) one.missed = *step;
        continue;
      }
      latest = *step;
      return;
    }
  });
  one.reads = latest;
}

void recorder::arrived(uint64_t store_step, uint64_t size_bytes, uint64_t now) {
  taken* const store = at_step(store_step);
  if (store == nullptr) {
    early_bytes_[store_step] += size_bytes;
    return;
  }
  store->arrived_bytes += size_bytes;
  if (store->arrived != run_record::never || store->arrived_bytes < store->what.size_bytes) return;
  store->arrived = std::max(now, store->step);
  std::vector<uint64_t>& under_way = under_way_[store->who];
  std::erase(under_way, store_step);
  if (!odd_.empty() && odd_.back().kind == scheduler::choice_kind::arrive && odd_.back().step == last_step_ + 1) {
    odd& chosen = odd_.back();
    if (chosen.arrives == 0) {
      chosen.arrives = store_step;
      if (!under_way.empty() && under_way.front() < store_step) chosen.before = under_way.front();
    }
  }
  note_store(*store);
}

void recorder::ring_sent(uint64_t number, uint64_t step) {
  rings_[number] = step;
  sends_ring_ = step;
}

uint64_t recorder::step_of_ring(uint64_t number) const {
  const auto sent = rings_.find(number);
  return sent == rings_.end() ? 0 : sent->second;
}

void recorder::ring_arrived(uint64_t number, uint64_t now) {
  taken* const ring = at_step(rings_[number]);
  if (ring == nullptr) return;
  ring->arrived = now;
  note_store(*ring);
}

void recorder::note_change(const lane& who, const void* address, size_t size_bytes, bool by_step, bool readable) {
  const auto last = last_of_.find(&who);
  const bool is_own = by_step && last != last_of_.end() && taken_[last->second].what.address == address &&
                      may_write(taken_[last->second].what.kind);
  const uint64_t step = is_own ? taken_[last->second].step : last_step_;
  const auto word = [&](size_t offset) {
    const size_t bytes = std::min(size_bytes - offset, sizeof(uint64_t));
    return watched::value_at(static_cast<const std::byte*>(address) + offset, static_cast<uint32_t>(bytes));
  };
  if (is_own) {
    taken& one = taken_[last->second];
    one.changes = true;
    // What the simulator itself has just written is there, also on the C++ heap.
    one.is_seen = readable || is_atomic_write(one.what.kind);
    if (one.is_seen && size_bytes <= sizeof(uint64_t)) one.after = word(0);
    if (!is_store(one.what.kind)) {
      one.arrived = one.step;
      note_store(one);
    }
  }
  constexpr size_t most_bytes = 64;
  if (!readable || size_bytes > most_bytes) return;
  for (size_t offset = 0; offset < size_bytes; offset += sizeof(uint64_t))
    memory_changes_.push_back({.step = step,
                               .who = &who,
                               .address = static_cast<const std::byte*>(address) + offset,
                               .size_bytes = static_cast<uint32_t>(std::min(size_bytes - offset, sizeof(uint64_t))),
                               .value = word(offset)});
}

// -- lanes -----------------------------------------------------------------------------------------------------------------------------

void recorder::begins(const lane& who, uint64_t step) {
  if (lives_.size() <= who.id) lives_.resize(who.id + size_t{1});
  lives_[who.id] = {.who = &who, .begun = step};
}

void recorder::ended(const lane& who, uint64_t step) {
  wait_ends(lives_[who.id], step);
  lives_[who.id].ended = step;
}

void recorder::wait_begins(life& of, wait_reason why, uint64_t step) {
  wait_ends(of, step);
  of.waits_in = waits_.size();
  waiting& begun = waits_.emplace_back();
  begun.told = {.actor = of.who->id, .from = step, .why = why};
  begun.what = of.who->pending;
  begun.calls = calls_of(*of.who);
  if (why != wait_reason::change) return;
  for (const watched& each : of.who->reads.entries())
    if (begun.on.size() < most_locations) begun.on.push_back(each);
}

void recorder::wait_ends(life& of, uint64_t step) {
  if (of.waits_in == nowhere) return;
  run_record::wait& told = waits_[of.waits_in].told;
  told.to = step;
  of.waits_in = nowhere;
}

void recorder::waits(const lane& who, uint64_t step) { wait_begins(lives_[who.id], reason_of(who), step); }

void recorder::goes_on(const lane& who, uint64_t step) { wait_ends(lives_[who.id], step); }

void recorder::has_counter(const wave& of, uint64_t lanes, uint64_t step) {
  for (const lane* who : of.lanes) {
    life& each = lives_[who->id];
    const bool masked_off = who->state != lane_state::ended && (lanes & lane_bit(*who)) == 0;
    if (masked_off == each.masked_off) continue;
    each.masked_off = masked_off;
    if (masked_off)
      wait_begins(each, wait_reason::masked_off, step);
    else
      wait_ends(each, step);
  }
}

void recorder::moves(const wave& of, uint64_t step, bool leaves, bool as_queue) {
  const uint32_t stream = of.runs->shape.stream;
  const std::string who = !as_queue     ? name_of(of)
                          : stream == 0 ? "the queue of the default stream"
                                        : "the queue of stream " + std::to_string(stream);
  const std::string text = who + (leaves ? " is taken off the device" : " comes back on the device");
  // The waves of a queue go together.
  if (as_queue && !moves_.empty() && moves_.back().step == step && moves_.back().text == text) return;
  moves_.push_back({.step = step, .wave = of.id, .leaves = leaves, .text = text});
}

}  // namespace heddle::sim
