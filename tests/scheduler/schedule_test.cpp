#include <heddle/scheduler/append.h>
#include <heddle/scheduler/choice.h>
#include <heddle/scheduler/random.h>
#include <heddle/scheduler/replay.h>
#include <heddle/scheduler/rhythm.h>
#include <heddle/scheduler/round_robin.h>
#include <heddle/scheduler/schedule.h>

#include "actors.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace heddle::scheduler {
namespace {

choice other(choice_kind kind, uint32_t count) { return {.kind = kind, .count = count}; }

constexpr run_limit no_limit;

TEST(schedule_strategy, takes_the_turns_of_those_who_can_and_leaves_out_the_others) {
  const schedule wanted = {.turns = {{.actor = 7}, {.actor = 3}, {.actor = 5}, {.actor = 3}}};
  schedule_strategy plays(wanted, no_limit);
  plays.begin(1);
  const actors all({{.actor = 5}, {.actor = 3}, {.actor = 9}});
  EXPECT_EQ(all.picked_by(plays), 3u);
  EXPECT_EQ(all.picked_by(plays), 5u);
  EXPECT_EQ(all.picked_by(plays), 3u);
  EXPECT_EQ(all.picked_by(plays), 3u) << "at its end the current one goes on";
  EXPECT_EQ(actors({{.actor = 9}, {.actor = 5}}).picked_by(plays), 5u) << "or the next";
  EXPECT_EQ(actors({{.actor = 1}, {.actor = 2}}).picked_by(plays), 1u) << "or the lowest";
  EXPECT_EQ(plays.notes().preemptions(), 2u);
  EXPECT_EQ(plays.notes().noted().turns.size(), 6u);
  EXPECT_EQ(plays.notes().noted().turns[4].actor, 5u);
}

TEST(schedule_strategy, odd_answers_belong_to_their_turn_and_fit_or_are_the_default) {
  const schedule wanted = {.before = {{.kind = choice_kind::visible, .ordinal = 0, .picked = 1}},
                           .turns = {{.actor = 1},
                                     {.actor = 2,
                                      .odd = {{.kind = choice_kind::visible, .ordinal = 1, .picked = 3},
                                              {.kind = choice_kind::arrive, .ordinal = 0, .picked = 2}}}}};
  schedule_strategy plays(wanted, no_limit);
  plays.begin(1);
  const actors both({{.actor = 1}, {.actor = 2}});
  EXPECT_EQ(plays.pick(other(choice_kind::visible, 2)), 1u);
  EXPECT_EQ(plays.pick(other(choice_kind::visible, 2)), 0u);
  EXPECT_EQ(both.picked_by(plays), 1u);
  EXPECT_EQ(plays.pick(other(choice_kind::visible, 9)), 0u);
  EXPECT_EQ(both.picked_by(plays), 2u);
  EXPECT_EQ(plays.pick(other(choice_kind::visible, 9)), 0u) << "its first read is as ever";
  EXPECT_EQ(plays.pick(other(choice_kind::arrive, 2)), 0u) << "there are not so many answers";
  EXPECT_EQ(plays.pick(other(choice_kind::visible, 9)), 3u);
  EXPECT_EQ(plays.notes().noted().odd_count(), 2u) << "what did not happen is not noted";
}

TEST(schedule_strategy, an_end_game_is_drawn_as_far_as_it_fits) {
  const auto end = [](uint32_t count, uint32_t picked) { return answer{choice_kind::end, count, picked}; };
  const schedule wanted = {.end_game = {end(16, 5), end(32, 9), end(2, 1), end(4, 3)}};
  schedule_strategy plays(wanted, no_limit);
  EXPECT_TRUE(plays.draws_end_game());
  plays.begin(1);
  EXPECT_EQ(plays.pick(other(choice_kind::end, 16)), 5u);
  EXPECT_EQ(plays.pick(other(choice_kind::end, 2)), 1u) << "nothing asked for one of 32";
  EXPECT_EQ(plays.pick(other(choice_kind::end, 8)), 0u);
  EXPECT_EQ(plays.pick(other(choice_kind::end, 4)), 3u);
  EXPECT_FALSE(schedule_strategy({}, no_limit).draws_end_game());
}

TEST(deviating_strategy, without_deviations_the_current_one_goes_on_and_nothing_is_odd) {
  const deviations none;
  deviating_strategy plays(none, no_limit);
  plays.begin(1);
  const actors all({{.actor = 4}, {.actor = 1}, {.actor = 2}});
  EXPECT_EQ(all.picked_by(plays), 1u);
  EXPECT_EQ(all.picked_by(plays), 1u);
  EXPECT_EQ(actors({{.actor = 4}, {.actor = 2}}).picked_by(plays), 2u);
  EXPECT_EQ(actors({{.actor = 0}, {.actor = 1}}).picked_by(plays), 0u);
  EXPECT_EQ(plays.pick(other(choice_kind::visible, 5)), 0u);
  EXPECT_TRUE(plays.notes().deviating().all.empty());
}

TEST(deviating_strategy, a_deviation_comes_up_at_its_moment_and_is_left_out_where_it_cannot_be) {
  const deviations some = {.all = {{.actor = 1, .turns = 2, .target = 4},
                                   {.actor = 4, .turns = 1, .target = 9},
                                   {.actor = 4,
                                    .turns = 2,
                                    .target = no_actor,
                                    .odd = {.kind = choice_kind::visible, .ordinal = 1, .picked = 3}}}};
  deviating_strategy plays(some, no_limit);
  plays.begin(1);
  const actors all({{.actor = 4}, {.actor = 1}, {.actor = 2}});
  EXPECT_EQ(all.picked_by(plays), 1u);
  EXPECT_EQ(all.picked_by(plays), 1u);
  EXPECT_EQ(all.picked_by(plays), 4u);
  EXPECT_EQ(plays.pick(other(choice_kind::visible, 5)), 0u);
  EXPECT_EQ(all.picked_by(plays), 4u) << "9 is no candidate";
  EXPECT_EQ(plays.pick(other(choice_kind::visible, 5)), 0u);
  EXPECT_EQ(plays.pick(other(choice_kind::visible, 5)), 3u);
  EXPECT_EQ(plays.notes().deviating().all.size(), 2u);
}

TEST(schedule_strategy, stops_a_run_that_asks_for_too_much) {
  const schedule nothing;
  schedule_strategy plays(nothing, {.choices_max = 2});
  plays.begin(1);
  EXPECT_EQ(plays.pick(other(choice_kind::wake, 2)), 0u);
  EXPECT_EQ(plays.pick(other(choice_kind::wake, 2)), 0u);
  EXPECT_FALSE(plays.was_stopped());
  EXPECT_EQ(plays.pick(other(choice_kind::wake, 2)), no_answer);
  EXPECT_TRUE(plays.was_stopped());

  schedule_strategy goes_on(nothing, {.turns_max = 3});
  goes_on.begin(1);
  for (int step = 0; step < 4; ++step) goes_on.performed({.actor = 1});
  EXPECT_EQ(goes_on.pick(other(choice_kind::wake, 2)), no_answer);
  EXPECT_TRUE(goes_on.was_stopped());
}

/// Actors come and go, and each turn asks for some other things: the same choices for the same answers.
std::vector<answer> toy_run(strategy& deciding, uint64_t seed) {
  choice_source choices;
  choices.begin(deciding, seed);
  std::vector<candidate> there = {{.actor = 0}, {.actor = 1}, {.actor = 2}};
  for (uint32_t step = 0; step < 200; ++step) {
    const actors now(there);
    const uint32_t picked = choices.pick(now.size(), choice_kind::actor, now.list());
    if (picked == no_answer) break;
    const uint32_t actor = now[picked].actor;
    const uint32_t seen = choices.pick(1 + actor, choice_kind::visible);
    if (choices.pick(2, choice_kind::wake) == 1 && there.size() > 1) there.erase(there.begin() + picked);
    if (seen == 1) there.push_back({.actor = step + 3});
  }
  return choices.recorded();
}

TEST(noted_replay, the_schedule_that_it_tells_is_the_recorded_run) {
  random_strategy random;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const std::vector<answer> recorded = toy_run(random, seed);
    noted_replay replayed(recorded);
    EXPECT_EQ(toy_run(replayed, 1), recorded);
    EXPECT_TRUE(replayed.agrees()) << seed;
    schedule_strategy plays(replayed.notes().noted(), no_limit);
    EXPECT_EQ(toy_run(plays, 1), recorded) << seed;
    EXPECT_EQ(plays.notes().noted(), replayed.notes().noted()) << seed;
    EXPECT_EQ(plays.notes().preemptions(), replayed.notes().preemptions()) << seed;
    deviating_strategy deviates(replayed.notes().deviating(), no_limit);
    EXPECT_EQ(toy_run(deviates, 1), recorded) << seed;
  }
}

/// Two actors with so many steps each, told of each step; a single candidate is no choice.
struct told_run {
  std::vector<uint32_t> order;
  std::vector<answer> answers;
};
told_run run_told(strategy& deciding, uint64_t seed, std::vector<uint32_t> steps_left) {
  told_run made;
  choice_source choices;
  choices.begin(deciding, seed);
  while (true) {
    std::vector<candidate> there;
    for (uint32_t actor = 0; actor < steps_left.size(); ++actor)
      if (steps_left[actor] != 0) there.push_back({.actor = actor});
    if (there.empty()) break;
    const actors now(there);
    const uint32_t picked = choices.pick(now.size(), choice_kind::actor, now.list());
    if (picked == no_answer) break;
    const uint32_t actor = now[picked].actor;
    --steps_left[actor];
    choices.pick(3, choice_kind::visible);
    choices.performed({.actor = actor});
    made.order.push_back(actor);
  }
  made.answers = choices.recorded();
  return made;
}

TEST(noted_replay, steps_that_were_no_choice_are_turns_where_the_machine_tells_of_them) {
  random_strategy random;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const told_run recorded = run_told(random, seed, {4, 9});
    noted_replay replayed(recorded.answers);
    run_told(replayed, 1, {4, 9});
    EXPECT_TRUE(replayed.agrees());
    std::vector<uint32_t> noted;
    for (const turn& each : replayed.notes().noted().turns) noted.push_back(each.actor);
    EXPECT_EQ(noted, recorded.order);

    // In a longer program the same schedule has candidates where there were none, and the same order comes out.
    schedule_strategy plays(replayed.notes().noted(), no_limit);
    std::vector<uint32_t> longer = run_told(plays, 1, {40, 90}).order;
    longer.resize(recorded.order.size());
    EXPECT_EQ(longer, recorded.order);
    schedule_strategy again(replayed.notes().noted(), no_limit);
    EXPECT_EQ(run_told(again, 1, {4, 9}).answers, recorded.answers);
    deviating_strategy deviates(replayed.notes().deviating(), no_limit);
    EXPECT_EQ(run_told(deviates, 1, {4, 9}).answers, recorded.answers);
  }
}

TEST(noted_replay, says_when_the_run_is_another_one) {
  random_strategy random;
  std::vector<answer> recorded = toy_run(random, 1);
  recorded[20].count += 1;
  noted_replay replayed(recorded);
  toy_run(replayed, 1);
  EXPECT_FALSE(replayed.agrees());
  recorded = toy_run(random, 1);
  recorded.push_back(recorded.back());
  noted_replay longer(recorded);
  toy_run(longer, 1);
  EXPECT_FALSE(longer.agrees());
}

TEST(choice_source, records_what_was_answered) {
  round_robin_strategy deciding(1);
  choice_source choices;
  choices.begin(deciding, 1);
  const actors two({{.actor = 0}, {.actor = 1}});
  EXPECT_EQ(choices.pick(2, choice_kind::actor, two.list()), 0u);
  EXPECT_EQ(choices.pick(2, choice_kind::actor, two.list()), 1u);
  EXPECT_EQ(choices.pick(3, choice_kind::wake), 0u);
  const std::vector<answer> expected = {
      {choice_kind::actor, 2, 0}, {choice_kind::actor, 2, 1}, {choice_kind::wake, 3, 0}};
  EXPECT_EQ(choices.recorded(), expected);
}

TEST(choice_source, a_choice_among_one_is_neither_asked_nor_recorded) {
  const std::vector<answer> nothing;
  replay_strategy deciding(nothing);
  choice_source choices;
  choices.begin(deciding, 1);
  EXPECT_EQ(choices.pick(1, choice_kind::actor), 0u);
  EXPECT_TRUE(choices.recorded().empty());
}

TEST(choice_source, no_answer_is_passed_on_and_not_recorded) {
  const std::vector<answer> nothing;
  replay_strategy deciding(nothing);
  choice_source choices;
  choices.begin(deciding, 1);
  EXPECT_EQ(choices.pick(2, choice_kind::actor), no_answer);
  EXPECT_TRUE(choices.recorded().empty());
}

TEST(choice_source, a_new_run_forgets_the_last_one_and_keeps_its_memory) {
  random_strategy deciding;
  choice_source choices;
  choices.begin(deciding, 1);
  for (int turn = 0; turn < 1'000; ++turn) choices.pick(4, choice_kind::actor);
  const size_t capacity = choices.recorded().capacity();
  choices.begin(deciding, 2);
  EXPECT_TRUE(choices.recorded().empty());
  EXPECT_EQ(choices.recorded().capacity(), capacity);
}

TEST(choice_source, the_short_way_gives_the_answers_of_the_long_one) {
  // Of bounds near 2^32 a third of all draws is thrown away.
  constexpr std::array<uint32_t, 6> counts = {1, 2, 3, 64, 3'000'000'000, 4'294'967'295};
  constexpr std::array<choice_kind, 3> kinds = {choice_kind::actor, choice_kind::wake, choice_kind::visible};
  uint64_t tried = 0;
  uint64_t refused = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    random_strategy one;
    random_strategy other;
    choice_source by_pick;
    choice_source by_try;
    by_pick.begin(one, seed);
    by_try.begin(other, seed);
    for (uint32_t turn = 0; turn < 400; ++turn) {
      const uint32_t count = counts[(turn + seed) % counts.size()];
      const choice_kind kind = kinds[turn / 7 % kinds.size()];
      uint32_t picked = 0;
      ++tried;
      if (count == 1 || !by_try.try_pick(count, kind, picked)) {
        ++refused;
        picked = by_try.pick(count, kind);
      }
      ASSERT_EQ(picked, by_pick.pick(count, kind)) << "seed " << seed << ", turn " << turn;
    }
    EXPECT_EQ(by_try.recorded(), by_pick.recorded()) << "seed " << seed;
  }
  EXPECT_GT(refused, 0u);
  EXPECT_LT(refused, tried / 2);
}

TEST(choice_source, the_short_way_leaves_it_to_a_strategy_that_answers_by_itself) {
  round_robin_strategy deciding(1);
  choice_source choices;
  choices.begin(deciding, 1);
  uint32_t picked = 7;
  EXPECT_FALSE(choices.try_pick(2, choice_kind::wake, picked));
  EXPECT_EQ(picked, 7u);
  EXPECT_TRUE(choices.recorded().empty());
}

TEST(random_stream, tells_what_comes_next_without_drawing_it) {
  random_stream numbers(7, 3);
  for (int turn = 0; turn < 1'000; ++turn) {
    const uint64_t expected = numbers.upcoming();
    ASSERT_EQ(numbers.upcoming(), expected);
    ASSERT_EQ(numbers.next(), expected);
  }
}

TEST(append, does_what_push_back_does) {
  std::vector<std::string> expected;
  std::vector<std::string> made;
  for (int n = 0; n < 1'000; ++n) {
    expected.push_back(std::to_string(n));
    append(made, std::to_string(n));
  }
  append(made) = "last";
  expected.emplace_back("last");
  EXPECT_EQ(made, expected);
}

TEST(choice_source, the_end_game_is_drawn_where_the_strategy_draws_one_and_where_one_was_recorded) {
  choice_source choices;
  random_strategy random;
  choices.begin(random, 1);
  EXPECT_FALSE(choices.draws_end_game());
  rhythm_strategy rhythm;
  choices.begin(rhythm, 1);
  ASSERT_TRUE(choices.draws_end_game());
  const uint32_t drawn = choices.pick(16, choice_kind::end);
  choices.pick(2, choice_kind::actor);
  const std::vector<answer> recorded = choices.recorded();
  replay_strategy again(recorded);
  choices.begin(again, 1);
  EXPECT_TRUE(choices.draws_end_game());
  EXPECT_EQ(choices.pick(16, choice_kind::end), drawn);
  const std::vector<answer> without = {{choice_kind::actor, 2, 1}};
  replay_strategy other(without);
  choices.begin(other, 1);
  EXPECT_FALSE(choices.draws_end_game());
}

TEST(choice_kind, names_and_their_inverse_agree) {
  for (uint32_t kind = 0; kind < choice_kind_count; ++kind)
    EXPECT_EQ(parse_choice_kind(to_string(static_cast<choice_kind>(kind))), static_cast<choice_kind>(kind));
  EXPECT_FALSE(parse_choice_kind("no-kind"));
}

}  // namespace
}  // namespace heddle::scheduler
