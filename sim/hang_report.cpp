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
    text += who.begun ? "; next: " + describe(who.pending) : "; has not begun";
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
  for (const source_line& line : lines_of(calls_of(who))) {
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
  if (!changes.empty()) {
    std::string text = ", last changed by " + told(changes.front());
    if (changes.front().who == &who && changes.size() > 1) text += "; before that by " + told(changes[1]);
    return text;
  }
  std::string others;
  for (const lane* user : world_.recorder_->users_of(entry.address))
    if (user != &who) others += (others.empty() ? "" : ", ") + name_of(*user) + " (" + state_of(*user) + ")";
  return others.empty() ? ", which nobody has changed and nobody else has looked at"
                        : ", which nobody has changed; used also by " + others;
}

bool hang_report::add_edges(const lane& who, const watched& entry, const std::string& location,
                            wait_graph& graph) const {
  bool any = false;
  const auto add = [&](const lane& other) {
    if (&other == &who || other.state == lane_state::ended) return;
    graph.add(*who.of, lane_bit(who), *other.of, lane_bit(other), location);
    any = true;
  };
  const std::vector<recorder::change> changes = world_.recorder_->changes_of(entry.address, entry.size_bytes);
  for (const recorder::change& change : changes) add(*change.who);
  if (!changes.empty()) return true;
  for (const lane* user : world_.recorder_->users_of(entry.address)) add(*user);
  return any;
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
  if (!any && !first.empty()) add_edges_to_all(who, first, graph);
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

std::string hang_report::text() {
  std::string text;
  size_t groups = 0;
  size_t hidden = 0;
  uint64_t not_started = 0;
  for (size_t n = 0; n < world_.waves_used_; ++n) {
    const wave& of = world_.waves_[n];
    if (!of.live()) continue;
    if (!of.resident) {
      not_started += world_.may_begin(*of.runs) ? 1 : 0;
      continue;
    }
    // Lanes of a wave that stand alike are told together.
    std::vector<std::pair<std::string, uint64_t>> alike;
    for (const lane* who : of.lanes) {
      if (who->state == lane_state::ended) continue;
      std::string told = standing(*who);
      told += watching(*who, graph_);
      told += missing_lanes(*who, graph_);
      const auto same = std::find_if(alike.begin(), alike.end(), [&](const auto& one) { return one.first == told; });
      if (same == alike.end())
        alike.emplace_back(std::move(told), uint64_t{1} << who->index);
      else
        same->second |= uint64_t{1} << who->index;
    }
    for (const auto& [told, mask] : alike) {
      if (++groups > most_groups) {
        ++hidden;
        continue;
      }
      text += name_of(of);
      if (!of.host) text += ", block " + std::to_string(of.block) + ", " + lanes_in(mask);
      text += ": " + told;
    }
  }
  if (hidden != 0) text += "... and " + plural(hidden, "more group of lanes", "more groups of lanes") + '\n';
  if (not_started != 0)
    text += plural(not_started, "wave has", "waves have") + " not started: the device holds " +
            std::to_string(world_.machine_.resident) + " at a time\n";
  text += held_back();
  if (!graph_.empty()) {
    text += "who waits for whom:\n";
    text += graph_.text("  ");
  }
  if (world_.denied_) {
    const std::string models = world_.models_without_this_hang();
    if (!models.empty()) text += "progress models under which somebody would have to move: " + models + '\n';
  }
  return text;
}

}  // namespace heddle::sim
