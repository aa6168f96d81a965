#include <heddle/sim/memory/scoped/scoped_bytes.h>
#include <heddle/sim/memory/scoped/scoped_stores.h>

#include <algorithm>

namespace heddle::sim::scoped {

[[gnu::always_inline]] inline void store_maker::describe(const access& made, message& fresh, const new_value& stored) {
  lane_facts& mine = made.mine;
  fresh.value = stored.value;
  fresh.mask = fresh.readable = made.at.mask;
  fresh.strong = !made.plain;
  fresh.vector_of = made.self.vector_of;
  fresh.modifies = stored.modifies;
  fresh.host = mine.host;
  fresh.tso = mine.tso;
  fresh.reach = reach_of(mine, made.how);
  fresh.writer = mine.slot;
  fresh.epoch = mine.epoch;
  fresh.step =
      made.plain || made.how.kind == operation_kind::volatile_store ? mine.store_step : core_.history.this_step();
  give_releases(made, fresh, stored.modified);
  mine.stored_last = {};
}

void store_maker::put(lane& self, lane_facts& mine, const part& at, const operation& how, const new_value& stored) {
  const bool plain = stored.plain;
  granule& in = *at.in;
  message& fresh = *locations_.take_message();
  fresh.serial = in.newest = locations_.next_serial();
  describe({self, mine, at, how, plain}, fresh, stored);
  if (in.count >= machine_.history) {
    if (notes_ != nullptr) note_forgotten(in);
    locations_.forget_oldest(in);
  }
  // Nearly always the lane knows the newest, and thereby that all older ones are overwritten. A read-modify-write comes behind
  // what it read, and behind all else.
  const message* const newest = stored.modifies ? nullptr : latest(in, in.count - 1, at.mask);
  if (newest == nullptr || (!in.races(*newest) && known_.knows_by_causality(mine, *newest))) {
    in.order.make_room_behind(in.count);
    in.order[in.count++] = &fresh;
    if (!plain) mine.stored_last = {.in = &in, .serial = fresh.serial, .mask = at.mask};
    write_bytes(in.address, at.mask, stored.value);
    return;
  }
  const int position = place_among_unknown(self, mine, at, fresh, plain, stored.anywhere);
  in.order.make_room_behind(in.count);
  std::copy_backward(in.order.begin() + position, in.order.begin() + in.count, in.order.begin() + in.count + 1);
  in.order[static_cast<size_t>(position)] = &fresh;
  ++in.count;
  const bool at_end = position + 1 == in.count;
  if (!at_end && core_.explains()) [[unlikely]]
    if (const message* const newer = latest(in, in.count - 1, at.mask); newer != &fresh)
      core_.stands_behind(fresh.step, newer->step);
  write_bytes(in.address, at.mask, at_end ? stored.value : value_at(in, in.count - 1));
}

void store_maker::describe_row(lane& self, lane_facts& mine, const operation& how, message& fresh) {
  const part whole{.mask = 0xff};
  describe({self, mine, whole, how, true}, fresh, {.plain = true});
}

int store_maker::place_among_unknown(lane& self, lane_facts& mine, const part& at, message& fresh, bool plain,
                                     bool anywhere) {
  granule& in = *at.in;
  per_store racing{};
  bool races = false;
  for (int n = in.count - 1; n >= 0; --n) {
    const auto slot = static_cast<size_t>(n);
    const message& one = *in.order[slot];
    if ((one.mask & at.mask) == 0) continue;
    const bool known = known_.knows_by_causality(mine, one);
    racing[slot] =
        !known && one.mask == at.mask && !known_.morally_strong(mine, plain, fresh.reach, at.mask, one, false);
    races = races || racing[slot] || !one.unordered.empty();
    if (known && one.unordered.empty()) break;
  }
  int position = in.count;
  const message* const newest = anywhere ? latest(in, in.count - 1, at.mask) : nullptr;
  if (newest != nullptr && !mine.has_done(newest->writer, newest->epoch) && core_.may_be_late(self)) {
    place_list places;
    places.add(position);
    for (int n = in.count - 1; n >= 0; --n) {
      const message& one = *in.order[static_cast<size_t>(n)];
      if ((one.mask & at.mask) == 0) continue;
      // All stores of an x86 host become visible in one order: that in which they are made here.
      if (one.modifies || (one.tso && mine.tso) || known_.knows_by_causality(mine, one)) break;
      if (!races || fits(in, n, at.mask, racing)) places.add(n);
    }
    if (places.count() > 1) position = places[core_.pick(self, places.count(), scheduler::choice_kind::place)];
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

// Coherence is transitive: what overwrites one that overwrites another overwrites that one too.
per_store store_maker::related_to(const granule& in, int position, uint8_t mask, const per_store& racing) {
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
bool store_maker::fits(const granule& in, int position, uint8_t mask, const per_store& racing) {
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

// What this store releases: all that its lane did, if it is a release; what a fence before it has released; and what the stores that
// it continues have released (PTX ISA, "Release and acquire patterns", "Observation order").
[[gnu::always_inline]] inline void store_maker::give_releases(const access& made, message& fresh,
                                                              const message* modified) {
  const auto& [self, mine, at, how, plain] = made;
  const auto reach = reach_of(mine, how);
  const bool is_release = !plain && releases(how.order);
  const bool releases_itself = is_release || mine.tso || core_.asks_what_would_order();
  const auto list = [&]() -> std::vector<release_entry>& {
    if (!fresh.releases) fresh.releases = known_.take_release_list();
    return fresh.releases.edit().entries;
  };
  fresh.begin_row();
  if (!plain) {
    // Mostly a read-modify-write has nothing to add.
    const bool narrow = modified != nullptr && !known_.morally_strong(mine, false, reach, fresh.mask, *modified, true);
    if (modified != nullptr && !narrow) fresh.continue_row(*modified);
    const bool adds_nothing = modified != nullptr && !narrow && !releases_itself && mine.fences.empty();
    const granule& in = *at.in;
    for (int n = in.count - 1; n >= 0; --n) {
      const message& earlier = *in.order[static_cast<size_t>(n)];
      if (!mine.has_done(earlier.writer, earlier.epoch) || earlier.mask != fresh.mask || !earlier.strong) continue;
      if (&earlier != modified && earlier.releases)
        for (const release_entry& given : earlier.releases->entries)
          // What this store releases itself, below, covers all of the same lane that reaches no farther.
          if (mine.has_done(given.releaser, given.epoch) && given.is_release && given.as_written &&
              !(is_release && given.reach <= reach))
            pass_on(list(), given, false);
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
                             .releaser = mine.slot,
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
    own.view = is_release ? known_.released_view(mine) : known_.snapshot_of(mine);
    own.releaser = mine.slot;
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
  if (plain && core_.asks_what_would_order())
    for (const lane_facts::fence_release& fenced : mine.fences)
      given.push_back({.view = fenced.view,
                       .releaser = mine.slot,
                       .epoch = fenced.epoch,
                       .reach = fenced.reach,
                       .plain_flag = true,
                       .step = fresh.step});
  if (is_release) mine.arm_view = snapshot();
  new_epoch(mine);
}

[[gnu::always_inline]] inline void store_maker::add_release(std::vector<release_entry>& to,
                                                            release_entry&& given) const {
  if (!to.empty()) forget_covered(to, given);
  scheduler::append(to, std::move(given));
}

void store_maker::forget_covered(std::vector<release_entry>& to, const release_entry& given) const {
  if (given.is_release && !given.narrow)
    std::erase_if(to, [&](const release_entry& old) {
      if (old.as_written && !given.as_written) return false;
      if (old.releaser == given.releaser && known_.are_of_one_lane(old, given))
        return old.epoch <= given.epoch && old.reach <= given.reach;
      // A lane that can acquire the old one can acquire the new one, and then knows what the old one gives.
      const bool reaches_as_far =
          given.reach == same_system ||
          (given.reach == same_device && old.reach <= same_device &&
           known_.of(given.releaser, given.epoch).side == known_.of(old.releaser, old.epoch).side);
      return given.as_written && reaches_as_far && entry_of(given.view->ordered, old.releaser) >= old.epoch &&
             entry_of(given.view->what_is_seen(), old.releaser) >= old.epoch;
    });
}

// A store may continue the same release along more than one way: it is kept once, and of several by one lane, the latest.
void store_maker::pass_on(std::vector<release_entry>& to, const release_entry& given, bool narrow) const {
  const auto covers = [this](const release_entry& one, const release_entry& other) {
    return one.releaser == other.releaser && known_.are_of_one_lane(one, other) && one.as_written == other.as_written &&
           one.is_release && other.is_release && one.epoch >= other.epoch && one.reach >= other.reach &&
           one.machine_reach >= other.machine_reach && (!one.narrow || other.narrow);
  };
  release_entry passed_on = given;
  passed_on.narrow = given.narrow || narrow;
  for (const release_entry& known : to)
    if (covers(known, passed_on)) return;
  std::erase_if(to, [&](const release_entry& known) { return covers(passed_on, known); });
  scheduler::append(to, std::move(passed_on));
}

void store_maker::note_forgotten(const granule& in) {
  const int oldest = oldest_covered(in);
  if (oldest >= 0 && may_be_read(in, static_cast<uint8_t>(oldest))) notes_->forgot = true;
}

bool store_maker::may_be_read(const granule& in, uint8_t n) const {
  const message& oldest = *in.order[n];
  // A lane that is found to use it later has the search begin again.
  const uint64_t users = notes_->quiet.users_of(in.address, known_.count());
  notes_->quiet.note_left_out(in.address, ~users);
  for (size_t id = 0; id < known_.count(); ++id) {
    const lane& reader = core_.threads.lanes[id];
    if (reader.state == lane_state::ended) continue;
    if (id < quiet_words::most_lanes && (users >> id & 1) == 0) continue;
    uint8_t left = oldest.mask;
    for (uint8_t later = n + 1; later < in.count; ++later)
      if (known_.knows_by_causality(known_[id], *in.order[later]))
        left = static_cast<uint8_t>(left & ~in.order[later]->mask);
    if (left != 0) return true;
  }
  return false;
}

}  // namespace heddle::sim::scoped
