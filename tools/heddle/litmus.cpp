#include <heddle/tools/commands.h>
#include <heddle/tools/common.h>
#include <heddle/tools/interrupt.h>
#include <heddle/tools/litmus/report.h>
#include <heddle/tools/litmus/tables.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <regex>
#include <set>
#include <stdexcept>
#include <thread>

namespace heddle::tools {
namespace {

std::string read_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) throw std::invalid_argument("cannot read the file \"" + name + "\"");
  return text;
}

std::vector<litmus::test> tests_asked_for(const invocation& asked) {
  std::vector<litmus::test> tests;
  std::set<std::string> names;
  const auto add = [&](const litmus::csv_table& table) {
    for (litmus::test& each : litmus::tests_of(table)) {
      if (!names.insert(each.full_name()).second)
        throw std::invalid_argument("two files have the test \"" + each.full_name() + "\"; give each file once");
      tests.push_back(std::move(each));
    }
  };
  for (const std::string& name : asked.files) add(litmus::csv_table(name, read_file(name)));
  if (asked.files.empty())
    for (const litmus::shipped_table& each : litmus::shipped_tables())
      add(litmus::csv_table(std::string(each.file), each.text));
  return tests;
}

void keep_matching(std::vector<litmus::test>& tests, const std::string& pattern) {
  if (!pattern.empty()) {
    try {
      const std::regex wanted(pattern);
      std::erase_if(tests, [&](const litmus::test& each) { return !std::regex_search(each.full_name(), wanted); });
    } catch (const std::regex_error&) {
      throw std::invalid_argument("--row cannot be \"" + pattern + "\"; it must be a regular expression (ECMAScript)");
    }
  }
  if (tests.empty())
    throw std::invalid_argument(pattern.empty() ? "the files have no tests"
                                                : "no test matches --row \"" + pattern + "\"");
}

/// All that is needed before the first run, checked. Throws std::invalid_argument.
litmus::suite_options options_asked_for(const invocation& asked, const std::vector<litmus::test>& tests) {
  litmus::suite_options options;
  options.runs.schedules = asked.schedules;
  options.runs.first_seed = asked.seed;
  options.runs.all = asked.all;
  options.runs.stop = &interrupt_flag();
  options.settings = asked.settings;
  options.strategy = asked.strategy;
  options.jobs = asked.jobs != 0 ? asked.jobs : std::max(1u, std::thread::hardware_concurrency());
  std::string error;
  if (scheduler::make_strategy(asked.strategy, error) == nullptr) throw std::invalid_argument(error);
  for (const litmus::test& each : tests) litmus::machine_settings(each, asked.settings);
  return options;
}

}  // namespace

int litmus(const invocation& asked) {
  std::vector<litmus::test> tests;
  litmus::suite_options options;
  try {
    tests = tests_asked_for(asked);
    keep_matching(tests, asked.row_pattern);
    options = options_asked_for(asked, tests);
  } catch (const std::invalid_argument& wrong) {
    return fail(wrong_input, wrong.what());
  }
  catch_interrupt();
  litmus::suite_summary summary;
  std::vector<litmus::tested> results;
  litmus::run_suite(tests, options, [&](size_t index, const litmus::test_result& result) {
    if (result.schedules == 0) return;  // interrupted before it began
    summary.add(tests[index], result);
    const litmus::judgement judged = judge(tests[index].expected, result);
    const bool expected = judged == litmus::judgement::ok || judged == litmus::judgement::unseen;
    if (asked.json) {
      results.push_back({.what = &tests[index], .result = result});
    } else if (!asked.quiet || !expected) {
      print_line(std::cout, tests[index], result);
    }
  });
  if (asked.json)
    print_json(std::cout, results, summary);
  else
    print_summary(std::cout, summary);
  if (interrupt_flag()) return interrupted;
  return summary.ok() ? as_expected : not_as_expected;
}

}  // namespace heddle::tools
