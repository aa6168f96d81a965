#include <heddle/scheduler/printable.h>
#include <heddle/scheduler/trace.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/table.h>
#include <heddle/tools/cli/version.h>
#include <heddle/tools/replay/step_table.h>

#include "command.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string_view>

namespace heddle::tests {
namespace {

void expect_refused(const std::vector<std::string>& arguments, const std::string& message) {
  const ended_process ended = heddle(arguments);
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.err, "heddle: " + message + "\n");
  EXPECT_EQ(ended.out, "");
}

const std::string program = FAKE_HEDDLE;

TEST(input, commands_and_options_that_are_none_are_refused_with_the_nearest) {
  expect_refused({}, "no command; " + program + " fuzz tries schedules, " + program + " run takes one, " + program +
                         " help lists all");
  expect_refused({"fuz"}, "unknown command \"fuz\"; did you mean \"fuzz\"?");
  expect_refused({"defragment"}, "unknown command \"defragment\"; " + program + " help lists the commands");
  expect_refused({"--json"}, "unknown option \"--json\"; " + program + " help lists the commands");
  expect_refused({"fuzz", "--schedule", "3"}, "fuzz: unknown option \"--schedule\"; did you mean \"--schedules\"?");
  expect_refused({"fuzz", "--jsn=1"}, "fuzz: unknown option \"--jsn\"; did you mean \"--json\"?");
  expect_refused({"list", "port.ekho"}, "unknown scenario \"port.ekho\"; did you mean \"port.echo\"?");
  expect_refused({"shrink", "a.heddle.json", "b.heddle.json"},
                 "shrink: unexpected argument \"b.heddle.json\"; it takes one trace at a time: " + program +
                     " shrink b.heddle.json");
  expect_refused({"completion", "bash", "zsh"},
                 "completion: unexpected argument \"zsh\"; " + program + " help completion says what it takes");
  expect_refused({"replay"}, "replay: FILE|TOKEN is required");
  expect_refused({"run"}, "run: name a scenario; this program has 24; see " + program + " list");
  expect_refused({"slack"}, "slack: name a scenario; this program has 24; see " + program + " list");
  expect_refused({"run", "entry.*"}, "run: it takes one scenario, and \"entry.*\" selects 8");
  expect_refused({"shrink"}, "shrink: FILE|TOKEN is required");
  expect_refused({"help", "fuz"}, "unknown command \"fuz\"; did you mean \"fuzz\"?");
  expect_refused({"--version", "x"}, "unexpected argument \"x\" after --version");
}

TEST(input, an_option_that_is_given_nothing_is_refused) {
  expect_refused({"fuzz", "port.echo", "--out", ""}, "fuzz: --out cannot be empty");
  expect_refused({"fuzz", "port.echo", "--junit", ""}, "fuzz: --junit cannot be empty");
  expect_refused({"fuzz", "port.echo", "--seed", ""}, "fuzz: --seed cannot be empty");
  expect_refused({"fuzz", "--resume", ""}, "fuzz: --resume cannot be empty");
}

TEST(input, seeds_do_not_wrap) {
  const std::string last = "18446744073709551615";
  const std::string tail = " for so many schedules: the last seed is " + last;
  expect_refused({"fuzz", "port.echo", "--seed", last, "--schedules", "2"}, "--seed cannot be " + last + tail);
  expect_refused({"fuzz", "port.echo", "--seed", last, "--time", "1"}, "--seed cannot be " + last + tail);
  expect_refused({"zoo", "--seed", "18446744073709551600", "--schedules", "1", "--twin", "17"},
                 "--seed cannot be 18446744073709551600" + tail);
  EXPECT_EQ(heddle({"fuzz", "port.echo", "--seed", last, "--schedules", "1"}).status, 0);
  EXPECT_EQ(heddle({"fuzz", "port.echo", "--seed", "18446744073709551614", "--schedules", "2"}).status, 0);
}

TEST(input, scenarios_that_there_are_not_are_refused_with_the_nearest) {
  expect_refused({"fuzz", "port.ecko"}, "unknown scenario \"port.ecko\"; did you mean \"port.echo\"?");
  expect_refused({"fuzz", "crossed"}, "unknown scenario \"crossed\"; did you mean \"zoo.crossed-calls\"?");
  expect_refused({"fuzz", "xyzzy"}, "unknown scenario \"xyzzy\"; see " + program + " list");
  expect_refused({"fuzz", "/bin/true"},
                 "unknown scenario \"/bin/true\", which is a program; did you mean /bin/true fuzz?");
  expect_refused({"/bin/true", "fuzz"},
                 "unknown command \"/bin/true\", which is a program; did you mean /bin/true fuzz?");
  expect_refused({"fuzz", "nothing.*"}, "no scenario matches \"nothing.*\"; see " + program + " list");
}

TEST(input, settings_are_checked_for_every_chosen_scenario_before_anything_runs) {
  expect_refused({"fuzz", "port.echo", "--set", "call=3"},
                 "scenario port.echo: unknown key \"call\"; did you mean \"calls\"?");
  expect_refused({"fuzz", "port.echo", "--set", "calls=101"},
                 "scenario port.echo: \"calls\" cannot be \"101\"; it must be a whole number from 1 to 100 (calls)");
  expect_refused({"fuzz", "port.echo", "--set", "calls"},
                 "scenario port.echo: \"calls\" is no setting; write key=value");
  expect_refused({"fuzz", "port.echo", "zoo.crossed-calls", "--set", "calls=3"},
                 "scenario zoo.crossed-calls: unknown key \"calls\"; the keys are progress, budget");
  expect_refused(
      {"fuzz", "port.echo", "--set", "progress=has"},
      "scenario port.echo: \"progress\" cannot be \"has\"; it must be one of unfair, hsa, obe, fair; did you mean "
      "\"hsa\"?");
}

TEST(input, arguments_for_main_are_refused_where_there_is_none) {
  const std::string none = ": it has no main() that could take arguments; leave out what stands behind --, or args=";
  expect_refused({"fuzz", "port.echo", "--", "a", "b"}, "scenario port.echo" + none);
  expect_refused({"run", "port.echo", "--set", "args=a"}, "scenario port.echo" + none);
}

TEST(input, a_setting_may_stand_beside_the_names) {
  const std::string few = "--schedules";
  const auto fuzzed = heddle({"fuzz", "calls=3", "port.echo", few, "3"});
  EXPECT_EQ(fuzzed.status, 0) << fuzzed.err;
  const auto digest_of = [&](std::vector<std::string> words) {
    words.insert(words.end(), {few, "3"});
    return heddle_json(words)["scenarios"][0]["digest"];
  };
  EXPECT_EQ(digest_of({"fuzz", "calls=3", "port.echo"}), digest_of({"fuzz", "port.echo", "--set", "calls=3"}));
  expect_refused({"fuzz", "port.echo", "call=3"}, "scenario port.echo: unknown key \"call\"; did you mean \"calls\"?");
  expect_refused({"run", "port.echo", "calls=101"},
                 "scenario port.echo: \"calls\" cannot be \"101\"; it must be a whole number from 1 to 100 (calls)");
  expect_refused({"run", "port.echo", "calls=3", "zoo.crossed-calls"},
                 "run: unexpected argument \"zoo.crossed-calls\"; " + program + " help run says what it takes");
}

TEST(input, numbers_are_refused_with_their_range) {
  expect_refused({"fuzz", "--schedules", "0"},
                 "--schedules cannot be \"0\"; it must be a whole number from 1 to 4611686018427387904");
  expect_refused({"fuzz", "--seed", "1.5"},
                 "--seed cannot be \"1.5\"; it must be a whole number from 0 to 18446744073709551615");
  expect_refused({"fuzz", "--time", "soon"}, "--time cannot be \"soon\"; it must be a time such as 30, 45s, 5m or 2h");
  expect_refused({"fuzz", "--time", "1", "--schedules", "1"}, "fuzz: --schedules excludes --time");
  expect_refused({"fuzz", "--jobs", "1025"}, "--jobs cannot be \"1025\"; it must be a whole number from 0 to 1024");
  for (const char* const command : {"mend", "slack"})
    expect_refused({command, "x", "-j", "1025"}, "--jobs cannot be \"1025\"; it must be a whole number from 0 to 1024");
  for (const char* const wrong : {"0/4", "5/4", "1", "1/", "/4", "1/0", "a/b", "1/2/3"})
    expect_refused({"fuzz", "--shard", wrong},
                   "--shard cannot be \"" + std::string(wrong) +
                       "\"; it must be two whole numbers such as 1/4, the first part of four");
  expect_refused({"fuzz", "--resume", "x", "--seed", "1"}, "fuzz: --seed excludes --resume");
  expect_refused({"replay", "x", "--gdb", "--json"}, "replay: --gdb excludes --json");
  expect_refused({"fuzz", "--strategy", "rando"}, "unknown strategy \"rando\"; did you mean \"random\"?");
  expect_refused({"fuzz", "--strategy", "round-robin:0"}, "the quantum \"0\" must be a whole number from 1 to 1000000");
}

TEST(input, a_value_is_not_taken_for_a_second_setting) {
  EXPECT_EQ(heddle({"fuzz", "--set", "calls=2", "port.echo", "--schedules", "1"}).status, 0);
}

TEST(input, damaged_traces_are_refused) {
  const std::string token = token_of("zoo.crossed-calls");
  const std::string damaged = "this token is damaged or cut off; copy it again, whole and on one line";
  expect_refused({"replay", token.substr(0, token.size() - 1)}, damaged);
  expect_refused({"replay", token + "A"}, damaged);
  expect_refused({"replay", "heddle2."}, damaged);
  expect_refused({"replay", "nothing.json"},
                 "there is no file \"nothing.json\", and it is no token either (a token begins with \"heddle2.\")");
  const temporary_folder folder;
  const std::string file = (folder.path() / "cut.heddle.json").string();
  std::ofstream(file) << to_json(*scheduler::from_token(token).value).substr(0, 100);
  const ended_process ended = heddle({"replay", file});
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(line_count(ended.err), 1u);
  EXPECT_NE(ended.err.find("damaged or cut off near byte 101"), std::string::npos) << ended.err;
}

TEST(input, a_trace_of_another_build_is_refused_with_the_command_that_searches_again) {
  scheduler::trace recorded = *scheduler::from_token(token_of("fake.edited")).value;
  const std::string seed = std::to_string(recorded.seed);
  const ended_process ended = run_process({FAKE_HEDDLE_REBUILT, "replay", to_token(recorded)});
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(line_count(ended.err), 1u);
  EXPECT_NE(ended.err.find("another build"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("at choice 3 the run asks for actor out of 7, but the recording ends there. " +
                           std::string(FAKE_HEDDLE_REBUILT) + " replay --try TOKEN follows it as far as it fits"),
            std::string::npos)
      << ended.err;
  EXPECT_NE(ended.err.find(std::string(FAKE_HEDDLE_REBUILT) + " fuzz fake.edited --strategy mix --seed " + seed +
                           " --schedules 1\n"),
            std::string::npos);
}

TEST(input, a_hostile_trace_cannot_print_more_than_its_line) {
  scheduler::trace hostile = *scheduler::from_token(token_of("zoo.crossed-calls")).value;
  hostile.scenario = "x\ny\033[31m" + std::string(5'000, 'z');
  const ended_process ended = heddle({"replay", to_token(hostile)});
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(line_count(ended.err), 1u);
  EXPECT_EQ(ended.err.find('\033'), std::string::npos);
}

TEST(input, help_and_version_print_to_stdout) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"help"},
                                                                                     {"--help"},
                                                                                     {"help", "fuzz"},
                                                                                     {"fuzz", "--help"},
                                                                                     {"replay", "-h"},
                                                                                     {"help", "list"},
                                                                                     {"--version"}}) {
    const ended_process ended = heddle(words);
    EXPECT_EQ(ended.status, 0);
    EXPECT_EQ(ended.err, "");
    EXPECT_NE(ended.out, "");
  }
  EXPECT_EQ(heddle({"help", "fuzz"}).out, heddle({"fuzz", "--help"}).out);
  EXPECT_EQ(heddle({"help"}).out.find("defragment"), std::string::npos) << "commands that do not exist are not listed";
}

TEST(input, output_that_cannot_be_written_is_status_3) {
  const ended_process ended = heddle({"fuzz", "port.echo", "--schedules", "1"}, {.out_file = "/dev/full"});
  EXPECT_EQ(ended.status, 3);
  EXPECT_EQ(ended.err, "heddle: the output could not be written: No space left on device\n");
  // More than one buffer has.
  EXPECT_EQ(heddle({"help", "--man"}, {.out_file = "/dev/full"}).err, ended.err);
  EXPECT_EQ(heddle({"list", "--json"}, {.out_file = "/dev/full"}).err, ended.err);

  for (const std::string words : {" list", " help --man", " list --json"})
    EXPECT_EQ(run_process({"/bin/sh", "-c", FAKE_HEDDLE + words + " >&-"}).err,
              "heddle: the output could not be written: Bad file descriptor\n")
        << words;
}

}  // namespace
}  // namespace heddle::tests

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
