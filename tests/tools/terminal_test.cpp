// What a person sees: the command on a terminal.
#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>
#include <utility>

#include "command.h"

namespace heddle::tests {
namespace {

ended_process on_terminal(std::vector<std::string> arguments, const std::vector<std::string>& environment = {}) {
  arguments.insert(arguments.begin(), FAKE_HEDDLE);
  return run_in_terminal(arguments, environment);
}

/// Without colours and without what was overwritten.
std::string plain(const std::string& shown) {
  return std::regex_replace(std::regex_replace(shown, std::regex("\033\\[[0-9;]*m"), ""),
                            std::regex("\r[^\n]*\r\033\\[K"), "");
}

TEST(terminal, has_colours_for_what_is_wrong_and_what_is_well) {
  const ended_process ended = on_terminal({"fuzz", "fake.racy", "port.echo", "--schedules", "50"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.out.find("\033[1;31mWRONG\033[0m"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("\033[32mok\033[0m"), std::string::npos) << ended.out;
}

TEST(terminal, has_none_where_they_are_not_wanted) {
  for (const std::string environment : {"NO_COLOR=1", "TERM=dumb"}) {
    const ended_process ended = on_terminal({"fuzz", "fake.racy", "--schedules", "50"}, {environment});
    EXPECT_EQ(ended.out.find("\033["), std::string::npos) << environment << ": " << ended.out;
    EXPECT_NE(ended.out.find("WRONG"), std::string::npos);
  }
  const ended_process empty = on_terminal({"fuzz", "fake.racy", "--schedules", "50"}, {"NO_COLOR="});
  EXPECT_NE(empty.out.find("\033["), std::string::npos) << "empty is as if it were not there (no-color.org)";
}

TEST(terminal, says_on_the_first_screen_what_was_found_and_where) {
  const ended_process ended = on_terminal({"fuzz", "zoo.crossed-calls", "--schedules", "50"});
  std::istringstream lines(plain(ended.out));
  std::string screen, line;
  size_t rows = 0;
  while (rows < 24 && std::getline(lines, line)) {
    rows += 1 + (line.empty() ? 0 : (line.size() - 1) / 80);
    if (rows <= 24) screen += line + '\n';
  }
  for (const char* told :
       {"deadlock at zoo/crossed.cpp:12", "lane 0 waits for lane 1", "lane 1 waits for lane 0", " of 50 schedules"})
    EXPECT_NE(screen.find(told), std::string::npos) << told << " is not in\n" << screen;
}

/// What a screen of 24 lines and 80 columns shows from a line on that begins so.
std::string screen_from(const std::string& shown, const std::string& begin) {
  std::istringstream lines(shown.substr(shown.find("\n" + begin) + 1));
  std::string screen, line;
  for (size_t left = 24; left > 0 && std::getline(lines, line);) {
    const size_t rows = std::min(left, 1 + (line.empty() ? 0 : (line.size() - 1) / 80));
    screen += line.substr(0, rows * 80) + '\n';
    left -= rows;
  }
  return screen;
}

TEST(terminal, a_screen_of_a_finding_says_what_happened_why_and_how_to_see_it_again) {
  if (!std::filesystem::exists(REAL_HEDDLE)) GTEST_SKIP() << "heddle is not built";
  const std::vector<std::pair<std::string, std::vector<std::string>>> findings = {
      {"zoo.crossed-calls", {"nobody can ever move again", "host server -> ?  (arrived flags+0x"}},
      {"zoo.lost-doorbell", {"nobody can ever move again", "host server -> wave "}},
      {"zoo.handover-without-release", {"is not ordered after", "missing edge: "}},
      {"zoo.device-scope-mailbox", {"a scope is too narrow", "missing edge: "}},
      {"zoo.crossed-try-locks", {"repeated for ever, ", "wave 1 lane 0"}},
      {"zoo.unfair-lock", {"was passed over 9 times"}},
      {"zoo.freed-before-read", {"after the memory was freed", "at   scenarios/zoo/freed_before_read.cpp:20"}}};
  for (const auto& [scenario, parts] : findings) {
    const ended_process ended = run_in_terminal({REAL_HEDDLE, "fuzz", scenario, "--schedules", "300"});
    const std::string screen = screen_from(plain(ended.out), scenario + ": ");
    for (const std::string& told : parts)
      EXPECT_NE(screen.find(told), std::string::npos) << told << " is not in\n" << screen;
    EXPECT_NE(screen.find("\nheddle1."), std::string::npos) << "the token is to be seen, or its beginning:\n" << screen;
  }
}

TEST(terminal, shows_progress_and_takes_it_away) {
  const ended_process ended = on_terminal({"fuzz", "port.echo", "--time", "1"});
  EXPECT_NE(ended.out.find("\r\033[K1/1 port.echo: "), std::string::npos) << ended.out;
  EXPECT_EQ(plain(ended.out).find("/s, "), std::string::npos) << "the line is gone in the end: " << plain(ended.out);
  std::istringstream parts(std::regex_replace(ended.out, std::regex("[\r\n]"), "\n"));
  for (std::string part; std::getline(parts, part);)
    EXPECT_TRUE(!part.starts_with("\033[K1/1 ") || part.size() < 3 + 80u) << part;
}

}  // namespace
}  // namespace heddle::tests
