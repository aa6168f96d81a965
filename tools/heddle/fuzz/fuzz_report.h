// What `heddle fuzz` prints.
#pragma once

#include <heddle/tools/cli/command_line.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/trial/traces.h>
#include <heddle/tools/trial/trial.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle::tools {

struct fuzz_summary {
  std::vector<trial> trials;  ///< those that were begun
  size_t chosen = 0;          ///< scenarios that were to be run
  bool interrupted = false;
  bool stopped_at_first = false;  ///< as was asked: behind a finding that was not expected
  std::string kept_in = {};       ///< the folder of the traces; empty: none
  std::string not_kept = {};      ///< one line when the usual folder could not be written
  /// Excuses of `races.known` that no race of any scenario was in need of: "excuses.txt:3 (place ring.cu:52)".
  std::vector<std::string> unused_excuses = {};

  /// Whether all that was chosen was run and gave its expected verdict.
  bool ok() const;
};

/// The table, a row for each scenario as soon as it has been run.
class fuzz_table {
 public:
  /// For what these scenarios expect, each of which runs so many schedules at most, or as many as there is time for.
  fuzz_table(const std::vector<std::pair<const scenario*, scheduler::verdict_set>>& chosen, uint64_t schedules,
             bool quiet);
  void add(const trial& made);

 private:
  table shown_;
  std::vector<size_t> widths_;
  bool quiet_;
  bool begun_ = false;
};

/// Whether the latencies of so many scenarios are told, by text or by JSON: where they are not, none need be measured.
bool tells_latencies(const invocation& asked, size_t chosen);

/// What stands below the table: warnings, what was expected, then what is WRONG, and a line that sums up.
void print_text(const fuzz_summary& summary, const invocation& asked);

void print_json(const fuzz_summary& summary);

/// Why no run of a scenario had a choice, in words: the flags are only missed where they are missing.
std::string why_no_choice();

/// One line: verdict, place, how often.
std::string headline(const scheduler::finding& found, const scheduler::verdict_set& expected, uint64_t schedules);

/// What the search through all runs came to, behind the scenario's name.
std::string described_proof(const trial& of, const std::string& program, bool with_token);

/// Several lines to read: what was found, what happened, where each actor stands, and how to play it again.
std::string describe(const scheduler::finding& found, const scheduler::verdict_set& expected, uint64_t schedules,
                     const std::string& program, const kept_in_files& kept);

// The results of `heddle fuzz` as a JUnit file, which the services that build and test programs read.

/// One test case a scenario. Written whole or not at all; one line when that fails.
std::optional<std::string> write_junit(const fuzz_summary& summary, const std::string& program,
                                       const std::string& file);

}  // namespace heddle::tools
