#include <heddle/sim/memory/scoped/race_log.h>
#include <heddle/sim/memory/scoped/scoped_bytes.h>
#include <heddle/sim/memory/scoped/scoped_lane.h>

#include <algorithm>
#include <utility>

namespace heddle::sim {
namespace {

using scheduler::verdict;

std::string to_string(race_weight weight) {
  const auto alone = [weight](const char* what) {
    return std::string(what) + ": races.excuse=" + name_in_settings(weight) + " leaves these alone";
  };
  switch (weight) {
    case race_weight::same_value:
      return alone("both store, and the second one changes nothing");
    case race_weight::plain_flag:
      return alone("a plain store behind a fence, where others load an atomic or volatile word");
    case race_weight::after_read:
      return alone("a load, and a later store that nothing orders behind it");
    case race_weight::acquire:
      return alone("only an acquire before the second one, a load, is missing");
    case race_weight::acquire_store:
      return alone("only an acquire before the second one, a store, is missing");
    case race_weight::scope:
      return "a scope is too narrow";
    case race_weight::proxy:
      return "no proxy fence brings the first one to the copy";
    case race_weight::release:
      return "the first lane releases nothing that reaches the second";
    case race_weight::nothing:
      break;
  }
  return "nothing orders them";
}

// The place whose low half a record has kept: near this program's own code.
const void* place_of(uint32_t low) {
  const auto near = reinterpret_cast<uintptr_t>(&place_of);
  return reinterpret_cast<const void*>(near +
                                       static_cast<uintptr_t>(static_cast<int32_t>(low - static_cast<uint32_t>(near))));
}

/// The narrowest scope that includes both lanes.
scope scope_of(const lane& one, const lane& other) {
  static_assert(static_cast<uint8_t>(scope::cluster) == same_cluster &&
                static_cast<uint8_t>(scope::system) == same_system);
  return static_cast<scope>(scoped::between(scoped::facts(one), scoped::facts(other)));
}

uint64_t bytes_at(const std::byte* granule, uint8_t mask) {
  return scoped::read_granule(granule) & scoped::bytes_of_mask[mask];
}

}  // namespace

void race_log::forget_listed() {
  listed_.clear();
  excused_ = {};
  known_.clear();
  any_excused_ = false;
}

race_log::finding race_log::finding_of(lane& self, const open_race& race) const {
  const access_record& earlier = race.earlier;
  const lane& other = core_.threads.lanes[earlier.lane];
  const std::string kind = race.under_way  ? "a copy that is under way"
                           : earlier.given ? "what was stored there before the address was given"
                           : earlier.plain ? (earlier.writes ? "a plain store" : "a plain load")
                                           : (earlier.writes ? "an atomic store" : "an atomic load");
  std::string where;
  core_.aside(self, [&] { where = describe_location(core_.map.heap, self.pending.address); });
  finding made{.weight = race.weight,
               .earlier = earlier,
               .second_step = race.step,
               .second = &self,
               .missing = {},
               .includes_both = scope_of(other, self),
               .knows = race.knows,
               .under_way = race.under_way,
               .message = describe(self.pending) + " of " + where + " by " + name_of(self) + " is not ordered after " +
                          kind + " by " + name_of(other),
               .calls = race.calls};
  if (race.weight == race_weight::scope) made.message += ": a scope is too narrow";
  if (race.weight == race_weight::proxy) made.message += ": there is no proxy fence between them";
  if (core_.observers.recorder) made.missing = race.missing;
  if (made.missing) made.missing->load_step = last_read_of(*made.missing, made);
  return made;
}

// A lane that has read a store again, in the same way, has learnt nothing of it that the edge does not say: but that read, and not the look in front
// of it, is what the second access comes behind.
uint64_t race_log::last_read_of(const race_finder::edge& edge, const finding& of) const {
  const recorder& seen = *core_.observers.recorder;
  const recorder::taken* const first = seen.taken_in(edge.load_step);
  const bool lacks_acquire = edge.lacks == missing_order::acquire || edge.lacks == missing_order::reach;
  if (!lacks_acquire || first == nullptr || edge.lane != of.second->id || first->reads == run_record::never)
    return edge.load_step;
  for (uint64_t step = of.second_step; --step > edge.load_step;) {
    const recorder::taken* const one = seen.taken_in(step);
    if (one == nullptr || one->who != first->who || one->reads != first->reads) continue;
    if (one->what.kind != operation_kind::plain_load && one->what.address == first->what.address) return step;
  }
  return edge.load_step;
}

void race_log::found(lane& self, const access_record& earlier, const reason& why) {
  ++(why.weight == race_weight::scope ? scope_races_ : races_);
  const race_effect effect = core_.machine.races;
  // In a search no state tells what the run has gone on behind: what comes of races is looked for without them.
  const bool is_unseen = effect == race_effect::count || (effect == race_effect::weigh && core_.notes != nullptr);
  if (is_unseen || leaves_alone(self, earlier, why.weight)) return;
  open_race race{.by = &self,
                 .earlier = earlier,
                 .weight = why.weight,
                 .missing = {},
                 .knows = why.knows,
                 .under_way = why.under_way,
                 .calls = calls_of(self),
                 .step = core_.history.this_step(),
                 .to = why.stored_to};
  if (why.missing != nullptr) race.missing = *why.missing;
  const bool counts = effect == race_effect::weigh || core_.machine.excused.has(race_weight::same_value);
  if (!counts || !why.stored_to.later) return conclude(self, finding_of(self, race), false);
  race.before = bytes_at(race.to.granule, race.to.mask);
  undecided_.push_back(std::move(race));
}

// The lane is still the one that runs, and its operation still the store: nothing else has come in between.
void race_log::decide(lane& self) {
  std::vector<open_race> made;
  std::erase_if(undecided_, [&](open_race& race) {
    if (race.by != &self) return false;
    made.push_back(std::move(race));
    return true;
  });
  for (open_race& race : made) {
    finding decided = finding_of(self, race);
    if (bytes_at(race.to.granule, race.to.mask) == race.before) decided.weight = race_weight::same_value;
    if (decided.weight == race_weight::same_value && leaves_alone(self, race.earlier, decided.weight)) continue;
    conclude(self, std::move(decided), true);
  }
}

// `is_made`: the step is behind the lane.
void race_log::conclude(lane& self, finding&& made, bool is_made) {
  if (core_.machine.races != race_effect::weigh) {
    if (core_.observers.recorder) {
      if (!is_made) core_.observers.recorder->ends_at(self, core_.history.this_step());
      ended_ = made;
    }
    core_.end_at(self, made.weight == race_weight::scope ? verdict::scope_race : verdict::race, made.message,
                 made.calls);
  }
  // Where two lanes access again and again, each of two places comes behind the other, and more or less may come of it: that is one race.
  const auto known = std::find_if(listed_.begin(), listed_.end(), [&](const finding& each) {
    const uint32_t earlier = low_half(each.calls.front());
    const uint32_t later = low_half(made.calls.front());
    const bool same_places = (each.earlier.place == made.earlier.place && earlier == later) ||
                             (each.earlier.place == later && earlier == made.earlier.place);
    return same_places || (earlier == later && each.weight == made.weight);
  });
  if (known == listed_.end()) {
    if (listed_.size() < most_listed) listed_.push_back(std::move(made));
  } else if (known->weight < made.weight) {
    *known = std::move(made);
  }
}

// -- what is left alone --------------------------------------------------------------------------------------------------------------

// Whether the race is one to leave alone; counts it then.
bool race_log::leaves_alone(lane& self, const access_record& earlier, race_weight weight) {
  const bool of_this_kind = core_.machine.excused.has(weight);
  if (of_this_kind) ++excused_[static_cast<size_t>(weight)];
  const bool excused = of_this_kind || (core_.machine.excused.listed != nullptr && is_known(self, earlier));
  any_excused_ = any_excused_ || excused;
  return excused;
}

bool race_log::is_known(lane& self, const access_record& earlier) {
  const std::vector<sim::excuse>& listed = *core_.machine.excused.listed;
  known_.resize(listed.size());
  std::string location;
  core_.aside(self, [&] { location = describe_location(core_.map.heap, self.pending.address); });
  const auto is_made_at = [&](const sim::excuse& known, const void* place) {
    const std::vector<source_line>& lines = lines_at(self, place);
    return std::any_of(lines.begin(), lines.end(),
                       [&](const source_line& line) { return known.is_at(line.file, line.line); });
  };
  bool found = false;
  for (size_t n = 0; n < listed.size(); ++n) {
    const sim::excuse& known = listed[n];
    if (!known.is_of(location) && !is_made_at(known, self.pending.place) && !is_made_at(known, place_of(earlier.place)))
      continue;
    ++known_[n];
    found = true;
  }
  return found;
}

const std::vector<source_line>& race_log::lines_at(lane& self, const void* place) {
  const auto [entry, fresh] = lines_.try_emplace(place);
  if (fresh && place != nullptr) core_.aside(self, [place, &lines = entry->second] { lines = inlined_at(place); });
  return entry->second;
}

std::map<std::string, uint64_t> race_log::excused() const {
  std::map<std::string, uint64_t> made;
  for (size_t n = 0; n < excused_.size(); ++n)
    if (excused_[n] != 0) made[name_in_settings(race_weight{static_cast<uint8_t>(n)})] = excused_[n];
  for (size_t n = 0; n < known_.size(); ++n)
    if (known_[n] != 0) made[(*core_.machine.excused.listed)[n].from] = known_[n];
  return made;
}

// -- reports -------------------------------------------------------------------------------------------------------------------------

void race_log::end_run(lane& self) {
  if (listed_.empty()) return;
  // What weighs most: what no lane has ordered at all.
  const auto worst = std::max_element(listed_.begin(), listed_.end(), [](const finding& one, const finding& other) {
    return one.weight < other.weight;
  });
  ended_ = *worst;
  const size_t more = listed_.size() - 1;
  const std::string others =
      more == 0 ? "" : ", and " + std::to_string(more) + (more == 1 ? " other race" : " other races");
  core_.end_at(self, worst->weight == race_weight::scope ? verdict::scope_race : verdict::race,
               worst->message + others + "; nothing came of it in this run", worst->calls);
}

std::string race_log::listed() const {
  std::string excused_text;
  for (const auto& [what, count] : excused())
    excused_text +=
        (excused_text.empty() ? "races that were left alone: " : ", ") + std::to_string(count) + " (" + what + ')';
  if (!excused_text.empty()) excused_text += '\n';
  if (listed_.empty()) return excused_text;
  std::string text = "races that the run went on behind, each place once:\n";
  for (const finding& each : listed_)
    text += "  " + each.message + "\n    " + to_string(each.weight) +
            "\n    first:  " + core_.describe_step(each.earlier.step) +
            "\n    second: " + core_.describe_step(each.second_step) + '\n';
  if (listed_.size() == most_listed) text += "  no more than " + std::to_string(most_listed) + " are listed\n";
  return text + excused_text;
}

std::string race_log::text() const { return (ended_ ? accesses_of(*ended_) : std::string()) + listed(); }

std::optional<run_record::race> race_log::steps() const {
  if (!ended_) return std::nullopt;
  run_record::race made{
      .first = ended_->earlier.step, .second = ended_->second_step, .of_accesses = ended_->includes_both};
  if (ended_->missing) {
    made.store = ended_->missing->store_step;
    made.load = ended_->missing->load_step;
    const auto& lanes = core_.threads.lanes;
    made.of_edge = scope_of(lanes[ended_->missing->releaser], lanes[ended_->missing->lane]);
  }
  return made;
}

std::string race_log::accesses_of(const finding& of) const {
  const std::string first = name_of(core_.threads.lanes[of.earlier.lane]);
  const std::string second = name_of(*of.second);
  std::string text =
      "first access:\n  " + core_.describe_step(of.earlier.step) +
      (of.earlier.given ? "\n  gives the address; what " + first + " stored there before comes no later" : "") +
      "\nsecond access, not ordered after it:\n  " + core_.describe_step(of.second_step) + "\nmissing edge: ";
  if (!of.missing) {
    if (of.under_way)
      return text +
             "a copy by cp.async is made at some time from its issue on until its lane waits for it: that wait "
             "(cp.async.wait_group, __pipeline_wait_prior, consumer_wait, cooperative_groups::wait) must come before "
             "the second access" +
             (of.second == &core_.threads.lanes[of.earlier.lane]
                  ? "\n"
                  : ", and what orders both lanes in between, or the second access before the issue\n");
    if (of.weight == race_weight::proxy)
      return text +
             "a bulk copy is of another proxy than the access that it comes after: a fence.proxy.async that names this "
             "memory, or none, must stand behind the access, before what orders the copy\n";
    if (of.weight == race_weight::scope)
      return text + "both are atomic, but the scope of one does not include the lane of the other\n";
    text += "nothing that " + first + " stored after its access was read by " + second +
            ", directly or through others, before the second\n";
    const wave& first_of = *core_.threads.lanes[of.earlier.lane].of;
    if (of.second->of->async || first_of.async)
      text +=
          "a copy that arrives at a barrier comes before what waits for that phase of it: program order and another "
          "barrier wait for lanes alone\n";
    else if (of.second->of->bulk || first_of.bulk)
      text +=
          "a bulk copy comes before what waits for its mbarrier, or for its group; wait_group.read waits for what it "
          "reads alone\n";
    if (of.knows == nullptr) return text;
    const std::string of_wave =
        "between lanes of a wave a broadcast, a ballot and a shuffle order nothing: sync_lanes, "
        "which CUDA calls __syncwarp, would\n";
    return text +
           (of.knows == &core_.threads.lanes[of.earlier.lane]
                ? "both lanes are of " + name_of(*of.second->of) + ", and "
                : name_of(*of.knows) + " had acquired it, but ") +
           of_wave;
  }
  switch (of.missing->lacks) {
    case missing_order::scope:
      text += "a scope is too narrow where";
      break;
    case missing_order::release:
      text += "no release where";
      break;
    case missing_order::acquire:
      text += "no acquire where";
      break;
    case missing_order::flag:
      text += "no atomic store where, behind a fence,";
      break;
    case missing_order::reach:
      text += "a scope is too narrow, and there is no acquire, where";
      break;
  }
  const auto is_fence = [&](uint64_t step) {
    return core_.observers.recorder != nullptr && core_.observers.recorder->is_fence(step);
  };
  const bool through_fence = is_fence(of.missing->store_step) || is_fence(of.missing->load_step);
  return text + "\n  " + core_.describe_step(of.missing->store_step) +
         (through_fence ? "\n  is met by\n  " : "\n  is read by\n  ") + core_.describe_step(of.missing->load_step) +
         "\n";
}

}  // namespace heddle::sim
