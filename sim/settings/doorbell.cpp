#include <heddle/sim/settings/doorbell.h>

namespace heddle::sim {

std::vector<parameter> doorbell_parameters() {
  return {
      parameter::one_of(
          "doorbells", "delivered", {"delivered", "delayed", "dropped", "duplicated", "coalesced"},
          "what may happen to each ring: nothing, it comes late, it is lost, it counts twice, or several that "
          "are late count as one"),
      parameter::number("doorbells.steps", 256, 1, 1 << 20, "steps",
                        "how long a ring may be under way (doorbells delayed and coalesced)"),
  };
}

doorbell_settings doorbell_settings::from(const parameters& values) {
  const std::string& name = values.text("doorbells");
  doorbell_settings read;
  if (name == "delayed") read.behaviour = doorbell_behaviour::delayed;
  if (name == "dropped") read.behaviour = doorbell_behaviour::dropped;
  if (name == "duplicated") read.behaviour = doorbell_behaviour::duplicated;
  if (name == "coalesced") read.behaviour = doorbell_behaviour::coalesced;
  read.steps_most = values.count("doorbells.steps");
  return read;
}

}  // namespace heddle::sim
