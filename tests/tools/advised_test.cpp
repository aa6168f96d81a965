// What a finding says to be missing is what its corrected twin has, by the line where it lacks.
#include <fstream>

#include "command.h"

namespace heddle::tests {
namespace {

using nlohmann::json;

json told(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), MOVED);
  arguments.emplace_back("--json");
  return json::parse(run_process(arguments).out, nullptr, false);
}

/// "FILE:LINE" of the line that is marked so.
std::string line_of(const std::string& mark) {
  std::ifstream file(ADVISED_SOURCE);
  int number = 1;
  for (std::string line; std::getline(file, line) && line.find("// HERE: " + mark) == std::string::npos;) ++number;
  return "advised_scenarios.cpp:" + std::to_string(number);
}

/// `{NAME}` of a sentence is the line that is marked so.
std::string with_lines(std::string sentence) {
  for (size_t at = 0; (at = sentence.find('{')) != std::string::npos;) {
    const size_t end = sentence.find('}', at);
    sentence.replace(at, end - at + 1, line_of(sentence.substr(at + 1, end - at - 1)));
  }
  return sentence;
}

struct advised {
  const char* scenario;
  const char* last;                ///< of the story: how its last sentence begins
  const char* not_told = nullptr;  ///< what that sentence does not say
  const char* end = "";            ///< how it ends
};

const advised all[] = {
    {"advised.lock", "missing: an acquire at {takes the lock}, or a fence behind it"},
    {"advised.round", "missing: a barrier of wave 0 between one pass of {goes round} and the next; or a wait of "},
    {"advised.reads", "missing: a barrier of wave 0 between {stores its own} and {reads the other}; or a wait of "},
    {"advised.turns",
     "missing: a barrier of wave 0 between {reads in turn} and the next pass of {stores in turn}; or "},
    {"advised.kernels",
     "missing: an order of the two kernels: one stream, an event, or a wait of the host between them; or a wait of "
     "wave "
     "1 before {reads second} for something that wave 0 releases behind {stores first}"},
    {"advised.copy",
     "missing: an order of copy 1 of stream 1 before wave 0: one stream, an event, or a wait of the host between them"},
    {"advised.count", "missing: an atomic operation at {counts}, to which both come with nothing in between; or "},
    {"advised.look", "missing: a wider scope at {looks}, which is load acquire block", ", and at "},
    {"advised.fence", "missing: a wider scope at {fences}, which is fence acquire block", ", and at "},
    {"advised.look-and-fence", "missing: a wider scope at {looks nearby}, which is load relaxed block", ", and at "},
    {"advised.flag", "missing: an atomic access at {flags}; or, if they are not to meet, a wait of "},
    {"advised.threads", "missing: a wait of host ", nullptr,
     "; or, where one waits by this word, a store with release at {stores plainly} and a load with acquire at {looks "
     "plainly} (volatile orders nothing between threads)"},
    {"advised.both",
     "missing: a wider scope at {releases}, which is fence release block; and an acquire at {acquires}, or a fence "},
    {"advised.both-lanes", "missing: a barrier of wave ", nullptr,
     " lane 0 changes words->lock from 0 to 1, and {changes for both}"},
    {"advised.mp-release",
     "to change: a release at {passes on} (its store of words->flag), or a fence before it: ", "acquire"},
    {"advised.mp-acquire",
     "to change: an acquire at {is passed} (its load of words->flag), or a fence behind it: ", "release"},
    {"advised.mp-both",
     "to change: a release at {passes on} (its store of words->flag), or a fence before it; and an acquire at {is "
     "passed} (its load of words->flag), or a fence behind it: wave 1 has read words->flag (step ",
     nullptr, "; tried: so this schedule and 64 others end well"},
    {"advised.wrc",
     "to change: an acquire at {is between} (its load of words->flag), or a fence behind it: ", "release"},
    {"advised.s",
     "to change: a release at {has cleared} (its store of words->flag), or a fence before it: wave 1 has read "
     "words->flag (step ",
     "erases"},
    {"advised.sb", "to change: a full fence (seq_cst) on both sides, of wave ", nullptr,
     "without them each may load what was there before the other's store; tried: so this schedule and 64 others end "
     "well"},
    {"advised.2+2w", "to change: a full fence (seq_cst) on both sides, of wave ", nullptr,
     "without them the store of each may count as older than the other's; tried: so this schedule and 64 others end "
     "well"},
    {"advised.itself",
     "to change: nothing has stored words->flag: store it before wave 0 waits for it ({waits}), or have a thread do so "
     "that does not wait for wave 0, or end that wait another way"},
};

TEST(advised, the_last_sentence_names_the_line_of_the_mistake) {
  for (const advised& each : all) {
    SCOPED_TRACE(each.scenario);
    const json found = told({"fuzz", each.scenario, "--schedules", "50"});
    ASSERT_FALSE(found["scenarios"][0]["findings"].empty()) << found.dump(2);
    for (const json& finding : found["scenarios"][0]["findings"]) {
      const json& story = finding["story"];
      ASSERT_FALSE(story.empty()) << finding.dump(2);
      const std::string last = story.back();
      EXPECT_TRUE(last.starts_with(with_lines(each.last))) << last << "\n  and not\n" << with_lines(each.last);
      EXPECT_TRUE(last.ends_with(with_lines(each.end))) << last << "\n  and not\n" << with_lines(each.end);
      if (each.not_told != nullptr) {
        EXPECT_EQ(last.find(each.not_told), std::string::npos) << last;
      }
    }
  }
}

// What it has stored there itself, or seen at another line before it went on, is no look in vain.
TEST(advised, a_lane_waits_where_it_looks_in_that_wait) {
  for (const char* scenario : {"advised.mp-release", "advised.s"}) {
    const json found = told({"fuzz", scenario, "--schedules", "50"});
    ASSERT_FALSE(found["scenarios"][0]["findings"].empty()) << found.dump(2);
    size_t waits = 0;
    for (const std::string sentence : found["scenarios"][0]["findings"][0]["story"]) {
      if (sentence.find(" and waits for a change") == std::string::npos) continue;
      ++waits;
      EXPECT_EQ(sentence.find(" stores "), std::string::npos) << sentence;
      if (scenario == std::string("advised.mp-release")) {
        EXPECT_NE(sentence.find(line_of("waits for an answer")), std::string::npos) << sentence;
      }
    }
    EXPECT_NE(waits, 0u) << found.dump(2);
  }
}

TEST(advised, nothing_is_found_without_the_mistake) {
  for (const advised& each : all) {
    const json found = told({"fuzz", each.scenario, "--schedules", "200", "--set", "fixed=yes"});
    EXPECT_EQ(found["scenarios"][0]["verdict"], "ok") << each.scenario;
    EXPECT_TRUE(found["scenarios"][0]["findings"].empty()) << each.scenario;
  }
}

TEST(advised, a_plain_flag_that_is_left_alone_is_what_its_data_lack) {
  const temporary_folder out;
  const std::string excuse = out.path() / "excuse";
  std::ofstream(excuse) << "variable words+0x4\n";
  const json found = told({"fuzz", "advised.flag", "--schedules", "50", "--excuse", excuse});
  ASSERT_FALSE(found["scenarios"][0]["findings"].empty()) << found.dump(2);
  EXPECT_EQ(found["scenarios"][0]["findings"][0]["story"].back(),
            with_lines("missing: an atomic store, relaxed or stronger, at {flags}: a fence orders no plain one"));
}

// A lock is not given back by what takes it.
TEST(advised, two_locks_are_taken_in_one_order_or_given_back) {
  const json found = told({"fuzz", "advised.two", "--schedules", "50"});
  ASSERT_EQ(found["scenarios"][0]["verdict"], "deadlock");
  const std::string last = found["scenarios"][0]["findings"][0]["story"].back();
  const std::string at = line_of("takes one");
  for (const int wave : {0, 1}) {
    const std::string gives = "wave " + std::to_string(wave) + " gives back words->" + (wave == 0 ? "lock" : "flag") +
                              ", taken at " + at + " from ";
    EXPECT_NE(last.find(gives), std::string::npos) << gives << " in\n" << last;
  }
  EXPECT_TRUE(last.ends_with("; or all take them in one order")) << last;
  EXPECT_EQ(told({"fuzz", "advised.two", "--schedules", "200", "--set", "fixed=yes"})["scenarios"][0]["verdict"], "ok");
}

// The missing edge, which pages draw, is that of the story.
TEST(advised, a_report_names_the_read_that_the_story_names) {
  const json found = told({"fuzz", "advised.lock", "--schedules", "50"});
  const std::string report = told({"replay", found["scenarios"][0]["findings"][0]["token"]})["report"];
  const size_t read = report.find("is read by");
  ASSERT_NE(read, std::string::npos) << report;
  EXPECT_NE(report.find(line_of("takes the lock"), read), std::string::npos) << report;
}

}  // namespace
}  // namespace heddle::tests
