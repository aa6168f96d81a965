#include <heddle/scheduler/append.h>
#include <heddle/sim/base/state_key.h>
#include <heddle/sim/machine/lane.h>
#include <heddle/sim/machine/watch.h>

#include <algorithm>
#include <cstring>

namespace heddle::sim {

uint64_t watched::any_at(const void* address, uint32_t size_bytes) {
  uint64_t value = 0;
  if (size_bytes <= sizeof value) {
    std::memcpy(&value, address, size_bytes);
    return value;
  }
  const auto* bytes = static_cast<const unsigned char*>(address);
  const auto add = [&](uint64_t word) {
    value = (value ^ word) * 0x9e3779b97f4a7c15u;
    value ^= value >> 32;
  };
  // What a fill leaves, and mostly finds.
  if (repeats_one_word(address, size_bytes)) {
    add(word_at<uint64_t>(address));
    add(size_bytes);
    return value;
  }
  for (uint32_t left = size_bytes; left != 0;) {
    const uint32_t part = left < sizeof value ? left : static_cast<uint32_t>(sizeof value);
    uint64_t word = 0;
    std::memcpy(&word, bytes, part);
    add(word);
    bytes += part;
    left -= part;
  }
  return value;
}

void watch_set::look_among_recent(const void* address, uint32_t size_bytes, uint64_t value, bool by_change) {
  const size_t from = entries_.size() > recent ? entries_.size() - recent : 0;
  for (size_t n = entries_.size(); n-- > from;)
    if (entries_[n].is_at(address, size_bytes)) return update(n, value);
  maybe_ |= bit_of(address);
  next_ = 0;
  if (entries_.size() < most)
    add_entry(address, size_bytes, value, by_change);
  else
    overflowed_ = true;
}

void watch_set::keep_turn() {
  std::erase_if(entries_, [this](const watched& entry) { return entry.turn != turn_; });
  next_ = 0;
}

bool watch_set::unchanged_at_length(const watch_table& table) const {
  if (overflowed_) return false;
  for (const watched& entry : entries_) {
    const uint64_t now = entry.by_change ? table.change_of(entry.address, entry.size_bytes)
                                         : watched::value_at(entry.address, entry.size_bytes);
    if (now != entry.value) return false;
  }
  return true;
}

bool watch_set::covers(const void* address, size_t size_bytes) const {
  for (const watched& entry : entries_)
    if (entry.overlaps(address, size_bytes)) return true;
  return false;
}

watch_table::watch_table() : buckets_(1024) {}

void watch_table::clear() {
  if (++run_ == 0) {
    // After four thousand million runs the numbers begin again.
    buckets_.assign(buckets_.size(), bucket{});
    run_ = 1;
  }
  nodes_.clear();
  free_.clear();
  if (!noted_changes_.empty()) noted_changes_.clear();
  used_buckets_ = 0;
  maybe_ = 0;
}

uint64_t watch_table::change_of(const void* address, uint32_t size_bytes) const {
  if (noted_changes_.empty()) return 0;
  uint64_t latest = 0;
  const uint64_t last = (reinterpret_cast<uintptr_t>(address) + size_bytes - 1) / granule_bytes;
  for (uint64_t granule = granule_of(address); granule <= last; ++granule) {
    const auto noted = noted_changes_.find(granule);
    if (noted != noted_changes_.end()) latest = std::max(latest, noted->second);
  }
  return latest;
}

void watch_table::note_change(const void* address, size_t size_bytes, uint64_t number) {
  const uint64_t last = (reinterpret_cast<uintptr_t>(address) + size_bytes - 1) / granule_bytes;
  for (uint64_t granule = granule_of(address); granule <= last; ++granule) noted_changes_[granule] = number;
}

void watch_table::enrol(lane& waiter) {
  // Mostly it waits once more for the one word for which it has waited before.
  const std::vector<watched>& read = waiter.reads.entries();
  if (read.size() == 1 && waiter.registrations.size() == 1) {
    const uint64_t granule = granule_of(read[0].address);
    const uint64_t last = (reinterpret_cast<uintptr_t>(read[0].address) + read[0].size_bytes - 1) / granule_bytes;
    if (granule == last && nodes_[waiter.registrations[0]].granule == granule) return;
  }
  // Registration number n of the lane is for granule number n of its set; one that stands already is left alone.
  size_t n = 0;
  for (const watched& entry : read) {
    const uint64_t first = granule_of(entry.address);
    const uint64_t last = (reinterpret_cast<uintptr_t>(entry.address) + entry.size_bytes - 1) / granule_bytes;
    for (uint64_t granule = first; granule <= last; ++granule, ++n) {
      if (n < waiter.registrations.size()) {
        const uint32_t standing = waiter.registrations[n];
        if (nodes_[standing].granule == granule) continue;
        unlink(standing);
        link(standing, waiter, granule);
        continue;
      }
      uint32_t fresh = 0;
      if (free_.empty()) {
        fresh = static_cast<uint32_t>(nodes_.size());
        scheduler::append(nodes_, {});
      } else {
        fresh = free_.back();
        free_.pop_back();
      }
      link(fresh, waiter, granule);
      scheduler::append(waiter.registrations, fresh);
    }
  }
  while (waiter.registrations.size() > n) {
    unlink(waiter.registrations.back());
    scheduler::append(free_, waiter.registrations.back());
    waiter.registrations.pop_back();
  }
}

uint32_t watch_table::find(uint64_t granule) const {
  const size_t mask = buckets_.size() - 1;
  for (size_t at = (granule * 0x9e3779b97f4a7c15u) >> 20 & mask;; at = (at + 1) & mask) {
    if (buckets_[at].run != run_) return none;
    if (buckets_[at].granule == granule) return buckets_[at].head;
  }
}

watch_table::bucket& watch_table::bucket_for(uint64_t granule) {
  if (used_buckets_ * 2 >= buckets_.size()) grow();
  const size_t mask = buckets_.size() - 1;
  for (size_t at = (granule * 0x9e3779b97f4a7c15u) >> 20 & mask;; at = (at + 1) & mask) {
    if (buckets_[at].run != run_) {
      buckets_[at] = {granule, none, run_};
      ++used_buckets_;
      return buckets_[at];
    }
    if (buckets_[at].granule == granule) return buckets_[at];
  }
}

void watch_table::grow() {
  std::vector<bucket> old(buckets_.size() * 2);
  old.swap(buckets_);
  used_buckets_ = 0;
  for (const bucket& moved : old)
    if (moved.run == run_) bucket_for(moved.granule).head = moved.head;
}

void watch_table::link(uint32_t n, lane& waiter, uint64_t granule) {
  maybe_ |= bit_of(granule);
  bucket& into = bucket_for(granule);
  nodes_[n] = {&waiter, granule, into.head, none, true};
  if (into.head != none) nodes_[into.head].previous = n;
  into.head = n;
}

void watch_table::unlink(uint32_t n) {
  node& leaving = nodes_[n];
  leaving.is_linked = false;
  if (leaving.next != none) nodes_[leaving.next].previous = leaving.previous;
  if (leaving.previous != none)
    nodes_[leaving.previous].next = leaving.next;
  else
    bucket_for(leaving.granule).head = leaving.next;
}

}  // namespace heddle::sim
