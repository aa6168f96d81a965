#include <heddle/tools/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "command.h"

namespace heddle::tests {
namespace {

/// Findings go to a folder of the test's own.
class gtest_macro : public testing::Test {
 protected:
  gtest_macro() { setenv("HEDDLE_FINDINGS", findings().c_str(), 1); }
  ~gtest_macro() override { unsetenv("HEDDLE_FINDINGS"); }

  static ended_process run_test(const std::string& filter) {
    return run_process({FAKE_GTEST, "--gtest_filter=" + filter});
  }
  std::filesystem::path findings() const { return folder_.path() / "not there yet" / "findings"; }
  /// The names of all files that there are.
  std::set<std::string> files() const {
    std::set<std::string> names;
    if (!std::filesystem::exists(findings())) return names;
    for (const auto& each : std::filesystem::directory_iterator(findings())) names.insert(each.path().filename());
    return names;
  }
  static std::string text_of(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void write(const std::filesystem::path& file, const std::string& text) { std::ofstream(file) << text; }

 private:
  temporary_folder folder_;
};

TEST_F(gtest_macro, scenarios_that_give_their_expected_verdict_pass) {
  const ended_process ended = run_test("heddle/ports.*:heddle/wide_ports.*:heddle/planted.*");
  EXPECT_EQ(ended.status, 0) << ended.out;
  EXPECT_NE(ended.out.find("heddle/ports.run/port_echo"), std::string::npos) << ended.out;
}

TEST_F(gtest_macro, a_passing_test_writes_nothing) {
  EXPECT_EQ(run_test("heddle/ports.*:heddle/planted.*").status, 0);
  EXPECT_EQ(run_test("heddle/misspelt.*").status, 1);
  EXPECT_FALSE(std::filesystem::exists(findings()));
}

TEST_F(gtest_macro, a_failure_prints_token_report_and_a_command_that_works) {
  const ended_process ended = run_test("heddle/failing.*");
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.out.find("fake.racy: expected ok, found race in 50 schedules"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("lane 0 waits for lane 1"), std::string::npos);
  const size_t token = ended.out.find("heddle2.");
  ASSERT_NE(token, std::string::npos);
  const std::string text = ended.out.substr(token, ended.out.find('\n', token) - token);
  EXPECT_EQ(run_process({FAKE_GTEST, "replay", text}).status, 1);
}

TEST_F(gtest_macro, a_failure_writes_the_page_and_the_trace_and_says_where) {
  const ended_process ended = run_test("heddle/failing.*");
  const std::set<std::string> written = files();
  ASSERT_EQ(written.size(), 2u) << ended.out;
  const std::string page = findings() / *written.rbegin(), trace = findings() / *written.begin();
  ASSERT_TRUE(page.ends_with(".html") && trace.ends_with(".heddle.json")) << page << trace;
  EXPECT_NE(ended.out.find("  as a page: " + page + "\n"), std::string::npos) << ended.out;
  EXPECT_NE(text_of(page).find("<h1>fake.racy</h1>"), std::string::npos);
  const size_t command = ended.out.find("  replay it: ") + 13;
  EXPECT_EQ(run_process({"/bin/sh", "-c", ended.out.substr(command, ended.out.find('\n', command) - command)}).status,
            1)
      << ended.out;
  EXPECT_EQ(run_process({FAKE_GTEST, "replay", trace}).status, 1);
}

TEST_F(gtest_macro, nothing_that_is_there_is_written_over) {
  run_test("heddle/failing.*");
  const std::set<std::string> first = files();
  ASSERT_EQ(first.size(), 2u);
  run_test("heddle/failing.*");
  EXPECT_EQ(files(), first) << "the same finding is the same files";
  // Another trace has the name, or a page of something else.
  const std::string trace = findings() / *first.begin(), page = findings() / *first.rbegin();
  write(trace, "another");
  write(page, "of it");
  run_test("heddle/failing.*");
  EXPECT_EQ(files().size(), 4u);
  std::filesystem::remove(trace);
  std::filesystem::remove(findings() /
                          (page.substr(page.rfind('/') + 1, page.size() - page.rfind('/') - 6) + ".2.heddle.json"));
  const ended_process last = run_test("heddle/failing.*");
  EXPECT_EQ(files().size(), 4u) << last.out;
  EXPECT_NE(last.out.find(".3.html\n"), std::string::npos) << last.out;
  EXPECT_EQ(text_of(page), "of it");
}

TEST_F(gtest_macro, what_cannot_be_written_is_one_line_and_loses_nothing) {
  std::filesystem::create_directories(findings().parent_path());
  write(findings(), "a file where a folder should be");
  const ended_process ended = run_test("heddle/failing.*");
  EXPECT_EQ(ended.status, 1);
  const size_t line = ended.out.find("  not written: cannot make the folder \"" + findings().string() + "\": ");
  ASSERT_NE(line, std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("HEDDLE_FINDINGS", line), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("\nheddle2."), std::string::npos) << "the token is there all the same";
  EXPECT_EQ(text_of(findings()), "a file where a folder should be");
}

TEST_F(gtest_macro, without_a_folder_of_ones_own_it_is_that_of_bazel_or_a_new_one_here) {
  unsetenv("HEDDLE_FINDINGS");
  const temporary_folder here;
  const std::string failing =
      std::string("cd '") + here.path().string() + "' && '" + FAKE_GTEST + "' '--gtest_filter=heddle/failing.*'";
  run_process({"/bin/sh", "-c", failing});
  EXPECT_TRUE(std::filesystem::is_directory(here.path() / "heddle-findings"));
  setenv("TEST_UNDECLARED_OUTPUTS_DIR", findings().c_str(), 1);
  run_process({"/bin/sh", "-c", failing});
  unsetenv("TEST_UNDECLARED_OUTPUTS_DIR");
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(gtest_macro, an_environment_that_says_what_is_no_time_is_refused) {
  const auto told = [](const char* name, const char* text) {
    setenv(name, text, 1);
    const ended_process ended = run_test("heddle/ports.*");
    unsetenv(name);
    return ended.status == 0 ? "" : ended.out;
  };
  EXPECT_NE(told("HEDDLE_STUCK", "abc")
                .find("HEDDLE_STUCK cannot be \"abc\"; it must be a time such as 10, 0.5s or 1m, or 0"),
            std::string::npos);
  EXPECT_NE(told("HEDDLE_IN_PROCESS", "yes").find("HEDDLE_IN_PROCESS cannot be \"yes\"; it must be 1 or 0"),
            std::string::npos);
  for (const char* good : {"", "0", "2s"}) EXPECT_EQ(told("HEDDLE_STUCK", good), "") << good;
  for (const char* good : {"", "0", "1"}) EXPECT_EQ(told("HEDDLE_IN_PROCESS", good), "") << good;
}

TEST_F(gtest_macro, mistakes_fail_with_their_line) {
  EXPECT_NE(run_test("heddle/misspelt.*").out.find("did you mean \"port.echo\"?"), std::string::npos);
  EXPECT_NE(run_test("heddle/unknown_key.*").out.find("unknown key \"waves\""), std::string::npos);
  EXPECT_NE(run_test("heddle/uninstrumented.*").out.find("nothing was scheduled"), std::string::npos);
}

// This program has GoogleTest's main(), and uses in two files (list_test.cpp).
HEDDLE_TEST(in_a_program_with_another_main, "port.*", 50);

TEST(gtest_macro_and_another_main, loses_no_test) {
  std::set<std::string> names;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j)
      names.insert(std::string(suite.name()) + '.' + suite.GetTestInfo(j)->name());
  }
  EXPECT_TRUE(names.contains("heddle/in_a_program_with_another_main.run/port_echo"));
  EXPECT_TRUE(names.contains("heddle/in_another_file.run/port_echo"));
}

}  // namespace
}  // namespace heddle::tests
