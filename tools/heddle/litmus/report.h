// What `heddle litmus` prints.
#pragma once

#include <heddle/tools/litmus/progress_report.h>
#include <heddle/tools/litmus/suite.h>

#include <ostream>
#include <string>
#include <vector>

namespace heddle::litmus {

/// One line about a test: what came of it, what was expected, in how many schedules the outcome was seen, its name.
void print_line(std::ostream& out, const test& about, const test_result& result);

/// A table with one line per file, then whether the machine is sound and complete.
void print_summary(std::ostream& out, const suite_summary& summary);

struct tested {
  const test* what;
  test_result result;
};
/// All results as JSON, with what was judged of tables of progress, if there were any.
void print_json(std::ostream& out, const std::vector<tested>& all, const suite_summary& summary,
                const std::vector<judged_program>& judged, const progress_summary& progress);

}  // namespace heddle::litmus
