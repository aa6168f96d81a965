// The judge's verdicts played on the simulated machine: no false alarm, and the hangs are found. On programs drawn at random, on those
// that tell hsa_obe and lobe apart, on the shapes of remote calls, and on the published ones where they are to be had.
#include <heddle/tools/litmus/progress_table.h>
#include <heddle/tools/progress/judge/rpc_shapes.h>
#include <heddle/tools/progress/simulation.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "generated.h"
#include "verdicts.h"

namespace heddle::judge {
namespace {

using tools::model_tally;
using tools::play_options;
using tools::playable_models;
using tools::played;

class simulation : public testing::Test {
 protected:
  simulation() : player_(make()) {}

  /// Plays the program under each model and tallies; a false alarm is a failure at once.
  void play(const program& code, uint64_t schedules) {
    examination examined(code);
    for (const model under : playable_models()) {
      const bool may_hang = !examined.judge(under, fairness::weak).ends;
      const played seen = player_.play(code, under, {.schedules = schedules, .to_the_first_hang = true});
      tallies[to_string(under)].add(may_hang, seen, 1);
      if (!may_hang) {
        EXPECT_EQ(seen.hangs, 0u) << to_string(code) << " must end under " << to_string(under) << ", but seed "
                                  << seen.first_hang << " gave " << to_string(seen.first_verdict);
        EXPECT_EQ(seen.inconclusive, 0u) << to_string(code) << ", " << to_string(under);
      }
    }
  }

  /// Under each model some programs hang and some do not, and the hangs are found.
  void expect_found(uint64_t of_100) {
    for (const auto& [name, tally] : tallies) {
      EXPECT_GT(tally.may_hang, 0u) << name;
      EXPECT_GE(tally.found * 100, tally.may_hang * of_100) << name << ": " << tally.found << " of " << tally.may_hang;
      EXPECT_EQ(tally.false_alarms, 0u) << name;
      RecordProperty(name, std::to_string(tally.found) + " of " + std::to_string(tally.may_hang) + ", median " +
                               std::to_string(tally.median()) + ", worst " + std::to_string(tally.worst()));
    }
  }

  std::map<std::string, model_tally> tallies;

 private:
  static std::unique_ptr<scheduler::strategy> make() {
    std::string error;
    return scheduler::make_strategy("rhythm", error);
  }
  tools::progress_player player_;
};

TEST_F(simulation, of_drawn_programs_of_two_and_three_waves_finds_the_hangs_and_nothing_else) {
  generator all(11);
  for (int n = 0; n < 300; ++n) play(parse(all.next(n % 3 == 0, n % 2 == 0 ? 3 : 2)), 300);
  expect_found(97);
}

TEST_F(simulation, of_programs_that_only_lobe_rules_out_or_only_hsa_obe_allows) {
  generator all(1);
  uint64_t apart = 0;
  for (int n = 0; n < 40000 && apart < 20; ++n) {
    const program code = parse(all.next(false, 3));
    examination examined(code);
    if (ends(examined, hsa_obe, fairness::weak) || !ends(examined, lobe, fairness::weak)) continue;
    ++apart;
    play(code, 1000);
  }
  EXPECT_GE(apart, 10u);
  const model_tally& found = tallies["hsa_obe"];
  EXPECT_EQ(found.may_hang, apart);
  EXPECT_EQ(found.found, apart);
  EXPECT_EQ(tallies["lobe"].must_end, apart);
}

TEST_F(simulation, of_the_shapes_of_remote_calls) {
  for (const rpc_shape& each : rpc_shapes()) play(parse(each.program), 500);
  for (const auto& [name, tally] : tallies) EXPECT_EQ(tally.found, tally.may_hang) << name;
}

TEST_F(simulation, of_the_published_programs_finds_99_of_100_hangs_in_1000_schedules) {
  const std::string file = LITMUS_PROGRESS;
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "there is no " << file;
  std::ifstream stream(file, std::ios::binary);
  const litmus::csv_table table("progress_2threads.csv", std::string{std::istreambuf_iterator<char>(stream), {}});
  for (const litmus::progress_test& each : litmus::progress_tests_of(table)) play(each.code, 1000);
  expect_found(99);
}

}  // namespace
}  // namespace heddle::judge
