// The table of a page that says what progress a protocol needs is measured again, row by row.
//
//   docs_progress PAGE.md PREFIX
//
// The names of its scenarios begin with PREFIX and a point. The columns between the scenario and `fair` are settings, named in the table's head;
// "-" in a row is a setting that its scenario does not have. One process measures all, and explains nothing: a row asks for verdicts alone, and
// to explain a finding takes as long as to find it a hundred times.
#include <heddle/scheduler/strategy.h>
#include <heddle/sim/simulation.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/trial/trial.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

namespace heddle::tests {
namespace {

using strings = std::vector<std::string>;

const strings models = {"fair", "lobe", "hsa_obe", "obe", "hsa", "slots", "cuda", "unfair"};

/// Those that promise least of all that promise anything.
bool is_weakest(const std::string& model) { return model == "hsa" || model == "obe"; }

struct row {
  std::string scenario;
  strings settings;        ///< "key=value"
  strings claimed;         ///< of each model
  std::string sufficient;  ///< the last column
};

/// The cells of a line of a table, without blanks and marks of code.
strings cells_of(const std::string& line) {
  strings cells;
  for (size_t at = 1; at < line.size();) {
    const size_t end = std::min(line.find('|', at), line.size());
    std::string cell = line.substr(at, end - at);
    std::erase_if(cell, [](char each) { return each == ' ' || each == '`'; });
    cells.push_back(std::move(cell));
    at = end + 1;
  }
  return cells;
}

std::vector<row> rows_of(const std::string& page, const std::string& prefix) {
  const std::regex in_table("\\| (scenario|`" + prefix + "\\.[a-z-]+`) \\|.* \\|");
  std::ifstream from(page);
  std::vector<row> rows;
  strings keys;
  for (std::string line; std::getline(from, line);) {
    if (!std::regex_match(line, in_table)) continue;
    const strings cells = cells_of(line);
    if (cells[0] == "scenario") {
      keys.assign(cells.begin() + 1, std::find(cells.begin(), cells.end(), "fair"));
      continue;
    }
    row made = {.scenario = cells[0]};
    // A row that lacks cells fails below: it claims nothing.
    for (size_t n = 0; n < keys.size() && n + 1 < cells.size(); ++n)
      if (cells[n + 1] != "-") made.settings.push_back(keys[n] + "=" + cells[n + 1]);
    const size_t first = 1 + keys.size();
    for (size_t n = 0; n < models.size(); ++n) made.claimed.push_back(first + n < cells.size() ? cells[first + n] : "");
    if (first + models.size() < cells.size()) made.sufficient = cells[first + models.size()];
    rows.push_back(std::move(made));
  }
  return rows;
}

std::string words(const strings& all) {
  std::string text;
  for (const std::string& each : all) text += " " + each;
  return text;
}

/// The verdict of so many schedules, as `heddle fuzz` has it; or what is wrong with the settings.
std::string measured(const row& of, const std::string& model, uint64_t schedules) {
  const tools::selection selected = tools::select_scenarios({of.scenario});
  if (!selected.error.empty()) return selected.error;
  strings assignments = {"waves=2", "lanes=2"};
  assignments.insert(assignments.end(), of.settings.begin(), of.settings.end());
  assignments.push_back("progress=" + model);
  const tools::settings_or_error settings = tools::simulator_settings(*selected.chosen[0], assignments);
  if (!settings.value) return settings.error;
  std::string error;
  const auto deciding = scheduler::make_strategy("mix", error);
  if (!error.empty()) return error;
  sim::simulation machine;
  scheduler::campaign_options options;
  options.schedules = schedules;
  options.is_news = [](const scheduler::failure&, uint64_t) { return false; };
  const tools::trial made =
      tools::run_trial(machine, *selected.chosen[0], *settings.value, "mix", *deciding, std::move(options));
  return std::string(to_string(made.seen()));
}

/// How many things are wrong with the row; they are printed.
int wrong_in(const row& of, const std::string& page) {
  int wrong = 0;
  std::string weakest;
  for (size_t n = 0; n < models.size(); ++n) {
    const std::string &model = models[n], &claimed = of.claimed[n];
    const bool is_well = claimed == "ok";
    if (is_well && is_weakest(model)) weakest = model + (weakest.empty() ? "" : "or" + weakest);
    // That there is no finding takes all schedules; a part of those that the page tells of is made again, most of them under the two models that
    // the last column names: what is well under these is well under those that promise more.
    std::string verdict = measured(of, model, is_well && is_weakest(model) ? 300 : 100);
    // A finding comes early, or its search goes on.
    if (!is_well && verdict != claimed) verdict = measured(of, model, 1000);
    if (verdict == claimed) continue;
    std::printf("%s%s, %s: %s, %s says %s\n", of.scenario.c_str(), words(of.settings).c_str(), model.c_str(),
                verdict.c_str(), page.c_str(), claimed.c_str());
    ++wrong;
  }
  if (weakest == of.sufficient) return wrong;
  std::printf("%s%s: the weakest is \"%s\", %s says \"%s\"\n", of.scenario.c_str(), words(of.settings).c_str(),
              weakest.c_str(), page.c_str(), of.sufficient.c_str());
  return wrong + 1;
}

int check(const std::string& page, const std::string& prefix) {
  const std::vector<row> rows = rows_of(page, prefix);
  constexpr size_t rows_min = 6;
  if (rows.size() < rows_min) {
    std::printf("%s has no table of progress of %s.*\n", page.c_str(), prefix.c_str());
    return 1;
  }
  int wrong = 0;
  for (const row& each : rows) wrong += wrong_in(each, page);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace heddle::tests

int main(int argc, char** argv) { return argc == 3 ? heddle::tests::check(argv[1], argv[2]) : 2; }
