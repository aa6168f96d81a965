// How far a campaign is: one line that is rewritten on a terminal, a line now and then elsewhere.
#pragma once

#include <heddle/scheduler/campaign.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace heddle::tools {

class progress_line {
 public:
  /// How far the whole is when a scenario begins.
  struct whole {
    size_t number = 0;  ///< of the scenario, from 1
    size_t scenarios = 0;
    size_t findings = 0;       ///< of those before it
    double seconds_used = 0;   ///< by those before it
    double seconds_asked = 0;  ///< for all; 0: as long as it takes
  };
  /// `schedules` or `seconds_max` is the scenario's goal, the other 0.
  progress_line(std::string scenario, const whole& before, uint64_t schedules, double seconds_max);
  ~progress_line();
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;

  /// Cheap unless it is time for a new line.
  void show(const scheduler::campaign_result& so_far);

 private:
  std::string text(const scheduler::campaign_result& so_far) const;

  std::string scenario_;
  whole before_;
  uint64_t schedules_;
  double seconds_max_;
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace heddle::tools
