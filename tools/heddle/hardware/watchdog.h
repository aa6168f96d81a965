// Watches a run on a real machine: on a hang it writes a dump, has every wait end, and says what was found.
#pragma once

#include <heddle/tools/hardware/dump.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace heddle::tools {

struct watch_options {
  double seconds_max = 60;   ///< of all runs together; then the one that is under way is taken for a hang
  double quiet_seconds = 0;  ///< without any progress in the logs; 0: not looked at
  std::string file;          ///< where the dump goes
  dump header;               ///< what it says of the scenario and the machine
};

/// A thread beside the run. Only for programs that are built to be watched.
class watchdog {
 public:
  /// `give_up(lines)` is called when a hang was found and the run did not end although it was stopped; it ends the process.
  watchdog(watch_options options, std::function<void(const std::string& lines)> give_up);
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;
  ~watchdog();

  /// A repetition begins, counted from 1; with this seed if it has one.
  void begin_run(uint64_t run, std::optional<uint64_t> seed);

  /// The runs are over, in whatever way. Several lines when one of them hung, the first of which says so; else empty.
  std::string finish();

 private:
  void watch();
  void found(const std::string& reason, double seconds);

  watch_options options_;
  std::function<void(const std::string& lines)> give_up_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  uint64_t run_ = 1;
  std::optional<uint64_t> seed_;
  std::string lines_;
  std::thread thread_;  ///< last: it starts when all of the above is there
};

// What is watched in this process, in the words of a dump.

/// Adds the state of the ports, the actors and their events. `with_device_memory` as session::take_picture.
void add_picture(dump& to, bool with_device_memory);

/// The dump for people: a line for each actor that has not ended, and for each port that is not idle.
std::string summary_of(const dump& left);

}  // namespace heddle::tools
