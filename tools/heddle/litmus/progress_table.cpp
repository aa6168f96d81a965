#include <heddle/tools/litmus/progress_table.h>

#include <set>
#include <stdexcept>

namespace heddle::litmus {
namespace {

using judge::fairness;
using judge::rule;

struct known_column {
  const char* title;
  judge::model under;
  fairness how;
};

const std::vector<known_column>& known_columns() {
  static const std::vector<known_column> columns = {
      {"WEAK_FAIR", {rule::fair}, fairness::weak},
      {"STRONG_FAIR", {rule::fair}, fairness::strong},
      {"HSA", {rule::hsa}, fairness::weak},
      {"HSA_STRONG", {rule::hsa}, fairness::strong},
      {"OBE", {rule::obe}, fairness::weak},
      {"OBE_STRONG", {rule::obe}, fairness::strong},
      {"HSA_OBE", {rule::hsa_obe}, fairness::weak},
      {"HSA_OBE_STRONG", {rule::hsa_obe}, fairness::strong},
      {"LOBE", {rule::lobe}, fairness::weak},
      {"LOBE_STRONG", {rule::lobe}, fairness::strong},
      {"UNFAIR", {rule::unfair}, fairness::weak},
      {"UNFAIR_STRONG", {rule::unfair}, fairness::strong},
      {"SIMT_STACK_then_first(computed)", {rule::then_first}, fairness::weak},
      {"SIMT_STACK_then_first(computed)", {rule::slots, 1}, fairness::weak},
  };
  return columns;
}

judge::program program_of(const csv_table& table, const csv_row& row) {
  judge::program code;
  try {
    code = judge::parse(table.at(row, "program"));
  } catch (const std::invalid_argument& error) {
    table.refuse(row, error.what());
  }
  const std::string count = std::to_string(code.threads.size());
  if (table.has("threads") && table.at(row, "threads") != count)
    table.refuse(row, "threads: \"" + table.at(row, "threads") + "\", but the program has " + count);
  return code;
}

std::vector<published_verdict> verdicts_of(const csv_table& table, const csv_row& row) {
  std::vector<published_verdict> verdicts;
  for (const known_column& each : known_columns()) {
    if (!table.has(each.title) || table.at(row, each.title).empty()) continue;
    const std::string& verdict = table.at(row, each.title);
    if (verdict != "P" && verdict != "F")
      table.refuse(row, std::string(each.title) + ": \"" + verdict +
                            "\" is no verdict; write P (ends) or F (may not), or nothing");
    verdicts.push_back({.column = each.title, .under = each.under, .how = each.how, .ends = verdict == "P"});
  }
  if (verdicts.empty()) table.refuse(row, "no verdict; give one in at least one of the columns of progress models");
  return verdicts;
}

}  // namespace

bool is_progress_table(const csv_table& table) {
  for (const known_column& each : known_columns())
    if (table.has(each.title)) return true;
  return false;
}

std::vector<progress_test> progress_tests_of(const csv_table& table) {
  std::vector<progress_test> tests;
  std::set<std::string> names;
  if (!table.has("program")) table.refuse_titles("there is no column \"program\"; it holds the programs");
  const bool named = table.has("name");
  if (!named && !(table.has("group") && table.has("id")))
    table.refuse_titles("programs have no names; add the column name, or group and id");
  for (const csv_row& row : table.rows()) {
    const std::string name = named ? table.at(row, "name") : table.at(row, "group") + "." + table.at(row, "id");
    if (!names.insert(name).second) table.refuse(row, "name: \"" + name + "\" is an earlier row's too");
    tests.push_back(
        {.table = table.name(), .name = name, .code = program_of(table, row), .published = verdicts_of(table, row)});
  }
  return tests;
}

size_t progress_result::equal_count(const progress_test& to) const {
  size_t count = 0;
  for (size_t n = 0; n < judged.size(); ++n) count += equal(to, n) ? 1 : 0;
  return count;
}

progress_result judge_progress(const progress_test& test) try {
  judge::examination examined(test.code);
  progress_result result = {.judged = {}, .states = examined.states()};
  for (const published_verdict& each : test.published) result.judged.push_back(examined.judge(each.under, each.how));
  return result;
} catch (const std::invalid_argument& error) {
  throw std::invalid_argument(test.full_name() + ": " + error.what());
}

}  // namespace heddle::litmus
