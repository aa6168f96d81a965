// What `heddle fuzz` prints.
#pragma once

#include <heddle/tools/trial/trial.h>

#include <optional>
#include <string>
#include <vector>

namespace heddle::tools {

struct fuzz_summary {
  std::vector<trial> trials;  ///< those that were begun
  size_t chosen = 0;          ///< scenarios that were to be run
  bool interrupted = false;
  /// Excuses of `races.known` that no race of any scenario was in need of: "excuses.txt:3 (place ring.cu:52)".
  std::vector<std::string> unused_excuses = {};

  /// Whether all that was chosen was run and gave its expected verdict.
  bool ok() const;
};

/// The table, then each finding. `program` is spelled as the user did.
void print_text(const fuzz_summary& summary, const std::string& program);

void print_json(const fuzz_summary& summary);

/// Why no run of a scenario had a choice, in words: the flags are only missed where they are missing.
std::string why_no_choice();

/// Several lines to read: what was found, what happened, how to play it again, and where each actor stands. `file`, of
/// its trace, and `page` may be empty.
std::string describe(const scheduler::finding& found, const scheduler::verdict_set& expected, uint64_t schedules,
                     const std::string& program, const std::string& file, const std::string& page = {});

// The results of `heddle fuzz` as a JUnit file, which the services that build and test programs read.

/// One test case a scenario. Written whole or not at all; one line when that fails.
std::optional<std::string> write_junit(const fuzz_summary& summary, const std::string& program,
                                       const std::string& file);

}  // namespace heddle::tools
