#include <heddle/scheduler/round_robin.h>

#include <gtest/gtest.h>

#include <set>

#include "actors.h"

namespace heddle::scheduler {
namespace {

TEST(round_robin_strategy, every_actor_gets_its_quantum_in_cyclic_order) {
  round_robin_strategy deciding(2);
  deciding.begin(1);
  const actors three({{.actor = 4}, {.actor = 0}, {.actor = 9}});
  std::vector<uint32_t> turns;
  for (int turn = 0; turn < 8; ++turn) turns.push_back(three.picked_by(deciding));
  EXPECT_EQ(turns, (std::vector<uint32_t>{0, 0, 4, 4, 9, 9, 0, 0}));
}

TEST(round_robin_strategy, goes_on_when_the_current_actor_cannot) {
  round_robin_strategy deciding(100);
  deciding.begin(1);
  EXPECT_EQ(actors({{.actor = 0}, {.actor = 1}, {.actor = 2}}).picked_by(deciding), 0u);
  EXPECT_EQ(actors({{.actor = 1}, {.actor = 2}}).picked_by(deciding), 1u);
  EXPECT_EQ(actors({{.actor = 0}, {.actor = 1}, {.actor = 2}}).picked_by(deciding), 1u);
}

TEST(round_robin_strategy, gives_other_kinds_the_default) {
  round_robin_strategy deciding(1);
  deciding.begin(1);
  EXPECT_EQ(deciding.pick({.kind = choice_kind::wake, .count = 5, .candidates = {}}), 0u);
}

TEST(round_robin_strategy, a_quantum_that_is_not_given_is_drawn_by_the_seed) {
  round_robin_strategy deciding;
  std::set<uint32_t> drawn;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    deciding.begin(seed);
    const uint32_t quantum = deciding.quantum();
    drawn.insert(quantum);
    EXPECT_GE(quantum, 1u);
    EXPECT_LE(quantum, round_robin_strategy::drawn_quantum_max);
    deciding.begin(seed);
    EXPECT_EQ(deciding.quantum(), quantum);
  }
  EXPECT_GT(drawn.size(), 20u);
  EXPECT_TRUE(drawn.contains(1));
}

}  // namespace
}  // namespace heddle::scheduler
