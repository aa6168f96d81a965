// Which lanes could end a wait, by this run and by other schedules.
#include <heddle/sim/base/words.h>
#include <heddle/sim/report/hang_report.h>

#include <algorithm>

namespace heddle::sim {
namespace {

/// Whether threads of the host reach it by copies alone, or it is of the barrier of a grid.
bool is_hidden(const run_core& core, const void* address) {
  if (!core.map.heap.contains(address)) return false;
  const allocation* const known = core.map.heap.nearest(address);
  return core.map.heap.holder(address).is_hidden ||
         (known != nullptr && std::string_view(known->name).starts_with("grid barrier"));
}

/// What the thread copies itself once the stream is idle for which it waits (runtime/event_calls.cpp); null where it waits for none, or copies nothing
/// then.
const stream_copy* copy_behind(const lane& waiting) {
  const bool waits = waiting.is_host() && !waiting.of->copies && waiting.state == lane_state::waiting &&
                     waiting.hides_operands && waiting.pending.kind == operation_kind::synchronize;
  const auto* const then = reinterpret_cast<const stream_copy*>(waiting.call[0]);
  // Else it is a number.
  return waits && waiting.is_on_stack(then) ? then : nullptr;
}

}  // namespace

std::string hang_report::told_of(const std::vector<const store_elsewhere*>& stores) const {
  constexpr size_t most_told = 2;
  const auto has_ended = [&](const std::string& actor) {
    for (size_t n = 0; n < core_.threads.lanes_used; ++n)
      if (const lane& one = core_.threads.lanes[n]; one.state == lane_state::ended && name_of(one) == actor)
        return true;
    return false;
  };
  std::string text;
  for (size_t n = 0; n < std::min(stores.size(), most_told); ++n)
    text += (n == 0 ? "in other schedules " : ", ") + stores[n]->actor +
            (has_ended(stores[n]->actor) ? ", which has ended here," : "") + " stored it" +
            (stores[n]->where.empty() ? "" : " at " + stores[n]->where);
  if (stores.size() > most_told) text += " and " + std::to_string(stores.size() - most_told) + " more did";
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
  // What it waits for is notice, which is given at an object.
  if (who.pending.kind == operation_kind::wait_notice && who.pending.address != nullptr) {
    watched& object = read.emplace_back();
    object.address = who.pending.address;
    object.size_bytes = 1;
    object.by_change = true;
    return read;
  }
  const std::vector<watched>& all = who.reads.entries();
  if (const auto turn = core_.observers.recorder->last_turn_of(who))
    for (const watched& each : all)
      if (std::any_of(turn->begin(), turn->end(),
                      [&](const watched& one) { return one.overlaps(each.address, each.size_bytes); }))
        read.push_back(each);
  if (read.empty()) read = all;
  // Beside an atomic word, what is loaded plainly is the way to it: a captured pointer.
  const auto is_atomic = [&](const watched& one) { return core_.observers.recorder->looks_atomically(who, one); };
  if (std::any_of(read.begin(), read.end(), is_atomic))
    std::erase_if(read, [&](const watched& one) { return !is_atomic(one); });
  return read;
}

// Whether it goes on by nothing but what would let another lane that looks at `words` go on too: then it will not change them.
bool hang_report::only_follows(const lane& who, const std::vector<watched>& words) const {
  if (who.state != lane_state::waiting || waits_for_an_end(who)) return false;
  if (who.pending.kind == operation_kind::lock_mutex || is_masked_off(who)) return false;
  const std::vector<watched>& own = looked_at(who);
  return !own.empty() && std::all_of(own.begin(), own.end(), [&](const watched& each) {
    return std::any_of(words.begin(), words.end(),
                       [&](const watched& one) { return one.overlaps(each.address, each.size_bytes); });
  });
}

bool hang_report::looks_at(const lane& waiting, const watched& entry) const {
  const std::vector<watched>& own = looked_at(waiting);
  return std::any_of(own.begin(), own.end(),
                     [&](const watched& one) { return one.overlaps(entry.address, entry.size_bytes); });
}

// Whether the lane, which waits, has stored last what another one waits for, and does not look at it itself, as the holder of a lock does: once
// it goes on it may change it, whatever else ends both waits.
bool hang_report::holds(const lane& storer, const lane& waiting, const watched& entry) const {
  if (&storer == &waiting || storer.state != lane_state::waiting || waits_for_an_end(storer)) return false;
  const std::vector<recorder::change> changes = core_.observers.recorder->changes_of(entry.address, entry.size_bytes);
  return !changes.empty() && changes.front().who == &storer && !looks_at(storer, entry);
}

bool hang_report::may_change(const lane& other, const lane& who, const std::vector<watched>& words) const {
  return &other != &who && other.state != lane_state::ended && !waits_for_an_end(other) && !only_follows(other, words);
}

// Which lanes changed what the lane reads, the latest first: often that is the lane itself, and it waits for the lane before. A store that
// counts as older than a store made before it changes nothing, and is often what is missing.
std::string hang_report::who_could_change(const lane& who, const watched& entry) const {
  const recorder& run = *core_.observers.recorder;
  const auto told = [&](const recorder::change& change) {
    return (change.who == &who ? "itself" : name_of(*change.who)) + " at " + source_of(change.calls).where() +
           (change.step == 0 ? " (before the first step)" : " (step " + std::to_string(change.step) + ")") +
           (change.who == &who ? "" : ", which " + state_of(*change.who));
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

// A futex is a word of the program's: what has changed it last need not have given notice behind that.
bool hang_report::is_store(const recorder::change& last) const {
  const recorder::taken* const made = core_.observers.recorder->taken_in(last.step);
  return made != nullptr &&
         (made->what.kind == operation_kind::store || made->what.kind == operation_kind::read_modify_write);
}

// Which lane has given notice there last.
std::string hang_report::giver_of_notice(const lane& who, const watched& entry) const {
  const std::vector<recorder::change> changes = core_.observers.recorder->changes_of(entry.address, entry.size_bytes);
  if (changes.empty()) return ", which nothing has given";
  const recorder::change& last = changes.front();
  const char* const what = is_store(last) ? ", last changed without notice by " : ", last given by ";
  return what + (last.who == &who ? "itself" : name_of(*last.who)) + " at " + source_of(last.calls).where() +
         (last.step == 0 ? "" : " (step " + std::to_string(last.step) + ")") +
         (last.who == &who ? "" : ", which " + state_of(*last.who));
}

// The same in every process: addresses on the C++ heap are not.
std::string hang_report::object_at(const void* address) const {
  if (std::string file = memory_map::file_at(address); !file.empty()) return file;
  // In a frame it has an offset, by which it is known what the program calls it.
  if (std::string frame = core_.map.heap.frame_at(address); !frame.empty()) return frame;
  return core_.map.may_vanish(address) ? "an object on the C++ heap" : describe_location(core_.map.heap, address);
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
  // Where many have changed it, the latest of them.
  std::vector<const wave*> added;
  const auto has = [&](const wave* of) { return std::find(added.begin(), added.end(), of) != added.end(); };
  for (const lane* storer : core_.observers.recorder->storers_of(entry.address, entry.size_bytes)) {
    if (storer->is_host() && !storer->of->copies && is_hidden(core_, entry.address)) continue;
    if (!may_change(*storer, who, words) && !holds(*storer, who, entry)) continue;
    if (!has(storer->of)) {
      if (added.size() == most_untouched) continue;
      added.push_back(storer->of);
    }
    graph.add({*who.of, lane_bit(who)}, {*storer->of, lane_bit(*storer)}, location);
  }
  if (added.empty() || others_ == nullptr) return !added.empty();
  // Of a wave that is known, any lane that does so in other schedules may be meant.
  for (size_t n = 0; n < core_.threads.lanes_used; ++n) {
    const lane& other = core_.threads.lanes[n];
    if (!has(other.of) || !may_change(other, who, words)) continue;
    if (const auto stores = stores_elsewhere(entry, &other); !stores.empty())
      graph.add({*who.of, lane_bit(who)}, {*other.of, lane_bit(other)}, location, certainty::elsewhere,
                told_of(stores));
  }
  return true;
}

// The lanes that have stored there in other schedules: those whose store the waiting lane then found, where there are any, else, supposed,
// all. Lanes that wait for the end of others count only where there are no others. Whether there is any.
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
        if (other.is_host() && !other.of->copies && is_hidden(core_, entry.address)) continue;
        if (!counts || (can_run && other.state != lane_state::candidate)) continue;
        auto stores = stores_elsewhere(entry, &other);
        // One that is behind its store now will not make it: what came of it is another matter, as of a ring that was lost.
        if (at_the_end)
          std::erase_if(stores, [&](const store_elsewhere* one) {
            return core_.observers.recorder->has_been_at(other, entry, one->where);
          });
        if (stores.empty() || (found && !found_by_it(stores))) continue;
        graph.add({*who.of, lane_bit(who)}, {*other.of, lane_bit(other)},
                  who.pending.kind == operation_kind::wait_notice ? object_at(entry.address)
                                                                  : describe_location(core_.map.heap, entry.address),
                  found ? certainty::elsewhere : certainty::supposed, told_of(stores));
        any = true;
      }
    return any;
  };
  return add(false, true, true) || add(false, true, false) || add(true, true, false) ||
         add_edges_to_servers(who, words, graph) || add(false, false, true) || add(false, false, false);
}

// What streams have been given, and have not come to, and what threads copy behind the streams for which they wait: it is known where that will
// store. Whether there is any.
bool hang_report::add_edges_to_copies(const lane& who, const std::vector<watched>& words, wait_graph& graph) const {
  constexpr uint64_t all_lanes = ~uint64_t{0};
  bool any = false;
  for (const watched& entry : words)
    for (size_t n = 0; n < core_.threads.waves_used; ++n) {
      const wave& other = core_.threads.waves[n];
      if (!other.live() || other.bulk || other.lanes.empty()) continue;
      const lane& by = *other.lanes.front();
      const stream_copy* const what = other.copies ? static_cast<const stream_copy*>(by.body) : copy_behind(by);
      if (what == nullptr || what->function != nullptr || what->to == nullptr ||
          !entry.overlaps(what->to, what->size_bytes))
        continue;
      graph.add({*who.of, lane_bit(who)}, {other, all_lanes}, describe_location(core_.map.heap, entry.address),
                certainty::known, other.copies ? "" : copied_behind_wait);
      any = true;
    }
  return any;
}

// Of a lane of the device that waits for the answer to what it has stored itself, or for a word that nothing has stored to: host threads that
// have launched nothing, and wait for the end of its launch. Such a thread is there to serve what others launch. Whether there is any.
bool hang_report::add_edges_to_servers(const lane& who, const std::vector<watched>& words, wait_graph& graph) const {
  if (who.is_host()) return false;
  bool any = false;
  for (const watched& entry : words) {
    if (is_hidden(core_, entry.address)) continue;
    const std::vector<recorder::change> changes = core_.observers.recorder->changes_of(entry.address, entry.size_bytes);
    if (!changes.empty() && changes.front().who != &who) continue;
    for (size_t n = 0; n < core_.threads.lanes_used; ++n) {
      const lane& other = core_.threads.lanes[n];
      if (!other.is_host() || other.state == lane_state::ended || !waits_for_an_end(other)) continue;
      if (!run_.launched().waits_for_end_of(other, *who.of) || core_.observers.recorder->has_launched(other)) continue;
      graph.add({*who.of, lane_bit(who)}, {*other.of, lane_bit(other)},
                describe_location(core_.map.heap, entry.address), certainty::supposed);
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
    // The driver's actor touches no memory of programs, and no thread of the host touches memory that copies alone reach.
    if (&other == who.of || !other.live() || other.drives) continue;
    if (other.host && !other.copies && is_hidden(core_, entry.address)) continue;
    // No device writes to files.
    if (!other.host && !memory_map::file_at(entry.address).empty()) continue;
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
  // What waits for it to change is the less likely.
  const auto waits_for_it = [&](const wave* of) {
    return !of->lanes.empty() && std::all_of(of->lanes.begin(), of->lanes.end(), [&](const lane* each) {
      return each->state == lane_state::waiting && looks_at(*each, entry);
    });
  };
  if (!std::all_of(left.begin(), left.end(), waits_for_it)) std::erase_if(left, waits_for_it);
  if (left.size() > most_untouched)
    return "any of the " + std::to_string(left.size()) + " that are left may be the one";
  for (const wave* other : left)
    graph.add({*who.of, lane_bit(who)}, {*other, all_lanes}, location, certainty::supposed);
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
  if (who.pending.kind == operation_kind::wait_notice && memory_map::file_at(entry.address).empty())
    return (is_store(*by_other) ? "which " + name_of(last) + " has changed last, without notice, and "
                                : "where " + name_of(last) + " has given notice last, and ") +
           (last.state == lane_state::ended ? "has ended: nothing is left that gives it"
            : waits_for_an_end(last)        ? std::string("stands in ") + to_string(last.pending.kind) + " now"
            : only_follows(last, words)     ? "waits for it too"
                                            : state_of(last));
  std::string text = "which " + name_of(last) +
                     (changes.front().who == &who ? " was the last other to write" : " wrote last") + ", and ";
  if (last.state == lane_state::ended) return text + "has ended: nothing is left that writes it";
  if (waits_for_an_end(last)) return text + "stands in " + to_string(last.pending.kind) + " now";
  return only_follows(last, words) ? text + "waits for it too" : text + state_of(last);
}

}  // namespace heddle::sim
