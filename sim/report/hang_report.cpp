#include <heddle/sim/report/hang_report.h>

#include <algorithm>
#include <cstdio>

namespace heddle::sim {
namespace {

constexpr size_t most_locations = 8;
constexpr size_t most_groups = 40;
constexpr size_t most_untouched = 8;  // others of whom each may be the one

std::string hexadecimal(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string plural(uint64_t n, const char* one, const char* many) {
  return std::to_string(n) + ' ' + (n == 1 ? one : many);
}

std::string told_of(const std::vector<const store_elsewhere*>& stores) {
  constexpr size_t most_told = 2;
  std::string text;
  for (size_t n = 0; n < std::min(stores.size(), most_told); ++n)
    text += (n == 0 ? "in other schedules " : ", ") + stores[n]->actor + " stored it at " + stores[n]->where;
  if (stores.size() > most_told) text += " and " + std::to_string(stores.size() - most_told) + " more did";
  return text;
}

}  // namespace

bool hang_report::is_masked_off(const lane& who) { return (lockstep_waves::masked_off(*who.of) & lane_bit(who)) != 0; }

std::string hang_report::state_of(const lane& who) const {
  switch (who.state) {
    case lane_state::candidate:
      return who.of->guaranteed ? "can run" : "can run, but is not guaranteed a turn";
    case lane_state::held:
      return is_masked_off(who) ? "is masked off" : "waits";
    case lane_state::waiting:
      return is_masked_off(who) ? "is masked off" : "waits";
    case lane_state::at_collective:
      return "waits for other lanes";
    case lane_state::ended:
      return "has ended";
  }
  return {};
}

std::string hang_report::standing(const lane& who) const {
  std::string text;
  if (&who == core_.ending.ended_by) {
    text = "ends the run: " + core_.ending.message;
  } else if (is_masked_off(who)) {
    text = "is masked off " + lockstep_waves::held_until(who) + "; next: " + describe(who.pending);
  } else if (who.state == lane_state::candidate) {
    text = state_of(who);
    text += !who.begun                     ? "; has not begun"
            : who.pending.frame == nullptr ? "; next: its end"
                                           : "; next: " + describe(who.pending);
  } else if (who.state == lane_state::at_collective && who.pending.kind == operation_kind::block_barrier) {
    text = "waits at a block barrier";
  } else if (who.state == lane_state::at_collective) {
    text = std::string("waits at a ") + to_string(who.pending.kind) + " of " + lanes_in(who.pending.mask);
  } else if (who.state == lane_state::waiting && who.private_state == nullptr) {
    text = std::string("waits in ") + to_string(who.pending.kind);
  } else {
    text = "waits in a loop";
  }
  text += '\n';
  if (!who.begun) return text;
  bool first = true;
  for (const source_line& line : lines_of(&who == core_.ending.ended_by ? core_.ending.about : calls_of(who))) {
    text += (first ? "    at   " : "    from ") + line.where() +
            (line.function.empty() ? "" : " (" + line.function + ")") + '\n';
    first = false;
  }
  return text;
}

bool hang_report::waits_for_an_end(const lane& who) {
  return who.state == lane_state::waiting &&
         (who.pending.kind == operation_kind::synchronize || who.pending.kind == operation_kind::join);
}

// What it has read in the last turn of its loop; what it keeps beside that may be of loops that it has left.
const std::vector<watched>& hang_report::looked_at(const lane& who) const {
  const auto [known, fresh] = looked_at_.try_emplace(&who);
  std::vector<watched>& read = known->second;
  if (!fresh) return read;
  const std::vector<watched>& all = who.reads.entries();
  if (const auto turn = core_.observers.recorder->last_turn_of(who))
    for (const watched& each : all)
      if (std::any_of(turn->begin(), turn->end(),
                      [&](const watched& one) { return one.overlaps(each.address, each.size_bytes); }))
        read.push_back(each);
  if (read.empty()) read = all;
  return read;
}

// Whether it goes on by nothing but what would let the other one, who looks at `words`, go on too: it will not be the one that changes them.
bool hang_report::only_follows(const lane& who, const std::vector<watched>& words) const {
  if (who.state != lane_state::waiting || waits_for_an_end(who)) return false;
  if (who.pending.kind == operation_kind::lock_mutex || is_masked_off(who)) return false;
  const std::vector<watched>& own = looked_at(who);
  return !own.empty() && std::all_of(own.begin(), own.end(), [&](const watched& each) {
    return std::any_of(words.begin(), words.end(),
                       [&](const watched& one) { return one.overlaps(each.address, each.size_bytes); });
  });
}

bool hang_report::may_change(const lane& other, const lane& who, const std::vector<watched>& words) const {
  return &other != &who && other.state != lane_state::ended && !waits_for_an_end(other) && !only_follows(other, words);
}

// Who changed what the lane reads, the latest first: often itself, and the one before is whom it waits for. A store that counts as older than
// one made before it changes nothing, and is often what is missing.
std::string hang_report::who_could_change(const lane& who, const watched& entry) const {
  const recorder& run = *core_.observers.recorder;
  const auto told = [&](const recorder::change& change) {
    return (change.who == &who ? "itself" : name_of(*change.who)) + " at " + source_of(change.calls).where() +
           (change.step == 0 ? " (before the first step)" : " (step " + std::to_string(change.step) + ")") +
           (change.who == &who ? "" : ", who " + state_of(*change.who));
  };
  const std::vector<recorder::change> changes = run.changes_of(entry.address, entry.size_bytes);
  std::string text = ", which nothing has changed";
  if (!changes.empty()) {
    text = ", last changed by " + told(changes.front());
    if (changes.front().who == &who && changes.size() > 1) text += "; before that by " + told(changes[1]);
  }
  for (const auto& [store, newer] : run.stores_behind(entry.address, entry.size_bytes)) {
    const recorder::taken& made = *run.taken_in(store);
    text += "; a store of " + hexadecimal(made.value) + " by " + name_of(*made.who) + " at " +
            source_of(made.calls).where() + " (step " + std::to_string(store) + ") counts as older than step " +
            std::to_string(newer) + ": " + name_of(*made.who) + " had not acquired it";
  }
  if (std::any_of(changes.begin(), changes.end(), [&](const auto& one) { return one.who != &who; })) return text;
  const std::string elsewhere = told_of(stores_elsewhere(entry, nullptr));
  return elsewhere.empty() ? text : text + "; " + elsewhere;
}

// Stores of other schedules that this one does not have; of one actor, all.
std::vector<const store_elsewhere*> hang_report::stores_elsewhere(const watched& entry, const lane* by) const {
  std::vector<const store_elsewhere*> found;
  if (others_ == nullptr) return found;
  const std::string location = describe_location(core_.map.heap, entry.address);
  const std::vector<recorder::change> changes = core_.observers.recorder->changes_of(entry.address, entry.size_bytes);
  for (const store_elsewhere& one : others_->stores) {
    if (one.place != location || (by != nullptr && one.actor != name_of(*by))) continue;
    const bool is_here = by == nullptr && std::any_of(changes.begin(), changes.end(), [&](const auto& change) {
                           return name_of(*change.who) == one.actor && source_of(change.calls).where() == one.where;
                         });
    if (!is_here) found.push_back(&one);
  }
  return found;
}

// All that have stored to it in this run. Whether there is any.
bool hang_report::add_edges(const lane& who, const watched& entry, const std::vector<watched>& words,
                            const std::string& location, wait_graph& graph) const {
  // Where many have changed it, those who were the latest.
  std::vector<const wave*> added;
  const auto has = [&](const wave* of) { return std::find(added.begin(), added.end(), of) != added.end(); };
  for (const lane* storer : core_.observers.recorder->storers_of(entry.address, entry.size_bytes)) {
    if (!may_change(*storer, who, words)) continue;
    if (!has(storer->of)) {
      if (added.size() == most_untouched) continue;
      added.push_back(storer->of);
    }
    graph.add(*who.of, lane_bit(who), *storer->of, lane_bit(*storer), location);
  }
  if (added.empty() || others_ == nullptr) return !added.empty();
  // Of a wave that is known, any lane that does so in other schedules may be meant.
  for (size_t n = 0; n < core_.threads.lanes_used; ++n) {
    const lane& other = core_.threads.lanes[n];
    if (!has(other.of) || !may_change(other, who, words)) continue;
    if (const auto stores = stores_elsewhere(entry, &other); !stores.empty())
      graph.add(*who.of, lane_bit(who), *other.of, lane_bit(other), location, certainty::elsewhere, told_of(stores));
  }
  return true;
}

// Who has stored there in other schedules: those whose store it then found, where any did, else, supposed, any; of these one that waits for the end of others only
// where there is no other. Whether there is any.
bool hang_report::add_edges_elsewhere(const lane& who, const std::vector<watched>& words, wait_graph& graph) const {
  if (others_ == nullptr) return add_edges_to_servers(who, words, graph);
  const auto found_by_it = [&](const std::vector<const store_elsewhere*>& stores) {
    return std::any_of(stores.begin(), stores.end(), [&](const store_elsewhere* one) {
      return std::find(one->read_by.begin(), one->read_by.end(), name_of(who)) != one->read_by.end();
    });
  };
  // Where one of them can run, the others are no reason why it goes on waiting.
  const auto add = [&](bool at_the_end, bool found, bool can_run) {
    bool any = false;
    for (const watched& entry : words)
      for (size_t n = 0; n < core_.threads.lanes_used; ++n) {
        const lane& other = core_.threads.lanes[n];
        const bool counts = at_the_end ? &other != &who && other.state != lane_state::ended && waits_for_an_end(other)
                                       : may_change(other, who, words);
        if (!counts || (can_run && other.state != lane_state::candidate)) continue;
        auto stores = stores_elsewhere(entry, &other);
        // One that is behind its store now will not make it: what came of it is another matter, as of a ring that was lost.
        if (at_the_end)
          std::erase_if(stores, [&](const store_elsewhere* one) {
            return core_.observers.recorder->has_been_at(other, entry, one->where);
          });
        if (stores.empty() || (found && !found_by_it(stores))) continue;
        graph.add(*who.of, lane_bit(who), *other.of, lane_bit(other), describe_location(core_.map.heap, entry.address),
                  found ? certainty::elsewhere : certainty::supposed, told_of(stores));
        any = true;
      }
    return any;
  };
  return add(false, true, true) || add(false, true, false) || add(true, true, false) ||
         add_edges_to_servers(who, words, graph) || add(false, false, true) || add(false, false, false);
}

// Of a lane of the device that waits for the answer to what it has stored itself, or for a word that nothing has stored to: host threads that
// have launched nothing, and wait for the end of its launch. Such a thread is there to serve what others launch. Whether there is any.
bool hang_report::add_edges_to_servers(const lane& who, const std::vector<watched>& words, wait_graph& graph) const {
  if (who.is_host()) return false;
  bool any = false;
  for (const watched& entry : words) {
    const std::vector<recorder::change> changes = core_.observers.recorder->changes_of(entry.address, entry.size_bytes);
    if (!changes.empty() && changes.front().who != &who) continue;
    for (size_t n = 0; n < core_.threads.lanes_used; ++n) {
      const lane& other = core_.threads.lanes[n];
      if (!other.is_host() || other.state == lane_state::ended || !waits_for_an_end(other)) continue;
      if (!run_.launched().waits_for_end_of(other, *who.of) || core_.observers.recorder->has_launched(other)) continue;
      graph.add(*who.of, lane_bit(who), *other.of, lane_bit(other), describe_location(core_.map.heap, entry.address),
                certainty::supposed);
      any = true;
    }
  }
  return any;
}

// Of one that waits for what nothing that is left is known to change: it is up to one of those, whichever.
std::string hang_report::add_edges_to_all(const lane& who, const watched& entry, const std::vector<watched>& words,
                                          const std::string& location, wait_graph& graph) const {
  constexpr uint64_t all_lanes = ~uint64_t{0};
  std::vector<const wave*> left;
  std::vector<const wave*> at_the_end;
  for (size_t n = 0; n < core_.threads.waves_used; ++n) {
    const wave& other = core_.threads.waves[n];
    if (&other == who.of || !other.live()) continue;
    const auto is_left = [&](const lane* each) { return may_change(*each, who, words); };
    if (!other.resident || std::any_of(other.lanes.begin(), other.lanes.end(), is_left))
      left.push_back(&other);
    else if (!other.lanes.empty() && waits_for_an_end(*other.lanes.front()))
      at_the_end.push_back(&other);
  }
  const auto listed = [](const std::vector<const wave*>& all) {
    std::string names;
    for (size_t n = 0; n < all.size(); ++n)
      names += (n == 0 ? "" : n + 1 == all.size() ? " and " : ", ") + name_of(*all[n]);
    return names;
  };
  // What has looked at it is the likelier.
  const auto has_touched = [&](const wave* of) {
    return core_.observers.recorder->has_touched(*of, entry.address, entry.size_bytes);
  };
  if (std::any_of(left.begin(), left.end(), has_touched))
    std::erase_if(left, [&](const wave* of) { return !has_touched(of); });
  if (left.size() > most_untouched)
    return "any of the " + std::to_string(left.size()) + " that are left may be the one";
  for (const wave* other : left) graph.add(*who.of, lane_bit(who), *other, all_lanes, location, certainty::supposed);
  if (!left.empty())
    return (left.size() == 1 ? "only " : "") + listed(left) + (left.size() == 1 ? " is left" : " are left");
  std::vector<const wave*> ended;
  for (size_t n = 0; n < core_.threads.waves_used; ++n)
    if (const wave& other = core_.threads.waves[n]; !other.live() && other.resident && &other != who.of)
      ended.push_back(&other);
  std::string text = ended.empty() || ended.size() > most_untouched
                         ? ""
                         : listed(ended) + (ended.size() == 1 ? " has ended, " : " have ended, ");
  if (at_the_end.empty()) return text + "nothing is left that could";
  const bool all_for_it = std::all_of(at_the_end.begin(), at_the_end.end(), [&](const wave* other) {
    return run_.launched().waits_for_end_of(*other->lanes.front(), *who.of);
  });
  return text + "only " + listed(at_the_end) +
         (at_the_end.size() == 1 ? " is left, and waits" : " are left, and wait") + " for the end of " +
         (all_for_it ? name_of(*who.of) : "others");
}

// "which host main wrote last, and has ended: nothing is left that writes it"
std::string hang_report::why_unknown(const lane& who, const watched& entry, const std::vector<watched>& words) const {
  const std::vector<recorder::change> changes = core_.observers.recorder->changes_of(entry.address, entry.size_bytes);
  const std::string nor_elsewhere = others_ == nullptr || !stores_elsewhere(entry, nullptr).empty()
                                        ? ""
                                        : ", nor in " + plural(others_->runs, "other schedule", "other schedules");
  if (changes.empty() && core_.observers.recorder->tries_in_vain(who, entry.address))
    return "which nothing has stored to" + nor_elsewhere + "; " + name_of(who) + " itself tries to, in vain";
  if (changes.empty()) return "which nothing has stored to" + nor_elsewhere;
  const auto by_other = std::find_if(changes.begin(), changes.end(), [&](const auto& one) { return one.who != &who; });
  if (by_other == changes.end()) return "which " + name_of(who) + " itself wrote last";
  const lane& last = *by_other->who;
  std::string text = "which " + name_of(last) + " wrote last, and ";
  if (last.state == lane_state::ended) return text + "has ended: nothing is left that writes it";
  if (waits_for_an_end(last)) return text + "stands in " + to_string(last.pending.kind) + " now";
  return only_follows(last, words) ? text + "waits for it too" : text + state_of(last);
}

std::string hang_report::watching(const lane& who, wait_graph& graph) {
  std::string text;
  if (is_masked_off(who)) {
    graph.add(*who.of, lane_bit(who), *who.of, lockstep_waves::comes_before(who), "masked off");
    return text;
  }
  if (who.state != lane_state::waiting && who.state != lane_state::held) return text;
  constexpr uint64_t all_lanes = ~uint64_t{0};
  if (who.pending.kind == operation_kind::synchronize) {
    const auto is_awaited = [&](const wave& other) {
      return (!other.host || other.copies) && other.live() && &other != who.of &&
             run_.launched().waits_for_end_of(who, other);
    };
    for (size_t n = 0; n < core_.threads.waves_used; ++n)
      if (const wave& other = core_.threads.waves[n]; is_awaited(other))
        graph.add(*who.of, lane_bit(who), other, all_lanes, other.copies ? "end of the copy" : "end of the launch");
    return text;
  }
  if (who.pending.kind == operation_kind::lock_mutex) {
    const mutex_table::holder* const holder = run_.mutexes().holder_of(who.reads.entries().front().address);
    if (holder == nullptr) return text;
    const bool own = holder->who == &who;
    graph.add(*who.of, lane_bit(who), *holder->who->of, lane_bit(*holder->who), "a mutex");
    return "    held by " + (own ? "itself" : name_of(*holder->who)) + " since " + source_of(holder->calls).where() +
           (own ? "" : ", who " + state_of(*holder->who)) + '\n';
  }
  if (who.pending.kind == operation_kind::join) {
    for (const watched& entry : who.reads.entries())
      for (size_t n = 0; n < core_.threads.waves_used; ++n)
        if (&core_.threads.waves[n].ended == entry.address)
          graph.add(*who.of, lane_bit(who), core_.threads.waves[n], all_lanes, "its end");
    return text;
  }
  const std::vector<watched>& words = looked_at(who);
  size_t shown = 0;
  bool any = false;  // of those who could change something is known
  for (const watched& entry : words) {
    const std::string location = describe_location(core_.map.heap, entry.address);
    if (++shown <= most_locations)
      text += "    reads " + location + " (" + plural(entry.size_bytes, "byte", "bytes") + ")" +
              (entry.by_change ? "" : " = " + hexadecimal(entry.value)) + who_could_change(who, entry) + '\n';
    any = add_edges(who, entry, words, location, graph) || any;
  }
  if (!any) any = add_edges_elsewhere(who, words, graph);
  if (!any) {
    size_t told = 0;
    constexpr size_t most_told = 2;
    for (const watched& entry : words) {
      const std::string location = describe_location(core_.map.heap, entry.address);
      std::string why = why_unknown(who, entry, words);
      const std::string left = add_edges_to_all(who, entry, words, location, graph);
      if (++told > most_told) continue;
      if (!why.ends_with("nothing is left that writes it")) why += "; " + left;
      if (const std::string elsewhere = told_of(stores_elsewhere(entry, nullptr)); !elsewhere.empty())
        why += "; " + elsewhere;
      graph.add_unknown(*who.of, lane_bit(who), location, why);
    }
  }
  if (others_ == nullptr)
    for (const watched& entry : words) unexplained_.push_back(describe_location(core_.map.heap, entry.address));
  if (shown > most_locations) text += "    ... and " + std::to_string(shown - most_locations) + " more locations\n";
  return text;
}

std::string hang_report::missing_lanes(const lane& who, wait_graph& graph) const {
  if (who.state == lane_state::at_collective && who.pending.kind == operation_kind::block_barrier) {
    std::string missing;
    for (size_t n = 0; n < core_.threads.waves_used; ++n) {
      const wave& of = core_.threads.waves[n];
      if (!of.live() || of.host || of.kernel != who.of->kernel || of.block != who.of->block) continue;
      uint64_t absent = 0;
      for (const lane* other : of.lanes)
        if (other->state != lane_state::ended &&
            !(other->state == lane_state::at_collective && other->pending.kind == operation_kind::block_barrier))
          absent |= lane_bit(*other);
      if (absent == 0) continue;
      graph.add(*who.of, lane_bit(who), of, absent, to_string(who.pending.kind));
      missing += (missing.empty() ? "" : "; ") + name_of(of) + ' ' + lanes_in(absent);
    }
    return "    missing: " + missing + '\n';
  }
  if (who.state == lane_state::at_collective)
    for (const open_collective& open : who.of->collectives)
      if (open.kind == who.pending.kind && open.mask == who.pending.mask) {
        const uint64_t missing = open.mask & ~open.arrived;
        graph.add(*who.of, lane_bit(who), *who.of, missing, std::string("a ") + to_string(open.kind));
        return "    missing: " + lanes_in(missing) + '\n';
      }
  return {};
}

// Launches whose turn in their stream has not come.
std::string hang_report::held_back() {
  std::string text;
  constexpr uint64_t all_lanes = ~uint64_t{0};
  for (const launched_kernel& runs : run_.launched().kernels()) {
    if (run_.launched().may_begin(runs)) continue;
    const wave& first = core_.threads.waves[runs.first_wave];
    const uint32_t waves = runs.blocks * runs.waves_per_block;
    const std::string stream =
        runs.shape.stream == 0 ? "the default stream" : "stream " + std::to_string(runs.shape.stream);
    text += waves == 1
                ? name_of(first)
                : "waves " + std::to_string(first.device_id) + " to " + std::to_string(first.device_id + waves - 1);
    text += " of " + stream +
            (waves == 1 ? " has not begun, and waits for its turn:\n" : " have not begun, and wait for their turn:\n");
    for (size_t n = 0; n < core_.threads.waves_used; ++n) {
      const wave& earlier = core_.threads.waves[n];
      if ((earlier.host && !earlier.copies) || !earlier.live()) continue;
      if (std::find(runs.after.begin(), runs.after.end(), earlier.kernel) == runs.after.end()) continue;
      text += "    " + name_of(earlier) + " comes before, and has not ended\n";
      graph_.add(first, all_lanes, earlier, all_lanes, "its turn in " + stream);
    }
  }
  return text;
}

// A wave that has no place on the device waits for one of those that have.
void hang_report::wait_for_places(const wave& waiting) {
  constexpr uint64_t all_lanes = ~uint64_t{0};
  size_t told = 0;
  for (size_t n = 0; n < core_.threads.waves_used && told < most_untouched; ++n) {
    const wave& other = core_.threads.waves[n];
    if (other.host || !other.live() || !other.resident || other.gpu != waiting.gpu) continue;
    graph_.add(waiting, all_lanes, other, all_lanes, "a place on the device");
    ++told;
  }
}

// Lanes of a wave that stand alike are told together.
void hang_report::collect() {
  for (size_t n = 0; n < core_.threads.waves_used; ++n) {
    const wave& of = core_.threads.waves[n];
    if (!of.live()) continue;
    if (!of.resident) {
      if (run_.launched().may_begin(*of.runs) && ++not_started_ <= most_untouched) wait_for_places(of);
      continue;
    }
    const size_t first = groups_.size();
    for (const lane* who : of.lanes) {
      if (who->state == lane_state::ended) continue;
      group fresh = {.of = &of, .told = standing(*who), .lanes = lane_bit(*who), .rank = rank_of(*who)};
      fresh.told += watching(*who, graph_);
      fresh.told += missing_lanes(*who, graph_);
      const auto same = std::find_if(groups_.begin() + static_cast<std::ptrdiff_t>(first), groups_.end(),
                                     [&](const group& one) { return one.told == fresh.told; });
      if (same == groups_.end())
        groups_.push_back(std::move(fresh));
      else
        same->lanes |= fresh.lanes;
    }
  }
  const std::vector<uint32_t> circle = graph_.waves_in_circle();
  for (group& one : groups_)
    if (one.rank == order::others && std::find(circle.begin(), circle.end(), one.of->id) != circle.end())
      one.rank = order::in_circle;
  std::stable_sort(groups_.begin(), groups_.end(),
                   [](const group& one, const group& other) { return one.rank < other.rank; });
}

hang_report::order hang_report::rank_of(const lane& who) const {
  if (&who == core_.ending.ended_by) return order::ends_the_run;
  const bool for_the_end = who.state == lane_state::waiting && (who.pending.kind == operation_kind::synchronize ||
                                                                who.pending.kind == operation_kind::join);
  return for_the_end ? order::waits_for_ends : order::others;
}

std::string hang_report::text_of(const group& one) {
  std::string text = name_of(*one.of);
  if (!one.of->host) text += ", block " + std::to_string(one.of->block) + ", " + lanes_in(one.lanes);
  return text + ": " + one.told;
}

std::string hang_report::text(const std::string& cycle) {
  collect();
  std::string waits = held_back();
  if (const std::string told = graph_.text("  "); !told.empty()) waits = "who waits for whom:\n" + told + waits;
  if (core_.phase.denied) {
    const std::string models = run_.verdicts().models_without_this_hang();
    if (!models.empty()) waits += "progress models under which somebody would have to move: " + models + '\n';
  }
  if (not_started_ != 0)
    waits += plural(not_started_, "wave has", "waves have") + " not started: the device holds " +
             std::to_string(core_.machine.resident) + " at a time\n";

  // What happened comes first: where it is about what somebody did, his calls; where steps change memory for ever, those.
  size_t next = 0;
  std::string first, others;
  if (core_.ending.ended_by != nullptr && !groups_.empty() && groups_.front().rank == order::ends_the_run) {
    first = text_of(groups_[next++]);
    others = cycle;
  } else if (core_.ending.verdict == scheduler::verdict::livelock) {
    first = cycle;
  } else {
    first = std::move(waits);
    waits.clear();
    others = cycle;
  }
  std::string stand;
  for (size_t told = 0; next < groups_.size() && told < most_groups; ++told) stand += text_of(groups_[next++]);
  if (next < groups_.size())
    stand += "... and " + plural(groups_.size() - next, "more group of lanes", "more groups of lanes") + '\n';
  others = stand + others + waits;
  return first.empty() || others.empty() ? first + others : first + '\n' + others;
}

}  // namespace heddle::sim
