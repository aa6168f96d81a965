// The fair set F of a progress model: the waves that are guaranteed turns, kept up to date step by step.
//
// A wave that is live and stays in F takes infinitely many steps; no other wave is promised any. Host threads are always in
// F. (Sorensen, Evrard, Donaldson, CONCUR'18, section 4, for hsa and obe; Sorensen, Salvador, Raval, Evrard, Wickerson, Martonosi,
// Donaldson, OOPSLA'21, for hsa_obe and lobe; NVIDIA's CUDA execution model for cuda and for the host.)
#pragma once

#include <heddle/sim/machine/lane.h>
#include <heddle/sim/settings/progress_model.h>

#include <vector>

namespace heddle::sim {

class fair_set {
 public:
  /// `places_take_turns`: what has had a place on the device gets one again and again.
  [[gnu::hot]] void reset(progress_model model, bool places_take_turns = false);

  // Events in the life of a wave: each is told once, as it happens.
  void live(wave& who) {
    if (who.host) return set_guaranteed(who, who.live());  // every model promises turns to the host
    live_on_device(who);
  }
  void placed(wave& who);    ///< it has got a place on the device, or has been evicted from it
  void stepped(wave& who) {  ///< for the first time
    if (!who.host) stepped_on_device(who);
  }
  void ended(wave& who) {
    set_guaranteed(who, false);
    if (!who.host) ended_on_device(who);
  }

  /// Whether the wave would be in F now under another model.
  bool would_hold(progress_model model, const wave& who) const { return holds(model, who); }

  // Events of their lanes.
  void candidate_added(wave& who) {
    ++version_;
    if (++who.candidates, who.guaranteed) ++candidates_;
  }
  void candidate_removed(wave& who) {
    ++version_;
    if (--who.candidates, who.guaranteed) --candidates_;
  }

  /// Other lanes than before stand for those that are enabled.
  void list_changed() { ++version_; }

  /// The number of enabled lanes of waves in F.
  uint32_t candidates() const { return candidates_; }
  /// Differs after each change: a lane is enabled, disabled, listed or not, a wave enters or leaves F; never 0.
  const uint64_t& version() const { return version_; }

  /// Whether a wave outside F must be let start all the same (minimal progress): no wave of the device is in F, and one
  /// that has never stepped is live.
  bool owes_a_start() const { return guaranteed_device_waves_ == 0 && unstepped_ != 0; }

 private:
  void live_on_device(wave& who);
  void stepped_on_device(wave& who);
  void ended_on_device(wave& who);
  void set_guaranteed(wave& who, bool guaranteed) {
    if (who.guaranteed == guaranteed) return;
    who.guaranteed = guaranteed;
    ++version_;
    if (guaranteed)
      candidates_ += who.candidates;
    else
      candidates_ -= who.candidates;
    if (!who.host) guaranteed_device_waves_ += guaranteed ? 1u : ~0u;
  }
  void look_again(wave& who) { set_guaranteed(who, holds(model_, who)); }
  bool holds(progress_model model, const wave& who) const;
  template <typename Each>
  void for_each_with(const wave& who, Each&& each) const;

  progress_model model_ = progress_model::fair;
  bool places_take_turns_ = false;
  std::vector<wave*> device_waves_;  ///< by id
  size_t lowest_live_ = 0;
  size_t stepped_up_to_ = 0;  ///< one more than the highest id that has ever stepped
  uint32_t candidates_ = 0;
  uint64_t version_ = 1;  ///< goes on from run to run
  uint32_t guaranteed_device_waves_ = 0;
  uint32_t unstepped_ = 0;
};

}  // namespace heddle::sim
