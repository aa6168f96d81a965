#include <heddle/hw/observed/session.h>
#include <heddle/tools/hardware/watch_picture.h>
#include <heddle/tools/hardware/watchdog.h>

#include <chrono>
#include <cstdio>

namespace heddle::tools {
namespace {

using std::chrono::steady_clock;

/// How often the logs are looked at.
constexpr std::chrono::milliseconds look_interval{20};
/// How long a run has to end once it was stopped.
constexpr std::chrono::seconds grace{5};

double seconds_between(steady_clock::time_point from, steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", seconds);
  return text;
}

}  // namespace

watchdog::watchdog(watch_options options, std::function<void(const std::string& lines)> give_up)
    : options_(std::move(options)), give_up_(std::move(give_up)), thread_([this] { watch(); }) {}

watchdog::~watchdog() { finish(); }

void watchdog::begin_run(uint64_t run, std::optional<uint64_t> seed) {
  const std::lock_guard lock(mutex_);
  run_ = run;
  seed_ = seed;
}

std::string watchdog::finish() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  return lines_;
}

void watchdog::watch() {
  const observed::session& watched = observed::session::instance();
  const auto start = steady_clock::now();
  auto moved = start;
  auto run_began = start;
  uint64_t progress = ~uint64_t{0};
  uint64_t run = 0;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, look_interval, [this] { return over_; })) {
    const auto now = steady_clock::now();
    if (run_ != run) run_began = moved = now;
    run = run_;
    const uint64_t there = watched.progress();
    if (there != progress) moved = now;
    progress = there;
    if (options_.quiet_seconds > 0 && seconds_between(moved, now) > options_.quiet_seconds)
      found("nothing has happened for " + seconds_text(options_.quiet_seconds), seconds_between(run_began, now));
    else if (seconds_between(start, now) > options_.seconds_max)
      found("no end after " + seconds_text(options_.seconds_max), seconds_between(run_began, now));
    else
      continue;
    // Every wait ends; a thread or lane outside of a wait may go on for as long as it likes.
    if (!changed_.wait_for(lock, grace, [this] { return over_; })) give_up_(lines_);
    return;
  }
}

void watchdog::found(const std::string& reason, double seconds) {
  dump left = options_.header;
  left.run = run_;
  left.seed = seed_;
  left.reason = reason;
  left.seconds = seconds;
  lines_ = "hang: " + reason + " (run " + std::to_string(run_) +
           (seed_ ? ", seed " + std::to_string(*seed_) + ")\n" : ")\n");
  // Written before the device is asked for what only it reaches: one that does not answer leaves this.
  add_picture(left, false);
  std::optional<std::string> failed = write_dump(left, options_.file);
  add_picture(left, true);
  lines_ += summary_of(left);
  if (!failed) failed = write_dump(left, options_.file);
  lines_ += "  " + (failed ? *failed : "the dump is in " + options_.file) + "\n";
  observed::session::instance().stop();
}

}  // namespace heddle::tools
