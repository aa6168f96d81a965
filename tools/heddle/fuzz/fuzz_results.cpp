#include <heddle/scheduler/printable.h>
#include <heddle/scheduler/whole_file.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/fuzz/fuzz_report.h>
#include <heddle/tools/trial/explain.h>
#include <heddle/tools/trial/story.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

// What `heddle fuzz` tells other programs: JSON, and JUnit's XML.

namespace heddle::tools {
namespace {

using json = nlohmann::ordered_json;

json to_json(const scheduler::finding& found, const std::string& file) {
  return {{"verdict", to_string(found.first.outcome)},
          {"where", found.first.where},
          {"hang", found.first.hang},
          {"seed", found.first.seed},
          {"token", token_of(found.first)},
          {"file", file.empty() ? json(nullptr) : json(file)},
          {"count", found.count},
          {"message", found.message},
          {"story", story_in(found.report)},
          {"decided", decided_in(found.report)},
          {"contrast", contrast_in(found.report)},
          {"reproducible", found.not_reproducible.empty()}};
}

json proof_to_json(const proof_attempt& made) {
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

json to_json(const scheduler::behaviours& seen, uint64_t first_seed, uint64_t schedules) {
  if (!seen.any()) return nullptr;
  return {{"count", seen.count()},
          {"more", seen.more()},
          {"none_new_in_the_last", seen.runs_without_news(first_seed, schedules)},
          {"chance_of_new_at_most", seen.chance_of_new(first_seed, schedules)}};
}

}  // namespace

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
                      {"ended_alike", each.ended_alike},
                      {"cut", each.cut ? json{{"seed", each.cut->seed}, {"steps", each.cut->steps}} : json(nullptr)},
                      {"printed_failures", each.printed.count},
                      {"digest", digest_digits(each.runs.digest)},
                      {"behaviours", to_json(each.runs.seen, each.first_seed, each.runs.schedules)},
                      {"virtual_latency", each.latency ? to_json(*each.latency) : json(nullptr)},
                      {"proof", each.proof ? proof_to_json(*each.proof) : json(nullptr)},
                      {"findings", findings}});
  }
  const json all = {{"scenarios", listed},
                    {"ok", summary.ok()},
                    {"interrupted", summary.interrupted},
                    {"unused_excuses", summary.unused_excuses}};
  write_json(all);
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
std::string escaped_for_xml(std::string_view text) {
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

std::string to_milliseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", seconds);
  return text;
}

/// Empty when the scenario gave what was expected.
std::string failure_of(const trial& each, const std::string& program) {
  if (each.as_expected()) return {};
  std::string text;
  for (size_t index = 0; index < each.runs.findings.size(); ++index)
    text += describe(each.runs.findings[index], each.expected, each.runs.schedules, program,
                     {.trace = each.files[index], .with_token = true}) +
            '\n';
  if (each.proof && each.proof->found) text += described_proof(each, program, true);
  text = plain(text);
  if (text.empty())
    text =
        to_string(each.expected) + " was expected, and not found in " + grouped(each.runs.schedules) + " schedules\n";
  const std::string line = text.substr(0, text.find('\n'));
  return "    <failure type=\"" + escaped_for_xml(to_string(each.seen())) + "\" message=\"" + escaped_for_xml(line) +
         "\">" + escaped_for_xml(text) + "</failure>\n";
}

std::string junit_of(const fuzz_summary& summary, const std::string& program) {
  size_t failures = 0;
  double seconds = 0;
  std::string cases;
  for (const trial& each : summary.trials) {
    const std::string failure = failure_of(each, program);
    failures += failure.empty() ? 0 : 1;
    seconds += each.runs.seconds;
    cases += "  <testcase classname=\"heddle.fuzz\" name=\"" + escaped_for_xml(each.tested->name) + "\" time=\"" +
             to_milliseconds(each.runs.seconds) + "\">\n" + failure + "    <system-out>" +
             escaped_for_xml(grouped(each.runs.schedules) + " schedules, expected " + to_string(each.expected) +
                             ", saw " + std::string(to_string(each.seen())) +
                             (each.proof ? "; " + plain(described_proof(each, program, true)) : "")) +
             "</system-out>\n  </testcase>\n";
  }
  const std::string counts = "tests=\"" + std::to_string(summary.trials.size()) + "\" failures=\"" +
                             std::to_string(failures) + "\" errors=\"0\" skipped=\"0\" time=\"" +
                             to_milliseconds(seconds) + "\"";
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites " + counts + ">\n<testsuite name=\"heddle fuzz\" " +
         counts + ">\n" + cases + "</testsuite>\n</testsuites>\n";
}

}  // namespace

std::optional<std::string> write_junit(const fuzz_summary& summary, const std::string& program,
                                       const std::string& file) {
  return scheduler::write_whole(file, junit_of(summary, program));
}

}  // namespace heddle::tools
