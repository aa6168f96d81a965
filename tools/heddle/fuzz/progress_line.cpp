#include <heddle/tools/cli/table.h>
#include <heddle/tools/fuzz/progress_line.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string_view>

namespace heddle::tools {
namespace {

constexpr auto terminal_interval = std::chrono::milliseconds(100);
constexpr auto plain_interval = std::chrono::seconds(10);
constexpr size_t line_width_max = 79;

std::string duration(double seconds) {
  const auto whole = static_cast<uint64_t>(std::ceil(seconds));
  if (whole < 120) return std::to_string(whole) + " s";
  if (whole < 7'200) return std::to_string(whole / 60) + " min";
  return std::to_string(whole / 3'600) + " h";
}

}  // namespace

progress_line::progress_line(std::string scenario, std::string part, uint64_t schedules, double seconds_max)
    : scenario_(std::move(scenario)),
      part_(std::move(part)),
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
  std::string line = part_ + " " + scenario_ + ": " + grouped(so_far.schedules);
  if (schedules_ != 0) line += " of " + grouped(schedules_);
  line += ", " + grouped(static_cast<uint64_t>(so_far.schedules_per_second())) + "/s";
  std::map<std::string_view, uint64_t> verdicts;
  for (const scheduler::finding& each : so_far.findings) verdicts[to_string(each.first.outcome)] += each.count;
  for (const auto& [name, count] : verdicts) line += ", " + std::string(name) + " " + grouped(count);
  double left = seconds_max_ - so_far.seconds;
  if (schedules_ != 0) left = static_cast<double>(schedules_ - so_far.schedules) / so_far.schedules_per_second();
  return line + ", " + duration(std::max(left, 0.0)) + " left";
}

}  // namespace heddle::tools
