#include <heddle/sim/base/state_key.h>
#include <heddle/sim/memory/scoped/scoped_bytes.h>
#include <heddle/sim/memory/scoped/scoped_locations.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace heddle::sim::scoped {

[[gnu::always_inline]] inline void locations::drop_message(message* unused, bool may_race) {
  unused->releases = {};
  unused->forget_observers();
  if (may_race) unused->unordered.clear();
  unused->host_saw = false;
  scheduler::append(free_messages_, unused);
}

void locations::reset() {
  for (size_t n = 0; n < granules_used_; ++n) {
    granule& used = granules_[n];
    for (uint8_t at = 0; at < used.count; ++at) {
      drop_message(used.order[at], used.has_unordered);
    }
    used.count = 0;
    used.base_readable = 0xff;
    used.accesses.clear();
  }
  granules_used_ = 0;
  for (const size_t slot : heap_touched_) {
    of_heap_[slot] = nullptr;
    has_known_in_stretch_[slot / stretch] = 0;
  }
  heap_touched_.clear();
  if (!elsewhere_.empty()) elsewhere_.clear();
  for (size_t n = 0; n < rows_used_; ++n) rows_[n]->stored.releases = {};
  rows_used_ = 0;
  given_.clear();
}

// The first access to it, or one outside of the heap.
granule& locations::add(const void* address) {
  const auto place = reinterpret_cast<uintptr_t>(address) & ~uintptr_t{granule_bytes - 1};
  auto* const low = reinterpret_cast<std::byte*>(place);
  if (core_.map.heap.contains(low)) {
    const size_t slot = core_.map.heap.offset_of(low) / granule_bytes;
    if (slot >= of_heap_.size()) {
      of_heap_.resize(std::max(slot + 1, of_heap_.size() * 2), nullptr);
      has_known_in_stretch_.resize(of_heap_.size() / stretch + 1, 0);
    }
    of_heap_[slot] = new_granule(low);
    has_known_in_stretch_[slot / stretch] = 1;
    scheduler::append(heap_touched_, slot);
    if (rows_used_ != 0) [[unlikely]]
      recall(*of_heap_[slot]);
    return *of_heap_[slot];
  }
  granule*& known = elsewhere_[place];
  if (known == nullptr) {
    known = new_granule(low);
    if (rows_used_ != 0) [[unlikely]]
      recall(*known);
  }
  return *known;
}

granule* locations::new_granule(std::byte* address) {
  if (granules_used_ == granules_.size()) granules_.emplace_back();
  granule& fresh = granules_[granules_used_];
  fresh.number = static_cast<uint32_t>(granules_used_++);
  fresh.address = address;
  fresh.serial = fresh.newest = ++serials_;
  fresh.base = read_granule(address);
  fresh.has_unordered = false;
  for (const given_frames& each : given_)
    if (each.holds(address)) [[unlikely]] {
      fresh.accesses.plain_writes.push_back(each.stored);
      ++fresh.accesses.plain_changes;
    }
  return &fresh;
}

template <typename Each>
bool locations::for_each_known(const void* address, size_t size_bytes, Each&& each) const {
  const auto first = reinterpret_cast<uintptr_t>(address) & ~uintptr_t{granule_bytes - 1};
  const bool in_heap = core_.map.heap.contains(address);
  if (!in_heap && elsewhere_.empty()) return true;
  for (uintptr_t at = first; at < reinterpret_cast<uintptr_t>(address) + size_bytes; at += granule_bytes) {
    granule* found = in_heap ? known(reinterpret_cast<const void*>(at)) : nullptr;
    if (!in_heap)
      if (const auto entry = elsewhere_.find(at); entry != elsewhere_.end()) found = entry->second;
    if (found != nullptr && !each(*found)) return false;
  }
  return true;
}

bool locations::are_ordered(const void* address, size_t size_bytes) const {
  return for_each_known(address, size_bytes, [](const granule& in) { return !in.has_unordered; });
}

void locations::begin_anew(const void* address, size_t size_bytes) {
  for_each_known(address, size_bytes, [this](granule& in) {
    for (uint8_t at = 0; at < in.count; ++at) drop_message(in.order[at], in.has_unordered);
    in.count = 0;
    in.base_readable = 0xff;
    in.has_unordered = false;
    in.accesses.clear();
    in.serial = in.newest = ++serials_;
    in.base = read_granule(in.address);
    return true;
  });
}

// -- rows of granules that are stored to together ----------------------------------------------------------------------------------

size_t locations::row_at(const std::byte* address, size_t most) const {
  if (most == 0) return 0;
  if (!core_.map.heap.contains(address)) {
    // What was stored in frames before, each granule has.
    if (!given_.empty() && core_.map.is_on_host_stack(address)) return 0;
    for (size_t n = 0; n < most && !elsewhere_.empty(); ++n)
      if (elsewhere_.contains(reinterpret_cast<uintptr_t>(address + n * granule_bytes))) return n;
    return most;
  }
  if (!core_.map.heap.contains(address + most * granule_bytes - 1)) return 0;
  const size_t first = core_.map.heap.offset_of(address) / granule_bytes;
  const size_t end = std::min(first + most, of_heap_.size());
  for (size_t at = first; at < end;) {
    const size_t next = std::min(end, (at / stretch + 1) * stretch);
    if (has_known_in_stretch_[at / stretch] != 0)
      for (; at < next; ++at)
        if (of_heap_[at] != nullptr) return at - first;
    at = next;
  }
  return most;
}

row_access& locations::new_row(std::byte* address, size_t granules) {
  // As many stores to the same row may be read as to one location (forget_oldest). An older store to a part of it is in the way of that.
  size_t same = 0;
  size_t oldest = rows_used_;
  for (size_t n = 0; n < rows_used_; ++n) {
    const row_access& one = *rows_[n];
    if (one.loads || !one.overlaps(address, granules)) continue;
    const bool is_same = one.address == address && one.granules == granules;
    if (oldest == rows_used_) oldest = is_same ? n : oldest;
    if (oldest == rows_used_) break;
    if (is_same) ++same;
  }
  if (same >= core_.machine.history) forget_row(oldest);
  // A store comes behind all of these.
  forget_loads(address, granules, [](const row_access&) { return true; });
  row_access& made = next_row(address, granules);
  made.loads = false;
  made.base_readable = true;
  made.stored.serial = serials_ + 1;
  serials_ += granules;
  return made;
}

row_access& locations::next_row(std::byte* address, size_t granules) {
  if (rows_used_ == rows_.size()) rows_.push_back(std::make_unique<row_access>());
  row_access& made = *rows_[rows_used_++];
  made.address = address;
  made.granules = granules;
  made.filled_at = row_access::never_filled;
  return made;
}

row_access& locations::add_row(std::byte* address, size_t granules) {
  row_access& made = new_row(address, granules);
  if (repeats_one_word(address, granules * granule_bytes)) {
    made.before.assign(1, read_granule(address));
  } else {
    made.before.resize(granules);
    std::memcpy(made.before.data(), address, granules * granule_bytes);
  }
  return made;
}

bool locations::is_filled(const std::byte* address, size_t granules) const {
  for (size_t n = rows_used_; n-- > 0;) {
    const row_access& one = *rows_[n];
    if (!one.loads && one.overlaps(address, granules))
      return one.filled_at == alone_stores_ && one.covers(address, granules);
  }
  return false;
}

row_access& locations::fill_row(std::byte* address, size_t granules, std::byte byte) {
  const bool repeats = is_filled(address, granules);
  row_access& made = new_row(address, granules);
  made.filled_at = alone_stores_;
  const uint64_t first = read_granule(address);
  made.before.assign(1, first);
  // Of what a fill has left, a look at both ends of a piece is enough: nothing else has stored there but what code that is not instrumented has.
  const auto holds_first = [&](const std::byte* at, size_t count) {
    if (read_granule(at) != first) return false;
    return repeats ? read_granule(at + (count - 1) * granule_bytes) == first
                   : std::memcmp(at, at + granule_bytes, (count - 1) * granule_bytes) == 0;
  };
  // Piece by piece: what has been read is written while the processor's cache still has it.
  const size_t piece = repeats ? 8192 : 1024;
  for (size_t done = 0; done < granules;) {
    const size_t count = std::min(piece, granules - done);
    std::byte* const at = address + done * granule_bytes;
    if (made.before.size() != 1 || !holds_first(at, count)) {
      if (made.before.size() == 1) made.before.resize(granules, first);
      std::memcpy(made.before.data() + done, at, count * granule_bytes);
    }
    std::memset(at, static_cast<int>(byte), count * granule_bytes);
    done += count;
  }
  return made;
}

void locations::forget_row(size_t n) {
  const row_access& old = *rows_[n];
  for (size_t later = n + 1; later < rows_used_ && !old.loads; ++later)
    if (!rows_[later]->loads && rows_[later]->address == old.address && rows_[later]->granules == old.granules) {
      rows_[later]->base_readable = false;
      break;
    }
  rows_[n]->stored.releases = {};
  std::rotate(rows_.begin() + static_cast<std::ptrdiff_t>(n), rows_.begin() + static_cast<std::ptrdiff_t>(n) + 1,
              rows_.begin() + static_cast<std::ptrdiff_t>(rows_used_));
  --rows_used_;
}

void locations::recall(granule& in) {
  message* newest = nullptr;
  for (size_t n = 0; n < rows_used_; ++n) {
    const row_access& row = *rows_[n];
    if (!row.overlaps(in.address, 1)) continue;
    ++in.accesses.plain_changes;
    if (row.loads) {
      in.accesses.may_have_read |= access_history::bit_of(row.access.lane);
      in.accesses.plain_reads.push_back(row.access);
      continue;
    }
    const auto index = static_cast<size_t>(in.address - row.address) / granule_bytes;
    (newest == nullptr ? in.base : newest->value) = row.before_at(index);
    if (!row.base_readable) in.base_readable = 0;
    if (in.count >= core_.machine.history) forget_oldest(in);
    newest = take_message();
    *newest = row.stored;
    newest->serial = newest->chain = in.newest = row.stored.serial + index;
    in.order.make_room_behind(in.count);
    in.order[in.count++] = newest;
    in.accesses.plain_reads.clear();
    in.accesses.may_have_read = 0;
    in.accesses.plain_writes.assign(1, row.access);
  }
  if (newest != nullptr) newest->value = read_granule(in.address);
}

// ----------------------------------------------------------------------------------------------------------------------------------

uint64_t value_at(const granule& in, int cut) {
  uint64_t value = in.base;
  for (int n = 0; n <= cut; ++n) {
    const message& one = *in.order[static_cast<size_t>(n)];
    const uint64_t bytes = bytes_of_mask[one.mask];
    value = (value & ~bytes) | (one.value & bytes);
  }
  return value;
}

bool readable_at(const granule& in, int cut, uint8_t mask) {
  for (int n = cut; n >= 0 && mask != 0; --n) {
    const message& one = *in.order[static_cast<size_t>(n)];
    if ((one.mask & mask & ~one.readable) != 0) return false;
    mask = static_cast<uint8_t>(mask & ~one.mask);
  }
  return (mask & ~in.base_readable) == 0;
}

void locations::forget_oldest(granule& in) {
  // Mostly the oldest, by the next.
  const bool is_first = in.count > 1 && (in.order[0]->mask & ~in.order[1]->mask) == 0;
  const int found = is_first ? 0 : oldest_covered(in);
  if (found < 0) return;
  const auto n = static_cast<uint8_t>(found);
  message* const oldest = in.order[n];
  const auto mask = oldest->mask;
  for (uint8_t older = 0; older < n; ++older) {
    message& one = *in.order[older];
    one.readable = static_cast<uint8_t>(one.readable & ~mask);
  }
  in.base_readable = static_cast<uint8_t>(in.base_readable & ~mask);
  for (uint8_t other = 0; in.has_unordered && other < in.count; ++other)
    std::erase_if(in.order[other]->unordered, [&](const message::racing& one) { return one.with == oldest; });
  drop_message(oldest, in.has_unordered);
  std::copy(in.order.begin() + n + 1, in.order.begin() + in.count, in.order.begin() + n);
  --in.count;
}

void locations::make_messages() {
  constexpr size_t together = 16;
  for (size_t n = 0; n < together; ++n) free_messages_.push_back(&messages_.emplace_back());
}

}  // namespace heddle::sim::scoped
