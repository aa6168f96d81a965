// Every planted bug of the zoo is found as what it is, can be played again from its token, and goes away with its cause:
// its twin is silent, and so is a bug of memory orders where memory is one.
#include <heddle/scheduler/strategy.h>
#include <heddle/scheduler/trace.h>
#include <heddle/tools/cli/common.h>
#include <heddle/tools/gtest.h>
#include <heddle/tools/trial/trial.h>

#include <algorithm>
#include <cstdio>

namespace heddle::tests {
namespace {

using scheduler::verdict;

constexpr uint64_t schedules_max = 2000;
constexpr const char* strategy_name = "mix";

struct campaign {
  const scenario* tested = nullptr;
  std::optional<parameters> set;
  std::unique_ptr<scheduler::strategy> deciding;
  sim::simulation machine;

  explicit campaign(const std::string& name) {
    std::string error;
    tested = tools::select_scenarios({name}).chosen.at(0);
    set = tools::settings_of(*tested, sim::machine_parameters(), {}).value;
    deciding = scheduler::make_strategy(strategy_name, error);
  }

  /// Schedules from this seed on, until the first finding.
  tools::trial run(uint64_t first_seed) {
    scheduler::campaign_options options;
    options.first_seed = first_seed;
    options.schedules = schedules_max;
    options.found = [](const scheduler::finding&) { return false; };
    return tools::run_trial(machine, *tested, *set, strategy_name, *deciding, options);
  }
};

class a_planted_bug : public testing::TestWithParam<std::string> {};

TEST_P(a_planted_bug, is_found_wherever_the_seeds_begin) {
  campaign searching(GetParam());
  if (searching.tested->expected_verdict(*searching.set) == verdict::ok)
    GTEST_SKIP() << "this machine has one memory only";
  std::vector<uint64_t> needed;
  for (uint64_t first_seed = 1; first_seed < 20; first_seed += 2) {
    const tools::trial made = searching.run(first_seed * 100000);
    ASSERT_FALSE(made.runs.findings.empty()) << "survived " << made.runs.schedules << " schedules";
    EXPECT_TRUE(made.as_expected()) << to_string(made.seen()) << ": " << made.runs.findings.front().message;
    needed.push_back(made.runs.schedules);
  }
  std::sort(needed.begin(), needed.end());
  std::printf("%s after %llu schedules (median of %zu campaigns)\n",
              to_string(searching.tested->expected_verdict(*searching.set)).c_str(),
              static_cast<unsigned long long>(needed[needed.size() / 2]), needed.size());
}

TEST_P(a_planted_bug, is_played_again_from_its_token) {
  campaign searching(GetParam());
  if (searching.tested->expected_verdict(*searching.set) == verdict::ok)
    GTEST_SKIP() << "this machine has one memory only";
  const tools::trial made = searching.run(1);
  ASSERT_FALSE(made.runs.findings.empty());
  const scheduler::finding& found = made.runs.findings.front();
  const auto read = scheduler::from_token(scheduler::to_token(found.first));
  ASSERT_TRUE(read.value) << read.error;
  const auto run = [&](scheduler::choice_source& choices, bool explain) {
    return tools::run_scenario(searching.machine, *searching.tested, *searching.set, choices, explain);
  };
  const scheduler::replay_result again = scheduler::run_again(*read.value, run, true);
  EXPECT_EQ(again.disagreement, "");
  EXPECT_EQ(again.result.outcome, found.first.outcome);
  EXPECT_EQ(again.result.where, found.first.where);
}

/// The scenarios of the zoo that have a twin; a twin's own name ends in ".fixed".
std::vector<std::string> bugs() {
  std::vector<std::string> names;
  for (const std::string& name : tools::scenario_names("zoo.*.fixed")) names.push_back(name.substr(0, name.rfind('.')));
  return names;
}

INSTANTIATE_TEST_SUITE_P(heddle, a_planted_bug, testing::ValuesIn(bugs()), tools::test_name);

TEST(the_zoo, has_a_twin_for_each_bug) { EXPECT_EQ(tools::scenario_names("zoo.*").size(), 2 * bugs().size()); }

HEDDLE_TEST(a_twin, "zoo.*.fixed", schedules_max);

// What they expect depends on their settings.
HEDDLE_TEST(one_memory_shows_an_offload_or_not, "zoo.offload-*", schedules_max, "fidelity=interleaving");
HEDDLE_TEST(the_link_shows_an_offload_or_not, "zoo.offload-*", schedules_max, "fidelity=link");
HEDDLE_TEST(a_link_with_atomics_carries_a_lock, "zoo.offload-lock-*", schedules_max, "link.rmw=pcie");
HEDDLE_TEST(a_mailbox_on_the_device_needs_no_link_for_its_lock, "zoo.offload-lock-*", schedules_max, "buffer=device");

HEDDLE_TEST(numbers_that_do_not_change_sign, "zoo.flag-wrap-at-2-31", schedules_max, "fixed=yes", "first=5");
HEDDLE_TEST(a_listener_whose_rings_all_come, "zoo.lost-doorbell", schedules_max, "doorbells=delayed");

HEDDLE_TEST(a_server_whose_rings_come_late, "zoo.interrupt-*", schedules_max, "doorbells=delayed");
HEDDLE_TEST(a_server_whose_rings_come_twice, "zoo.interrupt-*", schedules_max, "doorbells=duplicated");
HEDDLE_TEST(a_server_whose_rings_come_together, "zoo.interrupt-*", schedules_max, "doorbells=coalesced");
HEDDLE_TEST(two_servers_whose_rings_come_together, "zoo.interrupt-never-arrives", schedules_max, "doorbells=coalesced",
            "servers=2", "waves=3", "calls=2");

/// Settings under which a bug of memory orders in the port protocol shows as a wrong answer or not at all; each scenario says which.
constexpr const char* lateness[][2] = {
    {"fidelity=interleaving", ""},       // without late memory the same programs are right: that is the point
    {"fidelity=link", ""},               // late delivery alone shows wrong answers, where it shows anything
    {"fidelity=link", "link.pool=off"},  // a link in order hides a store
    {"fidelity=link", "late=0"},         // loads in order hide a load
    {"fidelity=link", "buffer=device"},  // no load crosses the link to memory of the device
};

class a_bug_of_an_order : public testing::TestWithParam<std::string> {};

TEST_P(a_bug_of_an_order, shows_where_memory_is_late) {
  for (const auto& [fidelity, other] : lateness) {
    std::vector<std::string> settings = {fidelity};
    if (*other != '\0') settings.emplace_back(other);
    const std::string failure = tools::check_scenario(GetParam(), schedules_max, settings);
    EXPECT_TRUE(failure.empty()) << fidelity << ' ' << other << '\n' << failure;
  }
}

std::vector<std::string> bugs_of_orders() {
  std::vector<std::string> names;
  for (const char* bug :
       {"device-scope-mailbox", "fill-without-acquire", "handover-without-release", "header-before-acquire",
        "no-acquire-after-wait", "no-fence-at-lock", "no-release-before-toggle", "opcode-under-peek",
        "opcode-under-peek-on-device", "per-lane-steering-load", "plain-mailbox-store", "reader-scope-too-narrow",
        "unlock-without-release"})
    for (const char* twin : {"", ".fixed"}) names.push_back(std::string("zoo.") + bug + twin);
  return names;
}

INSTANTIATE_TEST_SUITE_P(heddle, a_bug_of_an_order, testing::ValuesIn(bugs_of_orders()), tools::test_name);

}  // namespace
}  // namespace heddle::tests
