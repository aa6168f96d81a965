// Every mutant must be found, as what it is, within 2,000 schedules; the same programs on the machine as it is are silent.
#include <heddle/scheduler/strategy.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/gtest.h>
#include <heddle/tools/trial/trial.h>

#include <cstdio>

namespace heddle::tests {
namespace {

constexpr uint64_t schedules_max = 2000;

HEDDLE_TEST(a_twin_without_a_fault, "twin.*", schedules_max);

class a_mutant : public testing::TestWithParam<std::string> {};

TEST_P(a_mutant, is_found) {
  const tools::selection selected = tools::select_scenarios({GetParam()});
  ASSERT_TRUE(selected.error.empty()) << selected.error;
  const scenario& mutant = *selected.chosen.front();
  const tools::settings_or_error set = tools::settings_of(mutant, sim::machine_parameters(), {});
  ASSERT_TRUE(set.value) << set.error;

  constexpr const char* strategy_name = "mix";
  std::string error;
  const auto deciding = scheduler::make_strategy(strategy_name, error);
  ASSERT_TRUE(deciding) << error;
  sim::simulation machine;
  scheduler::campaign_options options;
  options.schedules = schedules_max;
  // The first finding decides.
  options.found = [](const scheduler::finding&) { return false; };
  const tools::trial made = tools::run_trial(machine, mutant, *set.value, strategy_name, *deciding, options);

  ASSERT_FALSE(made.runs.findings.empty()) << "survived " << made.runs.schedules << " schedules";
  const scheduler::finding& found = made.runs.findings.front();
  EXPECT_EQ(found.not_reproducible, "");
  using scheduler::verdict;
  const verdict seen = found.first.outcome;
  if (const scheduler::verdict_set wanted = mutant.expected_verdict(*set.value); wanted != verdict::ok)
    EXPECT_TRUE(wanted.contains(seen)) << to_string(seen) << ": " << found.message;
  else
    EXPECT_TRUE(seen == verdict::protocol || seen == verdict::mask || seen == verdict::deadlock ||
                seen == verdict::assertion || seen == verdict::race)
        << to_string(seen) << ": " << found.message;
  std::printf("%s after %llu schedules: %s\n", std::string(to_string(seen)).c_str(),
              static_cast<unsigned long long>(made.runs.schedules), found.message.c_str());
}

INSTANTIATE_TEST_SUITE_P(heddle, a_mutant, testing::ValuesIn(tools::scenario_names("mutant.*")), tools::test_name);

}  // namespace
}  // namespace heddle::tests
