// The subcommand, as a program on the real simulator.
#include <heddle/tools/litmus/suite.h>

#include "../tools/process.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <vector>

namespace heddle::tests {
namespace {

ended_process litmus(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {HEDDLE, "litmus"});
  return run_process(arguments);
}

/// On a machine with one memory, on which every access takes effect at once.
ended_process litmus_interleaving(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--set", "fidelity=interleaving"});
  return litmus(std::move(arguments));
}

void expect_refused(const std::vector<std::string>& arguments, const std::string& message) {
  const ended_process ended = litmus(arguments);
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.err, "heddle: " + message + "\n");
  EXPECT_EQ(ended.out, "");
}

/// A table of one's own.
class own_table {
 public:
  void add(const std::string& name, const std::string& threads, const std::string& program, const std::string& outcome,
           const std::string& verdict) {
    std::ofstream(file(), std::ios::app) << '"' << name << "\",\"" << threads << "\",\"" << program << "\",\""
                                         << outcome << "\"," << verdict << ',' << (verdict == "A" ? "late" : "")
                                         << '\n';
  }
  own_table() { std::ofstream(file()) << "name,threads,program,weak_outcome,ptx6_contract,needs\n"; }
  std::string file() const { return (folder_.path() / "own.csv").string(); }

 private:
  temporary_folder folder_;
};

TEST(litmus_command, interleavings_are_seen_and_nothing_weaker) {
  own_table table;
  const std::string mp = "st.weak x, 1; st.release.gpu y, 1 || ld.acquire.gpu r0, y; ld.weak r1, x";
  table.add("nothing yet", "gpu0.cta0 || gpu0.cta1", mp, "P1:r0=0 /\\ P1:r1=0", "A");
  table.add("data only", "gpu0.cta0 || gpu0.cta0", mp, "P1:r0=0 /\\ P1:r1=1", "A");
  table.add("both", "gpu0.cta0 || host", "st.weak x, 1; st.release.sys y, 1 || ld.acquire.sys r0, y; ld.weak r1, x",
            "P1:r0=1 /\\ P1:r1=1", "A");
  table.add("flag only", "gpu0.cta0 || gpu0.cta1", mp, "P1:r0=1 /\\ P1:r1=0", "F");
  const std::string sb = "st.relaxed.sys x, 1; ld.relaxed.sys r0, y || st.relaxed.sys y, 1; ld.relaxed.sys r0, x";
  table.add("first comes first", "host || host", sb, "P0:r0=0 /\\ P1:r0=1", "A");
  table.add("second comes first", "gpu0.cta0 || host", sb, "P0:r0=1 /\\ P1:r0=0", "A");
  table.add("last store wins", "gpu0.cta1 || gpu0.cta3", "st.weak x, 1 || st.weak x, 2", "x=1", "A");
  table.add("or the other", "gpu0.cta1 || gpu0.cta3", "st.weak x, 1 || st.weak x, 2", "x=2", "A");
  const ended_process ended = litmus_interleaving({table.file(), "--schedules", "500"});
  EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
  EXPECT_NE(ended.out.find("sound: yes, none of 1 forbidden outcome was seen\n"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("complete: yes, 7 of 7 outcomes that must be seen were\n"), std::string::npos) << ended.out;
}

TEST(litmus_command, each_instruction_does_what_it_says) {
  own_table table;
  const auto always = [&](const std::string& name, const std::string& where, const std::string& code,
                          const std::string& outcome) { table.add(name, where, code, outcome, "A"); };
  always("plain", "gpu0.cta0", "st.weak x, 3; ld.weak r2, x", "P0:r2=3 /\\ P0:r0=0 /\\ x=3");
  always("atomic", "gpu0.cta2", "st.release.cta x, 3; ld.acquire.sys r0, x", "P0:r0=3 /\\ x=3");
  always("exchange", "gpu0.cta0", "st.weak x, 3; atom.acq_rel.gpu.exch r1, x, 5", "P0:r1=3 /\\ x=5");
  always("add", "gpu0.cta0", "st.weak x, 3; atom.relaxed.sys.add r1, x, 5", "P0:r1=3 /\\ x=8");
  always("cas that matches", "gpu0.cta0", "st.weak x, 3; atom.acquire.cta.cas r1, x, 3, 9", "P0:r1=3 /\\ x=9");
  always("cas that does not", "gpu0.cta0", "st.weak x, 3; atom.release.cta.cas r1, x, 4, 9", "P0:r1=3 /\\ x=3");
  always("fences", "gpu0.cta0", "st.weak x, 3; fence.sys; fence.sc.cta; fence.acq_rel.gpu; ld.weak r0, x", "P0:r0=3");
  always("host", "host", "st x, 3; mfence; ld r0, x; lock.xadd r1, x, 2; sfence; lock.xchg r2, x, 7",
         "P0:r0=3 /\\ P0:r1=3 /\\ P0:r2=5 /\\ x=7");
  for (const std::string fidelity : {"interleaving", "scoped", "link"}) {
    const ended_process ended =
        litmus({table.file(), "--all", "--schedules", "200", "--json", "--set", "fidelity=" + fidelity});
    EXPECT_EQ(ended.status, 0) << fidelity << ended.out << ended.err;
    const nlohmann::json all = nlohmann::json::parse(ended.out);
    for (const nlohmann::json& each : all["tests"]) EXPECT_EQ(each["seen"], 200) << fidelity << ": " << each;
  }
}

TEST(litmus_command, the_tables_that_ship_find_a_machine_with_one_memory_incomplete) {
  const ended_process ended = litmus_interleaving({"--schedules", "50", "--quiet"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.out.find("sound: yes, "), std::string::npos);
  EXPECT_NE(ended.out.find("complete: NO, 0 of "), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("MISSED  allowed                   not seen in 500           ptx/MP+weak.sys+gpu\n"),
            std::string::npos);
  EXPECT_EQ(ended.out.find("ptx/MP+ra.gpu+gpu\n"), std::string::npos) << "went as expected";
}

TEST(litmus_command, a_forbidden_outcome_that_is_seen_is_unsound) {
  own_table table;
  table.add("wrong verdict", "gpu0.cta0 || gpu0.cta1", "st.weak x, 1 || ld.weak r0, x", "P1:r0=1", "F");
  const ended_process ended = litmus_interleaving({table.file(), "--schedules", "100"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_TRUE(ended.out.starts_with("UNSOUND forbidden                 seen in ")) << ended.out;
  EXPECT_NE(ended.out.find("sound: NO, 1 of 1 forbidden outcome was seen\n"), std::string::npos) << ended.out;
}

TEST(litmus_command, an_allowed_outcome_is_looked_for_until_it_is_seen_unless_all_is_asked_for) {
  own_table table;
  table.add("often", "gpu0.cta0 || gpu0.cta1", "st.weak x, 1 || ld.weak r0, x", "P1:r0=1", "A");
  const auto result = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {table.file(), "--json", "--schedules", "100"});
    return nlohmann::json::parse(litmus_interleaving(more).out)["tests"][0];
  };
  const nlohmann::json first = result({});
  EXPECT_EQ(first["seen"], 1);
  EXPECT_LT(first["schedules"], 100);
  EXPECT_EQ(first["first_seed"], first["schedules"]);
  const nlohmann::json all = result({"--all"});
  EXPECT_EQ(all["schedules"], 100);
  EXPECT_GT(all["seen"], 10);
  EXPECT_LT(all["seen"], 90);
  EXPECT_EQ(all["first_seed"], first["first_seed"]);
  const nlohmann::json alone = result({"--seed", first["first_seed"].dump(), "--all"});
  EXPECT_EQ(alone["first_seed"], first["first_seed"]);
}

TEST(litmus_command, results_do_not_depend_on_the_number_of_threads) {
  const std::vector<std::string> asked = {"--row", "ptx/(MP|SB)", "--all", "--schedules", "50", "--json"};
  std::vector<std::string> one = asked, four = asked;
  one.insert(one.end(), {"--jobs", "1"});
  four.insert(four.end(), {"--jobs", "4"});
  const ended_process first = litmus(one);
  EXPECT_GT(nlohmann::json::parse(first.out)["tests"].size(), 90u);
  EXPECT_EQ(first.out, litmus(four).out);
}

TEST(litmus_command, rows_are_chosen_by_name) {
  const ended_process ended = litmus_interleaving({"--row", "^pcie/SB.fences .pool", "--schedules", "5"});
  EXPECT_EQ(ended.status, 0) << ended.out;
  EXPECT_EQ(line_count(ended.out), 5u + 5u) << ended.out;
  expect_refused({"--row", "nothing"}, "no test matches --row \"nothing\"");
  expect_refused({"--row", "["}, "--row cannot be \"[\"; it must be a regular expression (ECMAScript)");
}

TEST(litmus_command, bad_input_is_refused_in_one_line) {
  expect_refused({"nothing.csv"}, "cannot read the file \"nothing.csv\": No such file or directory");
  expect_refused({"/"}, "cannot read the file \"/\": Is a directory");
  expect_refused({"/dev/zero"}, "cannot read the file \"/dev/zero\": it is larger than 64 MiB");
  expect_refused({"--jobs", "0"}, "--jobs cannot be \"0\"; it must be a whole number from 1 to 1024");
  expect_refused({"--schedules", "0"},
                 "--schedules cannot be \"0\"; it must be a whole number from 1 to 4611686018427387904");
  expect_refused({"--strategy", "rando"}, "unknown strategy \"rando\"; did you mean \"random\"?");
  expect_refused({"--set", "budgt=3"}, "unknown key \"budgt\"; did you mean \"budget\"?");
  own_table table;
  expect_refused({table.file()}, "the files have no tests");
  table.add("bad", "gpu0.cta0", "ld.weak r0", "P0:r0=0", "F");
  expect_refused({table.file()},
                 table.file() + ":2: program: P0: \"ld.weak\" takes a register and a location, not 1 operands");
  own_table twice;
  twice.add("a", "gpu0.cta0", "ld.weak r0, x", "P0:r0=1", "F");
  expect_refused({twice.file(), twice.file()}, "two files have the test \"own/a\"; give each file once");
}

TEST(litmus_command, a_run_that_does_not_end_well_is_told) {
  own_table table;
  table.add("two waves", "gpu0.cta0 || gpu0.cta0", "st.weak x, 1 || ld.weak r0, x", "P1:r0=2", "F");
  const ended_process ended = litmus_interleaving({table.file(), "--set", "resident=1"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_TRUE(ended.out.starts_with("BROKEN  ")) << ended.out;
  EXPECT_NE(ended.out.find("seed 1 ended with verdict assertion: a block of 2 waves does not fit"), std::string::npos)
      << ended.out;
}

TEST(litmus_command, another_fidelity_leaves_out_what_a_test_says_of_its_own) {
  const ended_process ended =
      litmus({"--row", "pcie/MP-hg.BAR WC", "--set", "fidelity=scoped", "--schedules", "5", "--json"});
  EXPECT_NE(ended.status, 2) << ended.err;
}

TEST(litmus_command, a_setting_must_have_an_effect_on_each_test) {
  const ended_process refused = litmus({"--row", "ptx/SB.ra.gpu.gpu", "--set", "link.age=5"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.out, "");
  EXPECT_NE(refused.err.find("link.age=5 has no effect with fidelity=scoped; use --set fidelity=link"),
            std::string::npos)
      << refused.err;
  EXPECT_NE(litmus({"--row", "pcie/SB", "--set", "link.age=5", "--schedules", "5"}).status, 2);
}

// -- all runs -----------------------------------------------------------------------------------------------------------------------

TEST(litmus_command, exactly_what_can_be_seen_is_seen) {
  own_table table;
  const std::string sb = "st.relaxed.sys x, 1; ld.relaxed.sys r0, y || st.relaxed.sys y, 1; ld.relaxed.sys r0, x";
  const std::string fenced =
      "st.relaxed.sys x, 1; fence.sc.sys; ld.relaxed.sys r0, y || st.relaxed.sys y, 1; fence.sc.sys; ld.relaxed.sys "
      "r0, x";
  table.add("neither", "gpu0.cta0 || gpu0.cta1", sb, "P0:r0=0 /\\ P1:r0=0", "A");
  table.add("fenced", "gpu0.cta0 || gpu0.cta1", fenced, "P0:r0=0 /\\ P1:r0=0", "F");
  const ended_process ended = litmus({table.file(), "--exact", "--json"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  const nlohmann::json tests = nlohmann::json::parse(ended.out)["tests"];
  ASSERT_EQ(tests.size(), 2u);
  EXPECT_EQ(tests[0]["result"], "ok");
  EXPECT_GE(tests[0]["seen"], 1);
  EXPECT_EQ(tests[1]["result"], "ok");
  EXPECT_EQ(tests[1]["seen"], 0);
  for (const auto& each : tests) {
    EXPECT_GT(each["states"], 0);
    EXPECT_EQ(each["incomplete_because"], "");
  }
  EXPECT_NE(litmus({table.file(), "--exact"}).out.find("never, in "), std::string::npos);
}

TEST(litmus_command, exact_verdicts_that_differ_from_the_table_are_told) {
  own_table table;
  const std::string mp = "st.relaxed.gpu x, 1; st.release.gpu y, 1 || ld.acquire.gpu r0, y; ld.relaxed.gpu r1, x";
  table.add("cannot be", "gpu0.cta0 || gpu0.cta1", mp, "P1:r0=1 /\\ P1:r1=0", "A");
  table.add("can be", "gpu0.cta0 || gpu0.cta1", mp, "P1:r0=0 /\\ P1:r1=1", "F");
  const ended_process ended = litmus({table.file(), "--exact", "--json"});
  EXPECT_EQ(ended.status, 1);
  const nlohmann::json tests = nlohmann::json::parse(ended.out)["tests"];
  EXPECT_EQ(tests[0]["result"], "MISSED");
  EXPECT_EQ(tests[1]["result"], "UNSOUND");
}

TEST(litmus_command, a_test_of_which_not_all_was_seen_proves_nothing) {
  own_table table;
  std::string threads;
  std::string program;
  for (int n = 0; n < 6; ++n) {
    threads += std::string(n == 0 ? "" : " || ") + "gpu0.cta" + std::to_string(n);
    program += std::string(n == 0 ? "" : " || ") + "atom.acq_rel.gpu.exch r0, x, 1; atom.acq_rel.gpu.exch r1, y, 1";
  }
  table.add("too large", threads, program, "P0:r0=7", "F");
  const ended_process ended = litmus({table.file(), "--exact", "--time", "0.01", "--json"});
  EXPECT_EQ(ended.status, 1) << ended.err;
  const nlohmann::json test = nlohmann::json::parse(ended.out)["tests"][0];
  EXPECT_EQ(test["result"], "stopped");
  EXPECT_EQ(test["incomplete_because"], "the time is over");
}

TEST(litmus_command, all_runs_are_no_sample) {
  for (const std::string option : {"--schedules", "--seed", "--strategy"}) {
    const ended_process refused = litmus({"--exact", option, "5"});
    EXPECT_EQ(refused.status, 2);
    EXPECT_NE(refused.err.find("--exact excludes " + option), std::string::npos) << refused.err;
  }
  EXPECT_EQ(litmus({"--time", "5"}).status, 2);
}

// Every verdict of the tables that ship, exactly.
TEST(litmus_command, the_tables_that_ship_hold_exactly) {
  const ended_process ended = litmus({"--exact", "--json"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  const nlohmann::json all = nlohmann::json::parse(ended.out);
  EXPECT_EQ(all["tests"].size(), 948u);
  for (const auto& each : all["tests"]) {
    if (!each["modelled"]) continue;
    EXPECT_TRUE(each["result"] == "ok") << each.dump();
    EXPECT_EQ(each["incomplete_because"], "") << each["name"];
  }
}

}  // namespace
}  // namespace heddle::tests

namespace heddle::litmus {
namespace {

const test_result unseen = {.schedules = 10};
const test_result seen = {.schedules = 10, .seen = 3, .first_seed = 4};
const test_result race = {.schedules = 10, .races = 5};
const test_result scope_race = {.schedules = 10, .scope_races = 5};

TEST(suite, a_forbidden_outcome_may_not_be_seen) {
  EXPECT_EQ(judge(expectation::forbidden, unseen), judgement::ok);
  EXPECT_EQ(judge(expectation::forbidden, seen), judgement::unsound);
  EXPECT_EQ(judge(expectation::forbidden, race), judgement::ok);
}

TEST(suite, an_allowed_outcome_must_be_seen_where_the_machine_models_it) {
  EXPECT_EQ(judge(expectation::seen, seen), judgement::ok);
  EXPECT_EQ(judge(expectation::seen, unseen), judgement::missed);
  EXPECT_EQ(judge(expectation::seen, race), judgement::missed);
  for (const expectation each : {expectation::aim, expectation::load_buffering, expectation::weak_host}) {
    EXPECT_EQ(judge(each, seen), judgement::ok);
    EXPECT_EQ(judge(each, unseen), judgement::unseen);
  }
}

TEST(suite, a_bug_is_caught_by_its_outcome_or_as_a_race) {
  EXPECT_EQ(judge(expectation::caught, unseen), judgement::missed);
  for (const test_result& each : {seen, race, scope_race}) EXPECT_EQ(judge(expectation::caught, each), judgement::ok);
}

TEST(suite, a_run_that_did_not_end_is_broken_and_one_that_was_stopped_undecided) {
  test_result broken = seen;
  broken.broken = "deadlock";
  test_result stopped = unseen;
  stopped.stopped = true;
  test_result stopped_late = seen;
  stopped_late.stopped = true;
  for (const expectation each : {expectation::forbidden, expectation::seen, expectation::caught}) {
    EXPECT_EQ(judge(each, broken), judgement::broken);
    EXPECT_EQ(judge(each, stopped), judgement::not_finished);
  }
  EXPECT_EQ(judge(expectation::forbidden, stopped_late), judgement::unsound);
  EXPECT_EQ(judge(expectation::seen, stopped_late), judgement::ok);
}

suite_summary summary_of(const std::vector<std::pair<expectation, test_result>>& results) {
  suite_summary made;
  for (const auto& [expected, result] : results) {
    test each;
    each.table = expected == expectation::caught ? "rpc" : "ptx";
    each.expected = expected;
    made.add(each, result);
  }
  return made;
}

TEST(suite, is_sound_when_no_forbidden_outcome_was_seen) {
  EXPECT_TRUE(summary_of({{expectation::forbidden, unseen}, {expectation::seen, unseen}}).sound());
  EXPECT_FALSE(summary_of({{expectation::forbidden, unseen}, {expectation::forbidden, seen}}).sound());
}

TEST(suite, is_complete_when_all_that_is_required_was_seen_and_all_bugs_caught) {
  EXPECT_TRUE(
      summary_of({{expectation::seen, seen}, {expectation::aim, unseen}, {expectation::weak_host, unseen}}).complete());
  EXPECT_FALSE(summary_of({{expectation::seen, seen}, {expectation::seen, unseen}}).complete());
  EXPECT_TRUE(summary_of({{expectation::caught, scope_race}}).complete());
  EXPECT_FALSE(summary_of({{expectation::caught, unseen}}).complete());
  test_result broken = unseen;
  broken.broken = "deadlock";
  EXPECT_FALSE(summary_of({{expectation::forbidden, broken}}).ok());
}

TEST(suite, counts_by_table_and_by_how_bugs_were_caught) {
  const suite_summary made = summary_of({{expectation::forbidden, unseen},
                                         {expectation::caught, seen},
                                         {expectation::caught, race},
                                         {expectation::caught, scope_race},
                                         {expectation::caught, unseen},
                                         {expectation::load_buffering, unseen}});
  ASSERT_EQ(made.tables.size(), 2u);
  EXPECT_EQ(made.tables[0].first, "ptx");
  EXPECT_EQ(made.tables[0].second.tests, 2u);
  EXPECT_EQ(made.tables[0].second.not_modelled.tests, 1u);
  EXPECT_EQ(made.tables[1].second.bugs.tests, 4u);
  EXPECT_EQ(made.tables[1].second.bugs.seen, 3u);
  EXPECT_EQ(made.all.tests, 6u);
  EXPECT_EQ(made.schedules, 60u);
  EXPECT_EQ(made.caught_by_outcome, 1u);
  EXPECT_EQ(made.caught_as_race, 1u);
  EXPECT_EQ(made.caught_as_scope_race, 1u);
}

}  // namespace
}  // namespace heddle::litmus
