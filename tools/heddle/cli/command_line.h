// The arguments of the command, read and checked.
#pragma once

#include <heddle/tools/cli/shard.h>

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::tools {

/// What `verify` is asked for alone.
struct verify_asked {
  uint64_t states_max = 0;  ///< no more states than these; 0: as many as there are
  uint64_t memory_mib = 0;  ///< that the search may keep
  bool unreduced = false;   ///< without reductions
  bool stateless = false;   ///< states are not compared
  std::string save_file;    ///< where a search that is cut is written; empty: nowhere
  std::string resume_file;  ///< the search to go on with; empty: a new one
};

/// What `zoo` is asked for alone.
struct zoo_asked {
  uint64_t twin_schedules = 0;  ///< for each twin
  bool compare = false;         ///< how long each strategy needs
};

/// What is asked of changes of the program, and which of its races are left alone.
struct changes_asked {
  std::vector<std::string> excuses;  ///< fuzz, verify: files, which become the setting races.known
  std::vector<std::string> assumed;  ///< fuzz, replay, slack, verify: "FILE:LINE=CHANGE"; they are in `settings` too
  uint64_t most = 0;                 ///< mend: at most so many together
};

/// What `replay` is asked for alone.
struct replay_asked {
  std::string dot_file;            ///< where the wait graph is written; empty: nowhere
  std::vector<std::string> stops;  ///< for a debugger: "STEP", "FILE:LINE", "end"
  bool gdb = false;                ///< become gdb, which runs it
  bool debugged() const { return gdb || !stops.empty(); }
};

/// How much `fuzz` and `list` tell, and when `fuzz` ends.
struct telling {
  bool nothing = false;        ///< run: a program runs as itself, nothing is told and nothing is kept
  bool quiet = false;          ///< only what is WRONG (litmus: no line for a test that went as expected)
  bool verbose = false;        ///< expected findings in full, too
  bool tokens = false;         ///< also the tokens of findings
  bool stop_at_first = false;  ///< no schedule more behind a finding that was not expected
  std::string word;            ///< only scenarios with this in their name; empty: all
  bool behaviours = false;     ///< fuzz: in how many different ways the program has run
  bool output = false;         ///< fuzz: what code under test prints, of every schedule
  bool only_settings = false;  ///< list: the settings of the machine, by groups
};

/// One call of the command. Each subcommand uses its own fields.
struct invocation {
  std::string program;  ///< as it was typed
  std::string
      command;  ///< list, fuzz, replay, shrink, report, verify, import, litmus, progress, completion, help, version or __complete
  bool json = false;
  bool in_process = false;    ///< where schedules run: in this process, instead of copies of it
  double stuck_seconds = 10;  ///< after so long without a scheduling point a run ends as `stuck`; 0: never

  std::vector<std::string> scenarios;  ///< fuzz, zoo: names and patterns; all when empty
  uint64_t schedules = 0;              ///< per scenario or test; fuzz, import, 0: as many as the time allows
  double seconds_max = 0;              ///< fuzz: for all scenarios together; shrink; 0: no limit
  uint64_t seed = 1;
  std::string strategy = "mix";
  std::vector<std::string> settings;  ///< fuzz, import, litmus: "key=value"
  changes_asked change;
  std::string out_folder;       ///< fuzz: where findings are written; empty: nowhere
  std::string resume_folder;    ///< fuzz: the campaign to go on with; empty: a new one
  shard part;                   ///< fuzz: which part of the seeds
  std::string junit_file;       ///< fuzz: where results are written for other programs; empty: nowhere
  bool prove_if_small = false;  ///< fuzz: behind a campaign that has found nothing, all runs, where they are few
  std::string
      out_file;  ///< import, shrink, report: where trace or page is written; empty: a name made of the scenario's or the file's
  uint64_t runs = 0;  ///< shrink: at most so many

  std::string perfetto_file;  ///< report: where the run is written for Perfetto; empty: nowhere

  std::string file_or_token;                ///< replay, shrink, report; import: the dump
  std::vector<std::string> other_recorded;  ///< replay, report: files and tokens behind the first
  bool show_steps = false;
  bool try_it = false;  ///< replay: as far as it fits
  replay_asked replays;
  uint64_t repeat = 1;

  std::vector<std::string> files;  ///< litmus: tables; those that ship when empty
  std::string row_pattern;         ///< litmus: a regular expression; empty: all tests
  zoo_asked zoo;
  uint32_t jobs = 0;   ///< fuzz, zoo, litmus: OS threads; 0: as many as there are cores
  bool all = false;    ///< litmus: every schedule, also when the outcome has been seen; verify: all claims
  bool exact = false;  ///< litmus: all runs there are
  telling tells;

  std::vector<std::string> programs;  ///< progress: names of shapes, and programs; with `simulate` also tables
  bool simulate = false;              ///< progress: play them instead of judging them alone
  bool details = false;  ///< progress --simulate: a line for each program and model; slack: what is needed, too

  verify_asked verify;

  std::string topic;               ///< help: a command, or empty; completion: a shell
  bool man_page = false;           ///< help: all of it as a manual page
  std::vector<std::string> typed;  ///< __complete: the words of the command line so far
};

/// Whether all that code under test prints is shown: where it was asked for, and where one schedule is all.
inline bool shows_output(const invocation& asked) {
  return asked.tells.output || (asked.command == "fuzz" && asked.schedules == 1);
}

/// The invocation, or one line that says what is wrong with the arguments.
struct invocation_or_error {
  invocation value;
  std::string error;
};
invocation_or_error parse_command_line(int argument_count, const char* const* arguments);

/// The options that a subcommand takes, "--out" and "-o", sorted.
std::vector<std::string> option_names(const std::string& command);

/// The subcommands, in the order in which help lists them.
const std::vector<std::string>& command_names();
/// Whether the command is `build` or stands in the place of a compiler: what follows is not of heddle.
bool takes_words_of_others(std::string_view command);

}  // namespace heddle::tools
