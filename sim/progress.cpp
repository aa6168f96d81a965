#include <heddle/sim/progress.h>

#include <array>

namespace heddle::sim {
namespace {
constexpr std::array names = {"fair", "unfair", "hsa", "obe"};
}

std::vector<std::string> progress_model_names() { return {names.begin(), names.end()}; }

progress_model parse_progress_model(std::string_view name) {
  for (size_t n = 0; n < names.size(); ++n)
    if (name == names[n]) return static_cast<progress_model>(n);
  return progress_model::fair;
}

const char* to_string(progress_model model) { return names[static_cast<size_t>(model)]; }

void fair_set::reset(progress_model model) {
  model_ = model;
  device_waves_.clear();
  lowest_live_ = 0;
  candidates_ = 0;
  guaranteed_device_waves_ = 0;
  unstepped_ = 0;
}

bool fair_set::holds(const wave& who) const {
  if (!who.live()) return false;
  if (who.host) return true;
  switch (model_) {
    case progress_model::fair:
      return true;
    case progress_model::unfair:
      return false;
    case progress_model::hsa:
      return lowest_live_ < device_waves_.size() && device_waves_[lowest_live_] == &who;
    case progress_model::obe:
      return who.stepped;
  }
  return false;
}

void fair_set::set_guaranteed(wave& who, bool guaranteed) {
  if (who.guaranteed == guaranteed) return;
  who.guaranteed = guaranteed;
  if (guaranteed)
    candidates_ += who.candidates;
  else
    candidates_ -= who.candidates;
  if (!who.host) guaranteed_device_waves_ += guaranteed ? 1u : ~0u;
}

void fair_set::live(wave& who) {
  if (!who.host) {
    device_waves_.push_back(&who);
    ++unstepped_;
  }
  set_guaranteed(who, holds(who));
}

void fair_set::stepped(wave& who) {
  if (!who.host) --unstepped_;
  set_guaranteed(who, holds(who));
}

void fair_set::ended(wave& who) {
  set_guaranteed(who, false);
  if (who.host) return;
  if (!who.stepped) --unstepped_;
  while (lowest_live_ < device_waves_.size() && !device_waves_[lowest_live_]->live()) ++lowest_live_;
  if (lowest_live_ < device_waves_.size())
    set_guaranteed(*device_waves_[lowest_live_], holds(*device_waves_[lowest_live_]));
}

}  // namespace heddle::sim
