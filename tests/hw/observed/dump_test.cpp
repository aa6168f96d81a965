// Dumps as text: what is written is read again, and no text makes the reader do anything but say what is wrong.
#include <gtest/gtest.h>
#include <heddle/tools/hardware/dump.h>

namespace heddle::tools {
namespace {

dump example() {
  dump made;
  made.version = "1.2.3";
  made.build_id = "abc";
  made.machine = "host";
  made.scenario = "zoo.some\"thing";
  made.parameters = {{"waves", "2"}, {"fixed", "no"}};
  made.seed = ~uint64_t{0};
  made.run = 7;
  made.reason = "nothing has happened";
  made.seconds = 1.5;
  made.recorded = made.whole = true;
  made.ports = {{.set = "ports", .port = 0, .owner = "client", .client_lock = true, .mask = ~uint64_t{0}}};
  made.actors = {{.name = "host main", .doing = "joins"},
                 {.name = "wave 0", .doing = "running", .events = 5, .lost = 4}};
  made.events = {{.clock_ns = 1,
                  .actor = 1,
                  .operation = "load",
                  .order = "acquire",
                  .scope = "system",
                  .place = {.allocation = "ports", .offset = 64, .part = "port 0"},
                  .before = 3,
                  .after = 3,
                  .changes = 9,
                  .repeats = 4}};
  return made;
}

TEST(dump_text, is_read_as_it_was_written) {
  const dump_or_error read = dump_from_json(to_json(example()));
  ASSERT_TRUE(read.value) << read.error;
  EXPECT_EQ(*read.value, example());
  dump small;
  const dump_or_error again = dump_from_json(to_json(small));
  ASSERT_TRUE(again.value) << again.error;
  EXPECT_EQ(*again.value, small);
}

TEST(dump_text, cut_off_anywhere_is_refused_in_one_line) {
  const std::string whole = to_json(example());
  for (size_t bytes = 0; bytes + 2 < whole.size(); ++bytes) {
    const dump_or_error read = dump_from_json(whole.substr(0, bytes));
    ASSERT_FALSE(read.value) << bytes;
    ASSERT_NE(read.error, "");
    ASSERT_EQ(read.error.find('\n'), std::string::npos);
  }
}

TEST(dump_text, damaged_at_any_byte_is_read_or_refused_but_never_worse) {
  const std::string whole = to_json(example());
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char put : {'\0', '9', '"', '{', ']', '-'}) {
      std::string damaged = whole;
      damaged[at] = put;
      const dump_or_error read = dump_from_json(damaged);
      ASSERT_EQ(read.value.has_value(), read.error.empty()) << at;
    }
  }
}

TEST(dump_text, that_makes_no_sense_is_refused) {
  dump made = example();
  made.events[0].actor = 2;
  EXPECT_EQ(dump_from_json(to_json(made)).error, "this dump is damaged: an event is of actor 2, who is not there");
  made = example();
  made.events[0].operation = "jump";
  EXPECT_EQ(dump_from_json(to_json(made)).error, "this dump is damaged: an event is no operation: \"jump\"");
  EXPECT_EQ(dump_from_json("{}").error, "this is no dump: its format is not \"heddle dump 1\"");
  EXPECT_EQ(dump_from_json("[1]").error, "this is no dump: its format is not \"heddle dump 1\"");
  EXPECT_FALSE(dump_from_json(std::string(100'000, '[')).value);
}

}  // namespace
}  // namespace heddle::tools
