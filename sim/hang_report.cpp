#include <heddle/sim/hang_report.h>
#include <heddle/sim/world.h>

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

}  // namespace

bool hang_report::is_masked_off(const lane& who) { return (world::masked_off(*who.of) & lane_bit(who)) != 0; }

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
  if (&who == world_.ended_by_) {
    text = "ends the run: " + world_.message_;
  } else if (is_masked_off(who)) {
    text = "is masked off " + world::held_until(who) + "; next: " + describe(who.pending);
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
  for (const source_line& line : lines_of(&who == world_.ended_by_ ? world_.about_ : calls_of(who))) {
    text += (first ? "    at   " : "    from ") + line.where() +
            (line.function.empty() ? "" : " (" + line.function + ")") + '\n';
    first = false;
  }
  return text;
}

// Who changed what the lane reads, the latest first: often itself, and the one before is whom it waits for. Where nobody has,
// those who use the same bytes are the ones to look at.
std::string hang_report::who_could_change(const lane& who, const watched& entry) const {
  const auto told = [&](const recorder::change& change) {
    return (change.who == &who ? "itself" : name_of(*change.who)) + " at " + source_of(change.calls).where() +
           " (step " + std::to_string(change.step) + ")" + (change.who == &who ? "" : ", who " + state_of(*change.who));
  };
  const std::vector<recorder::change> changes = world_.recorder_->changes_of(entry.address, entry.size_bytes);
  std::string text = ", which nobody has changed";
  if (!changes.empty()) {
    text = ", last changed by " + told(changes.front());
    if (changes.front().who == &who && changes.size() > 1) return text + "; before that by " + told(changes[1]);
    if (changes.front().who != &who) return text;
  }
  std::string others;
  size_t users = 0;
  for (const lane* user : world_.recorder_->users_of(entry.address))
    if (user != &who && ++users <= most_untouched)
      others += (others.empty() ? "" : ", ") + name_of(*user) + " (" + state_of(*user) + ")";
  if (users > most_untouched) others += " and " + std::to_string(users - most_untouched) + " more";
  if (!others.empty()) return text + "; used also by " + others;
  return text + (changes.empty() ? " and nobody else has looked at" : "; nobody else has looked at it");
}

bool hang_report::add_edges(const lane& who, const watched& entry, const std::string& location,
                            wait_graph& graph) const {
  const auto may_end_it = [&](const lane& other) { return &other != &who && other.state != lane_state::ended; };
  // Where many have changed it, those who were the latest.
  std::vector<const wave*> added;
  const auto add = [&](const lane& other) {
    if (std::find(added.begin(), added.end(), other.of) == added.end()) {
      if (added.size() == most_untouched) return;
      added.push_back(other.of);
    }
    graph.add(*who.of, lane_bit(who), *other.of, lane_bit(other), location);
  };
  const std::vector<recorder::change> changes = world_.recorder_->changes_of(entry.address, entry.size_bytes);
  bool changed_by_others = false;
  for (const recorder::change& change : changes) {
    changed_by_others = changed_by_others || change.who != &who;
    if (may_end_it(*change.who)) add(*change.who);
  }
  if (changed_by_others) return true;
  const std::vector<const lane*> users = world_.recorder_->users_of(entry.address);
  const auto others = std::count_if(users.begin(), users.end(), [&](const lane* user) { return may_end_it(*user); });
  if (others > static_cast<std::ptrdiff_t>(most_untouched)) return false;  // so many that it says nothing
  for (const lane* user : users)
    if (may_end_it(*user)) add(*user);
  return !added.empty();
}

// Of one who reads only what nobody else has come to: whoever would change that is among those who are left. Not those who wait for
// others to end, nor where so many are left that it says nothing.
void hang_report::add_edges_to_all(const lane& who, const std::string& location, wait_graph& graph) const {
  std::vector<const wave*> left;
  for (size_t n = 0; n < world_.waves_used_; ++n) {
    const wave& other = world_.waves_[n];
    if (&other == who.of || !other.live() || other.lanes.empty()) continue;
    const operation_kind doing = other.lanes.front()->pending.kind;
    if (doing == operation_kind::synchronize || doing == operation_kind::join) continue;
    left.push_back(&other);
  }
  if (left.size() > most_untouched) return;
  constexpr uint64_t all_lanes = ~uint64_t{0};
  for (const wave* other : left) graph.add(*who.of, lane_bit(who), *other, all_lanes, location, true);
}

std::string hang_report::watching(const lane& who, wait_graph& graph) const {
  std::string text;
  if (is_masked_off(who)) {
    graph.add(*who.of, lane_bit(who), *who.of, world::comes_before(who), "masked off");
    return text;
  }
  if (who.state != lane_state::waiting && who.state != lane_state::held) return text;
  constexpr uint64_t all_lanes = ~uint64_t{0};
  if (who.pending.kind == operation_kind::synchronize) {
    const auto is_awaited = [&](const wave& other) {
      return (!other.host || other.copies) && other.live() && &other != who.of && world_.waits_for_end_of(who, other);
    };
    for (size_t n = 0; n < world_.waves_used_; ++n)
      if (const wave& other = world_.waves_[n]; is_awaited(other))
        graph.add(*who.of, lane_bit(who), other, all_lanes, other.copies ? "end of the copy" : "end of the launch");
    return text;
  }
  if (who.pending.kind == operation_kind::lock_mutex) {
    const mutex_table::holder* const holder = world_.mutexes_.holder_of(who.reads.entries().front().address);
    if (holder == nullptr) return text;
    const bool own = holder->who == &who;
    if (!own) graph.add(*who.of, lane_bit(who), *holder->who->of, lane_bit(*holder->who), "a mutex");
    return "    held by " + (own ? "itself" : name_of(*holder->who)) + " since " + source_of(holder->calls).where() +
           (own ? "" : ", who " + state_of(*holder->who)) + '\n';
  }
  size_t shown = 0;
  bool any = false;  // of those who could change something is known
  std::string first;
  for (const watched& entry : who.reads.entries()) {
    if (who.pending.kind == operation_kind::join) {
      for (size_t n = 0; n < world_.waves_used_; ++n)
        if (&world_.waves_[n].ended == entry.address)
          graph.add(*who.of, lane_bit(who), world_.waves_[n], all_lanes, "its end");
      any = true;
      continue;
    }
    const std::string location = describe_location(world_.heap_, entry.address);
    const bool show = ++shown <= most_locations;
    if (show)
      text += "    reads " + location + " (" + plural(entry.size_bytes, "byte", "bytes") + ")" +
              (entry.by_change ? "" : " = " + hexadecimal(entry.value));
    if (show) text += who_could_change(who, entry) + '\n';
    any = add_edges(who, entry, location, graph) || any;
    if (first.empty()) first = location;
  }
  if (!any && !first.empty()) {
    add_edges_to_all(who, first, graph);
    graph.add_unknown(*who.of, lane_bit(who), first, "which nobody else has changed");
  }
  if (shown > most_locations) text += "    ... and " + std::to_string(shown - most_locations) + " more locations\n";
  return text;
}

std::string hang_report::missing_lanes(const lane& who, wait_graph& graph) const {
  if (who.state == lane_state::at_collective && who.pending.kind == operation_kind::block_barrier) {
    std::string missing;
    for (size_t n = 0; n < world_.waves_used_; ++n) {
      const wave& of = world_.waves_[n];
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
  for (const launched_kernel& runs : world_.kernels_) {
    if (world_.may_begin(runs)) continue;
    const wave& first = world_.waves_[runs.first_wave];
    const uint32_t waves = runs.blocks * runs.waves_per_block;
    const std::string stream =
        runs.shape.stream == 0 ? "the default stream" : "stream " + std::to_string(runs.shape.stream);
    text += waves == 1
                ? name_of(first)
                : "waves " + std::to_string(first.device_id) + " to " + std::to_string(first.device_id + waves - 1);
    text += " of " + stream +
            (waves == 1 ? " has not begun, and waits for its turn:\n" : " have not begun, and wait for their turn:\n");
    for (size_t n = 0; n < world_.waves_used_; ++n) {
      const wave& earlier = world_.waves_[n];
      if ((earlier.host && !earlier.copies) || !earlier.live()) continue;
      if (std::find(runs.after.begin(), runs.after.end(), earlier.kernel) == runs.after.end()) continue;
      text += "    " + name_of(earlier) + " comes before, and has not ended\n";
      graph_.add(first, all_lanes, earlier, all_lanes, "its turn in " + stream);
    }
  }
  return text;
}

// Lanes of a wave that stand alike are told together.
void hang_report::collect() {
  for (size_t n = 0; n < world_.waves_used_; ++n) {
    const wave& of = world_.waves_[n];
    if (!of.live()) continue;
    if (!of.resident) {
      not_started_ += world_.may_begin(*of.runs) ? 1 : 0;
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
  if (&who == world_.ended_by_) return order::ends_the_run;
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
  if (world_.denied_) {
    const std::string models = world_.models_without_this_hang();
    if (!models.empty()) waits += "progress models under which somebody would have to move: " + models + '\n';
  }
  if (not_started_ != 0)
    waits += plural(not_started_, "wave has", "waves have") + " not started: the device holds " +
             std::to_string(world_.machine_.resident) + " at a time\n";

  // What happened comes first: where it is about what somebody did, his calls; where steps change memory for ever, those.
  size_t next = 0;
  std::string first, others;
  if (world_.ended_by_ != nullptr && !groups_.empty() && groups_.front().rank == order::ends_the_run) {
    first = text_of(groups_[next++]);
    others = cycle;
  } else if (world_.verdict_ == scheduler::verdict::livelock) {
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
