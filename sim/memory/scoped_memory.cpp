#include <heddle/scheduler/append.h>
#include <heddle/sim/link/settings.h>
#include <heddle/sim/memory/scoped_memory.h>
#include <heddle/sim/world.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

namespace heddle::sim {
namespace {

constexpr std::array<uint64_t, 256> make_bytes_of_mask() {
  std::array<uint64_t, 256> made{};
  for (uint32_t mask = 0; mask < 256; ++mask)
    for (uint32_t byte = 0; byte < 8; ++byte)
      if ((mask >> byte & 1) != 0) made[mask] |= uint64_t{0xff} << (8 * byte);
  return made;
}
constexpr std::array<uint64_t, 256> bytes_of_mask = make_bytes_of_mask();

uint64_t read_granule(const std::byte* address) {
  uint64_t word = 0;
  std::memcpy(&word, address, sizeof word);
  return word;
}

/// An atomic value as it lies in memory. Sizes are known, so that no call is made.
uint64_t read_atomic(const void* address, size_t size_bytes) {
  const auto read = [address](auto word) {
    std::memcpy(&word, address, sizeof word);
    return uint64_t{word};
  };
  switch (size_bytes) {
    case 8:
      return read(uint64_t{});
    case 4:
      return read(uint32_t{});
    case 2:
      return read(uint16_t{});
    default:
      return read(uint8_t{});
  }
}

void write_bytes(std::byte* granule, uint8_t mask, uint64_t value) {
  // Not a byte beside them: it may be another thread's. Whole words, which whoever reads them next need not wait for.
  if (mask == 0xff) {
    std::memcpy(granule, &value, 8);
    return;
  }
  const auto low = static_cast<uint32_t>(value);
  const auto high = static_cast<uint32_t>(value >> 32);
  if (mask == 0x0f) {
    std::memcpy(granule, &low, 4);
    return;
  }
  if (mask == 0xf0) {
    std::memcpy(granule + 4, &high, 4);
    return;
  }
  for (uint32_t byte = 0; byte < 8; ++byte)
    if ((mask >> byte & 1) != 0) granule[byte] = static_cast<std::byte>(value >> (8 * byte));
}

}  // namespace

scoped_memory::scoped_memory(world& here, const settings& machine)
    : here_(here), machine_(machine), link_(machine.link) {}
scoped_memory::~scoped_memory() = default;

// -- lanes ------------------------------------------------------------------------------------------------------------------------

void scoped_memory::reset() {
  for (size_t n = 0; n < granules_used_; ++n) {
    granule& used = granules_[n];
    for (uint8_t at = 0; at < used.count; ++at) {
      drop_message(used.order[at]);
    }
    used.count = 0;
    used.base_readable = 0xff;
    used.accesses.clear();
  }
  granules_used_ = 0;
  for (const size_t slot : heap_touched_) of_heap_[slot] = nullptr;
  heap_touched_.clear();
  if (!elsewhere_.empty()) elsewhere_.clear();
  for (size_t n = 0; n < lanes_used_; ++n) {
    lane_facts& used = *lanes_[n];
    used.clock.clear();
    used.now = snapshot();
    used.fences.clear();
    used.deferred.clear();
    used.pending.clear();
    used.epoch = 0;
    used.learnt_at = 0;
  }
  lanes_used_ = 0;
  totals_.clear();
  host_fences_.clear();
  objects_.clear();
  races_.reset();
  arrives_in_order_ = !link_.pool && !link_.relaxed_ordering && !link_.shared_on_device;
  arrived_in_order_ = 0;
  overtakings_.clear();
}

void scoped_memory::begins(lane& fresh, const lane* by) {
  while (lanes_.size() <= fresh.id) lanes_.push_back(std::make_unique<lane_facts>());
  lanes_used_ = std::max<size_t>(lanes_used_, fresh.id + size_t{1});
  lane_facts& mine = *lanes_[fresh.id];
  fresh.memory = &mine;
  mine.wave = fresh.of->id;
  mine.host = fresh.is_host();
  mine.side = mine.host ? 0 : fresh.of->gpu + 1;
  mine.tso = mine.host && !machine_.weak_host;
  // A host thread is a block of its own: what a block shares does not exist there.
  mine.block = mine.host ? uint64_t{1} << 63 | fresh.of->id : uint64_t{fresh.of->kernel} << 32 | fresh.of->block;
  mine.many_pending = lane_facts::few_pending;
  mine.store_bytes = 0;
  mine.window_address = nullptr;
  mine.seen_address = nullptr;
  mine.sees_again = false;
  mine.flag_step = 0;
  if (by != nullptr) {
    mine.clock.join_all(facts(*by).clock);
    clock_changed(mine);
    new_epoch(*by, facts(*by));
  }
  new_epoch(fresh, mine);
}

void scoped_memory::clock_changed(lane_facts& mine) {
  mine.now = snapshot();
  mine.learnt_at = here_.steps() + 1;
}

void scoped_memory::take_snapshot(lane_facts& mine) {
  mine.now = snapshots_.take();
  mine.now.edit().assign(mine.clock);
}

// Nothing is under way here: a store that has not arrived is one that others need not read yet.
void scoped_memory::let_arrive(lane&) {}
bool scoped_memory::all_arrives(lane&) { return false; }

// -- locations --------------------------------------------------------------------------------------------------------------------

inline bool scoped_memory::covers(const void* address) const {
  return here_.memory().contains(address) || !here_.may_vanish(address);
}

scoped_memory::granule* scoped_memory::new_granule(std::byte* address) {
  if (granules_used_ == granules_.size()) granules_.emplace_back();
  granule& fresh = granules_[granules_used_];
  fresh.number = static_cast<uint32_t>(granules_used_++);
  fresh.address = address;
  fresh.serial = fresh.newest = ++serials_;
  fresh.base = read_granule(address);
  fresh.has_unordered = false;
  return &fresh;
}

[[gnu::always_inline]] inline scoped_memory::granule* scoped_memory::known_granule(const void* address) const {
  // An address below the heap has the number of a granule beyond all.
  const size_t slot = here_.memory().offset_of(address) / granule_bytes;
  return slot < of_heap_.size() ? of_heap_[slot] : nullptr;
}

[[gnu::always_inline]] inline scoped_memory::granule& scoped_memory::granule_at(const void* address) {
  granule* const known = known_granule(address);
  return known != nullptr ? *known : add_granule(address);
}

// The first access to it, or one outside of the heap.
scoped_memory::granule& scoped_memory::add_granule(const void* address) {
  const auto place = reinterpret_cast<uintptr_t>(address) & ~uintptr_t{granule_bytes - 1};
  auto* const low = reinterpret_cast<std::byte*>(place);
  if (here_.memory().contains(low)) {
    const size_t slot = here_.memory().offset_of(low) / granule_bytes;
    if (slot >= of_heap_.size()) of_heap_.resize(std::max(slot + 1, of_heap_.size() * 2), nullptr);
    of_heap_[slot] = new_granule(low);
    scheduler::append(heap_touched_, slot);
    return *of_heap_[slot];
  }
  granule*& known = elsewhere_[place];
  if (known == nullptr) known = new_granule(low);
  return *known;
}

[[gnu::always_inline]] inline scoped_memory::part scoped_memory::part_in(lane_facts& mine, granule& in,
                                                                         const void* address, size_t size_bytes) {
  const auto offset = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(address) % granule_bytes);
  const auto mask = static_cast<uint8_t>(((uint32_t{1} << size_bytes) - 1) << offset);
  return {.in = &in, .mask = mask, .shift = 8 * offset, .place = &remembered(mine, in, mask)};
}

[[gnu::always_inline]] inline scoped_memory::part scoped_memory::part_of(lane_facts& mine, const void* address,
                                                                         size_t size_bytes) {
  return part_in(mine, granule_at(address), address, size_bytes);
}

template <typename Each>
void scoped_memory::for_each_part(lane_facts& mine, const void* address, size_t size_bytes, Each&& each) {
  const auto* at = static_cast<const std::byte*>(address);
  while (size_bytes != 0) {
    const size_t room = granule_bytes - reinterpret_cast<uintptr_t>(at) % granule_bytes;
    const size_t bytes = std::min(room, size_bytes);
    each(part_of(mine, at, bytes));
    at += bytes;
    size_bytes -= bytes;
  }
}

uint64_t scoped_memory::value_at(const granule& in, int cut) {
  uint64_t value = in.base;
  for (int n = 0; n <= cut; ++n) {
    const message& one = *in.order[static_cast<size_t>(n)];
    const uint64_t bytes = bytes_of_mask[one.mask];
    value = (value & ~bytes) | (one.value & bytes);
  }
  return value;
}

bool scoped_memory::readable_at(const granule& in, int cut, uint8_t mask) {
  for (int n = cut; n >= 0 && mask != 0; --n) {
    const message& one = *in.order[static_cast<size_t>(n)];
    if ((one.mask & mask & ~one.readable) != 0) return false;
    mask = static_cast<uint8_t>(mask & ~one.mask);
  }
  return (mask & ~in.base_readable) == 0;
}

[[gnu::always_inline]] inline scoped_memory::message* scoped_memory::latest(const granule& in, int cut, uint8_t mask) {
  for (int n = cut; n >= 0; --n) {
    message* const one = in.order[static_cast<size_t>(n)];
    if ((one->mask & mask) != 0) return one;
  }
  return nullptr;
}

// A load that would need the forgotten store must not find an older one in its place.
void scoped_memory::forget_oldest(granule& in) {
  for (uint8_t n = 0; n < in.count; ++n) {
    message* const oldest = in.order[n];
    uint8_t covered = 0;
    for (uint8_t later = n + 1; later < in.count && (oldest->mask & ~covered) != 0; ++later)
      covered |= in.order[later]->mask;
    const auto mask = oldest->mask;
    if ((mask & ~covered) != 0) continue;
    if (notes_ != nullptr && may_be_read(in, n)) notes_->forgot = true;
    for (uint8_t older = 0; older < n; ++older) {
      message& one = *in.order[older];
      one.readable = static_cast<uint8_t>(one.readable & ~mask);
    }
    in.base_readable = static_cast<uint8_t>(in.base_readable & ~mask);
    for (uint8_t other = 0; in.has_unordered && other < in.count; ++other)
      std::erase_if(in.order[other]->unordered, [&](const message::racing& one) { return one.with == oldest; });
    drop_message(oldest);
    std::copy(in.order.begin() + n + 1, in.order.begin() + in.count, in.order.begin() + n);
    --in.count;
    return;
  }
}

void scoped_memory::drop_message(message* unused) {
  unused->releases = {};
  unused->observers.clear();
  unused->observed_by_first = {};
  unused->observed_by.clear();
  unused->unordered.clear();
  unused->host_saw = false;
  scheduler::append(free_messages_, unused);
}

void scoped_memory::make_messages() {
  constexpr size_t together = 16;
  for (size_t n = 0; n < together; ++n) free_messages_.push_back(&messages_.emplace_back());
}

scoped_memory::message* scoped_memory::take_message() {
  if (free_messages_.empty()) [[unlikely]]
    make_messages();
  message* const taken = free_messages_.back();
  free_messages_.pop_back();
  return taken;
}

// -- who knows what ---------------------------------------------------------------------------------------------------------------

bool scoped_memory::is_overtaken(const lane_facts& releaser, const lane_facts& mine) const {
  return link_.relaxed_ordering && !link_.drain && !link_.shared_on_device && !releaser.host && mine.host;
}

bool scoped_memory::wants_reasons() const { return here_.explains(); }

void scoped_memory::acquire(lane_facts& mine, const release_entry& given, bool as_written, bool seen) {
  const bool need_ordered = as_written && entry_of(mine.clock.ordered, given.releaser) < given.epoch;
  const bool need_seen = seen && entry_of(mine.clock.what_is_seen(), given.releaser) < given.epoch;
  if (!need_ordered && !need_seen) return;
  clock_changed(mine);
  if (need_ordered != need_seen || given.view->split) mine.clock.separate();
  if (need_ordered) {
    join(mine.clock.ordered, given.view->ordered);
    raise(mine.clock.ordered, given.releaser, given.epoch);
  }
  if (need_seen && mine.clock.split) {
    join(mine.clock.seen, given.view->what_is_seen());
    raise(mine.clock.seen, given.releaser, given.epoch);
  }
}

void scoped_memory::note_missing(lane& self, lane_facts& mine, const release_entry& given, missing_order why,
                                 uint64_t load_step) {
  if (races_.full() || entry_of(mine.clock.ordered, given.releaser) >= given.epoch) return;
  new_epoch(self, mine);
  races_.add({.from = given.view,
              .releaser = given.releaser,
              .releaser_epoch = given.epoch,
              .lane = self.id,
              .epoch = mine.epoch,
              .lacks = why,
              .store_step = given.step,
              .load_step = load_step});
}

// What the lane has learnt in another way meanwhile, it need not acquire.
void scoped_memory::forget_pending(lane_facts& mine) {
  const auto has = [](const clock_entries& clock, const release_entry& given) {
    return entry_of(clock, given.releaser) >= given.epoch;
  };
  std::erase_if(mine.pending, [&](const pending_acquire& one) {
    return (!(one.as_written || one.too_narrow) || has(mine.clock.ordered, one.given)) &&
           (!one.seen || has(mine.clock.what_is_seen(), one.given));
  });
  mine.many_pending = std::max(lane_facts::few_pending, 2 * mine.pending.size());
}

void scoped_memory::add_pending(lane_facts& mine, const pending_acquire& fresh) {
  if (std::any_of(mine.pending.begin(), mine.pending.end(),
                  [&](const pending_acquire& one) { return one.includes(fresh); }))
    return;
  std::erase_if(mine.pending, [&](const pending_acquire& one) { return fresh.includes(one); });
  if (mine.pending.size() >= mine.many_pending) forget_pending(mine);
  scheduler::append(mine.pending, fresh);
}

[[gnu::always_inline]] inline void scoped_memory::defer(lane& self, lane_facts& mine, const message& it, const part& at,
                                                        bool as_written, bool seen) {
  const bool comparable = it.strong && it.mask == at.mask;
  // Of one chain, a later store gives all that an earlier one gives.
  for (deferred_read& one : mine.deferred) {
    if (one.in != at.in || one.mask != at.mask || one.chain != it.chain) continue;
    if (one.serial >= it.serial && one.as_written >= as_written && one.seen >= seen && one.comparable >= comparable)
      return;
    if (one.serial > it.serial || one.as_written > as_written || one.seen > seen || one.comparable > comparable)
      continue;
    one.serial = it.serial;
    one.as_written = as_written;
    one.seen = seen;
    one.comparable = comparable;
    one.given = it.releases;
    return;
  }
  if (mine.deferred.size() == lane_facts::most_deferred) look_at_deferred(self, mine, nullptr);
  scheduler::append(mine.deferred, {.in = at.in,
                                    .serial = it.serial,
                                    .chain = it.chain,
                                    .mask = at.mask,
                                    .as_written = as_written,
                                    .seen = seen,
                                    .comparable = comparable,
                                    .given = it.releases});
}

void scoped_memory::look_at_deferred(lane& self, lane_facts& mine, const part* at) {
  size_t kept = 0;
  for (deferred_read& read : mine.deferred) {
    if (at != nullptr && (read.in != at->in || read.mask != at->mask)) {
      deferred_read& place = mine.deferred[kept++];
      if (&place != &read) place = std::move(read);
      continue;
    }
    for (const release_entry& given : read.given->entries) {
      if (!given.is_release || !teaches(self, mine, given)) continue;
      const uint8_t apart = between(*lanes_[given.releaser], mine);
      const bool written = !given.narrow && read.as_written && given.as_written && given.reach >= apart;
      const bool performed = !given.narrow && read.seen && given.machine_reach >= apart;
      const bool too_narrow = !written && given.as_written && read.comparable;
      if (written || performed || too_narrow)
        add_pending(mine, {read.in, read.mask, apart, written, performed, too_narrow, given});
    }
  }
  if (kept != mine.deferred.size()) mine.deferred.resize(kept);
}

[[gnu::always_inline]] inline void scoped_memory::has_read(lane& self, lane_facts& mine, message& it, const part& at,
                                                           const operation& how, bool plain, bool known) {
  settled_store& settled = at.place->settled;
  if (settled.serial != it.serial) {
    settled.begin(it.serial);
  } else {
    if (settled.nothing_more) return;
    if (settled.noted && !plain && settled.is_read_again(at.mask, static_cast<uint8_t>(how.reach), acquires(how.order)))
      return;
  }
  if (plain || mine.tso || acquires(how.order) || wants_reasons())
    has_read_to_know(self, mine, it, at, how, plain);
  else
    has_read_relaxed(self, mine, it, at, static_cast<uint8_t>(how.reach), known);
}

[[gnu::always_inline]] inline void scoped_memory::learn(lane& self, lane_facts& mine, message& it, const part& at,
                                                        const operation& how, bool plain, settled_store& settled) {
  const uint8_t mask = at.mask;
  const auto reach = static_cast<uint8_t>(how.reach);
  const bool acquires_as_written = !plain && acquires(how.order);
  if (mine.tso && it.writer != self.id) it.host_saw = true;
  if (!link_.pool && mine.host && !it.host && it.step > arrived_in_order_) arrived_in_order_ = it.step;
  const std::span<const release_entry> releases =
      it.releases ? std::span(it.releases->entries) : std::span<const release_entry>();
  const bool was_known = knows_by_causality(self, mine, it);
  if (was_known) {
    // A loop as it stands: the library's is written out four times.
    bool teaches_something = false;
    for (const release_entry& given : releases) teaches_something = teaches_something || teaches(self, mine, given);
    if (!teaches_something) {
      settled.known = settled.nothing_more = true;
      return;
    }
  }
  const uint8_t apart_from_writer = between(*lanes_[it.writer], mine);
  const bool strong_as_written = is_strong_as_written(apart_from_writer, plain, reach, mask, it);
  const bool strong = is_strong_as_performed(mine, apart_from_writer, plain, reach, mask, it);
  const uint64_t step = here_.steps() + 1;
  for (const release_entry& given : releases) {
    if (!teaches(self, mine, given)) continue;
    const lane_facts& releaser = *lanes_[given.releaser];
    const uint8_t apart = given.releaser == it.writer ? apart_from_writer : between(releaser, mine);
    const bool usable = given.is_release && !given.narrow;
    const bool written = usable && strong_as_written && given.as_written && given.reach >= apart;
    bool performed = usable && strong && given.machine_reach >= apart;
    if (performed && is_overtaken(releaser, mine)) {
      performed = false;
      mine.flag_step = it.step;
    }
    const bool ordered_now = written && acquires_as_written && reach >= apart;
    const bool seen_now = performed && (mine.tso || (acquires_as_written && reach >= apart));
    if (ordered_now || seen_now) acquire(mine, given, ordered_now, seen_now);
    // A fence behind a load that does not acquire does; and where no fence could, it misses a scope.
    const bool too_narrow = !written && !plain && !acquires_as_written && given.is_release && given.as_written &&
                            it.strong && it.mask == mask;
    if ((written && !ordered_now) || (performed && !seen_now) || too_narrow)
      add_pending(mine, {at.in, mask, apart, written, performed && !seen_now, too_narrow, given});
    if (ordered_now) continue;
    // What a later report must know: why this did not order anything.
    if (given.is_release && given.as_written && acquires_as_written && it.strong && it.mask == mask)
      note_missing(self, mine, given, missing_order::scope, step);
    else if (wants_reasons())
      note_missing(self, mine, given,
                   given.is_release && given.as_written ? missing_order::acquire : missing_order::release, step);
  }
  if (strong && !was_known && !knows_by_causality(self, mine, it)) it.add_observer({self.id, mine.epoch});
  settled.known = settled.known || was_known || strong;
}

void scoped_memory::has_read_to_know(lane& self, lane_facts& mine, message& it, const part& at, const operation& how,
                                     bool plain) {
  settled_store& settled = at.place->settled;
  learn(self, mine, it, at, how, plain, settled);
  if (!plain) settled.note(at.mask, static_cast<uint8_t>(how.reach), acquires(how.order));
}

// A device's lane learns nothing from a relaxed load before it comes to a fence.
void scoped_memory::has_read_relaxed(lane& self, lane_facts& mine, message& it, const part& at, uint8_t reach,
                                     bool known) {
  settled_store& settled = at.place->settled;
  if (known && !it.releases) {
    settled.known = settled.nothing_more = true;
  } else {
    const uint8_t apart = between(*lanes_[it.writer], mine);
    const bool strong = is_strong_as_performed(mine, apart, false, reach, at.mask, it);
    if (it.releases) defer(self, mine, it, at, is_strong_as_written(apart, false, reach, at.mask, it), strong);
    if (strong && !known) it.add_observer({self.id, mine.epoch});
    settled.known = settled.known || known || strong;
  }
  settled.note(at.mask, reach, false);
}

// Whether one of the stores `known`, which all come behind, is sure to have overwritten this one.
bool scoped_memory::is_overwritten(const granule& in, int n, const place_list& known) {
  const message* const it = in.order[static_cast<size_t>(n)];
  return std::any_of(known.begin(), known.end(),
                     [&](int one) { return in.order[static_cast<size_t>(one)]->races_with(it) == nullptr; });
}

[[gnu::always_inline]] inline scoped_memory::visible scoped_memory::choose_visible(lane& self, lane_facts& mine,
                                                                                   const part& at, bool modifies,
                                                                                   bool plain, uint8_t reach) {
  const granule& in = *at.in;
  const uint8_t mask = at.mask;
  // Nearly always the lane knows the newest.
  for (int n = in.count - 1; n >= 0; --n) {
    const message& one = *in.order[static_cast<size_t>(n)];
    if ((one.mask & mask) == 0) continue;
    settled_store& settled = at.place->settled;
    const bool settled_now = settled.serial == one.serial && settled.known;
    const bool known = settled_now || knows(self, mine, one);
    if (known && !in.races(one)) {
      if (!settled_now) {
        if (settled.serial != one.serial) settled.begin(one.serial);
        settled.known = true;
      }
      return visible::newest_at(n, true);
    }
    if (modifies && morally_strong(mine, plain, reach, mask, one, false)) return visible::newest_at(n, false);
    if (!here_.may_be_late(self)) return visible::newest_at(n, false);
    if (!modifies && !in.has_unordered) return choose_among(self, mine, at, n);
    return choose_among_racing(self, mine, at, n, known, modifies, plain, reach);
  }
  return {};
}

scoped_memory::visible scoped_memory::choose_among(lane& self, lane_facts& mine, const part& at, int newest) {
  const granule& in = *at.in;
  const uint8_t mask = at.mask;
  place_list cuts;
  cuts.add(newest);
  int known = newest - 1;
  for (; known >= 0; --known) {
    const message& one = *in.order[static_cast<size_t>(known)];
    if ((one.mask & mask) == 0) continue;
    const bool may_be_read = (one.mask & mask) == mask ? (mask & ~one.readable) == 0 : readable_at(in, known, mask);
    if (may_be_read) cuts.add(known);
    if (knows(self, mine, one)) break;
  }
  if (known < 0 && (mask & ~in.base_readable) == 0) cuts.add(-1);
  if (cuts.count() == 1) return visible::newest_at(newest, false);
  const uint32_t picked = here_.pick(self, cuts.count(), scheduler::choice_kind::visible);
  if (picked == 0) return visible::newest_at(newest, false);
  const int cut = cuts[picked];
  --self.left.late;
  if (mine.clock.split) note_overtaken(mine, in, cut, mask);
  return visible::older_at(cut, cut >= 0 && cut == known);
}

scoped_memory::visible scoped_memory::choose_among_racing(lane& self, lane_facts& mine, const part& at, int newest,
                                                          bool newest_is_known, bool modifies, bool plain,
                                                          uint8_t reach) {
  const granule& in = *at.in;
  const uint8_t mask = at.mask;
  place_list cuts;
  cuts.add(newest);
  place_list racing;  // known stores that race with older ones
  bool down_to_base = true;
  int last_known = -1;
  for (int n = newest; n >= 0; --n) {
    const message& one = *in.order[static_cast<size_t>(n)];
    if ((one.mask & mask) == 0) continue;
    if (n != newest) {
      const bool may_be_read = (one.mask & mask) == mask ? (mask & ~one.readable) == 0 : readable_at(in, n, mask);
      if (may_be_read && (racing.count() == 0 || !is_overwritten(in, n, racing))) cuts.add(n);
      if (modifies && morally_strong(mine, plain, reach, mask, one, false)) {
        down_to_base = false;
        break;
      }
    }
    if (!(n == newest ? newest_is_known : knows(self, mine, one))) continue;
    down_to_base = false;
    last_known = n;
    if (modifies || one.unordered.empty()) break;
    racing.add(n);
  }
  const auto is_known = [&](int cut) {
    return cut == last_known || (racing.count() != 0 && std::find(racing.begin(), racing.end(), cut) != racing.end());
  };
  if (down_to_base && readable_at(in, -1, mask)) cuts.add(-1);
  if (cuts.count() == 1) return visible::newest_at(newest, is_known(newest));
  const uint32_t picked = here_.pick(self, cuts.count(), scheduler::choice_kind::visible);
  const int cut = cuts[picked];
  if (picked != 0) {
    --self.left.late;
    const message* const found = cut < 0 ? nullptr : in.order[static_cast<size_t>(cut)];
    for (uint32_t n = 0; n < racing.count(); ++n)
      for (message::racing& one : in.order[static_cast<size_t>(racing[n])]->unordered)
        if (one.with == found) one.found = true;
    if (mine.clock.split) note_overtaken(mine, in, cut, mask);
  }
  return picked == 0 ? visible::newest_at(cut, is_known(cut)) : visible::older_at(cut, is_known(cut));
}

void scoped_memory::note_overtaken(lane_facts& mine, const granule& in, int cut, uint8_t mask) {
  constexpr size_t most = 8;
  if (mine.flag_step == 0 || overtakings_.size() == most) return;
  for (int n = cut + 1; n < in.count; ++n) {
    const message& newer = *in.order[static_cast<size_t>(n)];
    if ((newer.mask & mask) == 0 || newer.host) continue;
    if (entry_of(mine.clock.ordered, newer.writer) < newer.epoch) continue;
    overtakings_.push_back({mine.flag_step, newer.step, in.address});
    return;
  }
}

// -- accesses ---------------------------------------------------------------------------------------------------------------------

// Most loads are those of a lane that waits, and find what the one before has found.
uint64_t scoped_memory::load(lane& self, const operation& how) {
  if (how.order == memory_order::seq_cst) [[unlikely]]
    fence(self, how);
  const size_t size_bytes = how.size_bytes;
  const uint64_t newest = read_atomic(how.address, size_bytes);
  if (reinterpret_cast<uintptr_t>(how.address) % granule_bytes + size_bytes > granule_bytes) return newest;
  granule* in = known_granule(how.address);
  if (in == nullptr) [[unlikely]] {
    if (!covers(how.address)) return newest;
    in = &add_granule(how.address);
  }
  lane_facts& mine = facts(self);
  const part at = part_in(mine, *in, how.address, size_bytes);
  look_for_race(self, mine, at, how, false, false);
  return repeats(at, how) ? newest : load_anew(self, mine, at, how, newest);
}

// Whether it is the load that has read the store there last, and would find the same.
[[gnu::always_inline]] inline bool scoped_memory::repeats(const part& at, const operation& how) {
  const settled_store& settled = at.place->settled;
  return settled.repeats && settled.newest == at.in->newest &&
         settled.is_read_again(at.mask, static_cast<uint8_t>(how.reach), acquires(how.order));
}

[[gnu::always_inline]] inline uint64_t scoped_memory::load_anew(lane& self, lane_facts& mine, const part& at,
                                                                const operation& how, uint64_t newest) {
  const bool is_acquire = acquires(how.order);
  settled_store& settled = at.place->settled;
  const visible found = choose_visible(self, mine, at, false, false, static_cast<uint8_t>(how.reach));
  const int cut = found.cut;
  const bool is_newest = found.newest();
  const bool known = found.known();
  message* const read = latest(*at.in, cut, at.mask);
  if (read != nullptr) has_read(self, mine, *read, at, how, false, known);
  if (wants_reasons()) here_.found(self, read == nullptr ? 0 : read->step, is_newest);
  // An earlier load of the same location, be it relaxed, begins the acquire pattern that this one ends.
  if (is_acquire) acquire_pending(self, mine, static_cast<uint8_t>(how.reach), &at);
  if (is_newest) {
    if (read == nullptr) {
      settled.begin(at.in->serial);
      settled.known = settled.nothing_more = true;
    }
    settled.repeats = settled.known && (settled.nothing_more || settled.noted) &&
                      (read == nullptr || (settled.serial == read->serial && !at.in->races(*read)));
    settled.newest = at.in->newest;
    settled.mask = at.mask;
    settled.reach = static_cast<uint8_t>(how.reach);
    settled.acquires = is_acquire;
    return newest;
  }
  const bool reads_one = read != nullptr && (read->mask & at.mask) == at.mask;
  return ((reads_one ? read->value : value_at(*at.in, cut)) & bytes_of_mask[at.mask]) >> at.shift;
}

void scoped_memory::store(lane& self, const operation& how, uint64_t value) {
  if (how.order == memory_order::seq_cst) fence(self, how);
  const size_t size_bytes = how.size_bytes;
  auto* const address = static_cast<std::byte*>(const_cast<void*>(how.address));
  if (!covers(address) || reinterpret_cast<uintptr_t>(address) % granule_bytes + size_bytes > granule_bytes) {
    std::memcpy(address, &value, size_bytes);
    return;
  }
  lane_facts& mine = facts(self);
  const part at = part_of(mine, address, size_bytes);
  look_for_race(self, mine, at, how, false, true);
  put(self, mine, at, value << at.shift, how, false, nullptr, false, true);
}

uint64_t scoped_memory::read_modify_write(lane& self, const operation& how, const modification& next) {
  if (how.order == memory_order::seq_cst) fence(self, how);
  const size_t size_bytes = how.size_bytes;
  auto* const address = static_cast<std::byte*>(const_cast<void*>(how.address));
  uint64_t old = read_atomic(address, size_bytes);
  const auto writes = [&] { return next.writes == nullptr || next.writes(next.context, old); };
  if (!covers(address) || reinterpret_cast<uintptr_t>(address) % granule_bytes + size_bytes > granule_bytes) {
    if (!writes()) return old;
    const uint64_t value = next.apply(next.context, old);
    std::memcpy(address, &value, size_bytes);
    return old;
  }
  lane_facts& mine = facts(self);
  const part at = part_of(mine, address, size_bytes);
  const visible found = choose_visible(self, mine, at, true, false, static_cast<uint8_t>(how.reach));
  const int cut = found.cut;
  const bool is_newest = found.newest();
  const bool known = found.known();
  if (!is_newest) old = (value_at(*at.in, cut) & bytes_of_mask[at.mask]) >> at.shift;
  look_for_race(self, mine, at, how, false, writes());
  message* const read = latest(*at.in, cut, at.mask);
  if (read != nullptr) has_read(self, mine, *read, at, how, false, known);
  if (wants_reasons()) here_.found(self, read == nullptr ? 0 : read->step, is_newest);
  if (acquires(how.order)) acquire_pending(self, mine, static_cast<uint8_t>(how.reach), &at);
  if (!writes()) {
    if (mine.tso) fence_host(self, mine);
    return old;
  }
  const uint64_t value = next.apply(next.context, old);
  if (value != old || !adds_nothing(mine, how, at, read))
    put(self, mine, at, value << at.shift, how, false, read, true, false);
  if (mine.tso) fence_host(self, mine);
  return old;
}

// Whether a read-modify-write that leaves the value as it was need not be kept as a store of its own: whoever would read it may as well read
// the one that it has read, and learns the same. Locks are tried again and again in this way.
bool scoped_memory::adds_nothing(const lane_facts& mine, const operation& how, const part& at,
                                 const message* read) const {
  if (mine.tso || releases(how.order) || !mine.fences.empty()) return false;
  const auto reach = static_cast<uint8_t>(how.reach);
  return read == nullptr || (morally_strong(mine, false, reach, at.mask, *read, true) &&
                             morally_strong(mine, false, reach, at.mask, *read, false));
}

// Coherence is transitive: what overwrites one that overwrites another overwrites that one too.
scoped_memory::per_store scoped_memory::related_to(const granule& in, int position, uint8_t mask,
                                                   const per_store& racing) {
  per_store related{};
  const auto at = [&](int n) -> const message& { return *in.order[static_cast<size_t>(n)]; };
  for (int n = position - 1; n >= 0; --n) {
    if ((at(n).mask & mask) == 0) continue;
    bool through = !racing[static_cast<size_t>(n)];
    for (int between = n + 1; between < position && !through; ++between)
      through = related[static_cast<size_t>(between)] && at(between).races_with(&at(n)) == nullptr;
    related[static_cast<size_t>(n)] = through;
  }
  for (int n = position; n < in.count; ++n) {
    if ((at(n).mask & mask) == 0) continue;
    bool through = !racing[static_cast<size_t>(n)];
    for (int between = position; between < n && !through; ++between)
      through = related[static_cast<size_t>(between)] && at(n).races_with(&at(between)) == nullptr;
    related[static_cast<size_t>(n)] = through;
  }
  return related;
}

// A store that comes after one and before another puts those two in order. That cannot be once a load has found the one although its
// lane knew the other; at the end there is always room.
bool scoped_memory::fits(const granule& in, int position, uint8_t mask, const per_store& racing) {
  const per_store related = related_to(in, position, mask, racing);
  for (int later = position; later < in.count; ++later) {
    if (!related[static_cast<size_t>(later)]) continue;
    for (int older = 0; older < position; ++older) {
      const message::racing* const pair =
          in.order[static_cast<size_t>(later)]->races_with(in.order[static_cast<size_t>(older)]);
      if (pair != nullptr && pair->found && related[static_cast<size_t>(older)]) return false;
    }
  }
  return true;
}

[[gnu::always_inline]] inline void scoped_memory::add_release(std::vector<release_entry>& to,
                                                              release_entry&& given) const {
  if (!to.empty()) forget_covered(to, given);
  scheduler::append(to, std::move(given));
}

void scoped_memory::forget_covered(std::vector<release_entry>& to, const release_entry& given) const {
  if (given.is_release && !given.narrow)
    std::erase_if(to, [&](const release_entry& old) {
      if (old.as_written && !given.as_written) return false;
      if (old.releaser == given.releaser) return old.epoch <= given.epoch && old.reach <= given.reach;
      // Whoever can acquire the old one can acquire the new one, and then knows what the old one gives.
      const bool reaches_as_far =
          given.reach == same_system || (given.reach == same_device && old.reach <= same_device &&
                                         lanes_[given.releaser]->side == lanes_[old.releaser]->side);
      return given.as_written && reaches_as_far && entry_of(given.view->ordered, old.releaser) >= old.epoch &&
             entry_of(given.view->what_is_seen(), old.releaser) >= old.epoch;
    });
}

// A store may continue the same release along more than one way: it is kept once, and of several by one lane, the latest.
void scoped_memory::pass_on(std::vector<release_entry>& to, const release_entry& given, bool narrow) {
  const auto covers = [](const release_entry& one, const release_entry& other) {
    return one.releaser == other.releaser && one.as_written == other.as_written && one.is_release && other.is_release &&
           one.epoch >= other.epoch && one.reach >= other.reach && one.machine_reach >= other.machine_reach &&
           (!one.narrow || other.narrow);
  };
  release_entry passed_on = given;
  passed_on.narrow = given.narrow || narrow;
  for (const release_entry& known : to)
    if (covers(known, passed_on)) return;
  std::erase_if(to, [&](const release_entry& known) { return covers(passed_on, known); });
  scheduler::append(to, std::move(passed_on));
}

// What this store releases: all that its lane did, if it is a release; what a fence before it has released; and what the stores that
// it continues have released (PTX ISA, "Release and acquire patterns", "Observation order").
[[gnu::always_inline]] inline void scoped_memory::give_releases(lane& self, lane_facts& mine, granule& in,
                                                                message& fresh, const operation& how, bool plain,
                                                                const message* modified) {
  const auto reach = static_cast<uint8_t>(how.reach);
  const bool is_release = !plain && releases(how.order);
  const bool releases_itself = is_release || mine.tso || wants_reasons();
  const auto list = [&]() -> std::vector<release_entry>& {
    if (!fresh.releases) fresh.releases = release_lists_.take();
    return fresh.releases.edit().entries;
  };
  fresh.chain = fresh.serial;
  if (!plain) {
    // Mostly a read-modify-write has nothing to add.
    const bool narrow = modified != nullptr && !morally_strong(mine, false, reach, fresh.mask, *modified, true);
    if (modified != nullptr && !narrow) fresh.chain = modified->chain;
    const bool adds_nothing = modified != nullptr && !narrow && !releases_itself && mine.fences.empty();
    for (int n = in.count - 1; n >= 0; --n) {
      const message& earlier = *in.order[static_cast<size_t>(n)];
      if (earlier.writer != self.id || earlier.mask != fresh.mask || !earlier.strong) continue;
      if (&earlier != modified && earlier.releases)
        for (const release_entry& given : earlier.releases->entries)
          if (given.releaser == self.id && given.is_release && given.as_written) pass_on(list(), given, false);
      break;
    }
    if (modified != nullptr && modified->releases) {
      const std::vector<release_entry>& continued = modified->releases->entries;
      if (adds_nothing && !fresh.releases &&
          std::all_of(continued.begin(), continued.end(), [](const release_entry& one) { return one.is_release; }))
        fresh.releases = modified->releases;
      else
        for (const release_entry& given : continued)
          if (given.is_release) pass_on(list(), given, narrow);
    }
    for (const lane_facts::fence_release& fenced : mine.fences)
      if (!is_release || fenced.reach > reach)
        add_release(list(), {.view = fenced.view,
                             .releaser = self.id,
                             .epoch = fenced.epoch,
                             .reach = fenced.reach,
                             .machine_reach = machine_reach(mine, fenced.reach),
                             .as_written = true,
                             .narrow = false,
                             .is_release = true,
                             .step = fenced.reach < reach ? fenced.step : fresh.step});
  }
  if (!releases_itself) return;
  const auto tell = [&](release_entry& own) {
    own.view = snapshot_of(mine);
    own.releaser = self.id;
    own.epoch = mine.epoch;
    own.reach = is_release ? reach : uint8_t{same_wave};
    own.machine_reach = machine_reach(mine, reach);
    own.as_written = is_release;
    own.is_release = is_release || mine.tso;
    own.step = fresh.step;
  };
  std::vector<release_entry>& given = list();
  if (!given.empty()) {
    release_entry own;
    tell(own);
    forget_covered(given, own);
  }
  tell(scheduler::append(given));
  new_epoch(self, mine);
}

void scoped_memory::put(lane& self, lane_facts& mine, const part& at, uint64_t value, const operation& how, bool plain,
                        const message* modified, bool modifies, bool anywhere) {
  granule& in = *at.in;
  message& fresh = *take_message();
  fresh.serial = in.newest = ++serials_;
  fresh.value = value;
  fresh.mask = fresh.readable = at.mask;
  fresh.strong = !plain;
  fresh.modifies = modifies;
  fresh.host = mine.host;
  fresh.tso = mine.tso;
  fresh.reach = static_cast<uint8_t>(how.reach);
  fresh.writer = self.id;
  fresh.epoch = mine.epoch;
  fresh.step = plain || how.kind == operation_kind::volatile_store ? mine.store_step : here_.steps() + 1;
  give_releases(self, mine, in, fresh, how, plain, modified);
  if (in.count >= machine_.history) forget_oldest(in);
  // Nearly always the lane knows the newest, and thereby that all older ones are overwritten. A read-modify-write comes behind
  // what it read, and behind all else.
  const message* const newest = modifies ? nullptr : latest(in, in.count - 1, at.mask);
  if (newest == nullptr || (!in.races(*newest) && knows_by_causality(self, mine, *newest))) {
    in.order[in.count++] = &fresh;
    write_bytes(in.address, at.mask, value);
    return;
  }
  const int position = place_among_unknown(self, mine, at, fresh, plain, anywhere);
  std::copy_backward(in.order.begin() + position, in.order.begin() + in.count, in.order.begin() + in.count + 1);
  in.order[static_cast<size_t>(position)] = &fresh;
  ++in.count;
  const bool at_end = position + 1 == in.count;
  write_bytes(in.address, at.mask, at_end ? value : value_at(in, in.count - 1));
}

int scoped_memory::place_among_unknown(lane& self, lane_facts& mine, const part& at, message& fresh, bool plain,
                                       bool anywhere) {
  granule& in = *at.in;
  per_store racing{};
  bool races = false;
  for (int n = in.count - 1; n >= 0; --n) {
    const auto slot = static_cast<size_t>(n);
    const message& one = *in.order[slot];
    if ((one.mask & at.mask) == 0) continue;
    const bool known = knows_by_causality(self, mine, one);
    racing[slot] = !known && one.mask == at.mask && !morally_strong(mine, plain, fresh.reach, at.mask, one, false);
    races = races || racing[slot] || !one.unordered.empty();
    if (known && one.unordered.empty()) break;
  }
  int position = in.count;
  const message* const newest = anywhere ? latest(in, in.count - 1, at.mask) : nullptr;
  if (newest != nullptr && newest->writer != self.id && here_.may_be_late(self)) {
    place_list places;
    places.add(position);
    for (int n = in.count - 1; n >= 0; --n) {
      const message& one = *in.order[static_cast<size_t>(n)];
      if ((one.mask & at.mask) == 0) continue;
      // All stores of an x86 host become visible in one order: that in which they are made here.
      if (one.modifies || (one.tso && mine.tso) || knows_by_causality(self, mine, one)) break;
      if (!races || fits(in, n, at.mask, racing)) places.add(n);
    }
    if (places.count() > 1) position = places[here_.pick(self, places.count(), scheduler::choice_kind::place)];
  }
  if (races) {
    in.has_unordered = true;
    const per_store related = related_to(in, position, at.mask, racing);
    const auto comes_before = [&](const message::racing& pair) {
      for (int older = 0; older < position; ++older)
        if (in.order[static_cast<size_t>(older)] == pair.with) return related[static_cast<size_t>(older)];
      return false;
    };
    for (int n = 0; n < in.count; ++n) {
      const auto slot = static_cast<size_t>(n);
      message& one = *in.order[slot];
      // The later of the two in the list remembers it.
      if (racing[slot] && !related[slot])
        (n < position ? fresh : one).unordered.push_back({n < position ? &one : &fresh});
      if (n >= position && related[slot]) std::erase_if(one.unordered, comes_before);
    }
  }
  return position;
}

void scoped_memory::before_plain_load(lane& self, const operation& how) {
  if (!covers(how.address)) return;
  lane_facts& mine = facts(self);
  auto* const address = static_cast<std::byte*>(const_cast<void*>(how.address));
  mine.seen_address = nullptr;
  const bool plain = how.kind != operation_kind::volatile_load;
  for_each_part(mine, address, how.size_bytes, [&](const part& at) {
    look_for_race(self, mine, at, how, plain, false);
    const visible found = choose_visible(self, mine, at, false, plain, static_cast<uint8_t>(how.reach));
    const int cut = found.cut;
    const bool is_newest = found.newest();
    const bool known = found.known();
    if (!plain || mine.tso || wants_reasons() || !link_.pool) {
      message* const read = latest(*at.in, cut, at.mask);
      if (wants_reasons()) here_.found(self, read == nullptr ? 0 : read->step, is_newest);
      if (read != nullptr) has_read(self, mine, *read, at, how, plain, known);
    }
    if (is_newest) return;
    if (mine.window_address == nullptr) {
      mine.window_address = address;
      mine.window_newest.assign(address, address + how.size_bytes);
      self.unsettled = true;
    }
    write_bytes(at.in->address, at.mask, value_at(*at.in, cut));
  });
  if (mine.window_address != nullptr) {
    mine.seen_address = address;
    mine.seen.assign(address, address + how.size_bytes);
  }
}

void scoped_memory::before_plain_store(lane& self, const operation& how) {
  if (!covers(how.address)) return;
  lane_facts& mine = facts(self);
  mine.stores_strongly = how.kind == operation_kind::volatile_store;
  for_each_part(mine, how.address, how.size_bytes,
                [&](const part& at) { look_for_race(self, mine, at, how, !mine.stores_strongly, true); });
  mine.store_address = how.address;
  mine.store_bytes = how.size_bytes;
  mine.store_step = here_.steps() + 1;
  self.unsettled = true;
}

void scoped_memory::see_again(lane& self) {
  lane_facts& mine = facts(self);
  if (mine.seen_address == nullptr || mine.seen_address != mine.store_address) return;
  std::memcpy(mine.seen_address, mine.seen.data(), mine.seen.size());
}

void scoped_memory::after_plain(lane& self) {
  lane_facts& mine = facts(self);
  if (mine.window_address != nullptr) {
    std::memcpy(mine.window_address, mine.window_newest.data(), mine.window_newest.size());
    mine.window_address = nullptr;
  }
  if (mine.store_bytes == 0) return;
  const size_t size_bytes = std::exchange(mine.store_bytes, 0);
  operation how;
  how.kind = mine.stores_strongly ? operation_kind::volatile_store : operation_kind::plain_store;
  const bool single = reinterpret_cast<uintptr_t>(mine.store_address) % granule_bytes + size_bytes <= granule_bytes;
  for_each_part(mine, mine.store_address, size_bytes, [&](const part& at) {
    put(self, mine, at, read_granule(at.in->address), how, !mine.stores_strongly, nullptr, false, single);
  });
}

// -- races, where an access is the same as one before; the rest is in scoped_races.cpp --------------------------------------------

[[gnu::always_inline]] inline void scoped_memory::look_for_race(lane& self, lane_facts& mine, const part& at,
                                                                const operation& how, bool plain, bool writes) {
  if (!plain) {
    // What the lane came after it still comes after; only the time of its access changes.
    access_history& known = at.in->accesses;
    checked_access& checked = at.place->checked[writes ? 1 : 0];
    if (checked.still_holds(known, at.mask, static_cast<uint8_t>(how.reach))) {
      if (checked.epoch == mine.epoch) return;
      atomic_accesses& same = writes ? known.atomic_writes : known.atomic_reads;
      if (same.repeat(record_of(self, mine, here_.steps() + 1, at.mask, how, false, writes))) {
        checked.epoch = mine.epoch;
        return;
      }
    }
  }
  if (plain)
    look_before_plain(self, mine, at, how, writes);
  else
    look_before_atomic(self, mine, at, how, writes);
}

bool scoped_memory::finds_nothing_new(const lane& who) {
  const operation& how = who.pending;
  if (!covers(how.address) || how.order == memory_order::seq_cst ||
      reinterpret_cast<uintptr_t>(how.address) % granule_bytes + how.size_bytes > granule_bytes)
    return false;
  lane_facts& mine = *lanes_[who.id];
  const part at = part_of(mine, how.address, how.size_bytes);
  const message* const newest = latest(*at.in, at.in->count - 1, at.mask);
  if (how.kind != operation_kind::load && !adds_nothing(mine, how, at, newest)) return false;
  if (newest == nullptr) return true;
  const settled_store& settled = at.place->settled;
  if (settled.serial == newest->serial && settled.known && newest->unordered.empty() &&
      (settled.nothing_more ||
       (settled.noted && settled.mask == at.mask && settled.reach == static_cast<uint8_t>(how.reach) &&
        settled.acquires == acquires(how.order))))
    return true;
  if (!knows(who, mine, *newest) || !newest->unordered.empty()) return false;
  return !newest->releases || std::none_of(newest->releases->entries.begin(), newest->releases->entries.end(),
                                           [&](const release_entry& given) { return teaches(who, mine, given); });
}

}  // namespace heddle::sim
