#include <heddle/sim/memory/scoped/race_log.h>

namespace heddle::sim {

using scheduler::verdict;

void race_log::found(lane& self, const access_record& earlier, bool scope_race, const race_finder::edge* missing,
                     const lane* knows) {
  ++(scope_race ? scope_races_ : races_);
  if (!core_.machine.races_end) return;
  const lane& other = core_.threads.lanes[earlier.lane];
  const std::string kind = earlier.plain ? (earlier.writes ? "a plain store" : "a plain load")
                                         : (earlier.writes ? "an atomic store" : "an atomic load");
  std::string message = describe(self.pending) + " of " + describe_location(core_.map.heap, self.pending.address) +
                        " by " + name_of(self) + " is not ordered after " + kind + " by " + name_of(other);
  if (scope_race) message += ": a scope is too narrow";
  if (core_.observers.recorder) {
    core_.observers.recorder->performed(self, 0, core_.history.this_step(), false, false);
    ended_ = {.earlier = earlier,
              .second_step = core_.history.this_step(),
              .second = &self,
              .missing = nullptr,
              .knows = knows};
    if (missing != nullptr) ended_.missing = std::make_unique<race_finder::edge>(*missing);
  }
  core_.end(self, scope_race ? verdict::scope_race : verdict::race, message);
}

std::string race_log::text() const {
  const std::string first = name_of(core_.threads.lanes[ended_.earlier.lane]);
  const std::string second = name_of(*ended_.second);
  std::string text = "first access:\n  " + core_.describe_step(ended_.earlier.step) +
                     "\nsecond access, not ordered after it:\n  " + core_.describe_step(ended_.second_step) +
                     "\nmissing edge: ";
  if (ended_.missing == nullptr) {
    if (core_.ending.verdict == verdict::scope_race)
      return text + "both are atomic, but the scope of one does not include the lane of the other\n";
    text += "nothing that " + first + " stored after its access was read by " + second +
            ", directly or through others, before the second\n";
    if (ended_.knows == nullptr) return text;
    const std::string of_wave =
        "between lanes of a wave a broadcast, a ballot and a shuffle order nothing: sync_lanes would\n";
    return text +
           (ended_.knows == &core_.threads.lanes[ended_.earlier.lane]
                ? "both lanes are of " + name_of(*ended_.second->of) + ", and "
                : name_of(*ended_.knows) + " had acquired it, but ") +
           of_wave;
  }
  switch (ended_.missing->lacks) {
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
  const bool through_fence = is_fence(ended_.missing->store_step) || is_fence(ended_.missing->load_step);
  return text + "\n  " + core_.describe_step(ended_.missing->store_step) +
         (through_fence ? "\n  is met by\n  " : "\n  is read by\n  ") + core_.describe_step(ended_.missing->load_step) +
         "\n";
}

}  // namespace heddle::sim
