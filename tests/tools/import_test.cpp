// From a hang on host threads to a schedule of the model that replays: watchdog, dump, import, replay.
#include <heddle/tools/hardware/dump.h>
#include <heddle/tools/hardware/recorded_order.h>

#include <chrono>
#include <fstream>

#include "command.h"

namespace heddle::tests {
namespace {

using tools::dump;
using tools::dump_event;

dump_event event(uint64_t clock_ns, uint32_t actor, const char* operation, const char* word, uint64_t before,
                 uint64_t after, uint32_t changes) {
  return {.clock_ns = clock_ns,
          .actor = actor,
          .operation = operation,
          .order = "acquire",
          .scope = "system",
          .place = {.allocation = word, .offset = 0, .part = {}},
          .before = before,
          .after = after,
          .changes = changes};
}

dump two_actors(std::vector<dump_event> events) {
  dump made;
  made.actors = {{.name = "wave 0", .group = 1}, {.name = "wave 1", .group = 2}};
  made.events = std::move(events);
  return made;
}

/// "1 2 2": the groups in order.
std::string groups(const scheduler::recorded_order& order) {
  std::string text;
  for (const scheduler::recorded_step& each : order.steps)
    text += (text.empty() ? "" : " ") + std::to_string(each.group);
  return text;
}

TEST(recorded_order, holds_changes_and_news_and_no_repetitions) {
  const scheduler::recorded_order order = tools::order_of(two_actors({
      event(1, 0, "load", "flag", 0, 0, 0),    // news: the first look
      event(2, 0, "load", "flag", 0, 0, 0),    // none
      event(3, 1, "store", "flag", 0, 1, 0),   // a change
      event(4, 0, "load", "flag", 1, 1, 0),    // news
      event(5, 0, "modify", "lock", 0, 1, 0),  // a change
      event(6, 0, "load", "lock", 1, 1, 1),    // none: it left the value itself
      event(7, 1, "modify", "lock", 1, 1, 1),  // news: a lock that is taken
  }));
  EXPECT_EQ(groups(order), "1 2 1 1 2");
  ASSERT_EQ(order.steps.size(), 5u);
  EXPECT_EQ(order.steps[2].headway, scheduler::headway_of(0, 2));
  EXPECT_EQ(order.steps[3].headway, scheduler::headway_of(1, 0));
  EXPECT_EQ(order.steps[4].headway, scheduler::headway_of(1, 1));
  EXPECT_TRUE(order.starts.empty());
}

TEST(recorded_order, mends_clocks_that_values_contradict) {
  // The actor that saw the store has an earlier time than the one that made it.
  EXPECT_EQ(groups(tools::order_of(two_actors({
                event(10, 0, "load", "flag", 0, 0, 0),
                event(15, 0, "load", "flag", 1, 1, 0),
                event(20, 1, "store", "flag", 0, 1, 0),
            }))),
            "1 2 1");
  // The actor that still saw the old value looked at the clock too late.
  EXPECT_EQ(groups(tools::order_of(two_actors({
                event(5, 1, "store", "flag", 0, 7, 0),
                event(20, 1, "store", "flag", 0, 1, 1),
                event(25, 0, "load", "flag", 7, 7, 0),
            }))),
            "2 1 2");
}

TEST(recorded_order, begins_where_the_log_does) {
  dump made = two_actors({event(1, 0, "store", "flag", 0, 1, 40), event(2, 1, "load", "flag", 1, 1, 0)});
  made.actors[0].lost = 100;
  const scheduler::recorded_order order = tools::order_of(made);
  ASSERT_EQ(order.starts.size(), 1u);
  EXPECT_EQ(order.starts[0].group, 1u);
  EXPECT_EQ(order.starts[0].headway, scheduler::headway_of(40, 0));
}

class import_command : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(REAL_HEDDLE)) GTEST_SKIP() << REAL_HEDDLE << " is not built";
  }

  /// A dump of this scenario, which hangs on host threads; more words are settings and options of the run.
  std::string hung(const std::string& scenario, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {SCENARIOS_HOST,         scenario, "--record", "--quiet", "0.5", "--dump",
                                      folder_.path().string()};
    words.insert(words.end(), more.begin(), more.end());
    const ended_process ended = run_process(words);
    EXPECT_EQ(ended.status, 1) << ended.out << ended.err;
    return (folder_.path() / (scenario + ".heddle-dump.json")).string();
  }

  ended_process imported(const std::string& file, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {REAL_HEDDLE, "import", file, "--out", trace()};
    words.insert(words.end(), more.begin(), more.end());
    return run_process(words);
  }

  std::string trace() const { return (folder_.path() / "imported.heddle.json").string(); }

  /// The dump with one text in place of another.
  std::string edited(const std::string& file, const std::string& from, const std::string& to) {
    std::ifstream stream(file);
    std::string text{std::istreambuf_iterator<char>(stream), {}};
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    const std::string other = (folder_.path() / "edited.json").string();
    std::ofstream(other) << text;
    return other;
  }

  temporary_folder folder_;
};

TEST_F(import_command, a_deadlock_of_host_threads_becomes_a_trace_that_replays) {
  const std::string file = hung("zoo.crossed-calls", {"--seed", "7"});
  const auto start = std::chrono::steady_clock::now();
  const ended_process ended = imported(file);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::minutes(1));
  ASSERT_EQ(ended.status, 0) << ended.out << ended.err;
  EXPECT_NE(ended.out.find("the model hangs too, in schedule 1: deadlock"), std::string::npos)
      << "the strict schedule is enough\n"
      << ended.out;
  const ended_process again = run_process({REAL_HEDDLE, "replay", trace(), "--repeat", "3"});
  EXPECT_EQ(again.status, 1) << again.err;
  EXPECT_NE(again.out.find("zoo.crossed-calls: deadlock"), std::string::npos) << again.out;
  EXPECT_NE(again.out.find("3 of 3 equal digests"), std::string::npos) << again.out;
  EXPECT_NE(ended.out.find("  as a page: " REAL_HEDDLE " report " + trace() + '\n'), std::string::npos) << ended.out;
}

// The dump is one that an H100 left.
TEST_F(import_command, a_deadlock_of_a_gpu_becomes_a_trace_that_replays) {
  const ended_process ended = imported(SOURCE_FOLDER "/tests/tools/crossed_calls_on_a_gpu.heddle-dump.json");
  ASSERT_EQ(ended.status, 0) << ended.out << ended.err;
  EXPECT_NE(ended.out.find("hung on the machine cuda"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("the model hangs too, in schedule 1: deadlock"), std::string::npos) << ended.out;
  EXPECT_EQ(run_process({REAL_HEDDLE, "replay", trace()}).status, 1);
}

// Whichever wave was first on the machine is first in the model: here it is the other's name that is recorded.
TEST_F(import_command, the_recorded_order_decides_who_hangs_where) {
  tools::dump left = tools::read_dump(hung("zoo.crossed-calls", {"--seed", "3"})).value.value_or(dump{});
  ASSERT_EQ(left.actors.size(), 4u);
  const std::string edited_file = (folder_.path() / "swapped.json").string();
  for (const bool swapped : {false, true}) {
    if (swapped) std::swap(left.actors[2].group, left.actors[3].group);
    ASSERT_FALSE(tools::write_dump(left, edited_file));
    const bool first_waits = left.actors[2].waits.find("lock of port") != std::string::npos;
    ASSERT_NE(first_waits, left.actors[3].waits.find("lock of port") != std::string::npos);
    ASSERT_EQ(imported(edited_file).status, 0);
    const std::string holder = first_waits == swapped ? "wave 0" : "wave 1";
    const std::string report = run_process({REAL_HEDDLE, "replay", trace()}).out;
    EXPECT_NE(report.find("last changed by " + holder + " lane 0 at rpc/own.h"), std::string::npos) << report;
  }
}

TEST_F(import_command, a_log_that_overflowed_is_followed_from_where_it_begins) {
  const std::string file = hung("zoo.crossed-calls", {"--seed", "8", "--events", "3"});
  const ended_process ended = imported(file);
  EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
  EXPECT_NE(ended.out.find("events before them were overwritten"), std::string::npos) << ended.out;
}

TEST_F(import_command, a_hang_that_the_model_does_not_have_is_said_to_be_none) {
  const std::string file = hung("zoo.crossed-calls");
  // With a port and a server for each call the handlers meet.
  const ended_process ended =
      imported(edited(edited(file, "\"ports\": \"1\"", "\"ports\": \"2\""), "\"servers\": \"1\"", "\"servers\": \"2\""),
               {"--schedules", "20"});
  EXPECT_EQ(ended.status, 1) << ended.out << ended.err;
  EXPECT_NE(ended.out.find("the model does not show a hang in 20 schedules\n"), std::string::npos) << ended.out;
  EXPECT_FALSE(std::filesystem::exists(trace()));
}

TEST_F(import_command, wrong_input_is_one_line) {
  const auto refused = [&](const std::string& file, const std::string& message, std::vector<std::string> more = {}) {
    const ended_process ended = imported(file, std::move(more));
    EXPECT_EQ(ended.status, 2) << ended.out;
    EXPECT_EQ(line_count(ended.err), 1u) << ended.err;
    EXPECT_NE(ended.err.find(message), std::string::npos) << ended.err;
  };
  const std::string file = hung("zoo.crossed-calls");
  refused("/no/such/dump.json", "cannot read \"/no/such/dump.json\"");
  refused(SCENARIOS_HOST, "this is no dump");
  refused(edited(file, "heddle dump 1", "heddle dump 9"), "this is no dump");
  refused(edited(file, "\"zoo.crossed-calls\"", "\"zoo.crossed-cells\""), "did you mean \"zoo.crossed-calls\"?");
  refused(edited(file, "\"servers\": \"1\"", "\"servers\": \"100\""), "the dump's settings are not valid here");
  refused(edited(file, "\"actor\":", "\"actor\":99"), "which is not there");
  refused(edited(file, "\"clock_ns\":", "\"clock_ns\":1e300,\"was\":"), "\"clock_ns\" must be a whole number from 0");
  refused(edited(file, "\"client_outbox\":", "\"client_outbox\":4294967296,\"was\":"),
          "\"client_outbox\" must be a whole number from 0 to 4294967295");
  refused(file, "unknown key \"prots\"", {"--set", "prots=1"});
  const std::string unrecorded = folder_.path() / "unrecorded";
  std::filesystem::create_directory(unrecorded);
  run_process({SCENARIOS_HOST, "zoo.crossed-calls", "--timeout", "0.5", "--dump", unrecorded});
  refused(unrecorded + "/zoo.crossed-calls.heddle-dump.json", "record them with --record");
}

}  // namespace
}  // namespace heddle::tests
