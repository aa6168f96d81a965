// The simulator looks at itself: a machine whose parts contradict each other ends the program, and says which invariant does not hold.
#include "run.h"

#include <heddle/scheduler/choice.h>
#include <heddle/sim/run/execution.h>

#include <functional>

namespace heddle::sim::tests::invariants_test {
namespace {

/// A machine that has begun a run and stands still: two host threads that are enabled.
class standing_machine : public machine_parts {
 public:
  standing_machine() {
    choices_.begin(*strategy_, 1);
    prepare(parameters_, choices_, false, false);
    wave& host = add_wave(true, 1);
    add_lane(host, 0);
    two_ = &add_wave(true, 1);
    add_lane(*two_, 0);
    core_.enabled.next_limit = core_.machine.budget;
  }
  wave& second() { return *two_; }
  collectives& together() { return collectives_; }

 private:
  wave& add_wave(bool host, uint32_t lanes) {
    wave& fresh = core_.new_wave();
    fresh.host = host;
    fresh.live_lanes = lanes;
    fresh.resident = true;
    core_.enabled.fair.live(fresh);
    return fresh;
  }
  void add_lane(wave& of, uint32_t index) {
    lane& fresh = core_.new_lane(of, index);
    if (core_.late != nullptr) core_.late->begins(fresh, nullptr);
    core_.lane_entry = [](void*) { std::abort(); };
    core_.enable(fresh);
  }

  std::string error_;
  std::unique_ptr<scheduler::strategy> strategy_ = scheduler::make_strategy("random", error_);
  scheduler::choice_source choices_;
  parameters parameters_{machine_parameters()};
  wave* two_ = nullptr;
};

TEST(invariants, hold_of_a_machine_that_has_begun) {
  standing_machine machine;
  machine.check_invariants();
}

struct planted {
  const char* name;
  const char* told;
  std::function<void(standing_machine&)> plant;
};

class a_planted_violation : public ::testing::TestWithParam<planted> {};

TEST_P(a_planted_violation, ends_the_program) {
  standing_machine machine;
  machine.check_invariants();
  GetParam().plant(machine);
  EXPECT_DEATH(machine.check_invariants(), GetParam().told);
}

INSTANTIATE_TEST_SUITE_P(
    all, a_planted_violation,
    ::testing::Values(
        planted{"slot", "candidate_slot points back",
                [](standing_machine& of) { of.core().enabled.lanes[1]->candidate_slot = 0; }},
        planted{"state", "its enabled lanes are counted",
                [](standing_machine& of) { of.core().enabled.lanes[0]->state = lane_state::waiting; }},
        planted{"fair_set", "the fair set counts the enabled lanes",
                [](standing_machine& of) { of.second().guaranteed = !of.second().guaranteed; }},
        planted{"live_lanes", "live lanes are counted", [](standing_machine& of) { ++of.core().threads.live_lanes; }},
        planted{"candidates_of_wave", "its enabled lanes are counted",
                [](standing_machine& of) { ++of.second().candidates; }},
        planted{"phase", "all take turns in the fair tail alone",
                [](standing_machine& of) { of.core().phase.all_take_turns = true; }},
        planted{"history", "accesses to the C\\+\\+ heap are steps",
                [](standing_machine& of) { of.core().history.library_steps = 1; }},
        planted{"collective", "no lane comes that the mask does not name",
                [](standing_machine& of) { of.second().collectives.push_back({operation_kind::ballot, 1, 3, 1}); }},
        planted{"stream", "it waits for what was launched",
                [](standing_machine& of) {
                  lane& self = of.core().threads.lanes[0];
                  const operation how;
                  of.launched().delay_stream(self, of.launched().create_stream(true), {7}, how);
                  of.launched().event(self, of.launched().create_event(), how).work = {9};
                }}),
    [](const auto& each) { return std::string(each.param.name); });

#ifdef HEDDLE_SELF_CHECKS
TEST(invariants, are_looked_at_during_a_run) {
  const auto broken = [] {
    machine().run([] {
      device host;
      auto* const shared = host.allocate_shared<uint32_t>(1, "word");
      ++execution::instance->core().threads.live_lanes;
      host.launch({.blocks = 1, .waves = 1, .lanes = 2}, [shared] {
        for (uint32_t n = 0; n < 200; ++n) word<uint32_t>(*shared).store(n, memory_order::relaxed);
      });
      host.synchronize();
    });
  };
  EXPECT_DEATH(broken(), "live lanes are counted");
}
#endif

}  // namespace
}  // namespace heddle::sim::tests::invariants_test
