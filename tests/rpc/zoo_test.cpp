// Every planted bug of the zoo is found as what it is, can be played again from its token, and goes away with its cause:
// its twin is silent, and so is a bug of memory orders where memory is one.
#include <heddle/scheduler/strategy.h>
#include <heddle/scheduler/trace.h>
#include <heddle/tools/common.h>
#include <heddle/tools/gtest.h>
#include <heddle/tools/trial.h>

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
              std::string(to_string(searching.tested->expected_verdict(*searching.set))).c_str(),
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

std::vector<std::string> bugs_of(std::initializer_list<const char*> patterns) {
  std::vector<std::string> names;
  for (const char* pattern : patterns)
    for (const std::string& name : tools::scenario_names(pattern)) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(heddle, a_planted_bug,
                         testing::ValuesIn(bugs_of({"zoo.no-*", "zoo.header-*", "zoo.device-scope-*", "zoo.plain-*",
                                                    "zoo.mailbox-*", "zoo.sleep-*", "zoo.crossed-try-*", "zoo.unfair-*",
                                                    "zoo.offload-*", "zoo.writer-*", "zoo.late-*", "zoo.flag-*",
                                                    "zoo.queue-*", "zoo.lost-*", "zoo.stack-*"})),
                         tools::test_name);

// `expected` is ok with these settings.
HEDDLE_TEST(a_twin_of_an_order, "zoo.no-*", schedules_max, "fixed=yes");
HEDDLE_TEST(a_twin_of_a_header, "zoo.header-*", schedules_max, "fixed=yes");
HEDDLE_TEST(a_twin_of_a_scope, "zoo.device-scope-*", schedules_max, "fixed=yes");
HEDDLE_TEST(a_twin_of_a_store, "zoo.plain-*", schedules_max, "fixed=yes");
HEDDLE_TEST(a_twin_of_a_look, "zoo.mailbox-*", schedules_max, "fixed=yes");

HEDDLE_TEST(a_twin_of_an_offload, "zoo.offload-*", schedules_max, "fixed=yes");
HEDDLE_TEST(one_memory_shows_an_offload_or_not, "zoo.offload-*", schedules_max, "fidelity=interleaving");
HEDDLE_TEST(a_link_with_atomics_carries_a_lock, "zoo.offload-lock-*", schedules_max, "link.rmw=pcie");
HEDDLE_TEST(a_mailbox_on_the_device_needs_no_link_for_its_lock, "zoo.offload-lock-*", schedules_max, "buffer=device");

HEDDLE_TEST(a_twin_of_a_scope_of_block, "zoo.writer-*", schedules_max, "fixed=yes");
HEDDLE_TEST(a_twin_that_clears_in_time, "zoo.late-*", schedules_max, "fixed=yes");
HEDDLE_TEST(a_twin_that_takes_differences, "zoo.flag-*", schedules_max, "fixed=yes");
HEDDLE_TEST(numbers_that_do_not_change_sign, "zoo.flag-*", schedules_max, "fixed=yes", "first=5");
HEDDLE_TEST(a_twin_that_waits_for_room_below, "zoo.queue-*", schedules_max, "fixed=yes");
HEDDLE_TEST(a_listener_that_looks_all_the_same, "zoo.lost-*", schedules_max, "fixed=yes");
HEDDLE_TEST(a_listener_whose_rings_all_come, "zoo.lost-*", schedules_max, "doorbells=delayed");
HEDDLE_TEST(a_stack_with_tags, "zoo.stack-*", schedules_max, "fixed=yes");
HEDDLE_TEST(one_memory_shows_what_no_order_mends, "zoo.[lfq]*", schedules_max, "fidelity=interleaving");

// Locks in one order, and tickets.
HEDDLE_TEST(a_twin_in_order, "zoo.crossed-try-*", schedules_max, "fixed=yes");
HEDDLE_TEST(a_twin_with_tickets, "zoo.unfair-*", schedules_max, "fixed=yes");
HEDDLE_TEST(one_memory_shows_a_livelock, "zoo.crossed-try-*", schedules_max, "fidelity=interleaving");
HEDDLE_TEST(one_memory_shows_who_is_passed_over, "zoo.unfair-*", schedules_max, "fidelity=interleaving");

HEDDLE_TEST(a_server_with_a_time_out, "zoo.sleep-*", schedules_max, "fixed=yes");
HEDDLE_TEST(a_server_whose_rings_come_late, "zoo.sleep-*", schedules_max, "doorbells=delayed");
HEDDLE_TEST(a_server_whose_rings_come_twice, "zoo.sleep-*", schedules_max, "doorbells=duplicated");
HEDDLE_TEST(a_server_whose_rings_come_together, "zoo.sleep-*", schedules_max, "doorbells=coalesced");
HEDDLE_TEST(two_servers_whose_rings_come_together, "zoo.sleep-*", schedules_max, "doorbells=coalesced", "servers=2",
            "waves=3", "calls=2");

// Late delivery alone shows wrong answers, where it shows anything.
HEDDLE_TEST(the_link_shows_a_bug_or_not, "zoo.*", schedules_max, "fidelity=link");
HEDDLE_TEST(a_twin_over_the_link, "zoo.[dhnpw]*", schedules_max, "fidelity=link", "fixed=yes");
HEDDLE_TEST(a_link_in_order_hides_a_store, "zoo.[dhnpw]*", schedules_max, "fidelity=link", "link.pool=off");
HEDDLE_TEST(loads_in_order_hide_a_load, "zoo.[dhnp]*", schedules_max, "fidelity=link", "late=0");
HEDDLE_TEST(no_load_crosses_to_memory_of_the_device, "zoo.[dhnp]*", schedules_max, "fidelity=link", "buffer=device");

// That is the point: without late memory the same programs are right.
HEDDLE_TEST(one_memory_hides_an_order, "zoo.no-*", schedules_max, "fidelity=interleaving");
HEDDLE_TEST(one_memory_hides_a_header, "zoo.header-*", schedules_max, "fidelity=interleaving");
HEDDLE_TEST(one_memory_hides_a_scope, "zoo.device-scope-*", schedules_max, "fidelity=interleaving");
HEDDLE_TEST(one_memory_hides_a_store, "zoo.plain-*", schedules_max, "fidelity=interleaving");
// This one is not about memory.
HEDDLE_TEST(one_memory_shows_a_look, "zoo.mailbox-*", schedules_max, "fidelity=interleaving");

}  // namespace
}  // namespace heddle::tests
