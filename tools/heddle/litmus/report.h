// What `heddle litmus` prints.
#pragma once

#include <heddle/tools/litmus/progress_table.h>
#include <heddle/tools/litmus/suite.h>
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace heddle::litmus {

// What `heddle litmus` prints of tables of progress.

struct judged_program {
  const progress_test* what;
  progress_result result;
};

/// Verdicts that are the published ones, of all there are.
struct agreement {
  uint64_t equal = 0;
  uint64_t all = 0;
};

struct progress_summary {
  uint64_t programs = 0;
  uint64_t states = 0;
  agreement models;      ///< under which every live thread may step
  agreement restricted;  ///< lockstep and slots
  /// By table and model, in order of appearance.
  struct line {
    std::string table;
    std::string model;
    agreement weak;
    agreement strong;
  };
  std::vector<line> lines;

  void add(const progress_test& judged, const progress_result& result);
  bool ok() const { return models.equal == models.all && restricted.equal == restricted.all; }
};

/// One line about a program, and one for each verdict that is not the published one, with the reason.
void print_line(std::ostream& out, const progress_test& about, const progress_result& result);

void print_summary(std::ostream& out, const progress_summary& summary);

nlohmann::json json_of(const std::vector<judged_program>& all, const progress_summary& summary);

/// One line about a test: what came of it, what was expected, in how many schedules the outcome was seen, its name.
void print_line(std::ostream& out, const test& about, const test_result& result);

/// A table with one line per file, then whether the machine is sound and complete.
void print_summary(std::ostream& out, const suite_summary& summary);

struct tested {
  const test* what;
  test_result result;
};
/// All results as JSON, with what was judged of tables of progress, if there were any.
nlohmann::json json_of(const std::vector<tested>& all, const suite_summary& summary,
                       const std::vector<judged_program>& judged, const progress_summary& progress);

}  // namespace heddle::litmus
