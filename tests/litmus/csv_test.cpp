#include <gtest/gtest.h>
#include <heddle/tools/litmus/csv.h>

#include <stdexcept>

namespace heddle::litmus {
namespace {

std::string refusal(std::string_view text) {
  try {
    const csv_table table("t.csv", text);
    return "accepted";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

TEST(csv, fields_are_found_by_title) {
  const csv_table table("t.csv", "name,value\na,1\nb,\n");
  ASSERT_EQ(table.rows().size(), 2u);
  EXPECT_EQ(table.at(table.rows()[0], "value"), "1");
  EXPECT_EQ(table.at(table.rows()[1], "name"), "b");
  EXPECT_EQ(table.at(table.rows()[1], "value"), "");
  EXPECT_TRUE(table.has("value"));
  EXPECT_FALSE(table.has("valu"));
  EXPECT_THROW(table.at(table.rows()[0], "valu"), std::invalid_argument);
}

TEST(csv, a_table_is_named_after_its_file) {
  EXPECT_EQ(csv_table("a/b.c/ptx.csv", "x\n").name(), "ptx");
  EXPECT_EQ(csv_table("ptx.csv", "x\n").name(), "ptx");
  EXPECT_EQ(csv_table("a/ptx", "x\n").name(), "ptx");
}

TEST(csv, quoted_fields_hold_commas_quotes_and_line_feeds) {
  const csv_table table("t.csv", "name,value\n\"a,b\",\"say \"\"x\"\"\nthen y\"\nc,d\n");
  ASSERT_EQ(table.rows().size(), 2u);
  EXPECT_EQ(table.rows()[0].fields, (std::vector<std::string>{"a,b", "say \"x\"\nthen y"}));
  EXPECT_EQ(table.rows()[0].line, 2u);
  EXPECT_EQ(table.rows()[1].line, 4u);
}

TEST(csv, files_of_other_systems_are_read) {
  const csv_table table("t.csv", "\xef\xbb\xbfname,value\r\na,1\r\n\r\nb,\"2\"");
  EXPECT_EQ(table.titles(), (std::vector<std::string>{"name", "value"}));
  ASSERT_EQ(table.rows().size(), 2u);
  EXPECT_EQ(table.rows()[0].fields[1], "1");
  EXPECT_EQ(table.rows()[1].fields[1], "2");
  EXPECT_EQ(table.rows()[1].line, 4u);
}

TEST(csv, what_is_no_table_is_refused_by_line) {
  EXPECT_EQ(refusal(""), "t.csv: empty; the first line must hold the titles");
  EXPECT_EQ(refusal("a,b,a\n"), "t.csv:1: the title \"a\" comes twice");
  EXPECT_EQ(refusal("a,b\n1,2\n1\n"),
            "t.csv:3: 1 fields, but the first line has 2 titles; quote a field with a comma in it");
  EXPECT_EQ(refusal("a,b\n1,2,3\n"),
            "t.csv:2: 3 fields, but the first line has 2 titles; quote a field with a comma in it");
  EXPECT_EQ(refusal("a,b\n1,\"2\n3\n"), "t.csv:2: a quote is not closed; end the field with \"");
  EXPECT_EQ(refusal("a,b\n\"1\"2,3\n"),
            "t.csv:2: text behind a closing quote; double a quote that belongs to the field");
  EXPECT_EQ(refusal("\"a\nb\",\"a\nb\"\n"), "t.csv:1: the title \"a b\" comes twice");
}

}  // namespace
}  // namespace heddle::litmus
