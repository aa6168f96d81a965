// What a person sees: the command on a terminal.
#include <regex>
#include <sstream>

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
