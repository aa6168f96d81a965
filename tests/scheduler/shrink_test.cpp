// Shrinking, on toy programs whose smallest failing runs are known: what is needed stays, and all that is not goes.
#include <heddle/scheduler/deciding.h>
#include <heddle/scheduler/digest.h>
#include <heddle/scheduler/random.h>
#include <heddle/scheduler/replay.h>
#include <heddle/scheduler/schedule.h>
#include <heddle/scheduler/shrink.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace heddle::scheduler {
namespace {

/// Actors that take one step at a time until the program says that the run is over.
class toy_machine {
 public:
  explicit toy_machine(choice_source& choices) : choices_(choices) {}

  /// Takes steps until no actor can, or step(actor) says that it is over.
  template <typename CanStep, typename Step>
  void play(uint32_t actors, CanStep can_step, Step step) {
    while (!stopped_) {
      candidates_.clear();
      for (uint32_t actor = 0; actor < actors; ++actor)
        if (can_step(actor)) candidates_.push_back(actor);
      if (candidates_.empty()) return;
      const uint32_t picked =
          choices_.pick(static_cast<uint32_t>(candidates_.size()), choice_kind::actor, candidate_list(this, look));
      if (picked == no_answer) {
        stopped_ = true;
        return;
      }
      const uint32_t actor = candidates_[picked];
      ++result.steps;
      if (last_ != actor && last_ != ~0u) ++result.switches;
      last_ = actor;
      digest_.add(actor);
      if (step(actor)) return;
    }
  }

  uint32_t pick(uint32_t count, choice_kind kind) {
    const uint32_t picked = stopped_ ? 0 : choices_.pick(count, kind);
    if (picked != no_answer) return picked;
    stopped_ = true;
    return 0;
  }

  void fail(verdict outcome, std::string where) {
    result.outcome = outcome;
    result.where = std::move(where);
  }

  run_result ended() {
    result.digest = digest_.value();
    if (stopped_) result.outcome = verdict::ok;
    return result;
  }

  run_result result;

 private:
  static candidate look(const void* self, uint32_t index) {
    const uint32_t actor = static_cast<const toy_machine*>(self)->candidates_[index];
    return {.actor = actor, .group = actor};
  }

  choice_source& choices_;
  std::vector<uint32_t> candidates_;
  digest digest_;
  uint32_t last_ = ~0u;
  bool stopped_ = false;
};

/// Each actor adds 1 to a counter by a load and a store, behind some steps of its own. An update is lost when another actor stores between
/// the load and the store of another, and the run ends there. Smallest: 2 actors, a load, the other's way to its store, the first's store.
run_one lost_update(uint32_t actors, uint32_t padding) {
  return [actors, padding](choice_source& choices, bool) {
    toy_machine machine(choices);
    std::vector<uint32_t> at(actors, 0);
    std::vector<uint32_t> seen(actors, 0);
    uint32_t counter = 0;
    machine.play(
        actors, [&](uint32_t actor) { return at[actor] < padding + 2; },
        [&](uint32_t actor) {
          const uint32_t step = at[actor]++;
          if (step == padding) seen[actor] = counter;
          if (step != padding + 1) return false;
          const bool lost = seen[actor] != counter;
          counter = seen[actor] + 1;
          if (lost) machine.fail(verdict::assertion, "toy:1");
          return lost;
        });
    return machine.ended();
  };
}

/// The first failing run of a random walk from that seed on.
trace found(const run_one& run, uint64_t seed = 1, const setting_values& settings = {}) {
  random_strategy random;
  trace recorded;
  recorded.scenario = "toy";
  recorded.strategy = "random";
  recorded.parameters = settings;
  for (;; ++seed) {
    choice_source choices;
    choices.begin(random, seed);
    const run_result result = run(choices, false);
    if (result.outcome == verdict::ok) continue;
    recorded.seed = seed;
    recorded.outcome = result.outcome;
    recorded.where = result.where;
    recorded.digest = result.digest;
    recorded.steps = result.steps;
    recorded.answers = choices.recorded();
    return recorded;
  }
}

void expect_strict(const shrunk& made, const run_one& run) {
  EXPECT_EQ(made.error, "");
  EXPECT_EQ(run_again(made.smallest, run, false).disagreement, "");
  EXPECT_EQ(made.smallest.steps, made.after.steps);
  EXPECT_LE(made.after.steps, made.before.steps);
  EXPECT_LE(made.after.switches, made.before.switches);
}

TEST(shrink, keeps_the_one_preemption_that_is_needed_and_nothing_else) {
  const run_one run = lost_update(6, 10);
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const trace recorded = found(run, seed * 1000);
    const shrunk made = shrink(recorded, run, {.runs_max = 3000});
    SCOPED_TRACE("seed " + std::to_string(recorded.seed));
    expect_strict(made, run);
    // A load of one, all steps of another, the store of the first.
    EXPECT_EQ(made.after.steps, 24u);
    EXPECT_EQ(made.after.switches, 2u);
    EXPECT_EQ(made.after.preemptions, 1u);
    EXPECT_EQ(made.smallest.outcome, verdict::assertion);
    EXPECT_EQ(made.smallest.where, "toy:1");
    EXPECT_EQ(made.smallest.strategy, shrunk_strategy);
  }
}

TEST(shrink, the_same_trace_gives_the_same_result) {
  const run_one run = lost_update(4, 6);
  const trace recorded = found(run);
  EXPECT_EQ(to_json(shrink(recorded, run, {}).smallest), to_json(shrink(recorded, run, {}).smallest));
}

TEST(shrink, what_is_smallest_stays_as_it_is) {
  const run_one run = lost_update(2, 0);
  const shrunk first = shrink(found(run), run, {});
  const shrunk second = shrink(first.smallest, run, {});
  EXPECT_TRUE(first.finished || first.runs >= 20'000);
  EXPECT_EQ(second.smallest, first.smallest);
  EXPECT_EQ(second.before, second.after);
}

/// One actor reads a flag again and again; with a stale read on the turn of that number it fails. Other odd answers do nothing.
run_one stale_read(uint32_t needed_at) {
  return [needed_at](choice_source& choices, bool) {
    toy_machine machine(choices);
    uint32_t reads = 0;
    machine.play(
        2, [&](uint32_t actor) { return actor == 0 ? reads < 20 : reads >= 5; },
        [&](uint32_t actor) {
          if (actor == 1) return reads == 20;
          const uint32_t read = reads++;
          machine.pick(3, choice_kind::wake);
          const bool fails = machine.pick(3, choice_kind::visible) == 2 && read == needed_at;
          if (fails) machine.fail(verdict::race, "toy:2");
          return fails;
        });
    return machine.ended();
  };
}

TEST(shrink, keeps_the_one_stale_read_that_is_needed) {
  for (const uint32_t needed_at : {4u, 12u, 19u}) {
    const run_one run = stale_read(needed_at);
    const shrunk made = shrink(found(run), run, {});
    SCOPED_TRACE("needed at read " + std::to_string(needed_at));
    expect_strict(made, run);
    EXPECT_GT(made.before.odd_answers, 1u);
    EXPECT_EQ(made.after.odd_answers, 1u);
    EXPECT_EQ(made.after.steps, needed_at + 1u);
    EXPECT_EQ(made.after.switches, 0u);
  }
}

/// Fails where an actor goes on before the run that the fair tail's second answer names.
run_one end_game(uint32_t least) {
  return [least](choice_source& choices, bool) {
    toy_machine machine(choices);
    uint32_t drawn = 0;
    if (choices.draws_end_game()) {
      machine.pick(16, choice_kind::end);
      drawn = machine.pick(64, choice_kind::end);
      machine.pick(4, choice_kind::end);
    }
    uint32_t steps = 0;
    machine.play(
        2, [&](uint32_t) { return steps < 10; },
        [&](uint32_t) {
          ++steps;
          return false;
        });
    machine.result.steps += drawn;
    if (drawn >= least) machine.fail(verdict::livelock, "toy:3");
    return machine.ended();
  };
}

TEST(shrink, an_end_game_that_is_needed_is_kept_and_shortened) {
  trace recorded;
  recorded.strategy = "rhythm";
  const run_one run = end_game(6);
  recorded.answers = {{choice_kind::end, 16, 9}, {choice_kind::end, 64, 50}, {choice_kind::end, 4, 3}};
  for (int step = 0; step < 10; ++step) recorded.answers.push_back({choice_kind::actor, 2, step % 2 == 0 ? 0u : 1u});
  noted_replay replayed(recorded.answers);
  choice_source choices;
  choices.begin(replayed, 1);
  const run_result result = run(choices, false);
  recorded.outcome = result.outcome;
  recorded.where = result.where;
  recorded.steps = result.steps;
  recorded.digest = result.digest;
  ASSERT_EQ(result.outcome, verdict::livelock);
  const shrunk made = shrink(recorded, run, {.runs_max = 2000});
  expect_strict(made, run);
  EXPECT_EQ(made.smallest.answers.front().kind, choice_kind::end);
  EXPECT_LE(made.after.steps, 10u + 7u);
  EXPECT_EQ(made.after.switches, 0u);
}

// -- settings ------------------------------------------------------------------------------------------------------------------------

uint32_t number_of(const setting_values& settings, const std::string& key) {
  for (const auto& [name, value] : settings)
    if (name == key) return static_cast<uint32_t>(std::stoul(value));
  return 0;
}

/// Lost updates, with so many actors and steps, that show only with three actors or more.
run_one with_three(const setting_values& settings) {
  const uint32_t actors = number_of(settings, "actors");
  return [actors, inner = lost_update(actors, number_of(settings, "padding"))](choice_source& choices, bool explain) {
    run_result result = inner(choices, explain);
    if (actors < 3) result.outcome = verdict::ok;
    return result;
  };
}

TEST(shrink, settings_become_as_small_as_the_failure_allows) {
  const setting_values settings = {{"actors", "9"}, {"fixed", "no"}, {"padding", "16"}};
  const run_one run = with_three(settings);
  const trace recorded = found(run, 1, settings);
  shrink_options options;
  options.reducibles = {{.key = "actors", .minimum = 1}, {.key = "padding", .minimum = 0, .allowed = {2, 4, 8, 16}}};
  options.with_settings = with_three;
  const shrunk made = shrink(recorded, run, options);
  EXPECT_EQ(made.smallest.parameters, (setting_values{{"actors", "3"}, {"fixed", "no"}, {"padding", "2"}}));
  EXPECT_EQ(made.changed, (std::vector<changed_setting>{{"actors", "9", "3"}, {"padding", "16", "2"}}));
  expect_strict(made, with_three(made.smallest.parameters));
  EXPECT_EQ(made.after.steps, 8u);
}

TEST(shrink, a_program_that_is_far_too_large_becomes_small_in_few_runs) {
  const setting_values settings = {{"actors", "40"}, {"padding", "400"}};
  const run_one run = with_three(settings);
  const trace recorded = found(run, 1, settings);
  shrink_options options;
  options.runs_max = 1'000;  // each of some 16,000 steps counts as four
  options.reducibles = {{.key = "actors", .minimum = 1}, {.key = "padding", .minimum = 2}};
  options.with_settings = with_three;
  const shrunk made = shrink(recorded, run, options);
  EXPECT_EQ(made.smallest.parameters, (setting_values{{"actors", "3"}, {"padding", "2"}}));
  EXPECT_GT(made.before.steps, 10'000u);
  EXPECT_LE(made.after.steps, 12u);
  expect_strict(made, with_three(made.smallest.parameters));
}

TEST(shrink, settings_that_go_together_become_less_together) {
  const setting_values settings = {{"actors", "32"}, {"padding", "16"}};
  // With others than twice as many actors as padding there is no failure.
  const auto in_step = [](const setting_values& tried) -> run_one {
    const run_one run = with_three(tried);
    const bool fails = number_of(tried, "actors") == 2 * number_of(tried, "padding");
    return [run, fails](choice_source& choices, bool explain) {
      run_result result = run(choices, explain);
      if (!fails) result.outcome = verdict::ok;
      return result;
    };
  };
  const trace recorded = found(in_step(settings), 1, settings);
  shrink_options options;
  options.reducibles = {{.key = "actors", .minimum = 1}, {.key = "padding", .minimum = 1}};
  options.with_settings = in_step;
  EXPECT_EQ(shrink(recorded, in_step(settings), options).smallest.parameters,
            (setting_values{{"actors", "4"}, {"padding", "2"}}));
}

TEST(shrink, settings_under_which_the_program_means_another_bug_are_not_taken) {
  const setting_values settings = {{"actors", "8"}, {"padding", "3"}};
  const trace recorded = found(with_three(settings), 1, settings);
  shrink_options options;
  options.reducibles = {{.key = "actors", .minimum = 1}};
  options.with_settings = [](const setting_values& tried) {
    return number_of(tried, "actors") < 5 ? run_one() : with_three(tried);
  };
  EXPECT_EQ(number_of(shrink(recorded, with_three(settings), options).smallest.parameters, "actors"), 5u);
}

// -- what is the same failure ------------------------------------------------------------------------------------------------------

/// Actor 0 waits for ever with the one that comes first of the others; the later one comes, the more steps the run has.
run_one hang_of_two(bool says_who) {
  return [says_who](choice_source& choices, bool) {
    toy_machine machine(choices);
    std::vector<uint32_t> left = {0, 2, 7};
    machine.play(
        3, [&](uint32_t actor) { return left[actor] != 0; },
        [&](uint32_t actor) {
          if (--left[actor] != 0) return false;
          machine.fail(verdict::deadlock, "toy:4");
          if (says_who) machine.result.waiting = {"wave 0 lane 0", "wave " + std::to_string(actor) + " lane 0"};
          return true;
        });
    return machine.ended();
  };
}

TEST(shrink, of_a_hang_the_same_actors_wait) {
  trace recorded;
  const run_one says = hang_of_two(true);
  std::vector<std::string> waiting;
  for (uint64_t seed = 1; waiting != std::vector<std::string>{"wave 0 lane 0", "wave 2 lane 0"}; ++seed) {
    recorded = found(says, seed);
    waiting = run_again(recorded, says, false).result.waiting;
  }
  const shrunk made = shrink(recorded, says, {});
  expect_strict(made, says);
  EXPECT_EQ(made.after.steps, 7u);
  EXPECT_EQ(run_again(made.smallest, says, false).result.waiting, waiting);
  // Where it is not said which actors wait, all hangs are the same.
  EXPECT_EQ(shrink(recorded, hang_of_two(false), {}).after.steps, 2u);
}

// -- limits --------------------------------------------------------------------------------------------------------------------------

TEST(shrink, what_is_left_undone_is_said_and_never_larger) {
  const run_one run = lost_update(6, 20);
  const trace recorded = found(run);
  for (const uint64_t runs : {1u, 2u, 5u, 20u, 100u}) {
    const shrunk made = shrink(recorded, run, {.runs_max = runs});
    expect_strict(made, run);
    EXPECT_FALSE(made.finished) << runs;
  }
}

TEST(shrink, stops_when_told_and_keeps_what_it_has) {
  const run_one run = lost_update(6, 20);
  const trace recorded = found(run);
  std::atomic<bool> stop = false;
  uint64_t runs = 0;
  const run_one counted = [&](choice_source& choices, bool explain) {
    if (++runs == 3000) stop = true;
    return run(choices, explain);
  };
  const shrunk made = shrink(recorded, counted, {.runs_max = 1'000'000, .stop = &stop});
  expect_strict(made, run);
  EXPECT_LE(made.runs, 3001u);
  EXPECT_FALSE(made.finished);
  EXPECT_LT(made.after.steps, made.before.steps);
}

TEST(shrink, a_run_that_was_no_failure_or_cannot_be_repeated_is_refused) {
  const run_one run = lost_update(2, 1);
  trace recorded = found(run);
  recorded.steps += 1;
  shrunk made = shrink(recorded, run, {});
  EXPECT_NE(made.error.find("not the recorded run"), std::string::npos) << made.error;
  EXPECT_EQ(made.smallest, recorded);
  recorded.outcome = verdict::ok;
  EXPECT_NE(shrink(recorded, run, {}).error.find("nothing to shrink"), std::string::npos);
  recorded.outcome = verdict::budget;
  EXPECT_NE(shrink(recorded, run, {}).error.find("nothing to shrink"), std::string::npos);
}

// -- Which choices of a run decided, on programs of which that is known.

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

/// How a run with these answers ends.
verdict outcome_of(const std::vector<answer>& answers, const run_one& run) {
  replay_strategy replayed(answers);
  choice_source choices;
  choices.begin(replayed, 0);
  const run_result ended = run(choices, false);
  EXPECT_EQ(replayed.disagreement(), "");
  return ended.outcome;
}

TEST(deciding, a_passing_run_parts_from_the_failing_one_at_the_choice_after_which_none_passes) {
  const run_one run = asking_three([](uint32_t a, uint32_t b, uint32_t) { return a == 2 && b == 1; });
  const trace failing = answered(2, 1, 1);
  const std::vector<answer> passing = find_deciding(failing, run).passing;
  ASSERT_EQ(passing.size(), 3u);
  EXPECT_EQ(passing[0], failing.answers[0]);
  EXPECT_EQ(passing[1].picked, 0u) << "with the second answer it fails whatever comes";
  EXPECT_EQ(outcome_of(passing, run), verdict::ok);
  EXPECT_EQ(outcome_of(failing.answers, run), verdict::assertion);

  trace turns;
  turns.outcome = verdict::assertion;
  for (const uint32_t actor : {0u, 1u, 0u, 1u, 1u})
    turns.answers.push_back({.kind = choice_kind::actor, .count = 2, .picked = actor});
  const std::vector<answer> other = find_deciding(turns, two_actors).passing;
  ASSERT_GE(other.size(), 2u);
  EXPECT_EQ(other[0].picked, 0u);
  EXPECT_EQ(other[1].picked, 0u);
  EXPECT_EQ(outcome_of(other, two_actors), verdict::ok);
}

TEST(deciding, there_is_no_passing_run_where_each_fails) {
  EXPECT_TRUE(find_deciding(answered(2, 1, 1), asking_three([](auto...) { return true; })).passing.empty());
  // It ends otherwise, but not well.
  const run_one never_well = [](choice_source& choices, bool) {
    run_result ended;
    ended.outcome = choices.pick(2, choice_kind::visible) == 1 ? verdict::assertion : verdict::deadlock;
    return ended;
  };
  trace failing;
  failing.outcome = verdict::assertion;
  failing.answers = {{.kind = choice_kind::visible, .count = 2, .picked = 1}};
  EXPECT_TRUE(find_deciding(failing, never_well).passing.empty());
}

TEST(deciding, makes_no_more_runs_than_it_may) {
  const auto found =
      find_deciding(answered(2, 1, 1), asking_three([](uint32_t a, uint32_t b, uint32_t) { return a == 2 && b == 1; }),
                    {.runs_max = 2});
  EXPECT_LE(found.runs, 3u);
}

}  // namespace
}  // namespace heddle::scheduler
