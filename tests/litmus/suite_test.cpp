#include <gtest/gtest.h>
#include <heddle/tools/litmus/suite.h>

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
