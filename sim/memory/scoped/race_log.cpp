#include <heddle/sim/memory/scoped/race_log.h>

#include <algorithm>

namespace heddle::sim {
namespace {

using scheduler::verdict;

const char* to_string(race_weight weight) {
  switch (weight) {
    case race_weight::scope:
      return "a scope is too narrow";
    case race_weight::acquire:
      return "only an acquire is missing: races.excuse=acquire leaves these alone";
    case race_weight::release:
      return "the first lane releases nothing";
    case race_weight::after_read:
      return "a load, and a later store that does not wait for it: races.excuse=after-read leaves these alone";
    case race_weight::nothing:
      break;
  }
  return "nothing orders them";
}

}  // namespace

bool race_log::is_excused(race_weight weight) const {
  const excused_races& excused = core_.machine.excused;
  return (weight == race_weight::acquire && excused.acquire) ||
         (weight == race_weight::after_read && excused.after_read);
}

race_log::finding race_log::finding_of(lane& self, const access_record& earlier, const reason& why) const {
  const lane& other = core_.threads.lanes[earlier.lane];
  const std::string kind = earlier.plain ? (earlier.writes ? "a plain store" : "a plain load")
                                         : (earlier.writes ? "an atomic store" : "an atomic load");
  finding made{.weight = why.weight,
               .earlier = earlier,
               .second_step = core_.history.this_step(),
               .second = &self,
               .missing = {},
               .knows = why.knows,
               .message = describe(self.pending) + " of " + describe_location(core_.map.heap, self.pending.address) +
                          " by " + name_of(self) + " is not ordered after " + kind + " by " + name_of(other),
               .calls = calls_of(self)};
  if (why.weight == race_weight::scope) made.message += ": a scope is too narrow";
  if (why.missing != nullptr && core_.observers.recorder) made.missing = *why.missing;
  return made;
}

void race_log::found(lane& self, const access_record& earlier, const reason& why) {
  const bool scope_race = why.weight == race_weight::scope;
  ++(scope_race ? scope_races_ : races_);
  const race_effect effect = core_.machine.races;
  if (effect == race_effect::count) return;
  if (is_excused(why.weight)) {
    ++excused_;
    return;
  }
  // In a search no state tells what the run has gone on behind: there each race ends it.
  if (effect == race_effect::end || core_.notes != nullptr) {
    finding ends = finding_of(self, earlier, why);
    if (core_.observers.recorder) {
      core_.observers.recorder->performed(self, 0, core_.history.this_step(), false, false);
      ended_ = ends;
    }
    core_.end(self, scope_race ? verdict::scope_race : verdict::race, ends.message);
  }
  const bool known = std::any_of(listed_.begin(), listed_.end(), [&](const finding& each) {
    return each.calls.front() == self.pending.place && each.weight == why.weight;
  });
  if (!known && listed_.size() < most_listed) listed_.push_back(finding_of(self, earlier, why));
}

void race_log::end_run(lane& self) {
  if (listed_.empty()) return;
  // What weighs most: what no lane has ordered at all.
  const auto worst = std::max_element(listed_.begin(), listed_.end(), [](const finding& one, const finding& other) {
    return one.weight < other.weight;
  });
  ended_ = *worst;
  const std::string others = listed_.size() == 1 ? "" : ", and " + std::to_string(listed_.size() - 1) + " other races";
  core_.end_at(self, worst->weight == race_weight::scope ? verdict::scope_race : verdict::race,
               worst->message + others + "; nothing came of it in this run", worst->calls);
}

std::string race_log::listed() const {
  const std::string excused =
      excused_ == 0 ? "" : "races that races.excuse left alone: " + std::to_string(excused_) + '\n';
  if (listed_.empty()) return excused;
  std::string text = "races that the run went on behind, each place once:\n";
  for (const finding& each : listed_)
    text += "  " + each.message + "\n    " + to_string(each.weight) +
            "\n    first:  " + core_.describe_step(each.earlier.step) +
            "\n    second: " + core_.describe_step(each.second_step) + '\n';
  if (listed_.size() == most_listed) text += "  no more than " + std::to_string(most_listed) + " are listed\n";
  return text + excused;
}

std::string race_log::text() const { return (ended_ ? accesses_of(*ended_) : std::string()) + listed(); }

std::optional<run_record::race> race_log::steps() const {
  if (!ended_) return std::nullopt;
  run_record::race made{.first = ended_->earlier.step, .second = ended_->second_step};
  if (ended_->missing) {
    made.store = ended_->missing->store_step;
    made.load = ended_->missing->load_step;
  }
  return made;
}

std::string race_log::accesses_of(const finding& of) const {
  const std::string first = name_of(core_.threads.lanes[of.earlier.lane]);
  const std::string second = name_of(*of.second);
  std::string text = "first access:\n  " + core_.describe_step(of.earlier.step) +
                     "\nsecond access, not ordered after it:\n  " + core_.describe_step(of.second_step) +
                     "\nmissing edge: ";
  if (!of.missing) {
    if (of.weight == race_weight::scope)
      return text + "both are atomic, but the scope of one does not include the lane of the other\n";
    text += "nothing that " + first + " stored after its access was read by " + second +
            ", directly or through others, before the second\n";
    if (of.knows == nullptr) return text;
    const std::string of_wave =
        "between lanes of a wave a broadcast, a ballot and a shuffle order nothing: sync_lanes would\n";
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
