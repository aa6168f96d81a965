#include <heddle/scheduler/printable.h>
#include <heddle/sim/code/program_libraries.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/fuzz/campaign/scenario_campaign.h>
#include <heddle/tools/fuzz/fuzz_report.h>
#include <heddle/tools/trial/explain.h>
#include <heddle/tools/trial/traces.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

namespace heddle::tools {
namespace {

constexpr size_t width_max = 80;

std::string rate(double per_second) { return grouped(static_cast<uint64_t>(per_second)); }

/// Nanoseconds as microseconds.
std::string microseconds(double ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", ns / 1000);
  return text;
}

}  // namespace

fuzz_table::fuzz_table(const std::vector<std::pair<const scenario*, scheduler::verdict_set>>& chosen,
                       uint64_t schedules, bool quiet)
    : shown_({{.title = "scenario"},
              {.title = "expected"},
              {.title = "verdict"},
              {.title = "schedules", .side = table::align::right},
              {.title = "per s", .side = table::align::right},
              {.title = ""}}),
      quiet_(quiet) {
  constexpr size_t verdict_width = 9, rate_width = 6, end_width = 5, gaps = size_t{5} * 2, name_min = 8;
  size_t name = name_min, expected = name_min;
  for (const auto& [tested, wanted] : chosen) {
    name = std::max(name, scheduler::printable(tested->name).size());
    expected = std::max(expected, to_string(wanted).size());
  }
  const size_t verdict = std::max(verdict_width, std::min<size_t>(expected, 10));
  const size_t number = std::max(std::string_view("schedules").size(), grouped(schedules).size());
  const size_t others = expected + verdict + number + rate_width + end_width + gaps;
  name = std::min(name, others + name_min < width_max ? width_max - others : name_min);
  widths_ = {name, expected, verdict, number, rate_width, 0};
}

void fuzz_table::add(const trial& made) {
  const bool ok = made.as_expected();
  if (ok && quiet_) return;
  if (!begun_) shown_.print_now(std::cout, widths_);
  begun_ = true;
  shown_.print_now(std::cout, widths_,
                   {{.text = scheduler::printable(made.tested->name)},
                    {.text = to_string(made.expected)},
                    {.text = std::string(to_string(made.seen())), .shown = ok ? colour::none : colour::bad},
                    {.text = grouped(made.runs.schedules)},
                    {.text = rate(made.runs.schedules_per_second())},
                    {.text = ok ? "ok" : "WRONG", .shown = ok ? colour::good : colour::bad}});
}

std::string why_no_choice() {
  if (!sim::is_any_code_instrumented)
    return "the program is not compiled with the flags of heddle::main, without which nothing is seen";
  return "there was never more than one that could go on, or its file is compiled without the flags of heddle::main";
}

namespace {

void print_latencies(const fuzz_summary& summary) {
  using enum table::align;
  table shown({{.title = "a call, in virtual time"},
               {.title = "calls", .side = right},
               {.title = "median", .side = right},
               {.title = "99%", .side = right},
               {.title = "longest", .side = right},
               {.title = ""}});
  bool any = false;
  for (const trial& each : summary.trials) {
    if (!each.latency) continue;
    any = true;
    shown.add({{.text = scheduler::printable(each.tested->name)},
               {.text = grouped(each.latency->calls)},
               {.text = microseconds(each.latency->median_ns)},
               {.text = microseconds(each.latency->p99_ns)},
               {.text = microseconds(each.latency->longest_ns)},
               {.text = "us"}});
  }
  if (!any) return;
  std::cout << '\n';
  shown.print(std::cout, width_max);
  std::cout << "  (the simulator's model of latency, and no measurement: docs/latency.md)\n";
}

/// "0.06 %"; a chance below one in a million in words of its own.
std::string percent(double chance) {
  char text[32];
  const double shown = chance * 100;
  std::snprintf(text, sizeof text, shown >= 10 ? "%.0f %%" : shown >= 1 ? "%.1f %%" : "%.2g %%", shown);
  return text;
}

void print_behaviours(const fuzz_summary& summary) {
  for (const trial& each : summary.trials) {
    const scheduler::behaviours& seen = each.runs.seen;
    if (!seen.any()) continue;
    const uint64_t quiet = seen.runs_without_news(each.first_seed, each.runs.schedules);
    std::cout << '\n'
              << scheduler::printable(each.tested->name) << ": " << (seen.more() ? "more than " : "")
              << grouped(seen.count()) << (seen.count() == 1 ? " behaviour in " : " behaviours in ")
              << grouped(each.runs.schedules) << " schedules";
    if (!seen.more())
      std::cout << ", none new in the last " << grouped(quiet)
                << ";\n  one more schedule shows a new one with a chance of at most "
                << percent(seen.chance_of_new(each.first_seed, each.runs.schedules)) << " (at 95 %)";
    std::cout << '\n';
  }
}

void print_warnings(const fuzz_summary& summary, bool in_full) {
  for (const trial& each : summary.trials)
    if (each.stood_still >= stuck_runs_max)
      std::cout << '\n'
                << painted("warning: ", colour::warning) << each.tested->name << ":\n  after " << each.stood_still
                << " schedules that stood still no others were run; see --stuck\n";
  for (const trial& each : summary.trials) {
    const auto warn = [&] {
      std::cout << '\n' << painted("warning: ", colour::warning) << scheduler::printable(each.tested->name) << ":\n  ";
    };
    if (each.ended_alike) {
      warn();
      std::cout << "all of its first " << grouped(each.runs.schedules)
                << " schedules ended as unsupported, in the same way: no others were run\n";
    }
    if (each.cut) {
      warn();
      std::cout << "the time was over in the schedule of seed " << each.cut->seed << ", behind "
                << grouped(each.cut->steps) << " steps: nothing is known of it"
                << (each.runs.schedules == 0 ? ", and no other one came to its end" : "") << '\n';
    }
  }
  for (const trial& each : summary.trials) {
    // A run with a finding has scheduled something.
    if (each.runs.choices > 0 || each.runs.schedules == 0 || !each.runs.findings.empty()) continue;
    std::cout << '\n'
              << painted("warning: ", colour::warning) << scheduler::printable(each.tested->name)
              << ":\n  nothing was scheduled: no run had a choice;\n  " << why_no_choice() << '\n';
  }
  // What may be quicker is of use while one scenario is worked on.
  if (!in_full && summary.chosen > 1) return;
  for (const trial& each : summary.trials) {
    if (each.runs.library_steps <= each.runs.steps / 2) continue;
    std::cout
        << '\n'
        << painted("warning: ", colour::warning) << each.tested->name << ":\n  " << grouped(each.runs.library_steps)
        << " of its " << grouped(each.runs.steps)
        << " steps are plain accesses to the C++ heap, as copies of strings and containers are: they take time, and\n"
           "  show little; make such copies before the first thread or launch, where nothing is a step, or pass "
           "pointers\n";
  }
}

/// "port.echo (deadlock at rpc/port/port.h:84)"
std::string wrong_in_words(const trial& of) {
  const scheduler::verdict seen = of.seen();
  std::string text = scheduler::printable(of.tested->name) + " (";
  if (seen == scheduler::verdict::ok) return text + to_string(of.expected) + " not found)";
  const auto shows = [&](const scheduler::finding& each) {
    return each.first.outcome == seen && (!of.expected.contains(seen) || !each.not_reproducible.empty());
  };
  const auto found = std::find_if(of.runs.findings.begin(), of.runs.findings.end(), shows);
  const bool is_proof = found == of.runs.findings.end() && of.proof && of.proof->found;
  const std::string where = found != of.runs.findings.end() ? found->first.where
                            : is_proof                      ? of.proof->found->first.where
                                                            : "";
  return text + std::string(to_string(seen)) + (where.empty() ? "" : " at " + where) + ")";
}

/// Nothing else tells of a program that checks itself, prints what it has found and returns 0.
void print_complaints(const fuzz_summary& summary) {
  for (const trial& each : summary.trials) {
    if (each.printed.count == 0) continue;
    const std::string seed = std::to_string(each.printed.seed);
    std::cout << '\n'
              << painted("warning: ", colour::warning) << scheduler::printable(each.tested->name) << ":\n  "
              << grouped(each.printed.count) << " of " << grouped(each.runs.schedules)
              << (each.runs.schedules == 1 ? " schedule" : " schedules")
              << " printed what seems to tell of a failure, and count as ok:\n    "
              << scheduler::printable(each.printed.line) << "\n  the first has seed " << seed << ": --seed " << seed
              << " --schedules 1 shows what it prints. A failure is what main() does not\n"
                 "  return 0 for, an assert that fails, abort() or exit(1): have the program end so\n";
  }
}

void print_excused(const fuzz_summary& summary) {
  for (const trial& each : summary.trials) {
    std::string text;
    for (const auto& [what, count] : each.runs.excused)
      text += (text.empty() ? "" : ", ") + grouped(count) + " (" + scheduler::printable(what) + ')';
    if (!text.empty())
      std::cout << '\n' << scheduler::printable(each.tested->name) << ": races left alone: " << text << '\n';
  }
  for (const std::string& each : summary.unused_excuses)
    std::cout << '\n'
              << painted("warning: ", colour::warning) << "no race needs " << scheduler::printable(each) << '\n';
}

std::string summary_line(const fuzz_summary& summary) {
  constexpr size_t most_named = 4;
  std::string named;
  size_t wrong = 0;
  for (const trial& each : summary.trials) {
    if (each.as_expected()) continue;
    if (++wrong <= most_named) named += (named.empty() ? ": " : ", ") + wrong_in_words(each);
  }
  if (wrong > most_named) named += " and " + std::to_string(wrong - most_named) + " more";
  std::string line = std::to_string(summary.trials.size()) + (summary.trials.size() == 1 ? " scenario" : " scenarios");
  if (!summary.trials.empty())
    line += wrong == 0 ? ", all as expected" : ", " + std::to_string(wrong) + " WRONG" + named;
  if (!summary.interrupted && !summary.stopped_at_first) return line;
  const size_t left = summary.chosen - summary.trials.size();
  return line + (summary.interrupted ? "; interrupted, " : "; stopped at the first, ") + std::to_string(left) +
         (left == 1 ? " was not run" : " were not run");
}

/// What a finding's run did, below the line that names its verdict. A run that ended the process of a search has no answers to play.
std::string described_run(const scheduler::finding& found, const std::string& program, const kept_in_files& kept) {
  std::string text;
  if (!found.message.empty()) text += indented(found.message, 2);
  if (!found.not_reproducible.empty())
    text += indented(painted("not reproducible: ", colour::bad) + found.not_reproducible +
                         (found.first.outcome == scheduler::verdict::crash
                              ? ""
                              : "\nMost likely the code under test keeps state in statics or on the heap from one "
                                "schedule to the next."),
                     2);
  const auto [summary, details] = paragraphs(found.report);
  text += indented(summary, 2) + indented(details, 2);
  if (found.first.strategy != verifying_strategy || !found.first.answers.empty())
    text += how_to_play(found.first, program, kept);
  return text;
}

}  // namespace

std::string described_proof(const trial& of, const std::string& program, bool with_token) {
  const proof_attempt& made = *of.proof;
  std::string went_through = grouped(made.states) + " states, " + grouped(made.runs) + " runs";
  if (!made.found)
    return (made.complete ? painted("proved", colour::good) + " under " + made.of + ": no run ends badly; "
                          : "not proved: " + made.left_out + "; ") +
           went_through + '\n';
  const scheduler::verdict verdict = made.found->first.outcome;
  const bool wanted = of.expected.contains(verdict);
  std::string text = painted(to_string(verdict), wanted ? colour::good : colour::bad);
  if (!made.found->first.where.empty()) text += " at " + made.found->first.where;
  text += std::string(wanted ? ", as expected" : "") +
          ": not by the schedules, but by the search through all runs, after " + went_through + '\n';
  return text + described_run(*made.found, program, {.trace = made.file, .with_token = with_token});
}

bool fuzz_summary::ok() const {
  return !interrupted && trials.size() == chosen &&
         std::all_of(trials.begin(), trials.end(), [](const trial& each) { return each.as_expected(); });
}

std::string headline(const scheduler::finding& found, const scheduler::verdict_set& expected, uint64_t schedules) {
  const bool wanted = expected.contains(found.first.outcome);
  std::string text = painted(to_string(found.first.outcome), wanted ? colour::good : colour::bad);
  if (!found.first.where.empty()) text += " at " + found.first.where;
  return text + (wanted ? ", as expected" : "") + (": " + grouped(found.count)) + " of " + grouped(schedules) +
         " schedules, the first with seed " + std::to_string(found.first.seed) + '\n';
}

std::string describe(const scheduler::finding& found, const scheduler::verdict_set& expected, uint64_t schedules,
                     const std::string& program, const kept_in_files& kept) {
  return headline(found, expected, schedules) + described_run(found, program, kept);
}

/// One scenario in which nothing was found and little can happen. How many runs there are is not known before a search.
static bool is_perhaps_small(const fuzz_summary& summary) {
  constexpr uint64_t steps_of_small = 200;
  if (summary.chosen != 1 || summary.trials.size() != 1 || summary.interrupted) return false;
  const trial& only = summary.trials.front();
  return !only.proof && !only.cut && only.runs.findings.empty() && only.runs.choices > 0 &&
         only.runs.steps <= only.runs.schedules * steps_of_small;
}

namespace {

/// Of more scenarios than these an expected finding's line is its row of the table.
constexpr size_t few_scenarios = 20;

/// What a scenario gave that was not as expected, or all of it, in full.
void print_in_full(const trial& of, const invocation& asked, bool& told_of_races) {
  const std::string name = '\n' + scheduler::printable(of.tested->name) + ": ";
  bool is_first = true;
  for (size_t index = 0; index < of.runs.findings.size(); ++index) {
    const scheduler::finding& each = of.runs.findings[index];
    const bool wanted = of.expected.contains(each.first.outcome) && each.not_reproducible.empty();
    const bool in_full = !wanted || asked.tells.verbose || (is_first && of.as_expected());
    is_first = false;
    if (!in_full) {
      std::cout << name << headline(each, of.expected, of.runs.schedules);
      continue;
    }
    std::cout << name
              << describe(each, of.expected, of.runs.schedules, asked.program,
                          {.trace = of.files[index], .with_token = asked.tells.tokens});
    if (told_of_races || of.expected.contains(each.first.outcome)) continue;
    std::cout << past_races(each.first);
    told_of_races = !past_races(each.first).empty();
  }
  if (of.proof) std::cout << name << described_proof(of, asked.program, asked.tells.tokens);
  if (of.runs.findings.empty() && !(of.proof && of.proof->found) && !of.as_expected())
    std::cout << name << to_string(of.expected) << " was expected, and not found in " << grouped(of.runs.schedules)
              << " schedules\n";
}

/// What was found as expected in several scenarios; how many findings that were.
size_t print_expected(const fuzz_summary& summary, const invocation& asked) {
  bool told_of_races = true;
  size_t findings = 0;
  const bool in_lines = summary.chosen <= few_scenarios;
  bool any_line = false;
  for (const trial& each : summary.trials) {
    if (!each.as_expected()) continue;
    findings += each.runs.findings.size();
    if (asked.tells.quiet) continue;
    if (asked.tells.verbose || summary.chosen == 1) {
      print_in_full(each, asked, told_of_races);
      continue;
    }
    for (const scheduler::finding& found : each.runs.findings) {
      if (!in_lines) break;
      if (!std::exchange(any_line, true)) std::cout << '\n';
      std::cout << scheduler::printable(each.tested->name) << ": "
                << headline(found, each.expected, each.runs.schedules);
      if (asked.tells.tokens) std::cout << token_of(found.first) << '\n';
    }
    if (each.proof)
      std::cout << '\n'
                << scheduler::printable(each.tested->name) << ": "
                << described_proof(each, asked.program, asked.tells.tokens);
  }
  return findings;
}

}  // namespace

bool tells_latencies(const invocation& asked, size_t chosen) {
  return asked.json || (!asked.tells.quiet && (chosen <= few_scenarios || asked.tells.verbose));
}

void print_text(const fuzz_summary& summary, const invocation& asked) {
  const size_t expected = print_expected(summary, asked);
  if (tells_latencies(asked, summary.chosen)) print_latencies(summary);
  print_behaviours(summary);
  print_warnings(summary, asked.tells.verbose);
  print_complaints(summary);
  print_excused(summary);
  if (is_perhaps_small(summary) && !asked.tells.quiet)
    std::cout << "\nSchedules of " << scheduler::printable(summary.trials.front().tested->name)
              << " are short: --prove-if-small tries to go through all runs there are\n";
  if (!sim::names_of_unseen_code().empty() && !asked.tells.quiet)
    std::cout << "\nNot compiled by heddle, so that what they load and store is not seen: "
              << sim::names_of_unseen_code() << '\n';
  bool told_of_races = false;
  for (const trial& each : summary.trials)
    if (!each.as_expected()) print_in_full(each, asked, told_of_races);
  if (!summary.not_kept.empty())
    std::cout << '\n' << painted("warning: ", colour::warning) << "findings are not kept: " << summary.not_kept << '\n';
  if (expected > 0 && summary.chosen > 1 && !asked.tells.verbose && !asked.tells.quiet) {
    std::cout << '\n' << grouped(expected) << (expected == 1 ? " expected finding" : " expected findings");
    if (!summary.kept_in.empty()) std::cout << ", kept in " << summary.kept_in;
    std::cout << "; -v tells " << (expected == 1 ? "it" : "them") << " in full\n";
  }
  std::cout << '\n' << summary_line(summary) << '\n';
}

}  // namespace heddle::tools
