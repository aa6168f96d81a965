// The published verdicts on programs of two threads: all of them, and each hang played.
#include <heddle/tools/litmus/progress_table.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "verdicts.h"

namespace heddle::judge {
namespace {

class published : public testing::Test {
 protected:
  void SetUp() override {
    const std::string file = LITMUS_PROGRESS;
    if (!std::filesystem::exists(file)) GTEST_SKIP() << "there is no " << file;
    std::ifstream stream(file, std::ios::binary);
    read_tests = litmus::progress_tests_of(
        litmus::csv_table("progress_2threads.csv", std::string{std::istreambuf_iterator<char>(stream), {}}));
  }

  std::vector<litmus::progress_test> read_tests;
};

TEST_F(published, all_verdicts_of_the_models_and_of_lockstep_are_found_again) {
  size_t equal = 0, of_models = 0, of_lockstep = 0, of_slots = 0;
  for (const litmus::progress_test& each : read_tests) {
    const litmus::progress_result result = litmus::judge_progress(each);
    for (size_t n = 0; n < each.published.size(); ++n) {
      const rule is = each.published[n].under.is;
      ++(is == rule::then_first ? of_lockstep : is == rule::slots ? of_slots : of_models);
      equal += result.equal(each, n) ? 1 : 0;
    }
    EXPECT_TRUE(result.ok(each)) << each.name;
  }
  EXPECT_EQ(of_models, 3'570u);
  EXPECT_EQ(of_lockstep, 357u);
  EXPECT_EQ(of_slots, 357u);
  EXPECT_EQ(equal, 3'570u + 2 * 357u);
}

TEST_F(published, each_weak_hang_can_be_played) {
  size_t hangs = 0;
  for (const litmus::progress_test& each : read_tests) {
    examination of(each.code);
    for (const model under : open_models()) {
      const judgement judged = of.judge(under, fairness::weak);
      if (!judged.why) continue;
      ++hangs;
      replayed(of.code()).check(under, *judged.why);
    }
  }
  EXPECT_GT(hangs, 1'000u);
}

TEST_F(published, the_other_arm_first_is_another_machine_and_two_slots_are_fair) {
  size_t as_then_first = 0;
  for (const litmus::progress_test& each : read_tests) {
    examination of(each.code);
    as_then_first += both(of, {rule::then_first}) == both(of, {rule::else_first}) ? 1 : 0;
    EXPECT_EQ(both(of, {rule::slots, 2}), both(of, fair)) << each.name;
  }
  EXPECT_EQ(as_then_first, 193u);
}

}  // namespace
}  // namespace heddle::judge
