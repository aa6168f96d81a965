// Copies of this process, in which schedules run: whatever code under test does to its process, this one goes on.
#pragma once

#include <heddle/scheduler/choice.h>
#include <heddle/sim/faults/crash.h>
#include <heddle/tools/registry.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// How runs are looked after; for the whole process, to be set before the first run.
struct care {
  bool in_process = false;    ///< no copies: for debuggers
  double stuck_seconds = 10;  ///< without a scheduling point; then a run ends with the verdict `stuck`. 0: never
  bool shows_output = false;  ///< what code under test prints is shown, of every run (kept_output.h)
};
care& care_of_runs();

/// What a copy and its parent share. The copy writes all but what the parent asks of it.
struct copy_page {
  sim::watched_run watched;
  std::atomic<const scenario*> tested = nullptr;  ///< by its last run
  std::atomic<uint64_t> seed = 0;                 ///< of that
  std::atomic<uint64_t> runs_of_piece = 0;
  std::atomic<bool> explains = false;   ///< a run that has ended is made again, to tell more of it
  std::atomic<bool> estimates = false;  ///< it makes the run for the strategy's estimate
  std::atomic<uint64_t> answers = 0;    ///< of that run, in the log
  uint64_t answers_max = 0;
  /// Runs of the piece that have ended well and have printed that something failed: so many, the first one's seed, and its line.
  std::atomic<uint64_t> complaints = 0;
  uint64_t complaint_seed = 0;
  char complaint[160] = {};

  scheduler::answer* log() { return reinterpret_cast<scheduler::answer*>(this + 1); }
  const scheduler::answer* log() const { return reinterpret_cast<const scheduler::answer*>(this + 1); }
};

/// Null where this process is no copy.
copy_page* this_copy();

/// To be called in a process that a copy has forked: what it runs is not told to the parent.
void be_no_copy();

/// To be held during a run of code under test: the parent then knows of it.
class run_under_way {
 public:
  run_under_way(const scenario& tested, uint64_t seed);
  ~run_under_way();
  run_under_way(const run_under_way&) = delete;
  run_under_way& operator=(const run_under_way&) = delete;
};

/// Runs that are made while one of these lives explain the run before them: where one ends the process, that run's seed is named.
class explaining {
 public:
  explaining();
  ~explaining();
  explaining(const explaining&) = delete;
  explaining& operator=(const explaining&) = delete;
};

/// A copy's way to its parent, and back: texts, which come as they were sent. A copy whose parent has gone ends.
class message_line {
 public:
  explicit message_line(int socket) : socket_(socket) {}
  void send(const std::string& text) const;
  /// Waits for one, and ends this process when there is none any more.
  std::string receive() const;

 private:
  int socket_;
};

/// How a copy came to an end that it did not say itself.
struct sudden_end {
  scheduler::verdict outcome = scheduler::verdict::crash;
  std::string where = {};
  std::string hang = {};
  std::string message = {};  ///< one line
  std::string report = {};
  bool is_told = false;  ///< the copy itself has noted how
  bool is_doubtful =
      false;                ///< a crash that shows elsewhere than where it was caused: the copy's memory may be damaged
  bool was_killed = false;  ///< by SIGKILL, and not by its parent
  bool in_run = false;
  const scenario* tested = nullptr;  ///< that it ran last; null: none
  uint64_t seed = 0;
  uint64_t steps = 0;
  uint64_t choices = 0;
  uint64_t digest = 0;
  std::vector<scheduler::answer> answers = {};  ///< where they are logged
};

/// Why two processes tell a doubtful crash of the same schedule at two places.
inline constexpr std::string_view damage_shows_anywhere =
    "where a damaged heap shows depends on where its blocks lie, which is another place in each process";

/// Where a run stood still.
struct standstill {
  uint64_t seed = 0;
  uint64_t steps = 0;  ///< so many were made before
  friend bool operator==(const standstill&, const standstill&) = default;
};

class copied_process {
 public:
  struct options {
    bool survives_damage =
        false;  ///< a run that may have damaged the copy is told by it all the same, as far as that goes
    uint64_t answers_logged = 0;   ///< at most so many
    double seconds_to_stop = 0.8;  ///< so long it may go on after an interrupt; runs of simulated code end at once
    /// Each seed is run once, and again only to tell more of it: where it stood still before, that is seen sooner.
    bool seeds_come_once = false;
    std::optional<standstill> stood_still = {};  ///< in another copy; this one is to tell more of it
  };

  /// Calls `work` in a copy, which ends behind it. The calling process must have no other threads.
  copied_process(const std::function<void(const message_line&)>& work, options asked);
  /// Ends it.
  ~copied_process();
  copied_process(const copied_process&) = delete;
  copied_process& operator=(const copied_process&) = delete;

  /// One line when it could not be started.
  const std::string& error() const { return error_; }
  int socket() const { return socket_; }
  void send(const std::string& text);
  /// What has come; nothing when there is nothing more at the moment.
  std::optional<std::string> receive();
  /// Looks after it, to be called some times in a second: a run that stands still is ended, and every run when this process was interrupted.
  void look();
  /// A run that is under way from now on is ended, wherever it stands, but for one that stands still, and one that explains another. Nothing is known of it then.
  void end_runs() { ends_runs_ = true; }
  bool has_ended_a_run() const { return ends_runs_ && stopping_ > 0; }
  /// Whether it is over. What it has sent can be received still.
  bool has_ended();
  /// Whether it was ended because this process was interrupted, or in a run that end_runs() could not end otherwise.
  bool was_stopped() const { return was_stopped_; }
  /// After its end.
  sudden_end how_it_ended() const;
  const copy_page& page() const { return *page_; }

 private:
  using clock = std::chrono::steady_clock;
  void ask(sim::watched_run::asks what, bool insists);
  void stop_run(double passed, double seconds_to_stop);
  standstill at_present() const;
  double patience() const;
  double waited_for_processor();

  std::string error_;
  copy_page* page_ = nullptr;
  size_t page_bytes_ = 0;
  pid_t pid_ = -1;
  int socket_ = -1;
  std::string received_;
  bool over_ = false;
  bool reaped_ = false;
  int status_ = 0;
  bool was_stopped_ = false;
  double seconds_to_stop_ = 0;
  bool was_stuck_ = false;
  bool ends_runs_ = false;
  bool seeds_come_once_ = false;
  std::optional<standstill> stood_still_;  ///< the last one
  clock::time_point looked_ = clock::now();
  uint64_t waited_ns_ = 0;  ///< for a processor, of its main thread, when it was looked at last
  double stopping_ = 0;     ///< seconds since it was asked to stop
  double quiet_ = 0;        ///< seconds without a scheduling point
  double asked_ = 0;        ///< seconds since it was asked to end the run
  double probed_ = 0;       ///< seconds since it was last asked for its steps
  uint64_t runs_seen_ = 0;
  uint64_t steps_seen_ = ~uint64_t{0};
  uint64_t answers_seen_ = 0;
  bool moves_ = false;  ///< it had made steps when it answered last
};

/// Waits until one of them has sent something or has ended, and looks after all; at most 20 ms.
void wait_for_any(const std::vector<copied_process*>& copies);

/// Calls `work` in a copy and gives what it returns. When the copy ends before, `ended` is called and gives the result; it is also told what the
/// copy has said by tell_parent() last. When it ends because this process was interrupted, `stopped` is the result.
struct in_copy_options {
  std::function<std::string(const sudden_end& how, const std::string& told)> ended;
  std::string stopped = {};
  /// So long the copy may go on after an interrupt: what it has found so far is nowhere else, and may take a while to write.
  double seconds_to_stop = 20;
};
std::string in_copy(const std::function<std::string()>& work, const in_copy_options& otherwise);

/// Calls `work` in copies, at most `most` at a time, for each index below `count`, and `done` here with what it
/// returns, or `ended` when the copy ended before. When this process is interrupted, none is begun any more.
struct copies_options {
  uint32_t most = 1;
  size_t count = 0;
  std::function<std::string(size_t index)> work;
  std::function<void(size_t index, const std::string& result)> done;
  std::function<void(size_t index, const sudden_end& how)> ended;
  std::function<void(size_t index)> stopped;  ///< by an interrupt, before there was a result
};
void in_copies(const copies_options& asked);

/// Leaves a text to the process that called in_copy; of no effect elsewhere.
void tell_parent(const std::string& text);

/// Ends this copy with the result of in_copy()'s work, and takes nothing apart before: code under test may have damaged the heap. Does nothing where
/// this process is no such copy.
void end_copy(const std::string& result);

// Files that copies of this process have no use for.

/// Copies that are made from now on close this file; until forget_file().
void close_in_copies(int file);
void forget_file(int file);

/// For a copy, once: closes them.
void close_files_of_the_parent();

}  // namespace heddle::tools
