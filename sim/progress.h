// Who is guaranteed a turn: the fair set F of a progress model, kept up to date step by step.
//
// A wave that is live and stays in F takes infinitely many steps; nobody else is promised anything. Host threads are always in
// F. (Sorensen, Evrard, Donaldson, CONCUR'18, section 4, for hsa and obe; NVIDIA's CUDA execution model for the host.)
#pragma once

#include <heddle/sim/lane.h>

#include <string>
#include <string_view>
#include <vector>

namespace heddle::sim {

enum class progress_model : uint8_t {
  fair,    ///< every live wave
  unfair,  ///< no wave
  hsa,     ///< the live wave of lowest id
  obe,     ///< every live wave that has ever stepped (occupancy-bound)
};

/// The names that the setting `progress` takes.
std::vector<std::string> progress_model_names();
progress_model parse_progress_model(std::string_view name);
const char* to_string(progress_model model);

class fair_set {
 public:
  void reset(progress_model model);

  // What happens to waves; each is told once, in order.
  void live(wave& who);
  void stepped(wave& who);
  void ended(wave& who);

  // What happens to their lanes.
  void candidate_added(wave& who) {
    if (++who.candidates, who.guaranteed) ++candidates_;
  }
  void candidate_removed(wave& who) {
    if (--who.candidates, who.guaranteed) --candidates_;
  }

  /// Lanes that can take a step and are guaranteed one.
  uint32_t candidates() const { return candidates_; }

  /// Whether somebody outside F must be let start all the same: no wave of the device is in F while one that has never
  /// stepped is live (minimal progress).
  bool owes_a_start() const { return guaranteed_device_waves_ == 0 && unstepped_ != 0; }

 private:
  void set_guaranteed(wave& who, bool guaranteed);
  bool holds(const wave& who) const;

  progress_model model_ = progress_model::fair;
  std::vector<wave*> device_waves_;  ///< by id
  size_t lowest_live_ = 0;
  uint32_t candidates_ = 0;
  uint32_t guaranteed_device_waves_ = 0;
  uint32_t unstepped_ = 0;
};

}  // namespace heddle::sim
