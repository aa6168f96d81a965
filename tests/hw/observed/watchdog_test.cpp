// The watchdog, as a user meets it: the scenarios on host threads, some of which hang.
#include <heddle/tools/hardware/dump.h>

#include "../../tools/process.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace heddle::tests {
namespace {

class watchdog : public testing::Test {
 protected:
  ended_process run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), SCENARIOS_HOST);
    arguments.insert(arguments.end(), {"--dump", folder_.path().string()});
    return run_process(arguments);
  }
  tools::dump dump_of(const std::string& scenario) const {
    const tools::dump_or_error read = tools::read_dump(file_of(scenario));
    EXPECT_EQ(read.error, "");
    return read.value.value_or(tools::dump{});
  }
  std::string file_of(const std::string& scenario) const {
    return (folder_.path() / (scenario + ".heddle-dump.json")).string();
  }

 private:
  temporary_folder folder_;
};

TEST_F(watchdog, a_planted_hang_is_caught_dumped_and_ended) {
  const ended_process ended = run({"zoo.crossed-calls", "--record", "--quiet", "0.5", "--seed", "3"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.out.find("zoo.crossed-calls: hang: nothing has happened for 0.5 s (run 1, seed 3)\n"),
            std::string::npos)
      << ended.out;
  EXPECT_NE(ended.out.find("host server 0: looks again and again at arrived flags"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("(lock of port 0) = 0x1"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.err, "") << "what was stopped does not complain";

  const tools::dump left = dump_of("zoo.crossed-calls");
  EXPECT_EQ(left.scenario, "zoo.crossed-calls");
  EXPECT_EQ(left.machine, "host");
  EXPECT_EQ(left.seed, 3u);
  EXPECT_NE(left.build_id, "");
  EXPECT_TRUE(left.recorded);
  EXPECT_TRUE(left.whole);
  ASSERT_EQ(left.ports.size(), 1u);
  EXPECT_EQ(left.ports[0].owner, "server");
  EXPECT_TRUE(left.ports[0].client_lock);
  EXPECT_TRUE(left.ports[0].server_lock);
  EXPECT_EQ(left.ports[0].mask, 1u);
  EXPECT_EQ(left.ports[0].step >> 2, 1u);
  ASSERT_EQ(left.actors.size(), 4u);
  EXPECT_EQ(left.actors[0].doing, "synchronizes");
  for (size_t n = 1; n < 4; ++n) EXPECT_NE(left.actors[n].waits, "") << left.actors[n].name;
  ASSERT_FALSE(left.events.empty());
  for (size_t n = 1; n < left.events.size(); ++n) EXPECT_LE(left.events[n - 1].clock_ns, left.events[n].clock_ns);
}

TEST_F(watchdog, without_the_recorder_the_time_out_is_a_hang_and_the_ports_are_dumped) {
  const ended_process ended = run({"zoo.crossed-calls", "--timeout", "1"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.out.find("hang: no end after 1 s (run 1)"), std::string::npos) << ended.out;
  const tools::dump left = dump_of("zoo.crossed-calls");
  EXPECT_FALSE(left.seed.has_value());
  EXPECT_TRUE(left.events.empty());
  ASSERT_EQ(left.ports.size(), 1u);
  EXPECT_EQ(left.ports[0].owner, "server");
}

TEST_F(watchdog, a_run_that_ends_is_let_alone) {
  const ended_process ended = run({"port.echo", "--record", "--seed", "1", "--repeat", "5"});
  EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
  EXPECT_FALSE(std::filesystem::exists(file_of("port.echo")));
}

TEST_F(watchdog, the_folder_for_dumps_is_made) {
  const temporary_folder folder;
  const std::filesystem::path fresh = folder.path() / "not" / "there";
  const ended_process ended =
      run_process({SCENARIOS_HOST, "zoo.crossed-calls", "--timeout", "0.5", "--dump", fresh.string()});
  EXPECT_EQ(ended.status, 1);
  EXPECT_TRUE(std::filesystem::exists(fresh / "zoo.crossed-calls.heddle-dump.json")) << ended.out;
}

TEST_F(watchdog, a_folder_for_dumps_that_cannot_be_made_is_refused_before_a_run) {
  const temporary_folder folder;
  const std::string file = (folder.path() / "file").string();
  std::ofstream(file) << "no folder";
  const ended_process ended =
      run_process({SCENARIOS_HOST, "zoo.crossed-calls", "--timeout", "0.5", "--dump", file + "/in/it"});
  EXPECT_EQ(ended.status, 3);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.err, "heddle: cannot make the folder \"" + file + "/in/it\": Not a directory\n");

  std::filesystem::create_directory(folder.path() / "zoo.crossed-calls.heddle-dump.json");
  const ended_process taken =
      run_process({SCENARIOS_HOST, "zoo.crossed-calls", "--timeout", "0.5", "--dump", folder.path().string()});
  EXPECT_EQ(taken.status, 3);
  EXPECT_NE(taken.err.find("cannot write \"" + folder.path().string()), std::string::npos) << taken.err;
}

TEST_F(watchdog, a_dump_that_cannot_be_written_is_said_and_the_hang_too) {
  const temporary_folder folder;
  // More than is printed, and less than the dump has.
  constexpr long bytes_max = 4'000;
  const ended_process ended =
      run_process({SCENARIOS_HOST, "zoo.crossed-calls", "--record", "--quiet", "0.5", "--dump", folder.path().string()},
                  {.file_bytes_max = bytes_max});
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.out.find("hang: nothing has happened for 0.5 s"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("cannot write \"" + folder.path().string()), std::string::npos) << ended.out;
}

TEST_F(watchdog, wrong_options_are_one_line) {
  const auto refused = [](const std::vector<std::string>& words) {
    std::vector<std::string> all = {SCENARIOS_HOST, "port.echo"};
    all.insert(all.end(), words.begin(), words.end());
    const ended_process ended = run_process(all);
    EXPECT_EQ(ended.status, 2);
    EXPECT_EQ(line_count(ended.err), 1u) << ended.err;
    return ended.err;
  };
  EXPECT_NE(refused({"--seed", "-1"}).find("--seed cannot be \"-1\""), std::string::npos);
  EXPECT_NE(refused({"--record", "--quiet", "soon"}).find("--quiet cannot be \"soon\""), std::string::npos);
  EXPECT_NE(refused({"--record", "--events", "0"}).find("--events cannot be \"0\""), std::string::npos);
  EXPECT_NE(refused({"--quiet", "1"}).find("--record"), std::string::npos) << "it has a meaning only with it";
}

}  // namespace
}  // namespace heddle::tests

// -- Dumps as text: what is written is read again, and no text makes the reader do anything but say what is wrong.

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
  EXPECT_EQ(dump_from_json(to_json(made)).error, "this dump is damaged: an event is of actor 2, which is not there");
  made = example();
  made.events[0].operation = "jump";
  EXPECT_EQ(dump_from_json(to_json(made)).error, "this dump is damaged: an event is no operation: \"jump\"");
  EXPECT_EQ(dump_from_json("{}").error, "this is no dump: its format is not \"heddle dump 1\"");
  EXPECT_EQ(dump_from_json("[1]").error, "this is no dump: its format is not \"heddle dump 1\"");
  EXPECT_FALSE(dump_from_json(std::string(100'000, '[')).value);
}

}  // namespace
}  // namespace heddle::tools
