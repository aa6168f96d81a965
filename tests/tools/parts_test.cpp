#include <heddle/scheduler/printable.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/cli/version.h>
#include <heddle/tools/replay/step_table.h>

#include <gtest/gtest.h>

#include <sstream>
#include <string_view>

namespace heddle::tools {
namespace {

TEST(build_id, is_that_of_the_running_program) {
  EXPECT_GE(build_id().size(), 16u);
  EXPECT_EQ(build_id().find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(parse_seconds, takes_times_as_people_write_them) {
  EXPECT_EQ(parse_seconds("30"), 30);
  EXPECT_EQ(parse_seconds("0.5"), 0.5);
  EXPECT_EQ(parse_seconds("45s"), 45);
  EXPECT_EQ(parse_seconds("5m"), 300);
  EXPECT_EQ(parse_seconds("2h"), 7'200);
  for (const char* wrong : {"", "s", "0", "-1", "1d", "nan", "inf", "1e3", "1 s", "99999999999"})
    EXPECT_FALSE(parse_seconds(wrong)) << wrong;
}

TEST(shell_word, is_one_word_for_a_shell) {
  EXPECT_EQ(shell_word("./build/heddle"), "./build/heddle");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a\x1b[31m'\\\n\xff"), "$'a\\x1b[31m\\'\\\\\\n\\xff'");
}

TEST(printable, writes_what_is_no_printable_character_in_letters) {
  using scheduler::printable;
  EXPECT_EQ(printable("zoo.\u00e4\u20ac\U0001f600 <&>"), "zoo.\u00e4\u20ac\U0001f600 <&>");
  EXPECT_EQ(printable("a\x1b[31m\x7f\n\t\r"), "a\\x1b[31m\\x7f\\n\\t\\r");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  // No UTF-8: alone, cut short, overlong, half of a pair, beyond the last; and characters that a terminal takes for a command.
  EXPECT_EQ(printable("\xff\x80"), "\\xff\\x80");
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");
  EXPECT_EQ(printable("\xef\xbf\xbf"), "\\xef\\xbf\\xbf");
  EXPECT_EQ(scheduler::printable_lines("a\n\tb\x1b"), "a\n\tb\\x1b");
}

TEST(table, cuts_the_first_column_when_a_line_would_be_too_wide) {
  table shown({{.title = "name"}, {.title = "n", .side = table::align::right}});
  shown.add({{.text = "rpc/port/mailbox.h"}, {.text = "7"}});
  std::ostringstream wide, narrow;
  shown.print(wide, 0);
  shown.print(narrow, 15);
  EXPECT_EQ(wide.str(), "name                n\nrpc/port/mailbox.h  7\n");
  EXPECT_EQ(narrow.str(), "name          n\nrpc/...box.h  7\n");
}

TEST(table, numbers_and_paragraphs) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1'234'567), "1,234,567");
  EXPECT_EQ(indented("a\n\nb", 2), "  a\n\n  b\n");
  EXPECT_EQ(indented("", 2), "");
}

TEST(step_table, folds_groups_of_steps_that_repeat) {
  std::vector<sim::step_record> steps;
  for (int turn = 0; turn < 5; ++turn)
    for (const char* operation : {"load", "pause"})
      steps.push_back({.step = steps.size() + 1,
                       .actor = "host",
                       .operation = operation,
                       .location = {},
                       .value = {},
                       .where = {}});
  steps.push_back({.step = 11, .actor = "host", .operation = "store", .location = {}, .value = {}, .where = {}});
  std::ostringstream text;
  print_steps(text, steps);
  EXPECT_EQ(text.str(),
            "step  actor  operation  location  value  where\n"
            "   1  host   load\n"
            "   2  host   pause                              x 5 (these 2 steps)\n"
            "  11  host   store\n");
}

}  // namespace
}  // namespace heddle::tools
