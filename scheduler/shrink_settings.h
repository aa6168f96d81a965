// A smaller program that fails alike: fewer waves, calls and so on, as far as runs of seeds find the failure there.
#pragma once

#include <heddle/scheduler/shrink.h>
#include <heddle/scheduler/shrink_runs.h>
#include <heddle/scheduler/shrink_schedules.h>

#include <cstdint>
#include <optional>
#include <set>

namespace heddle::scheduler::shrinking {

class setting_shrinker {
 public:
  setting_shrinker(failing_runs& runs, schedule_shrinker& schedules, const shrink_options& options)
      : runs_(runs), schedules_(schedules), options_(options), seen_(runs.original()) {}

  /// Roughly first: what is far too large cannot be afforded to be made smaller otherwise.
  void reduce_settings(setup& current);

  /// A small run under the settings that reduce_settings() has come to.
  const failing_run& seen() const { return seen_; }

 private:
  /// How far runs under other settings are made smaller before they are compared.
  enum class care : uint8_t {
    none,  ///< as seeds give them: quick, and good enough for programs that are far too large
    some,  ///< without what they clearly do not need
  };

  /// Takes the values if the failure can be had with them, in a run that is hardly larger.
  bool take_if_failing(setup& current, const setting_values& values);
  /// The smallest run of the schedule seen last and of some seeds; nothing when none fails.
  std::optional<failing_run> smallest_of(const setup& under);
  /// All to their least values, else all together by halves, and then one after the other, as far as it goes.
  void reduce_all_settings(setup& current);
  /// The least value, else by halves towards it. Whether anything has changed.
  bool reduce(setup& current, const reducible& what);

  failing_runs& runs_;
  schedule_shrinker& schedules_;
  const shrink_options& options_;
  failing_run seen_;  ///< a small one under the settings that are allowed now
  care care_ = care::none;
  std::set<setting_values> settings_tried_;            ///< with the care that is taken now
  std::set<setting_values> settings_without_failure_;  ///< by whatever care
};

}  // namespace heddle::scheduler::shrinking
