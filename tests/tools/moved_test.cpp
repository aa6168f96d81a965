// Traces that are played somewhere else: in another folder, by a program without debug information.
#include <cstdlib>
#include <filesystem>

#include "command.h"

namespace heddle::tests {
namespace {

namespace fs = std::filesystem;

/// The program, started in that folder.
ended_process moved(const fs::path& folder, const std::vector<std::string>& words, const std::string& program = MOVED) {
  std::string line = "cd '" + folder.string() + "' && exec '" + program + "'";
  for (const std::string& each : words) line += " '" + each + "'";
  return run_process({"/bin/sh", "-c", line});
}

/// The one trace that a campaign in the folder has found.
std::string found_in(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().string().ends_with(".heddle.json")) return entry.path();
  return {};
}

/// What can be done with a trace, all done in a folder that has nothing to do with the program.
void expect_played(const std::string& trace, const std::string& program, const std::string& where) {
  const temporary_folder elsewhere;
  const ended_process again = moved(elsewhere.path(), {"replay", trace}, program);
  EXPECT_EQ(again.status, 1) << again.err;
  EXPECT_NE(again.out.find(" at " + where), std::string::npos) << where << "\n" << again.out;
  const ended_process smaller = moved(elsewhere.path(), {"shrink", trace, "-o", "small.heddle.json"}, program);
  EXPECT_EQ(smaller.status, 0) << smaller.err;
  EXPECT_EQ(moved(elsewhere.path(), {"replay", "small.heddle.json"}, program).status, 1);
  EXPECT_EQ(moved(elsewhere.path(), {"report", trace, "-o", "page.html"}, program).status, 0);
}

TEST(moved, a_trace_is_played_from_any_folder) {
  const temporary_folder out;
  for (const fs::path& here : {fs::path(MOVED_SOURCE).parent_path(), fs::path("/"), out.path()}) {
    const fs::path findings = out.path() / "findings";
    fs::remove_all(findings);
    const ended_process ended = moved(here, {"fuzz", "moved.hangs", "--schedules", "20", "--out", findings});
    EXPECT_EQ(ended.status, 1) << ended.err;
    EXPECT_NE(ended.out.find("moved.hangs: deadlock at moved_scenarios.cpp:"), std::string::npos) << ended.out;
    expect_played(found_in(findings), MOVED, "moved_scenarios.cpp:");
  }
}

TEST(moved, the_page_shows_the_source_from_any_folder) {
  const temporary_folder out;
  moved("/", {"fuzz", "moved.hangs", "--schedules", "20", "--out", out.path()});
  const std::string page = out.path() / "page.html";
  EXPECT_EQ(moved("/", {"report", found_in(out.path()), "-o", page}).status, 0);
  EXPECT_NE(run_process({"/bin/cat", page}).out.find("Each waits for the other."), std::string::npos);
}

TEST(moved, a_stripped_program_plays_its_own_traces_and_says_what_it_lacks) {
  if (std::string(STRIP).empty() || !fs::exists(STRIP)) GTEST_SKIP() << "there is no strip";
  const temporary_folder out;
  const std::string stripped = out.path() / "stripped";
  ASSERT_EQ(run_process({STRIP, "-o", stripped, MOVED}).status, 0);
  const fs::path findings = out.path() / "findings";
  const ended_process ended = moved("/", {"fuzz", "moved.hangs", "--schedules", "20", "--out", findings}, stripped);
  EXPECT_EQ(ended.status, 1) << ended.err;
  EXPECT_NE(ended.out.find("moved.hangs: deadlock at stripped+0x"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("no debug information for stripped+0x"), std::string::npos) << ended.out;
  const std::string trace = found_in(findings);
  expect_played(trace, stripped, "stripped+0x");
  // With its debug information it is the same program, and the other way round.
  expect_played(trace, MOVED, "moved_scenarios.cpp:");
  const std::string renamed = out.path() / "renamed";
  fs::copy_file(stripped, renamed);
  expect_played(trace, renamed, "renamed+0x");
}

TEST(moved, a_broken_protocol_is_reported_at_its_line) {
  const nlohmann::json all =
      nlohmann::json::parse(run_process({MOVED, "fuzz", "moved.protocol-*", "--schedules", "1", "--json"}).out);
  const nlohmann::json& one = all["scenarios"][0];
  ASSERT_EQ(one["findings"].size(), 1u) << all;
  const std::string name = one["name"];
  EXPECT_EQ(one["findings"][0]["verdict"], "protocol");
  EXPECT_EQ(one["findings"][0]["message"], "a slot is opened twice");
  EXPECT_EQ(one["findings"][0]["where"], "moved_scenarios.cpp:" + name.substr(name.rfind('-') + 1));
}

}  // namespace
}  // namespace heddle::tests
