#include <heddle/sim/core/fair_set.h>
#include <heddle/sim/machine/kernel.h>

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

// The waves of its block; of its cluster, where it has one; of its kernel, where that is cooperative. Those of a kernel have ids in a row, block by
// block.
template <typename Each>
void fair_set::for_each_with(const wave& who, Each&& each) const {
  const launched_kernel& runs = *who.runs;
  const bool of_block = !runs.shape.cooperative && runs.cluster_blocks == 1;
  const uint32_t before = of_block ? who.in_kernel % runs.waves_per_block : who.in_kernel;
  const uint32_t count = of_block ? runs.waves_per_block : runs.blocks * runs.waves_per_block;
  const uint32_t cluster = runs.place_of(who.block).cluster;
  const size_t first = who.device_id - before;
  for (size_t n = first; n < first + count && n < device_waves_.size(); ++n)
    if (of_block || runs.shape.cooperative || runs.place_of(device_waves_[n]->block).cluster == cluster)
      each(*device_waves_[n]);
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
      for_each_with(who, [&](const wave& one) { any = any || one.stepped; });
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
      for_each_with(who, [&](wave& one) { look_again(one); });
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
