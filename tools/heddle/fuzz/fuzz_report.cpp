#include <heddle/scheduler/printable.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/fuzz/campaign/scenario_campaign.h>
#include <heddle/tools/fuzz/fuzz_report.h>
#include <heddle/tools/trial/explain.h>
#include <heddle/tools/trial/traces.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace heddle::tools {
namespace {

using json = nlohmann::ordered_json;

constexpr size_t width_max = 80;

std::string rate(double per_second) { return grouped(static_cast<uint64_t>(per_second)); }

std::string hexadecimal(uint64_t value) {
  std::string digits(16, '0');
  for (size_t place = 16; place > 0; --place, value >>= 4) digits[place - 1] = "0123456789abcdef"[value & 15];
  return digits;
}

void print_table(const fuzz_summary& summary) {
  using enum table::align;
  table shown({{.title = "scenario"},
               {.title = "expected"},
               {.title = "verdict"},
               {.title = "schedules", .side = right},
               {.title = "per s", .side = right},
               {.title = ""}});
  for (const trial& each : summary.trials) {
    const bool ok = each.as_expected();
    shown.add({{.text = scheduler::printable(each.tested->name)},
               {.text = to_string(each.expected)},
               {.text = std::string(to_string(each.seen())), .shown = ok ? colour::none : colour::bad},
               {.text = grouped(each.runs.schedules)},
               {.text = rate(each.runs.schedules_per_second())},
               {.text = ok ? "ok" : "WRONG", .shown = ok ? colour::good : colour::bad}});
  }
  shown.print(std::cout, width_max);
}

/// Nanoseconds as microseconds.
std::string microseconds(double ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", ns / 1000);
  return text;
}

}  // namespace

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

void print_warnings(const fuzz_summary& summary) {
  for (const trial& each : summary.trials)
    if (each.stood_still >= stuck_runs_max)
      std::cout << '\n'
                << painted("warning: ", colour::warning) << each.tested->name << ":\n  after " << each.stood_still
                << " schedules that stood still no others were run; see --stuck\n";
  for (const trial& each : summary.trials) {
    // A run with a finding has scheduled something.
    if (each.runs.choices > 0 || each.runs.schedules == 0 || !each.runs.findings.empty()) continue;
    std::cout << '\n'
              << painted("warning: ", colour::warning) << scheduler::printable(each.tested->name)
              << ":\n  nothing was scheduled: no run had a choice;\n  " << why_no_choice() << '\n';
  }
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
  const auto wrong = std::count_if(summary.trials.begin(), summary.trials.end(),
                                   [](const trial& each) { return !each.as_expected(); });
  std::string line = std::to_string(summary.trials.size()) +
                     (summary.trials.size() == 1 ? " scenario, " : " scenarios, ") +
                     (wrong == 0 ? "all as expected" : std::to_string(wrong) + " WRONG");
  if (summary.interrupted)
    line += "; interrupted, " + std::to_string(summary.chosen - summary.trials.size()) + " were not run";
  return line;
}

json to_json(const scheduler::finding& found, const std::string& file) {
  return {{"verdict", to_string(found.first.outcome)},
          {"where", found.first.where},
          {"hang", found.first.hang},
          {"seed", found.first.seed},
          {"token", to_token(found.first)},
          {"file", file.empty() ? json(nullptr) : json(file)},
          {"count", found.count},
          {"message", found.message},
          {"decided", decided_in(found.report)},
          {"reproducible", found.not_reproducible.empty()}};
}

json to_json(const proof_attempt& made) {
  json shown = {{"result", made.result()}, {"of", made.of},           {"states", made.states},
                {"runs", made.runs},       {"seconds", made.seconds}, {"incomplete_because", made.left_out},
                {"finding", nullptr}};
  if (made.found) {
    shown["finding"] = to_json(*made.found, made.file);
    if (made.found->first.answers.empty()) shown["finding"]["token"] = nullptr;
  }
  return shown;
}

json to_json(const call_latency& of) {
  constexpr double ns_per_us = 1000;
  return {{"is", "a model in virtual time, not a measurement"},
          {"calls", of.calls},
          {"schedules", of.schedules},
          {"median_us", of.median_ns / ns_per_us},
          {"p99_us", of.p99_ns / ns_per_us},
          {"longest_us", of.longest_ns / ns_per_us}};
}

/// What a finding's run did, below the line that names its verdict. A run that ended the process of a search has no answers to play.
std::string described_run(const scheduler::finding& found, const std::string& program, const std::string& file,
                          const std::string& page) {
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
  text += indented(summary, 2);
  if (found.first.strategy != verifying_strategy || !found.first.answers.empty())
    text += how_to_play(found.first, program, file, page);
  return text + indented(details, 2);
}

std::string described_proof(const trial& of, const std::string& program) {
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
  return text + described_run(*made.found, program, made.file, {});
}

}  // namespace

bool fuzz_summary::ok() const {
  return !interrupted && trials.size() == chosen &&
         std::all_of(trials.begin(), trials.end(), [](const trial& each) { return each.as_expected(); });
}

std::string describe(const scheduler::finding& found, const scheduler::verdict_set& expected, uint64_t schedules,
                     const std::string& program, const std::string& file, const std::string& page) {
  const bool wanted = expected.contains(found.first.outcome);
  std::string text = painted(to_string(found.first.outcome), wanted ? colour::good : colour::bad);
  if (!found.first.where.empty()) text += " at " + found.first.where;
  text += (wanted ? ", as expected" : "") + (": " + grouped(found.count)) + " of " + grouped(schedules) +
          " schedules, the first with seed " + std::to_string(found.first.seed) + '\n';
  return text + described_run(found, program, file, page);
}

/// One scenario in which nothing was found and little can happen. How many runs there are is not known before a search.
static bool is_perhaps_small(const fuzz_summary& summary) {
  constexpr uint64_t steps_of_small = 200;
  if (summary.chosen != 1 || summary.trials.size() != 1 || summary.interrupted) return false;
  const trial& only = summary.trials.front();
  return !only.proof && only.runs.findings.empty() && only.runs.choices > 0 &&
         only.runs.steps <= only.runs.schedules * steps_of_small;
}

void print_text(const fuzz_summary& summary, const std::string& program) {
  print_table(summary);
  print_warnings(summary);
  print_excused(summary);
  bool told = false;
  for (const trial& each : summary.trials) {
    for (size_t index = 0; index < each.runs.findings.size(); ++index) {
      const scheduler::verdict found = each.runs.findings[index].first.outcome;
      std::cout << '\n'
                << scheduler::printable(each.tested->name) << ": "
                << describe(each.runs.findings[index], each.expected, each.runs.schedules, program, each.files[index]);
      if (told || each.expected.contains(found)) continue;
      std::cout << past_races(found);
      told = !past_races(found).empty();
    }
    if (each.proof)
      std::cout << '\n' << scheduler::printable(each.tested->name) << ": " << described_proof(each, program);
    if (each.runs.findings.empty() && !(each.proof && each.proof->found) && !each.as_expected())
      std::cout << '\n'
                << scheduler::printable(each.tested->name) << ": " << to_string(each.expected)
                << " was expected, and not found in " << grouped(each.runs.schedules) << " schedules\n";
  }
  print_latencies(summary);
  if (is_perhaps_small(summary))
    std::cout << "\nSchedules of " << scheduler::printable(summary.trials.front().tested->name)
              << " are short: --prove-if-small tries to go through all runs there are\n";
  std::cout << '\n' << summary_line(summary) << '\n';
}

void print_json(const fuzz_summary& summary) {
  json listed = json::array();
  for (const trial& each : summary.trials) {
    json findings = json::array();
    for (size_t index = 0; index < each.runs.findings.size(); ++index)
      findings.push_back(to_json(each.runs.findings[index], each.files[index]));
    listed.push_back({{"name", each.tested->name},
                      {"expected", to_string(each.expected)},
                      {"verdict", to_string(each.seen())},
                      {"ok", each.as_expected()},
                      {"schedules", each.runs.schedules},
                      {"schedules_per_second", each.runs.schedules_per_second()},
                      {"steps", each.runs.steps},
                      {"choices", each.runs.choices},
                      {"excused", each.runs.excused},
                      {"digest", hexadecimal(each.runs.digest)},
                      {"virtual_latency", each.latency ? to_json(*each.latency) : json(nullptr)},
                      {"proof", each.proof ? to_json(*each.proof) : json(nullptr)},
                      {"findings", findings}});
  }
  const json all = {{"scenarios", listed},
                    {"ok", summary.ok()},
                    {"interrupted", summary.interrupted},
                    {"unused_excuses", summary.unused_excuses}};
  std::cout << all.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
}

namespace {

/// Without the sequences that colour a terminal.
std::string plain(const std::string& text) {
  std::string made;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\033' && at + 1 < text.size() && text[at + 1] == '[') {
      at = std::min(text.find('m', at), text.size() - 1);
      continue;
    }
    made += text[at];
  }
  return made;
}

/// Text or the value of an attribute. What XML 1.0 (section 2.2) has no character for is written in letters.
std::string escaped(std::string_view text) {
  std::string made;
  for (const char letter : scheduler::printable_lines(text)) {
    switch (letter) {
      case '&':
        made += "&amp;";
        break;
      case '<':
        made += "&lt;";
        break;
      case '>':
        made += "&gt;";
        break;
      case '"':
        made += "&quot;";
        break;
      case '\n':
        made += "&#10;";
        break;
      default:
        made += letter;
    }
  }
  return made;
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", seconds);
  return text;
}

/// Empty when the scenario gave what was expected.
std::string failure_of(const trial& each, const std::string& program) {
  if (each.as_expected()) return {};
  std::string text;
  for (size_t index = 0; index < each.runs.findings.size(); ++index)
    text += describe(each.runs.findings[index], each.expected, each.runs.schedules, program, each.files[index]) + '\n';
  if (each.proof && each.proof->found) text += described_proof(each, program);
  text = plain(text);
  if (text.empty())
    text =
        to_string(each.expected) + " was expected, and not found in " + grouped(each.runs.schedules) + " schedules\n";
  const std::string line = text.substr(0, text.find('\n'));
  return "    <failure type=\"" + escaped(to_string(each.seen())) + "\" message=\"" + escaped(line) + "\">" +
         escaped(text) + "</failure>\n";
}

std::string junit_of(const fuzz_summary& summary, const std::string& program) {
  size_t failures = 0;
  double seconds = 0;
  std::string cases;
  for (const trial& each : summary.trials) {
    const std::string failure = failure_of(each, program);
    failures += failure.empty() ? 0 : 1;
    seconds += each.runs.seconds;
    cases += "  <testcase classname=\"heddle.fuzz\" name=\"" + escaped(each.tested->name) + "\" time=\"" +
             seconds_text(each.runs.seconds) + "\">\n" + failure + "    <system-out>" +
             escaped(grouped(each.runs.schedules) + " schedules, expected " + to_string(each.expected) + ", saw " +
                     std::string(to_string(each.seen())) +
                     (each.proof ? "; " + plain(described_proof(each, program)) : "")) +
             "</system-out>\n  </testcase>\n";
  }
  const std::string counts = "tests=\"" + std::to_string(summary.trials.size()) + "\" failures=\"" +
                             std::to_string(failures) + "\" errors=\"0\" skipped=\"0\" time=\"" +
                             seconds_text(seconds) + "\"";
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites " + counts + ">\n<testsuite name=\"heddle fuzz\" " +
         counts + ">\n" + cases + "</testsuite>\n</testsuites>\n";
}

}  // namespace

std::optional<std::string> write_junit(const fuzz_summary& summary, const std::string& program,
                                       const std::string& file) {
  const std::string made = file + ".part" + std::to_string(::getpid());
  {
    std::ofstream to(made, std::ios::binary);
    to << junit_of(summary, program);
    to.close();
    if (to && std::rename(made.c_str(), file.c_str()) == 0) return std::nullopt;
  }
  const std::string reason = std::strerror(errno);
  std::error_code ignored;
  std::filesystem::remove(made, ignored);
  return "cannot write \"" + file + "\": " + reason;
}

}  // namespace heddle::tools
