// How far a campaign is: one line that is rewritten on a terminal, a line now and then elsewhere.
#pragma once

#include <heddle/scheduler/campaign.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace heddle::tools {

class progress_line {
 public:
  /// `part` says which of how many, "2/7"; `schedules` or `seconds_max` is the goal, the other 0.
  progress_line(std::string scenario, std::string part, uint64_t schedules, double seconds_max);
  ~progress_line();
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;

  /// Cheap unless it is time for a new line.
  void show(const scheduler::campaign_result& so_far);

 private:
  std::string text(const scheduler::campaign_result& so_far) const;

  std::string scenario_;
  std::string part_;
  uint64_t schedules_;
  double seconds_max_;
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace heddle::tools
