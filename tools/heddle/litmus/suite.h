// Many tests on several OS threads, and what their results mean together.
#pragma once

#include <heddle/tools/litmus/runner.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::litmus {

enum class judgement : uint8_t {
  ok,
  unsound,       ///< a forbidden outcome was seen
  missed,        ///< what must be seen, or caught, was not
  unseen,        ///< allowed and not seen, but not required either
  broken,        ///< a run did not come to its end
  not_finished,  ///< stopped before it was decided
};
std::string_view to_string(judgement value);

judgement judge(expectation expected, const test_result& result);

struct suite_options {
  run_options runs;
  std::string strategy = "random";
  std::vector<std::string> settings;  ///< for every test; they win over its own
  uint32_t jobs = 1;                  ///< OS threads
};

/// Runs the tests and calls `done` with the index and the result of each, in their order, on the calling thread. Results do not
/// depend on `jobs`. The strategy and all settings must be good. After the stop flag has been set the remaining tests have no runs.
void run_suite(const std::vector<test>& tests, const suite_options& options,
               const std::function<void(size_t index, const test_result& result)>& done);

/// Of tests of one kind.
struct tally {
  uint64_t tests = 0;
  uint64_t seen = 0;  ///< or caught
};

/// What there is to say of all tests of one table.
struct table_summary {
  uint64_t tests = 0;
  tally forbidden;
  tally required;
  tally aims;
  tally bugs;
  tally not_modelled;
};

struct suite_summary {
  std::vector<std::pair<std::string, table_summary>> tables;  ///< in order of appearance
  table_summary all;
  uint64_t schedules = 0;
  uint64_t caught_by_outcome = 0;
  uint64_t caught_as_race = 0;        ///< and not by the outcome
  uint64_t caught_as_scope_race = 0;  ///< and not otherwise
  uint64_t broken = 0;
  uint64_t not_finished = 0;

  void add(const test& tested, const test_result& result);

  bool sound() const { return all.forbidden.seen == 0; }
  bool complete() const { return all.required.seen == all.required.tests && all.bugs.seen == all.bugs.tests; }
  bool ok() const { return sound() && complete() && broken == 0 && not_finished == 0; }
};

}  // namespace heddle::litmus
