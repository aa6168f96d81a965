// A run that failed, told in a few sentences: what was handed over, what decided, what waits in the end, what is missing.
#pragma once

#include <heddle/sim/observe/run_record.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// What a run ended with, for its story.
struct ended_so {
  bool hangs = false;            ///< its record has a wait graph
  std::string_view message;      ///< one line
  std::string_view report;       ///< of a race it names the two accesses and the missing edge
  std::vector<uint64_t> turns;   ///< steps of turns that decided
  std::vector<std::string> odd;  ///< likewise answers of the machine, each in a sentence
  std::string advice = {};       ///< what helps, where that was tried; then the steps that show it
  std::vector<uint64_t> shows = {};
};

/// Five to ten sentences, in the order of the run, each with the number of its step; the last says what came of it or what is
/// missing. Fewer where less is known; none where nothing is.
std::vector<std::string> story_of(const sim::run_record& of, const ended_so& how);

/// The sentences of a story as a report begins with it; empty without one.
std::string story_text(const std::vector<std::string>& story);
/// The inverse, of a report.
std::vector<std::string> story_in(std::string_view report);

/// Of a report, the lines of a list: those that stand two blanks in, from `from` on, without the blanks.
std::vector<std::string> list_in(std::string_view report, size_t from);

}  // namespace heddle::tools
