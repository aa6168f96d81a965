#include <heddle/sim/core/fair_set.h>

namespace heddle::sim {
void fair_set::reset(progress_model model, bool places_take_turns) {
  model_ = model;
  places_take_turns_ = places_take_turns;
  device_waves_.clear();
  lowest_live_ = 0;
  stepped_up_to_ = 0;
  candidates_ = 0;
  guaranteed_device_waves_ = 0;
  unstepped_ = 0;
}

// Waves of a block have ids in a row.
template <typename Each>
void fair_set::for_each_in_block(const wave& who, Each&& each) const {
  const auto together = [&](const wave& other) { return other.kernel == who.kernel && other.block == who.block; };
  size_t n = who.device_id;
  while (n > 0 && together(*device_waves_[n - 1])) --n;
  for (; n < device_waves_.size() && together(*device_waves_[n]); ++n) each(*device_waves_[n]);
}

bool fair_set::holds(progress_model model, const wave& who) const {
  if (!who.live()) return false;
  if (who.host) return true;
  const auto is_lowest = [&] { return lowest_live_ < device_waves_.size() && device_waves_[lowest_live_] == &who; };
  switch (model) {
    case progress_model::fair:
      return true;
    case progress_model::unfair:
      return false;
    case progress_model::hsa:
      return is_lowest();
    case progress_model::obe:
      return who.stepped;
    case progress_model::hsa_obe:
      return who.stepped || is_lowest();
    case progress_model::lobe:
      return who.device_id < stepped_up_to_;
    case progress_model::slots:
      return who.resident || (places_take_turns_ && who.started());
    case progress_model::cuda: {
      bool any = false;
      for_each_in_block(who, [&](const wave& one) { any = any || one.stepped; });
      return any;
    }
  }
  return false;
}

void fair_set::live_on_device(wave& who) {
  device_waves_.push_back(&who);
  ++unstepped_;
  look_again(who);
}

void fair_set::placed(wave& who) {
  if (model_ == progress_model::slots) look_again(who);
}

void fair_set::stepped_on_device(wave& who) {
  --unstepped_;
  const size_t lowest_new = stepped_up_to_;
  if (who.device_id >= stepped_up_to_) stepped_up_to_ = who.device_id + size_t{1};
  switch (model_) {
    case progress_model::lobe:
      for (size_t n = lowest_new; n < stepped_up_to_; ++n) look_again(*device_waves_[n]);
      return;
    case progress_model::cuda:
      for_each_in_block(who, [&](wave& one) { look_again(one); });
      return;
    default:
      look_again(who);
  }
}

void fair_set::ended_on_device(wave& who) {
  if (!who.stepped) --unstepped_;
  while (lowest_live_ < device_waves_.size() && !device_waves_[lowest_live_]->live()) ++lowest_live_;
  if (lowest_live_ < device_waves_.size()) look_again(*device_waves_[lowest_live_]);
}

}  // namespace heddle::sim
