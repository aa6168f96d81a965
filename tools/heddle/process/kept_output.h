// What code under test prints while many schedules of it run.
#pragma once

#include <string>

namespace heddle::tools {

/// While the object lives, what this process prints to standard output and to standard error goes to memory, and not among what the command tells,
/// which has scheduler::own_errors, as the report of a sanitizer has. Where it was asked for (care::shows_output), where another object keeps it
/// already, or where there is no such memory, all stays as it is. Of the only thread.
class kept_output {
 public:
  kept_output();
  /// Be it asked for or not: of runs beside the one that is told, from now on or from begin() on.
  enum class from { now, begin };
  explicit kept_output(from);
  ~kept_output();
  kept_output(const kept_output&) = delete;
  kept_output& operator=(const kept_output&) = delete;

  /// From here on, where nothing is kept yet. May be called in a run.
  void begin();
  /// Shows what has been kept since begin(), and keeps no more.
  void show();

  /// Forgets what has been printed so far: what comes now is of one run.
  static void begin_run();
  /// Forgets it where it is much.
  static void bound();
  /// The first line of what has been printed since the last call that says that something failed (complaint.h); empty: none, or nothing is kept.
  static std::string complaint();
  /// What has been printed since, as paragraphs of a report: the last lines of each of the two, below a heading. Empty where nothing was printed, or
  /// nothing is kept.
  static std::string paragraph();

 private:
  /// Of a standard stream: a file in memory, and where the stream goes while nothing is kept; -1: there is none.
  struct files {
    int memory = -1;
    int shown = -1;
  };

  void prepare();
  void end();

  files of_output_;
  files of_errors_;
  bool keeps_ = false;
};

}  // namespace heddle::tools
