#include <heddle/tools/cli/table.h>
#include <heddle/tools/fuzz/progress_line.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace heddle::tools {
namespace {

constexpr auto terminal_interval = std::chrono::milliseconds(100);
constexpr auto plain_interval = std::chrono::seconds(10);
constexpr size_t line_width_max = 79;

}  // namespace

progress_line::progress_line(std::string scenario, const whole& before, uint64_t schedules, double seconds_max)
    : scenario_(std::move(scenario)),
      before_(before),
      schedules_(schedules),
      seconds_max_(seconds_max),
      terminal_(is_terminal(STDERR_FILENO)) {
  next_ = std::chrono::steady_clock::now();
  if (terminal_) {
    next_ += terminal_interval;
  } else {
    next_ += plain_interval;
  }
}

progress_line::~progress_line() {
  if (terminal_ && shown_) std::fputs("\r\033[K", stderr);
}

void progress_line::show(const scheduler::campaign_result& so_far) {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  const std::string line = text(so_far);
  if (terminal_) {
    next_ = now + terminal_interval;
    std::fprintf(stderr, "\r\033[K%s", shortened(line, line_width_max).c_str());
  } else {
    next_ = now + plain_interval;
    std::fprintf(stderr, "%s\n", line.c_str());
  }
  shown_ = true;
}

std::string progress_line::text(const scheduler::campaign_result& so_far) const {
  std::string line = std::to_string(before_.number) + "/" + std::to_string(before_.scenarios) + " " + scenario_ + ": ";
  if (so_far.schedules == 0) return line + "in its first schedule, step " + grouped(so_far.steps);
  line += grouped(so_far.schedules);
  if (schedules_ != 0) line += " of " + grouped(schedules_);
  line += ", " + grouped(static_cast<uint64_t>(so_far.schedules_per_second())) + "/s";
  const size_t findings = before_.findings + so_far.findings.size();
  if (findings != 0) line += ", " + grouped(findings) + (findings == 1 ? " finding" : " findings");
  double left = seconds_max_ - so_far.seconds;
  if (schedules_ != 0) left = static_cast<double>(schedules_ - so_far.schedules) / so_far.schedules_per_second();
  // Of those that have not begun nothing is known but how long the others took.
  const double total = so_far.seconds + std::max(left, 0.0) + before_.seconds_used;
  const double others = static_cast<double>(before_.scenarios - before_.number) / static_cast<double>(before_.number);
  const double used = before_.seconds_used + so_far.seconds;
  const double left_of_all = before_.seconds_asked > 0 ? before_.seconds_asked - used : left + total * others;
  return line + ", " + duration_text(std::max(left_of_all, 0.0)) + " left";
}

}  // namespace heddle::tools
