#include <heddle/sim/base/words.h>
#include <heddle/sim/report/hang_report.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace heddle::sim {
namespace {

constexpr size_t most_locations_listed = 8;
constexpr size_t most_groups = 40;

/// What a wait for the end of something in a stream is for.
const char* end_of(const wave& copies) {
  if (copies.bulk) return "end of the copy";
  const stream_copy& what = *static_cast<const stream_copy*>(copies.lanes.front()->body);
  return what.function != nullptr ? "end of the call" : what.named == nullptr ? "end of the copy" : "its end";
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
    case lane_state::evicted:
      return "could run, but is off the device";
  }
  return {};
}

std::string hang_report::standing(const lane& who) const {
  std::string text;
  if (&who == core_.ending.ended_by) {
    text = "ends the run: " + core_.ending.message;
  } else if (is_masked_off(who)) {
    text = "is masked off " + lockstep_waves::held_until(who) + "; next: " + describe(who.pending);
  } else if (who.state == lane_state::candidate || who.state == lane_state::evicted) {
    text = state_of(who);
    text += !who.begun                     ? "; has not begun"
            : who.pending.frame == nullptr ? "; next: its end"
                                           : "; next: " + describe(who.pending);
  } else if (who.state == lane_state::at_collective && who.pending.kind == operation_kind::block_barrier) {
    text = "waits at a block barrier";
  } else if (who.state == lane_state::at_collective && who.pending.kind == operation_kind::cluster_wait) {
    text = "waits at the barrier of its cluster";
  } else if (who.state == lane_state::at_collective) {
    text = std::string("waits at a ") + to_string(who.pending.kind) + " of " + lanes_in(who.pending.mask);
  } else if (who.of->copies && who.pending.kind == operation_kind::synchronize) {
    text = "waits for its turn in its stream";
  } else if (who.of->by_gpu && !who.of->bulk) {
    text = "waits for a word to change";
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

std::string hang_report::watching(const lane& who, wait_graph& graph) {
  std::string text;
  if (is_masked_off(who)) {
    graph.add({*who.of, lane_bit(who)}, {*who.of, lockstep_waves::comes_before(who)}, "masked off");
    return text;
  }
  if (who.state != lane_state::waiting && who.state != lane_state::held) return text;
  constexpr uint64_t all_lanes = ~uint64_t{0};
  const auto waits_for = [&](const char* what, auto&& is_awaited) {
    for (size_t n = 0; n < core_.threads.waves_used; ++n)
      if (const wave& other = core_.threads.waves[n]; other.live() && &other != who.of && is_awaited(other))
        graph.add({*who.of, lane_bit(who)}, {other, all_lanes},
                  what != nullptr ? what
                  : other.copies  ? end_of(other)
                                  : "end of the launch");
    return text;
  };
  if (who.pending.kind == operation_kind::synchronize)
    return waits_for(who.of->copies ? "its turn in its stream" : nullptr, [&](const wave& other) {
      return (!other.host || other.copies) && run_.launched().waits_for_end_of(who, other);
    });
  if (who.pending.kind == operation_kind::drive)
    return waits_for(nullptr, [](const wave& other) { return other.started() && (!other.host || other.copies); });
  if (const uint64_t* const news = run_.launched().news_of_pages();
      news != nullptr && !who.reads.entries().empty() && who.reads.entries().front().address == news)
    return waits_for("a page that moves", [](const wave& other) { return other.drives; });
  if (who.pending.kind == operation_kind::lock_mutex) {
    const mutex_table::holder* const holder = run_.hosts().mutexes.holder_of(who.reads.entries().front().address);
    if (holder == nullptr) return text;
    const bool own = holder->who == &who;
    graph.add({*who.of, lane_bit(who)}, {*holder->who->of, lane_bit(*holder->who)}, "a mutex");
    return "    held by " + (own ? "itself" : name_of(*holder->who)) + " since " + source_of(holder->calls).where() +
           (own ? "" : ", which " + state_of(*holder->who)) + '\n';
  }
  if (who.pending.kind == operation_kind::join) {
    for (const watched& entry : who.reads.entries())
      for (size_t n = 0; n < core_.threads.waves_used; ++n)
        if (&core_.threads.waves[n].ended == entry.address)
          graph.add({*who.of, lane_bit(who)}, {core_.threads.waves[n], all_lanes}, "its end");
    return text;
  }
  const std::vector<watched>& words = looked_at(who);
  size_t shown = 0;
  bool any = false;  // of the lanes that could change something is known
  const bool for_notice = who.pending.kind == operation_kind::wait_notice;
  for (const watched& entry : words) {
    const std::string location =
        for_notice ? object_at(entry.address) : describe_location(core_.map.heap, entry.address);
    if (for_notice)
      text += "    for notice at " + location + giver_of_notice(who, entry) + '\n';
    else if (++shown <= most_locations_listed)
      text += "    reads " + location + " (" + plural(entry.size_bytes, "byte", "bytes") + ")" +
              (entry.by_change ? "" : " = " + hexadecimal(entry.value)) + who_could_change(who, entry) + '\n';
    any = add_edges(who, entry, words, location, graph) || any;
  }
  if (!any) any = add_edges_to_copies(who, words, graph);
  if (!any) any = add_edges_elsewhere(who, words, graph);
  if (!any) {
    size_t told = 0;
    constexpr size_t most_told = 2;
    for (const watched& entry : words) {
      const std::string location =
          for_notice ? object_at(entry.address) : describe_location(core_.map.heap, entry.address);
      std::string why = why_unknown(who, entry, words);
      const std::string left = add_edges_to_all(who, entry, words, location, graph);
      if (++told > most_told) continue;
      if (!why.ends_with("nothing is left that writes it")) why += "; " + left;
      if (const std::string elsewhere = told_of(stores_elsewhere(entry, nullptr)); !elsewhere.empty())
        why += "; " + elsewhere;
      graph.add_unknown({*who.of, lane_bit(who)}, location, why);
    }
  }
  if (others_ == nullptr)
    for (const watched& entry : words)
      if (!for_notice) unexplained_.push_back(describe_location(core_.map.heap, entry.address));
  if (shown > most_locations_listed)
    text += "    ... and " + std::to_string(shown - most_locations_listed) + " more locations\n";
  return text;
}

std::string hang_report::missing_lanes(const lane& who, wait_graph& graph) const {
  if (who.state == lane_state::at_collective && is_barrier(who.pending.kind)) {
    const bool of_cluster = who.pending.kind == operation_kind::cluster_wait;
    const launched_kernel& runs = *who.of->runs;
    const uint32_t cluster = runs.place_of(who.of->block).cluster;
    std::string missing;
    for (size_t n = 0; n < core_.threads.waves_used; ++n) {
      const wave& of = core_.threads.waves[n];
      if (!of.live() || of.host || of.kernel != who.of->kernel) continue;
      const place_in_cluster place = runs.place_of(of.block);
      if (of_cluster ? place.cluster != cluster : of.block != who.of->block) continue;
      const auto has_come = [&](const lane& other) {
        if (of_cluster)
          return (runs.clusters[cluster]
                      .waves[place.rank * runs.waves_per_block + of.in_kernel % runs.waves_per_block]
                      .pending &
                  lane_bit(other)) != 0;
        const block_state& block = runs.states[of.block];
        const bool arrived =
            block.arrivals != 0 && (block.came[of.in_kernel % runs.waves_per_block] & lane_bit(other)) != 0;
        return arrived ||
               (other.state == lane_state::at_collective && other.pending.kind == operation_kind::block_barrier);
      };
      uint64_t absent = 0;
      for (const lane* other : of.lanes)
        if (other->state != lane_state::ended && !has_come(*other)) absent |= lane_bit(*other);
      if (absent == 0) continue;
      graph.add({*who.of, lane_bit(who)}, {of, absent}, to_string(who.pending.kind));
      missing += (missing.empty() ? "" : "; ") + name_of(of) + ' ' + lanes_in(absent);
    }
    return "    missing: " + missing + '\n';
  }
  if (who.state == lane_state::at_collective)
    for (const open_collective& open : who.of->collectives)
      if (open.kind == who.pending.kind && open.mask == who.pending.mask) {
        const uint64_t missing = awaited_lanes(*who.of, open) & ~open.arrived;
        graph.add({*who.of, lane_bit(who)}, {*who.of, missing}, std::string("a ") + to_string(open.kind));
        return "    missing: " + lanes_in(missing) + '\n';
      }
  return {};
}

// What the driver does not start while a function of the host runs in its one thread.
std::string hang_report::told_of_function(const wave& held, uint32_t function) {
  constexpr uint64_t all_lanes = ~uint64_t{0};
  std::string text;
  for (size_t n = 0; n < core_.threads.waves_used; ++n) {
    const wave& runs = core_.threads.waves[n];
    if (!runs.copies || runs.bulk || !runs.live() || runs.kernel != function) continue;
    text += "    " + name_of(runs) +
            " runs in the driver's one thread, which starts nothing that was given to a stream later "
            "(host.functions=one)\n";
    graph_.add({held, all_lanes}, {runs, all_lanes}, "the driver's thread");
  }
  return text;
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
    text +=
        (first.named ? "" : " of " + stream) + std::string(waves == 1 ? " has not begun, and waits for its turn:\n"
                                                                      : " have not begun, and wait for their turn:\n");
    for (size_t n = 0; n < core_.threads.waves_used; ++n) {
      const wave& earlier = core_.threads.waves[n];
      if ((earlier.host && !earlier.copies) || !earlier.live()) continue;
      if (std::find(runs.after.begin(), runs.after.end(), earlier.kernel) == runs.after.end()) continue;
      text += "    " + name_of(earlier) + " comes before, and has not ended\n";
      graph_.add({first, all_lanes}, {earlier, all_lanes}, "its turn in " + stream);
    }
    if (const auto function = execution::instance->launched().functions().holding(runs.ordinal))
      text += told_of_function(first, *function);
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
    graph_.add({waiting, all_lanes}, {other, all_lanes}, "a place on the device");
    ++told;
  }
}

// Lanes of a wave that stand alike are told together.
void hang_report::collect() {
  for (size_t n = 0; n < core_.threads.waves_used; ++n) {
    const wave& of = core_.threads.waves[n];
    if (!of.live()) continue;
    if (of.is_evicted() && std::any_of(of.lanes.begin(), of.lanes.end(),
                                       [](const lane* who) { return who->state == lane_state::evicted; }))
      wait_for_places(of);
    if (!of.started() && !of.host) {
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
  const bool for_the_end = who.state == lane_state::waiting &&
                           (who.pending.kind == operation_kind::synchronize ||
                            who.pending.kind == operation_kind::join || who.pending.kind == operation_kind::drive);
  return for_the_end ? order::waits_for_ends : order::others;
}

std::string hang_report::text_of(const group& one) {
  std::string text = name_of(*one.of);
  if (!one.of->host && !one.of->named) text += ", block " + std::to_string(one.of->block) + ", " + lanes_in(one.lanes);
  if (!std::has_single_bit(one.lanes))
    for (const auto& [of_one, of_many] : {std::pair{"waits ", "wait "}, {"is masked ", "are masked "}})
      if (one.told.starts_with(of_one)) return text + ": " + of_many + one.told.substr(std::strlen(of_one));
  return text + ": " + one.told;
}

std::string hang_report::text(const std::string& cycle) {
  collect();
  std::string waits = held_back();
  if (const std::string told = graph_.text("  "); !told.empty()) waits = "what waits for what:\n" + told + waits;
  if (core_.phase.denied) {
    const std::string models = run_.verdicts().models_without_this_hang();
    if (!models.empty()) waits += "progress models under which one of these would have to move: " + models + '\n';
  }
  if (not_started_ != 0)
    waits += plural(not_started_, "wave has", "waves have") + " not started: the device holds " +
             std::to_string(core_.machine.resident) + " at a time\n";

  // What happened comes first: the calls of the lane that ended the run, or the steps that change memory for ever.
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
