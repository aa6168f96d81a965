// `heddle progress`, and `heddle litmus` on tables of progress, as a program.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../tools/process.h"

namespace heddle::tests {
namespace {

ended_process heddle(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), HEDDLE);
  return run_process(arguments);
}

void expect_refused(const std::vector<std::string>& arguments, const std::string& message) {
  const ended_process ended = heddle(arguments);
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.err, "heddle: " + message + "\n");
  EXPECT_EQ(ended.out, "");
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class own_table {
 public:
  explicit own_table(const std::string& text) { std::ofstream(file()) << text; }
  std::string file() const { return (folder_.path() / "own.csv").string(); }

 private:
  temporary_folder folder_;
};

TEST(progress_command, prints_the_table_of_remote_calls) {
  const ended_process ended = heddle({"progress"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(
      ended.out,
      "shape              fair  hsa  obe  hsa_obe  lobe  unfair  slots 1 in order  slots 1 by turns of 2  what the "
      "waves do\n"
      "own-ports          P/P   P/P  P/P  P/P      P/P   F/F     P/P               P/P                    two waves, a "
      "port each\n"
      "shared-port        P/P   F/F  P/P  P/P      P/P   F/F     P/P               P/P                    two waves "
      "share a port under a spin lock\n"
      "shared-port-3      P/P   F/F  P/P  P/P      P/P   F/F     P/P               P/P                    three waves "
      "share a port under a spin lock\n"
      "try-lock           P/P   F/F  P/P  P/P      P/P   F/F     P/P               P/P                    three waves, "
      "two ports, scan with try-lock\n"
      "waits-for-higher   P/P   F/F  F/F  F/F      F/F   F/F     F/F               P/P                    wave 0 waits "
      "for what wave 1 does after its call\n"
      "waits-for-lower    P/P   P/P  F/F  P/P      P/P   F/F     P/P               P/P                    wave 1 waits "
      "for what wave 0 does after its call\n"
      "barrier            P/P   F/F  F/F  F/F      F/F   F/F     F/F               P/P                    a barrier of "
      "two waves, then a call each\n"
      "few-places         P/P   F/F  F/F  F/F      F/F   F/F     F/F               P/P                    two waves, a "
      "call each, then each waits for the other\n"
      "helper-kernel      P/P   F/F  F/F  F/F      F/F   F/F     F/F               P/P                    wave 0 waits "
      "for a kernel that is launched behind it\n"
      "persistent-kernel  P/P   F/F  F/F  F/F      F/F   F/F     F/F               P/P                    wave 0 works "
      "until the host stops it, behind wave 1's end\n"
      "P every execution ends, F one may not; weak/strong fairness. A host thread serves. slots 1: the device has one\n"
      "place; by turns of 2: what has it is evicted after two steps when another wave waits.\n");
}

TEST(progress_command, judges_a_program_and_says_why_it_may_not_end) {
  const ended_process ended = heddle({"progress", "T0{0:st m0=1} T1{0:if ld m0==0 goto 0}"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_TRUE(contains(ended.out, "hsa                    P     P\n")) << ended.out;
  EXPECT_TRUE(contains(ended.out, "obe                    F     F\n")) << ended.out;
  EXPECT_TRUE(contains(ended.out, "  obe, weak: after T1:0 (T0 at 0, T1 at 0) for ever T1:0; guaranteed: T1\n"));
  EXPECT_TRUE(contains(ended.out, "  lockstep else-first, weak: ")) << ended.out;
  EXPECT_FALSE(contains(ended.out, "  lockstep then-first, weak: ")) << ended.out;
  const nlohmann::json named = nlohmann::json::parse(heddle({"progress", "barrier", "--json"}).out)["programs"];
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(named[0]["shape"], "barrier");
  EXPECT_EQ(named[0]["verdicts"][0]["model"], "fair");
  EXPECT_EQ(named[0]["verdicts"][0]["weak"], "P");
  EXPECT_FALSE(named[0]["verdicts"][0].contains("weak_witness"));
  EXPECT_EQ(named[0]["verdicts"][1]["strong"], "F");
  EXPECT_TRUE(named[0]["verdicts"][1].contains("strong_witness"));
}

TEST(progress_command, bad_input_is_refused_in_one_line) {
  expect_refused({"progress", "bariere"}, "unknown shape \"bariere\"; did you mean \"barrier\"?");
  expect_refused({"progress", "T0{0:st m0=1"}, "program: T0, step 0: \"}\" is missing at the end");
  expect_refused({"progress", "--quiet"}, "progress: unknown option \"--quiet\"");
  // 5 to the 9th states.
  std::string large;
  for (int thread = 0; thread < 9; ++thread) {
    const std::string m = "m" + std::to_string(thread);
    large += "T" + std::to_string(thread) + "{0:st " + m + "=1; 1:st " + m + "=2; 2:st " + m + "=3; 3:st " + m + "=4} ";
  }
  expect_refused({"progress", large}, "program: it has more than 1000000 states; use fewer threads, steps or values");
}

TEST(progress_command, plays_programs_and_tables_and_says_what_was_found) {
  const std::string apart = "T0{0:if xchg(m0,0)==1 goto 0} T1{0:if xchg(m0,1)==0 goto 0}";
  const ended_process ended = heddle({"progress", "--simulate", "--details", apart, "own-ports"});
  EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
  EXPECT_TRUE(contains(ended.out, "ok      fair, " + apart + ": livelock with seed ")) << ended.out;
  EXPECT_TRUE(contains(ended.out, "ok      fair, own-ports: ends in all of 1,000 schedules\n")) << ended.out;
  EXPECT_TRUE(contains(ended.out, "simulated: yes, 2 programs, up to 1,000 schedules each")) << ended.out;
  const own_table table("name,program,WEAK_FAIR\nwaits,T0{0:if ld m0==0 goto 0} T1{0:st m0=1},P\n");
  const nlohmann::json played =
      nlohmann::json::parse(heddle({"progress", "--simulate", "--schedules", "50", "--json", table.file()}).out);
  EXPECT_EQ(played["ok"], true);
  EXPECT_EQ(played["programs"][0]["program"], "own/waits");
  EXPECT_EQ(played["models"][0]["model"], "fair");
  EXPECT_EQ(played["models"][0]["must_end"], 1);
  EXPECT_EQ(played["models"][2]["model"], "obe");
  EXPECT_EQ(played["models"][2]["found"], 1);
}

TEST(progress_command, a_hang_that_is_missed_is_shown_and_makes_the_exit_status_1) {
  // Fair turns from the first step on starve no thread for long.
  const ended_process ended =
      heddle({"progress", "--simulate", "--strategy", "round-robin:1", "--schedules", "3",
              "T0{0:if xchg(m0,1)==1 goto END; 1:if ld m0==1 goto 0} T1{0:if xchg(m0,0)==1 goto 0}"});
  EXPECT_EQ(ended.status, 1) << ended.out;
  EXPECT_TRUE(contains(ended.out, "MISSED  fair, T0{")) << ended.out;
  EXPECT_TRUE(contains(ended.out, "simulated: NO, 1 program")) << ended.out;
}

TEST(progress_command, bad_input_of_what_is_played_is_refused_in_one_line) {
  expect_refused({"progress", "--schedules", "5"}, "progress: --schedules requires --simulate");
  expect_refused({"progress", "--simulate", "--strategy", "rythm"},
                 "unknown strategy \"rythm\"; did you mean \"rhythm\"?");
  expect_refused({"progress", "--simulate", "none.csv"},
                 "cannot read the file \"none.csv\": No such file or directory");
  expect_refused(
      {"progress", "some.csv"},
      "progress: a table of programs is judged by heddle litmus some.csv; with --simulate it is played here");
}

TEST(litmus_command, judges_a_table_of_progress) {
  const own_table table(
      "name,program,WEAK_FAIR,OBE,OBE_STRONG,emp:somewhere\n"
      "to a lower one,T0{0:st m0=1} T1{0:if ld m0==0 goto 0},P,F,,P\n"
      "to a higher one,T0{0:if ld m0==0 goto 0} T1{0:st m0=1},P,F,F,F (3/20)\n");
  const ended_process ended = heddle({"litmus", table.file()});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(ended.out,
            "ok      progress                  2 of 2 verdicts           own/to a lower one\n"
            "ok      progress                  3 of 3 verdicts           own/to a higher one\n"
            "table  model    weak  strong\n"
            "own    fair   2 of 2       -\n"
            "own    obe    2 of 2  1 of 1\n"
            "progress: yes, 5 of 5 verdicts of progress models are those of the table; 2 programs, 10 states\n");
  EXPECT_EQ(line_count(heddle({"litmus", table.file(), "--quiet"}).out), 4u);
  EXPECT_EQ(line_count(heddle({"litmus", table.file(), "--row", "/to a low"}).out), 5u);
}

TEST(litmus_command, a_verdict_that_is_not_the_tables_is_shown_with_its_reason) {
  const own_table table(
      "group,id,program,WEAK_FAIR,HSA_STRONG\n"
      "g,7,T0{0:if ld m0==0 goto 0} T1{0:st m0=1},F,P\n");
  const ended_process ended = heddle({"litmus", table.file(), "--quiet"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_TRUE(ended.out.starts_with(
      "WRONG   progress                  0 of 2 verdicts           own/g.7\n"
      "        T0{0:if ld m0==0 goto 0} T1{0:st m0=1}\n"
      "        WEAK_FAIR (fair, weak) is F in the table, P here: none of 5 states leads to a hang\n"
      "        HSA_STRONG (hsa, strong) is P in the table, F here: from the start (T0 at 0, T1 at 0) no steps of T0 "
      "lead to an end\n"))
      << ended.out;
  EXPECT_TRUE(contains(ended.out, "progress: NO, 0 of 2 verdicts of progress models are those of the table"))
      << ended.out;
  const nlohmann::json json = nlohmann::json::parse(heddle({"litmus", table.file(), "--json"}).out);
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["progress"]["equal"], 0);
  EXPECT_EQ(json["progress"]["programs"][0]["verdicts"][1]["judged"], "F");
}

TEST(litmus_command, memory_and_progress_go_together) {
  const own_table table("name,program,WEAK_FAIR\na,T0{0:st m0=1},P\n");
  temporary_folder folder;
  const std::string memory = (folder.path() / "memory.csv").string();
  std::ofstream(memory) << "name,threads,program,weak_outcome,ptx6_contract,needs\n"
                           "b,gpu0.cta0,st.weak x; 1,x=1,A,late\n";
  expect_refused({"litmus", memory, table.file()},
                 memory + ":2: program: P0: \"st.weak\" takes a location and a value, not 1 operands");
  std::ofstream(memory) << "name,threads,program,weak_outcome,ptx6_contract,needs\n"
                           "b,gpu0.cta0,\"st.weak x, 1\",x=1,A,late\n";
  const ended_process ended = heddle({"litmus", memory, table.file()});
  EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
  EXPECT_TRUE(contains(ended.out, "complete: yes, 1 of 1")) << ended.out;
  EXPECT_TRUE(contains(ended.out, "progress: yes, 1 of 1")) << ended.out;
}

TEST(litmus_command, bad_tables_of_progress_are_refused_in_one_line) {
  const auto refused = [](const std::string& text, const std::string& message) {
    const own_table table(text);
    expect_refused({"litmus", table.file()}, table.file() + message);
  };
  refused("name,program,HSA\na,T0{0:st m0=1},X\n",
          ":2: HSA: \"X\" is no verdict; write P (ends) or F (may not), or nothing");
  refused("name,program,HSA\na,T0{0:st m0=1},\n",
          ":2: no verdict; give one in at least one of the columns of progress models");
  refused("name,program,HSA\na,T0{0:st m0=1},P\na,T0{0:st m0=1},P\n", ":3: name: \"a\" is an earlier row's too");
  refused("name,program,HSA\na,T0{0:st m0},P\n", ":2: program: T0, step 0: \"=\" must stand before \"}\"");
  refused("name,threads,program,HSA\na,2,T0{0:st m0=1},P\n", ":2: threads: \"2\", but the program has 1");
  refused("program,HSA\nT0{0:st m0=1},P\n", ":1: programs have no names; add the column name, or group and id");
  refused("name,HSA\na,P\n", ":1: there is no column \"program\"; it holds the programs");
  const own_table good("name,program,HSA\na,T0{0:st m0=1},P\n");
  expect_refused(
      {"litmus", good.file(), "--set", "late=0"},
      "--set late=0 has no effect on own/a, which is judged and not run; leave it out, or choose other tests "
      "with --row");
}

TEST(litmus_command, finds_the_published_verdicts_again) {
  const std::string file = LITMUS_PROGRESS;
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "there is no " << file;
  const ended_process ended = heddle({"litmus", file, "--quiet"});
  EXPECT_EQ(ended.status, 0) << ended.out;
  EXPECT_TRUE(contains(ended.out,
                       "progress: yes, 3,570 of 3,570 verdicts of progress models and 714 of 714 of lockstep and slots "
                       "are those of the table; 357 programs"))
      << ended.out;
}

}  // namespace
}  // namespace heddle::tests
