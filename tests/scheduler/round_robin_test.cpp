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

/// Candidates whose machine keeps them in order, and lets none be looked at.
struct ordered_actors {
  std::vector<candidate> all;
  static candidate look(const void* context, uint32_t index) {
    return static_cast<const ordered_actors*>(context)->all[index];
  }
  static uint32_t next(const void* context, uint32_t actor) {
    const actors same(static_cast<const ordered_actors*>(context)->all);
    return next_in_turn(same.asked(), actor);
  }
  choice asked() const {
    return {.kind = choice_kind::actor,
            .count = static_cast<uint32_t>(all.size()),
            .candidates = candidate_list(this, look, next)};
  }
};

TEST(round_robin_strategy, takes_the_order_that_the_machine_keeps) {
  round_robin_strategy looks(2);
  round_robin_strategy asks(2);
  looks.begin(1);
  asks.begin(1);
  const std::vector<std::vector<candidate>> rounds = {{{.actor = 4}, {.actor = 0}, {.actor = 9}},
                                                      {{.actor = 9}, {.actor = 0}},
                                                      {{.actor = 4}},
                                                      {{.actor = 0}, {.actor = 4}}};
  for (int turn = 0; turn < 40; ++turn) {
    const auto& now = rounds[static_cast<size_t>(turn / 3) % rounds.size()];
    const ordered_actors ordered{now};
    EXPECT_EQ(now[asks.pick(ordered.asked())].actor, actors(now).picked_by(looks)) << turn;
  }
}

}  // namespace
}  // namespace heddle::scheduler
