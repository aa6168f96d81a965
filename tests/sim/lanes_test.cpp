// What lanes of a wave do to each other: the scenarios of scenarios/lanes, under every convergence. This file and they are compiled
// in several ways, because where lanes come together again is read from the machine code.
#include <heddle/tools/gtest.h>
#include <heddle/tools/gtest_main.h>

namespace {

HEDDLE_TEST(lanes_on_their_own, "lanes.*", 200);
HEDDLE_TEST(lanes_in_lockstep, "lanes.*", 200, "convergence=lockstep");
HEDDLE_TEST(lanes_in_lockstep_else_first, "lanes.*", 200, "convergence=lockstep", "arms=else-first");
HEDDLE_TEST(lanes_in_lockstep_in_any_order, "lanes.*", 200, "convergence=lockstep", "arms=any");

HEDDLE_TEST(lanes_that_spin, "lanes.[bfl]*", 200, "pause=no");
HEDDLE_TEST(lanes_that_spin_in_lockstep, "lanes.[bfl]*", 200, "pause=no", "convergence=lockstep");
HEDDLE_TEST(lanes_that_spin_in_lockstep_else_first, "lanes.[bfl]*", 200, "pause=no", "convergence=lockstep",
            "arms=else-first");

HEDDLE_TEST(half_a_wave_in_lockstep, "lanes.[bfl]*", 20, "lanes=32", "convergence=lockstep");
HEDDLE_TEST(a_whole_wave_in_lockstep, "lanes.[bfl]*", 20, "lanes=64", "convergence=lockstep", "arms=else-first");
HEDDLE_TEST(a_whole_wave_on_its_own, "lanes.[bfl]*", 5, "lanes=64");

HEDDLE_TEST(a_close_behind_two_branches, "zoo.sunk-close*", 200);
HEDDLE_TEST(a_close_behind_two_branches_else_first, "zoo.sunk-close*", 200, "arms=else-first");
HEDDLE_TEST(a_close_behind_two_branches_of_lanes_on_their_own, "zoo.sunk-close*", 200, "convergence=independent");
HEDDLE_TEST(a_port_for_each_branch, "zoo.sunk-close*", 200, "ports=2");
HEDDLE_TEST(a_port_for_each_lane, "lanes.port-*", 200, "ports=3", "convergence=lockstep");
HEDDLE_TEST(one_memory_in_lockstep, "lanes.*", 100, "convergence=lockstep", "fidelity=interleaving");

}  // namespace
