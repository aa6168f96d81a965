#include <heddle/tools/cli/commands.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/litmus/csv.h>
#include <heddle/tools/litmus/report.h>
#include <heddle/tools/process/interrupt.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>
#include <regex>
#include <set>
#include <stdexcept>
#include <thread>

namespace heddle::tools {
namespace {

/// Tests of the machine's memory, and programs to be judged.
struct tests_of_files {
  std::vector<litmus::test> memory;
  std::vector<litmus::progress_test> progress;
};

tests_of_files tests_asked_for(const invocation& asked) {
  tests_of_files tests;
  std::set<std::string> names;
  const auto append = [&](auto& to, auto&& from) {
    for (auto& each : from) {
      if (!names.insert(each.full_name()).second)
        throw std::invalid_argument("two files have the test \"" + each.full_name() + "\"; give each file once");
      to.push_back(std::move(each));
    }
  };
  const auto add = [&](const litmus::csv_table& table) {
    if (litmus::is_progress_table(table))
      append(tests.progress, litmus::progress_tests_of(table));
    else
      append(tests.memory, litmus::tests_of(table));
  };
  for (const std::string& name : asked.files) add(litmus::csv_table(name, read_file(name)));
  if (asked.files.empty())
    for (const litmus::shipped_table& each : litmus::shipped_tables())
      add(litmus::csv_table(std::string(each.file), each.text));
  return tests;
}

void keep_matching(tests_of_files& tests, const std::string& pattern) {
  if (!pattern.empty()) {
    try {
      const std::regex wanted(pattern);
      const auto other = [&](const auto& each) { return !std::regex_search(each.full_name(), wanted); };
      std::erase_if(tests.memory, other);
      std::erase_if(tests.progress, other);
    } catch (const std::regex_error&) {
      throw std::invalid_argument("--row cannot be \"" + pattern + "\"; it must be a regular expression (ECMAScript)");
    }
  }
  if (tests.memory.empty() && tests.progress.empty())
    throw std::invalid_argument(pattern.empty() ? "the files have no tests"
                                                : "no test matches --row \"" + pattern + "\"");
}

/// All that is needed before the first run, checked. Throws std::invalid_argument.
litmus::suite_options options_asked_for(const invocation& asked, const tests_of_files& tests) {
  if (!asked.settings.empty() && !tests.progress.empty())
    throw std::invalid_argument("--set " + asked.settings.front() + " has no effect on " +
                                tests.progress.front().full_name() +
                                ", which is judged and not run; leave it out, or choose other tests with --row");
  litmus::suite_options options;
  options.runs.schedules = asked.schedules;
  options.runs.first_seed = asked.seed;
  options.runs.all = asked.all;
  options.runs.exact = asked.exact;
  options.runs.seconds_max = asked.seconds_max;
  options.runs.stop = &interrupt_flag();
  options.settings = asked.settings;
  options.strategy = asked.strategy;
  options.jobs = asked.jobs != 0 ? asked.jobs : std::max(1u, std::thread::hardware_concurrency());
  std::string error;
  if (scheduler::make_strategy(asked.strategy, error) == nullptr) throw std::invalid_argument(error);
  for (const litmus::test& each : tests.memory) litmus::machine_settings(each, asked.settings);
  return options;
}

/// What came of the programs of tables of progress.
struct judged_tables {
  std::vector<litmus::judged_program> programs;
  litmus::progress_summary summary;
};

/// Judges them, and prints their lines unless --json was given. Throws std::invalid_argument when one is too large.
judged_tables judge_progress(const invocation& asked, const std::vector<litmus::progress_test>& tests) {
  judged_tables judged;
  for (const litmus::progress_test& each : tests) {
    if (interrupt_flag()) break;
    judged.programs.push_back({.what = &each, .result = litmus::judge_progress(each)});
    const litmus::progress_result& result = judged.programs.back().result;
    judged.summary.add(each, result);
    if (!asked.json && (!asked.tells.quiet || !result.ok(each))) print_line(std::cout, each, result);
  }
  return judged;
}

}  // namespace

int litmus(const invocation& asked) {
  tests_of_files tests;
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
  litmus::run_suite(tests.memory, options, [&](size_t index, const litmus::test_result& result) {
    if (result.schedules == 0) return;  // interrupted before it began
    const litmus::test& about = tests.memory[index];
    summary.add(about, result);
    const litmus::judgement judged = litmus::judge(about.expected, result);
    const bool expected = judged == litmus::judgement::ok || judged == litmus::judgement::unseen;
    if (asked.json) {
      results.push_back({.what = &about, .result = result});
    } else if (!asked.tells.quiet || !expected) {
      print_line(std::cout, about, result);
    }
  });
  judged_tables judged;
  try {
    judged = judge_progress(asked, tests.progress);
  } catch (const std::invalid_argument& wrong) {
    return fail(wrong_input, wrong.what());
  }
  if (asked.json) {
    write_json(json_of(results, summary, judged.programs, judged.summary));
  } else {
    if (!tests.memory.empty()) print_summary(std::cout, summary);
    if (!tests.progress.empty()) print_summary(std::cout, judged.summary);
  }
  if (interrupt_flag()) return interrupted;
  return summary.ok() && judged.summary.ok() ? as_expected : not_as_expected;
}

}  // namespace heddle::tools
