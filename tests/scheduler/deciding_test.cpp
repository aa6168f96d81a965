// Which choices of a run decided, on programs of which that is known.
#include <heddle/scheduler/deciding.h>

#include <gtest/gtest.h>

#include <algorithm>

namespace heddle::scheduler {
namespace {

/// Asks for three answers, and fails as `fails` says of them.
run_one asking_three(std::function<bool(uint32_t, uint32_t, uint32_t)> fails) {
  return [fails = std::move(fails)](choice_source& choices, bool) {
    const uint32_t first = choices.pick(3, choice_kind::visible);
    const uint32_t second = choices.pick(2, choice_kind::spurious);
    const uint32_t third = choices.pick(3, choice_kind::visible);
    run_result ended;
    ended.steps = 3;
    if (fails(first, second, third)) ended.outcome = verdict::assertion;
    return ended;
  };
}

trace answered(uint32_t first, uint32_t second, uint32_t third) {
  trace recorded;
  recorded.outcome = verdict::assertion;
  recorded.answers = {{.kind = choice_kind::visible, .count = 3, .picked = first},
                      {.kind = choice_kind::spurious, .count = 2, .picked = second},
                      {.kind = choice_kind::visible, .count = 3, .picked = third}};
  return recorded;
}

TEST(deciding, are_the_answers_without_which_the_run_does_not_fail) {
  const auto found =
      find_deciding(answered(2, 1, 1), asking_three([](uint32_t a, uint32_t b, uint32_t) { return a == 2 && b == 1; }));
  EXPECT_TRUE(found.each_alone);
  ASSERT_EQ(found.all.size(), 2u);
  EXPECT_EQ(found.all[0], (deciding_choice{.kind = choice_kind::visible, .number = 0}));
  EXPECT_EQ(found.all[1], (deciding_choice{.kind = choice_kind::spurious, .number = 1}));
}

TEST(deciding, where_any_of_several_would_do_one_is_enough) {
  const auto found =
      find_deciding(answered(1, 1, 2), asking_three([](uint32_t a, uint32_t, uint32_t c) { return a != 0 || c != 0; }));
  EXPECT_FALSE(found.each_alone);
  ASSERT_EQ(found.all.size(), 1u);
  EXPECT_EQ(found.all[0].kind, choice_kind::visible);
}

TEST(deciding, are_none_where_the_run_fails_whatever_is_chosen_or_cannot_be_repeated) {
  EXPECT_TRUE(find_deciding(answered(2, 1, 1), asking_three([](auto...) { return true; })).all.empty());
  EXPECT_TRUE(find_deciding(answered(2, 1, 1), asking_three([](auto...) { return false; })).all.empty());
}

/// Two actors of three operations each; fails where the second one takes its first between the first two of the other.
run_result two_actors(choice_source& choices, bool) {
  std::vector<uint32_t> done(2, 0), able;
  std::vector<uint32_t> order;
  const auto look = [](const void* context, uint32_t index) {
    return candidate{.actor = (*static_cast<const std::vector<uint32_t>*>(context))[index]};
  };
  while (true) {
    able.clear();
    for (uint32_t actor = 0; actor < 2; ++actor)
      if (done[actor] < 3) able.push_back(actor);
    if (able.empty()) break;
    uint32_t picked = 0;
    if (able.size() > 1) picked = choices.pick(2, choice_kind::actor, candidate_list(&able, look));
    if (picked == no_answer) return {};
    const uint32_t actor = able[picked];
    ++done[actor];
    order.push_back(actor);
    if (choices.looks_at_steps()) choices.performed({.actor = actor});
  }
  run_result ended;
  ended.steps = order.size();
  if (order[0] == 0 && order[1] == 1) ended.outcome = verdict::assertion;
  return ended;
}

TEST(deciding, of_turns_says_who_came_and_behind_how_many_operations) {
  trace recorded;
  recorded.outcome = verdict::assertion;
  // 0, 1, 0, 1, 1, 0
  for (const uint32_t actor : {0u, 1u, 0u, 1u, 1u})
    recorded.answers.push_back({.kind = choice_kind::actor, .count = 2, .picked = actor});
  const auto found = find_deciding(recorded, two_actors);
  ASSERT_EQ(found.all.size(), 1u);
  EXPECT_EQ(found.all[0], (deciding_choice{.kind = choice_kind::actor, .number = 1, .actor = 1, .after = 0}));
}

TEST(deciding, makes_no_more_runs_than_it_may) {
  const auto found =
      find_deciding(answered(2, 1, 1), asking_three([](uint32_t a, uint32_t b, uint32_t) { return a == 2 && b == 1; }),
                    {.runs_max = 2});
  EXPECT_LE(found.runs, 3u);
}

}  // namespace
}  // namespace heddle::scheduler
