#include <fnmatch.h>
#include <heddle/scheduler/printable.h>
#include <heddle/tools/cli/commands.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/process/copied_process.h>
#include <heddle/tools/process/interrupt.h>
#include <heddle/tools/trial/traces.h>
#include <heddle/tools/trial/trial.h>
#include <heddle/tools/zoo/keeper.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

namespace heddle::tools {
namespace {

using json = nlohmann::ordered_json;

constexpr size_t width_max = 100;

/// Calls `work(machine, index)` for each index below `count`, in so many copies of this process at a time, each with a machine of its own, and
/// `done` here with what it says, `ended` where a copy has ended otherwise, or `stopped` where an interrupt ended it.
void for_each_entry(uint32_t jobs, size_t count, const std::function<std::string(sim::simulation&, size_t)>& work,
                    const std::function<void(size_t, const std::string&)>& done,
                    const std::function<void(size_t, const sudden_end&)>& ended,
                    const std::function<void(size_t)>& stopped) {
  if (care_of_runs().in_process) {
    sim::simulation machine;
    for (size_t index = 0; index < count && !interrupt_flag(); ++index) done(index, work(machine, index));
    return;
  }
  in_copies({.most = jobs,
             .count = count,
             .work =
                 [&](size_t index) {
                   sim::simulation machine;
                   return work(machine, index);
                 },
             .done = done,
             .ended = ended,
             .stopped = stopped});
}

/// "12/70 zoo.NAME" on a terminal.
class zoo_progress {
 public:
  explicit zoo_progress(size_t count) : count_(count) {}
  ~zoo_progress() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  zoo_progress(const zoo_progress&) = delete;
  zoo_progress& operator=(const zoo_progress&) = delete;

  void done_with(const std::string& name) {
    ++done_;
    if (!is_terminal(STDERR_FILENO)) return;
    std::fprintf(stderr, "\r\033[K%zu/%zu %s", done_, count_, shortened(scheduler::printable(name), 60).c_str());
    shown_ = true;
  }

 private:
  size_t count_;
  size_t done_ = 0;
  bool shown_ = false;
};

/// The entries that the names and patterns select; one line when one selects none.
std::string select_entries(const std::vector<std::string>& patterns, std::vector<zoo_entry>& entries) {
  const std::vector<zoo_entry> all = zoo_entries();
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const zoo_entry& each : all) names.push_back(each.bug->name);
  const auto matches = [](const std::string& pattern, const std::string& name) {
    return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  };
  for (const std::string& pattern : patterns)
    if (std::none_of(names.begin(), names.end(), [&](const std::string& name) { return matches(pattern, name); }))
      return unknown("entry of the zoo", pattern, names);
  for (const zoo_entry& each : all)
    if (patterns.empty() || std::any_of(patterns.begin(), patterns.end(),
                                        [&](const std::string& pattern) { return matches(pattern, each.bug->name); }))
      entries.push_back(each);
  return {};
}

/// Of an entry that has ended the process in which it was looked after.
std::string told(const sudden_end& how) {
  return std::string(to_string(how.outcome)) + (how.where.empty() ? "" : " at " + how.where) +
         (how.tested == nullptr ? "" : " in " + how.tested->name + ", seed " + std::to_string(how.seed)) + ": " +
         how.message;
}

json text_or_null(const std::string& token) { return token.empty() ? json(nullptr) : json(token); }

json to_json(const zoo_ordinary& ordinary) {
  json raised = json::object();
  for (const scheduler::changed_setting& each : ordinary.raised) raised[each.key] = each.after;
  const zoo_search& found = ordinary.search;
  return {{"settings", raised},
          {"schedules_to_find", found.schedules_to_find},
          {"replayed", found.replayed},
          {"steps_found", found.size_found.steps},
          {"steps_shrunk", found.size_shrunk.steps},
          {"switches_found", found.size_found.switches},
          {"switches_shrunk", found.size_shrunk.switches},
          {"token", token_of(found.first)},
          {"shrunk_token", text_or_null(found.shrunk_token)}};
}

json to_json(const zoo_entry& entry, const zoo_result& result) {
  return {{"name", entry.bug->name},
          {"expected", to_string(result.expected)},
          {"found", result.found},
          {"verdict", to_string(result.found ? result.first.outcome : scheduler::verdict::ok)},
          {"where", result.first.where},
          {"schedules_to_find", result.found ? json(result.schedules_to_find) : json(nullptr)},
          {"replayed", result.replayed},
          {"steps_found", result.size_found.steps},
          {"steps_shrunk", result.size_shrunk.steps},
          {"switches_found", result.size_found.switches},
          {"switches_shrunk", result.size_shrunk.switches},
          {"token", result.found ? json(token_of(result.first)) : json(nullptr)},
          {"shrunk_token", text_or_null(result.shrunk_token)},
          {"ordinary", result.ordinary ? to_json(*result.ordinary) : json(nullptr)},
          {"twin_schedules", result.twin_schedules},
          {"twin_ok", result.twin_ok()},
          {"run", result.begun},
          {"interrupted", result.interrupted},
          {"ok", result.ok()}};
}

/// What is wrong with an entry, in words; empty when nothing is.
std::string complaint(const zoo_entry& entry, const zoo_result& result, const zoo_options& options) {
  if (!result.begun || result.interrupted || result.ok()) return {};
  const std::string name = scheduler::printable(entry.bug->name) + ": ";
  if (!result.ended_by.empty()) return name + result.ended_by + '\n';
  if (!result.found && !result.expected.contains(scheduler::verdict::ok))
    return name + to_string(result.expected) + " was expected, and not found in " + grouped(options.schedules) +
           " schedules\n";
  if (result.found && !result.expected.contains(result.first.outcome))
    return name + std::string(to_string(result.first.outcome)) + " at " + result.first.where + " was found, and " +
           to_string(result.expected) + " expected\n  " + token_of(result.first) + '\n';
  if (result.found && !result.replayed)
    return name + "the finding of seed " + std::to_string(result.first.seed) + " cannot be repeated\n";
  if (result.found && result.shrunk_token.empty()) return name + "the finding could not be shrunk\n";
  if (result.ordinary && !result.ordinary->search.ok(result.expected))
    return name + "the finding in a larger program cannot be repeated, or not be shrunk\n  " +
           token_of(result.ordinary->search.first) + '\n';
  if (result.twin_finding)
    return scheduler::printable(entry.twin->name) + ": " + std::string(to_string(result.twin_finding->first.outcome)) +
           " at " + result.twin_finding->first.where + " with seed " + std::to_string(result.twin_finding->first.seed) +
           "\n  " + token_of(result.twin_finding->first) + '\n';
  return {};
}

/// "3,061, 114": steps found, and shrunk.
std::string sizes(const zoo_search& of) {
  return of.found ? grouped(of.size_found.steps) + ", " + grouped(of.size_shrunk.steps) : "-";
}

void print_table(const std::vector<zoo_entry>& entries, const std::vector<zoo_result>& results) {
  using enum table::align;
  table shown({{.title = "entry"},
               {.title = "verdict"},
               {.title = "after", .side = right},
               {.title = "steps, shrunk", .side = right},
               {.title = "of a larger one", .side = right},
               {.title = "twin", .side = right},
               {.title = ""}});
  for (size_t index = 0; index < entries.size(); ++index) {
    const zoo_result& each = results[index];
    if (!each.begun) {
      shown.add({{.text = scheduler::printable(entries[index].bug->name)},
                 {.text = "not run"},
                 {.text = "-"},
                 {.text = "-"},
                 {.text = "-"},
                 {.text = "-"},
                 {.text = ""}});
      continue;
    }
    shown.add({{.text = scheduler::printable(entries[index].bug->name)},
               {.text = std::string(to_string(each.found ? each.first.outcome : scheduler::verdict::ok))},
               {.text = each.found ? grouped(each.schedules_to_find) : "-"},
               {.text = sizes(each)},
               {.text = each.ordinary ? sizes(each.ordinary->search) : "-"},
               {.text = grouped(each.twin_schedules)},
               each.ok()          ? table::cell{.text = "ok", .shown = colour::good}
               : each.interrupted ? table::cell{.text = "interrupted", .shown = colour::warning}
                                  : table::cell{.text = "WRONG", .shown = colour::bad}});
  }
  shown.print(std::cout, width_max);
}

/// Half of the entries are smaller, half are larger. 0 when there are none.
double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Steps of the shrunk run, as a part of those of the one found.
void add_part(const zoo_search& of, std::vector<double>& parts) {
  if (of.size_found.steps > 0)
    parts.push_back(static_cast<double>(of.size_shrunk.steps) / static_cast<double>(of.size_found.steps));
}

/// "12 %"; "0.3 %" where that would be none.
std::string percent(double part) {
  const long thousandths = std::lround(part * 1000);
  if (thousandths >= 10) return std::to_string((thousandths + 5) / 10) + " %";
  return "0." + std::to_string(thousandths) + " %";
}

int look_after_all(const invocation& asked, const std::vector<zoo_entry>& entries, const zoo_options& options,
                   uint32_t jobs) {
  std::vector<zoo_result> results(entries.size());
  {
    zoo_progress progress(entries.size());
    const auto expected_of = [&](size_t index) {
      const scenario& bug = *entries[index].bug;
      return bug.expected_verdict(*simulator_settings(bug, options.settings).value);
    };
    const auto ended = [&](size_t index, const sudden_end& how) {
      results[index].expected = expected_of(index);
      results[index].begun = true;
      results[index].ended_by = told(how);
      progress.done_with(entries[index].bug->name);
    };
    const auto stopped = [&](size_t index) {
      results[index].expected = expected_of(index);
      results[index].begun = results[index].interrupted = true;
    };
    for_each_entry(
        jobs, entries.size(),
        [&](sim::simulation& machine, size_t index) { return text_of(look_after(machine, entries[index], options)); },
        [&](size_t index, const std::string& sent) {
          results[index] = result_in(sent, expected_of(index));
          progress.done_with(entries[index].bug->name);
        },
        ended, stopped);
  }
  const auto count = [&](auto&& is) { return static_cast<size_t>(std::count_if(results.begin(), results.end(), is)); };
  const size_t right = count([](const zoo_result& each) { return each.ok(); });
  const size_t not_run = count([](const zoo_result& each) { return !each.begun; });
  const size_t cut_short = count([](const zoo_result& each) { return each.begun && each.interrupted && !each.ok(); });
  const size_t not_right = results.size() - right - not_run - cut_short;
  const bool all_right = right == results.size();
  if (asked.json) {
    json listed = json::array();
    for (size_t index = 0; index < entries.size(); ++index) listed.push_back(to_json(entries[index], results[index]));
    const json all = {
        {"entries", listed}, {"ok", all_right}, {"not_run", not_run}, {"interrupted", interrupt_flag().load()}};
    write_json(all);
  } else {
    print_table(entries, results);
    std::vector<double> smallest, ordinary;
    for (size_t index = 0; index < entries.size(); ++index) {
      const zoo_result& each = results[index];
      add_part(each, smallest);
      if (each.ordinary) add_part(each.ordinary->search, ordinary);
      if (const std::string wrong = complaint(entries[index], each, options); !wrong.empty())
        std::cout << '\n' << wrong;
    }
    std::cout << '\n'
              << entries.size() << (entries.size() == 1 ? " entry, " : " entries, ")
              << (all_right        ? "all as expected"
                  : not_right != 0 ? std::to_string(not_right) + " WRONG"
                                   : std::to_string(right) + " as expected");
    if (interrupt_flag())
      std::cout << "; interrupted, " << not_run << (not_run == 1 ? " was not run" : " were not run")
                << (cut_short == 0 ? "" : ", " + std::to_string(cut_short) + " not to their end");
    std::cout << "; shrunk to " << percent(median(smallest)) << " of the steps (median)";
    if (!ordinary.empty()) std::cout << ", and to " << percent(median(ordinary)) << " in larger programs";
    std::cout << '\n';
  }
  if (interrupt_flag()) return interrupted;
  return all_right ? as_expected : not_as_expected;
}

/// The row of an entry: how many schedules each strategy needs, the median of its trials.
std::string row_of(sim::simulation& machine, const zoo_entry& entry, const zoo_options& options,
                   const std::vector<std::string>& strategies, uint32_t trials) {
  std::string row = "| `" + entry.bug->name + "` | " +
                    to_string(entry.bug->expected_verdict(*simulator_settings(*entry.bug, options.settings).value)) +
                    " |";
  for (const std::string& strategy : strategies) {
    const std::vector<uint64_t> needed = schedules_to_find(machine, entry, options, strategy, trials);
    std::vector<uint64_t> sorted;
    for (const uint64_t each : needed) sorted.push_back(each == 0 ? ~uint64_t{0} : each);
    std::sort(sorted.begin(), sorted.end());
    const uint64_t middle = sorted.empty() ? ~uint64_t{0} : sorted[(sorted.size() - 1) / 2];
    row += middle == ~uint64_t{0} ? " - |" : " " + grouped(middle) + " |";
  }
  return row + " " + entry.bug->summary + " |\n";
}

int compare_strategies(const std::vector<zoo_entry>& entries, const zoo_options& options, uint32_t jobs) {
  constexpr uint32_t trials = 20;
  std::vector<std::string> names;
  std::string title = "| entry | verdict |";
  std::string line = "|---|---|";
  for (const scheduler::strategy_help& each : scheduler::strategies()) {
    names.emplace_back(each.name);
    title += " " + names.back() + " |";
    line += "---:|";
  }
  std::vector<std::string> rows(entries.size());
  {
    zoo_progress progress(entries.size());
    const auto took = [&](size_t index, const std::string& row) {
      rows[index] = row;
      progress.done_with(entries[index].bug->name);
    };
    for_each_entry(
        jobs, entries.size(),
        [&](sim::simulation& machine, size_t index) { return row_of(machine, entries[index], options, names, trials); },
        took,
        [&](size_t index, const sudden_end& how) {
          took(index, "| `" + entries[index].bug->name + "` | " + told(how) + " |\n");
        },
        [](size_t) {});
  }
  std::cout << title << " what is wrong |\n" << line << "---|\n";
  for (const std::string& row : rows) std::cout << row;
  return interrupt_flag() ? interrupted : as_expected;
}

}  // namespace

int zoo(const invocation& asked) {
  std::vector<zoo_entry> entries;
  if (const std::string wrong = select_entries(asked.scenarios, entries); !wrong.empty())
    return fail(wrong_input, wrong);
  zoo_options options;
  options.first_seed = asked.seed;
  options.schedules = asked.schedules;
  options.twin_schedules = asked.zoo.twin_schedules;
  options.strategy = asked.strategy;
  options.settings = asked.settings;
  options.stop = &interrupt_flag();
  std::string error;
  if (scheduler::make_strategy(asked.strategy, error) == nullptr) return fail(wrong_input, error);
  for (const zoo_entry& each : entries)
    if (const auto refused = refused_by(each, options)) return fail(wrong_input, *refused);
  catch_interrupt();
  const uint32_t jobs = asked.jobs != 0 ? asked.jobs : std::max(1u, std::thread::hardware_concurrency());
  if (asked.zoo.compare) return compare_strategies(entries, options, jobs);
  return look_after_all(asked, entries, options, jobs);
}

}  // namespace heddle::tools
