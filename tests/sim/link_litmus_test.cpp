// The table of programs between host and device, each explored in full under each configuration of the link.
#include "link_explorer.h"

#include <gtest/gtest.h>
#include <heddle/tools/litmus/csv.h>

#include <fstream>
#include <set>
#include <sstream>

namespace heddle::sim {
namespace {

litmus::csv_table read_table() {
  std::ifstream file(LITMUS_DATA "/pcie.csv");
  std::ostringstream text;
  text << file.rdbuf();
  return {"pcie.csv", text.str()};
}

/// "pool+drain+rocpl": what stands there is on.
link_settings parse_configuration(const std::string& words) {
  link_settings settings{.pool = false, .drain = false};
  std::istringstream stream(words);
  for (std::string word; std::getline(stream, word, '+');) {
    if (word == "pool")
      settings.pool = true;
    else if (word == "ro")
      settings.relaxed_ordering = true;
    else if (word == "drain")
      settings.drain = true;
    else if (word == "rocpl")
      settings.completions_pass = true;
    else if (word == "wc")
      settings.write_combining = true;
    else if (word == "emul")
      settings.rmw = rmw_capability::split;
    else if (word == "nosameaddr")
      settings.same_address = false;
    else
      EXPECT_EQ(word, "inorder") << "no such word in a configuration";
  }
  return settings;
}

// A load that returns at once is never answered after a later store of its own thread.
const std::set<std::string> needs_load_buffering = {"LB.plain", "S-hg.plain", "WRC.g-g-h plain"};

/// Explores the row in the configuration and compares; returns how many states there were.
size_t expect_verdict(const litmus::csv_table& table, const litmus::csv_row& row, const std::string& configuration,
                      const std::string& verdict) {
  const litmus::program code = litmus::parse(table.at(row, "threads"), table.at(row, "program"),
                                             table.at(row, "weak_outcome"), table.at(row, "placement"));
  link_explorer explorer(code, parse_configuration(configuration));
  const std::string& name = table.at(row, "name");
  const bool expected = verdict == "A" && !needs_load_buffering.contains(name);
  EXPECT_EQ(explorer.sees_outcome(), expected) << name << " under " << configuration;
  return explorer.states();
}

TEST(link_litmus, every_row_has_exactly_the_verdict_of_each_configuration) {
  const litmus::csv_table table = read_table();
  size_t verdicts = 0;
  size_t states = 0;
  for (const litmus::csv_row& row : table.rows()) {
    for (const std::string& title : table.titles()) {
      if (!title.starts_with("inorder") && !title.starts_with("pool")) continue;
      const std::string& verdict = table.at(row, title);
      if (verdict.empty()) continue;
      ++verdicts;
      states += expect_verdict(table, row, title, verdict);
    }
    const std::string& special = table.at(row, "special_config");
    if (special.empty()) continue;
    ++verdicts;
    states += expect_verdict(table, row, special, table.at(row, "special_verdict"));
  }
  EXPECT_EQ(verdicts, 41u * 7 + 20);
  RecordProperty("states", static_cast<int>(states));
}

TEST(link_litmus, what_needs_load_buffering_is_allowed_by_the_table_and_is_never_seen) {
  const litmus::csv_table table = read_table();
  size_t rows = 0;
  for (const litmus::csv_row& row : table.rows()) {
    if (!needs_load_buffering.contains(table.at(row, "name"))) continue;
    ++rows;
    EXPECT_EQ(table.at(row, "pool+drain"), "A");
  }
  EXPECT_EQ(rows, needs_load_buffering.size());
}

}  // namespace
}  // namespace heddle::sim
