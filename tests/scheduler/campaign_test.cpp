#include <heddle/scheduler/campaign.h>
#include <heddle/scheduler/parameters.h>
#include <heddle/scheduler/random.h>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

namespace heddle::scheduler {
namespace {

/// A program of ten choices: fails at "a" when the first two picks are equal, else at "b" when the first is 0.
run_result program(choice_source& choices, bool explain) {
  run_result ended;
  std::vector<uint32_t> picks;
  for (int turn = 0; turn < 10; ++turn) {
    picks.push_back(choices.pick(4, choice_kind::actor));
    if (picks.back() == no_answer) return ended;
    ended.digest = ended.digest * 5 + picks.back();
  }
  ended.steps = 10;
  if (picks[0] == picks[1]) {
    ended.outcome = verdict::deadlock;
    ended.where = "a";
  } else if (picks[0] == 0) {
    ended.outcome = verdict::race;
    ended.where = "b";
  }
  if (explain) ended.report = "explained";
  return ended;
}

TEST(campaign, groups_findings_and_keeps_the_first_of_each) {
  random_strategy deciding;
  const campaign_result result =
      run_campaign({.first_seed = 1, .schedules = 500, .header = {.scenario = "x"}}, deciding, program);
  EXPECT_EQ(result.schedules, 500u);
  EXPECT_EQ(result.steps, 5'000u);
  EXPECT_EQ(result.choices, 5'000u);
  ASSERT_EQ(result.findings.size(), 2u);
  uint64_t found = 0;
  for (const finding& each : result.findings) {
    EXPECT_EQ(each.not_reproducible, "");
    EXPECT_EQ(each.report, "explained");
    EXPECT_EQ(each.first.scenario, "x");
    EXPECT_EQ(each.first.answers.size(), 10u);
    found += each.count;
    const replay_result again = run_again(each.first, program, false);
    EXPECT_EQ(again.disagreement, "");
    EXPECT_EQ(again.result.where, each.first.where);
  }
  EXPECT_GT(found, 150u);  // 7/16 of 500 are expected
  EXPECT_LT(found, 290u);
}

TEST(campaign, a_repetition_that_is_stopped_has_repeated_nothing) {
  random_strategy deciding;
  const campaign_result result = run_campaign({.first_seed = 1, .schedules = 100}, deciding, program);
  ASSERT_FALSE(result.findings.empty());
  const auto stopped = [](choice_source& choices, bool explain) {
    run_result ended = program(choices, explain);
    ended.abandoned = true;
    return ended;
  };
  EXPECT_EQ(run_again(result.findings.front().first, stopped, false).disagreement,
            "the run that was to repeat it was stopped before its end");
}

TEST(campaign, a_single_seed_repeats_a_run_of_a_longer_one) {
  random_strategy deciding;
  const campaign_result all = run_campaign({.first_seed = 1, .schedules = 100}, deciding, program);
  for (const finding& each : all.findings) {
    const campaign_result one = run_campaign({.first_seed = each.first.seed, .schedules = 1}, deciding, program);
    ASSERT_EQ(one.findings.size(), 1u);
    EXPECT_EQ(one.findings.front().first, each.first);
  }
}

TEST(campaign, the_digest_is_that_of_the_seeds_and_their_runs) {
  random_strategy deciding;
  const auto digest_of = [&](uint64_t seed, uint64_t schedules) {
    return run_campaign({.first_seed = seed, .schedules = schedules}, deciding, program).digest;
  };
  EXPECT_EQ(digest_of(1, 50), digest_of(1, 50));
  EXPECT_NE(digest_of(1, 50), digest_of(1, 51));
  EXPECT_NE(digest_of(1, 50), digest_of(2, 50));
}

TEST(campaign, parts_add_up_to_the_whole_in_any_order) {
  random_strategy deciding;
  const campaign_result whole = run_campaign({.first_seed = 1, .schedules = 100}, deciding, program);
  ASSERT_EQ(whole.findings.size(), 2u);
  const std::vector<std::pair<uint64_t, uint64_t>> pieces = {{1, 10}, {11, 1}, {12, 60}, {72, 29}};
  for (const auto& order : {std::vector<size_t>{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}}) {
    campaign_result sum;
    for (const size_t at : order)
      sum.add(run_campaign({.first_seed = pieces[at].first, .schedules = pieces[at].second}, deciding, program));
    EXPECT_EQ(sum.schedules, whole.schedules);
    EXPECT_EQ(sum.steps, whole.steps);
    EXPECT_EQ(sum.choices, whole.choices);
    EXPECT_EQ(sum.digest, whole.digest);
    ASSERT_EQ(sum.findings.size(), whole.findings.size());
    for (size_t index = 0; index < whole.findings.size(); ++index) {
      EXPECT_EQ(sum.findings[index].first, whole.findings[index].first);
      EXPECT_EQ(sum.findings[index].count, whole.findings[index].count);
    }
  }
}

TEST(campaign, hangs_at_one_place_are_grouped_by_who_waits) {
  // Answers 0 and 1 are one hang, whichever actor waits; 2 is another at the same place.
  const run_one hanging = [](choice_source& choices, bool) {
    const uint32_t which = choices.pick(3, choice_kind::actor);
    run_result made{.outcome = verdict::deadlock, .where = "toy:1"};
    made.waiting = {"wave " + std::to_string(which) + " lane 0"};
    made.hang = which < 2 ? "wave" : "host server, wave";
    made.digest = which;
    return made;
  };
  random_strategy deciding;
  const campaign_result whole = run_campaign({.first_seed = 1, .schedules = 100}, deciding, hanging);
  ASSERT_EQ(whole.findings.size(), 2u);
  EXPECT_EQ(whole.findings[0].count + whole.findings[1].count, 100u);
  EXPECT_NE(whole.findings[0].first.hang, whole.findings[1].first.hang);
  for (const finding& each : whole.findings) {
    EXPECT_EQ(each.not_reproducible, "");
    EXPECT_EQ(from_json(to_json(each.first)).value, each.first);
    EXPECT_EQ(from_token(to_token(each.first)).value, each.first);
  }
  campaign_result sum = run_campaign({.first_seed = 51, .schedules = 50}, deciding, hanging);
  sum.add(run_campaign({.first_seed = 1, .schedules = 50}, deciding, hanging));
  ASSERT_EQ(sum.findings.size(), 2u);
  for (size_t index = 0; index < 2; ++index) {
    EXPECT_EQ(sum.findings[index].first, whole.findings[index].first);
    EXPECT_EQ(sum.findings[index].count, whole.findings[index].count);
  }
}

TEST(campaign, findings_at_one_place_are_grouped_by_message_but_for_numbers) {
  // Answers 0 and 1 are one finding, whichever lane; 2 is another at the same place.
  const run_one broken = [](choice_source& choices, bool) {
    const uint32_t which = choices.pick(3, choice_kind::actor);
    run_result made{.outcome = verdict::protocol, .where = "toy:1"};
    made.message = which < 2 ? "lane " + std::to_string(which) + " opened twice" : "an answer without a request";
    made.digest = which;
    return made;
  };
  random_strategy deciding;
  const campaign_result whole = run_campaign({.first_seed = 1, .schedules = 100}, deciding, broken);
  ASSERT_EQ(whole.findings.size(), 2u);
  EXPECT_EQ(whole.findings[0].count + whole.findings[1].count, 100u);
  EXPECT_NE(whole.findings[0].message, whole.findings[1].message);
  for (const finding& each : whole.findings) {
    EXPECT_EQ(each.first.gist, gist_of(each.message));
    EXPECT_EQ(from_json(to_json(each.first)).value, each.first);
    EXPECT_EQ(from_token(to_token(each.first)).value, each.first);
  }
}

TEST(campaign, the_gist_of_a_message_has_no_numbers_and_no_addresses) {
  EXPECT_EQ(
      gist_of("plain store of ring+0x8 (4 bytes) by wave 0 lane 12 is not ordered after a plain load by host main"),
      gist_of("plain store of ring+0x10 (8 bytes) by wave 3 lane 0 is not ordered after a plain load by host main"));
  EXPECT_EQ(gist_of("a load of 0x7fff1234abcd"), gist_of("a load of 0x5"));
  EXPECT_EQ(gist_of("no end after 40,000 steps"), gist_of("no end after 2 steps"));
  EXPECT_EQ(gist_of("host server #2 waits"), gist_of("host server waits"));
  EXPECT_EQ(gist_of("by wave 1 lanes 0, 2-3"), gist_of("by wave 0 lane 1"));
  EXPECT_EQ(gist_of("ring2 of utf8"), "ring2 of utf8") << "numbers in names are names";
  EXPECT_NE(gist_of("a slot is taken twice"), gist_of("a slot is given back twice"));
  EXPECT_EQ(gist_of(""), "");
}

TEST(campaign, places_of_a_stripped_program_are_offsets) {
  EXPECT_TRUE(is_same_place("ring.cpp:52", "ring.cpp:52"));
  EXPECT_FALSE(is_same_place("ring.cpp:52", "ring.cpp:53"));
  EXPECT_TRUE(is_same_place("ring+0x10940", "ring-stripped+0x10940")) << "a program may have another name";
  EXPECT_FALSE(is_same_place("ring+0x10940", "ring+0x10944"));
  EXPECT_TRUE(is_same_place("ring+0x10940", "ring.cpp:52")) << "no way to tell";
  EXPECT_FALSE(is_same_place("ring+0x10940", ""));
}

TEST(verdict_set, holds_what_it_is_made_of) {
  const verdict_set two = {verdict::race, verdict::deadlock};
  EXPECT_TRUE(two.contains(verdict::race) && two.contains(verdict::deadlock) && !two.contains(verdict::ok));
  EXPECT_EQ(to_string(two), "deadlock or race");
  EXPECT_EQ(to_string(verdict_set(verdict::ok)), "ok");
  EXPECT_TRUE(verdict_set(verdict::memory) == verdict::memory);
  const verdict_set any = verdict_set::any_violation();
  EXPECT_EQ(to_string(any), "any violation");
  for (const verdict none : {verdict::ok, verdict::budget, verdict::stuck, verdict::unsupported})
    EXPECT_FALSE(any.contains(none)) << to_string(none);
  EXPECT_TRUE(any.contains(verdict::crash) && any.contains(verdict::livelock));
}

TEST(campaign, groups_that_are_no_news_are_counted_and_not_explained) {
  random_strategy deciding;
  campaign_options options;
  options.schedules = 100;
  options.is_news = [](const failure& how, uint64_t) { return how.outcome == verdict::race; };
  uint64_t handed_over = 0;
  options.found = [&](const finding& each) {
    EXPECT_EQ(each.first.outcome, verdict::race);
    return ++handed_over == 1;
  };
  const campaign_result result = run_campaign(options, deciding, program);
  EXPECT_EQ(handed_over, 1u);
  ASSERT_EQ(result.findings.size(), 2u);
  for (const finding& each : result.findings) {
    EXPECT_EQ(each.report.empty(), each.first.outcome == verdict::deadlock);
    EXPECT_GT(each.count, 1u);
  }
}

TEST(campaign, stops_at_the_flag_and_after_the_time) {
  random_strategy deciding;
  std::atomic<bool> stop = false;
  campaign_options options;
  options.stop = &stop;
  options.progress = [&](const campaign_result& so_far) { stop = so_far.schedules == 7; };
  const campaign_result by_flag = run_campaign(options, deciding, program);
  EXPECT_EQ(by_flag.schedules, 7u);
  EXPECT_TRUE(by_flag.stopped);

  const campaign_result by_time = run_campaign({.seconds_max = 0.05}, deciding, program);
  EXPECT_GT(by_time.schedules, 1u);
  EXPECT_LT(by_time.seconds, 2.0);
  EXPECT_FALSE(by_time.stopped);
  EXPECT_EQ(run_campaign({.seconds_max = 1e-12}, deciding, program).schedules, 1u);
}

TEST(campaign, each_group_is_handed_over_before_the_next_seed_and_may_stop_the_campaign) {
  random_strategy deciding;
  uint64_t runs = 0;
  uint64_t runs_when_found = 0;
  campaign_options options;
  options.schedules = 500;
  options.found = [&](const finding& each) {
    runs_when_found = runs;
    EXPECT_EQ(each.report, "explained");
    return false;
  };
  const auto counted = [&](choice_source& choices, bool explain) {
    if (!explain) ++runs;
    return program(choices, explain);
  };
  const campaign_result result = run_campaign(options, deciding, counted);
  EXPECT_EQ(runs, runs_when_found);
  EXPECT_EQ(result.findings.size(), 1u);
  EXPECT_TRUE(result.stopped);
}

TEST(campaign, a_finding_that_cannot_be_repeated_is_said_to_be_so) {
  random_strategy deciding;
  uint64_t state = 0;  // what code under test must not do: keep something from one run to the next
  const auto forgetful = [&](choice_source& choices, bool) {
    run_result ended;
    choices.pick(2, choice_kind::actor);
    if (++state == 3) {
      ended.outcome = verdict::assertion;
      ended.where = "c";
    }
    return ended;
  };
  const campaign_result result = run_campaign({.schedules = 5}, deciding, forgetful);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings.front().not_reproducible,
            "every choice agrees, but the run ended with ok instead of assertion at c");
  EXPECT_EQ(result.findings.front().report, "");
}

TEST(campaign, a_repetition_with_another_digest_is_not_the_same_run) {
  random_strategy deciding;
  uint64_t state = 0;
  const auto counting = [&](choice_source& choices, bool) {
    choices.pick(2, choice_kind::actor);
    run_result ended;
    ended.outcome = verdict::race;
    ended.digest = ++state;
    return ended;
  };
  const campaign_result result = run_campaign({.schedules = 2}, deciding, counting);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_NE(result.findings.front().not_reproducible.find("the steps do not"), std::string::npos);
}

// -- behaviours ---------------------------------------------------------------------------------------------------------------------

TEST(behaviours, of_parts_add_up_in_any_order) {
  behaviours whole, first, second;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const uint64_t behaviour = seed % 7 + (seed == 60 ? 100 : 0);
    whole.add(behaviour, seed);
    (seed % 3 == 0 ? first : second).add(behaviour, seed);
  }
  behaviours forth = first, back = second;
  forth.add(second);
  back.add(first);
  for (const behaviours& each : {whole, forth, back}) {
    EXPECT_EQ(each.count(), 8u);
    EXPECT_EQ(each.last_new(), 60u);
    EXPECT_EQ(each.chance_of_new(1, 100), whole.chance_of_new(1, 100));
    EXPECT_FALSE(each.more());
  }
}

TEST(behaviours, of_a_campaign_with_gaps_are_not_said_to_be_old) {
  behaviours seen;
  for (const uint64_t seed : {11U, 12U, 40U}) seen.add(seed, seed);
  EXPECT_EQ(seen.runs_without_news(11, 3), 0u);
  seen.add(12, 41);
  EXPECT_EQ(seen.runs_without_news(11, 31), 1u);
}

TEST(behaviours, beyond_what_is_told_apart_are_said_to_be_there) {
  behaviours many;
  for (uint64_t seed = 1; seed <= behaviours::most; ++seed) many.add(seed, seed);
  EXPECT_FALSE(many.more());
  many.add(1, behaviours::most + 1);
  EXPECT_FALSE(many.more());
  many.add(behaviours::most + 5, behaviours::most + 2);
  EXPECT_TRUE(many.more());
  EXPECT_EQ(many.count(), behaviours::most);
  EXPECT_EQ(many.chance_of_new(1, behaviours::most + 2), 1);
}

// The chance that is told is to be below the true one in one campaign of twenty at most.
TEST(behaviours, that_are_still_to_come_are_bounded) {
  constexpr uint64_t seed = 20261129;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 drawn(seed);
  // Behaviour n has a chance of 2^-(n+1).
  for (const uint64_t runs : {40U, 400U, 4000U}) {
    int below = 0;
    double sum = 0;
    constexpr int campaigns = 400;
    for (int n = 0; n < campaigns; ++n) {
      behaviours seen;
      double unseen = 1;
      for (uint64_t run = 0; run < runs; ++run) {
        const auto behaviour = static_cast<uint64_t>(std::countl_zero(drawn() | 1));
        const uint64_t before = seen.count();
        seen.add(behaviour, 7 + run);
        if (seen.count() != before) unseen -= std::ldexp(1.0, -static_cast<int>(behaviour) - 1);
      }
      const double told = seen.chance_of_new(7, runs);
      below += told < unseen ? 1 : 0;
      sum += told;
    }
    EXPECT_LE(below, campaigns / 20) << runs;
    EXPECT_LT(sum / campaigns, 12.0 / static_cast<double>(runs) + 0.02) << "of use, too: " << runs;
  }
  behaviours each_its_own;
  for (uint64_t run = 1; run <= 100; ++run) each_its_own.add(run, run);
  EXPECT_EQ(each_its_own.chance_of_new(1, 100), 1);
}

}  // namespace
}  // namespace heddle::scheduler

namespace heddle {
namespace {

parameters made() {
  return parameters({parameter::number("waves", 2, 1, 64, "waves", "how many"),
                     parameter::one_of("progress", "fair", {"unfair", "hsa", "fair"}, "what is guaranteed a turn"),
                     parameter::number("offset", 0, -5, 5, "", "may be negative")});
}

TEST(parameters, have_their_defaults_until_they_are_set) {
  parameters set = made();
  EXPECT_EQ(set.number("waves"), 2);
  EXPECT_EQ(set.text("progress"), "fair");
  EXPECT_FALSE(set.set("waves=64"));
  EXPECT_FALSE(set.set("progress=hsa"));
  EXPECT_FALSE(set.set("offset=-5"));
  EXPECT_EQ(set.count("waves"), 64u);
  EXPECT_EQ(set.text("progress"), "hsa");
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"waves", "64"}, {"progress", "hsa"}, {"offset", "-5"}};
  EXPECT_EQ(set.values(), expected);
}

TEST(parameters, a_later_definition_replaces_an_earlier_one_in_place) {
  const parameters set({parameter::number("budget", 1000, 1, 1000000, "steps", ""),
                        parameter::number("waves", 1, 1, 2, "", ""),
                        parameter::number("budget", 50, 1, 100, "steps", "")});
  ASSERT_EQ(set.definitions().size(), 2u);
  EXPECT_EQ(set.definitions().front().key, "budget");
  EXPECT_EQ(set.number("budget"), 50);
  EXPECT_EQ(set.definitions().front().maximum, 100);
}

TEST(parameters, wrong_input_is_one_line_that_says_how_to_mend_it) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"waves", "\"waves\" is no setting; write key=value"},
      {"wave=3", "unknown key \"wave\"; did you mean \"waves\"?"},
      {"colour=red", "unknown key \"colour\"; the keys are waves, progress, offset"},
      {"=3", "unknown key \"\"; the keys are waves, progress, offset"},
      {"waves=65", "\"waves\" cannot be \"65\"; it must be a whole number from 1 to 64 (waves)"},
      {"waves=0", "\"waves\" cannot be \"0\"; it must be a whole number from 1 to 64 (waves)"},
      {"waves=2x", "\"waves\" cannot be \"2x\"; it must be a whole number from 1 to 64 (waves)"},
      {"waves=", "\"waves\" cannot be \"\"; it must be a whole number from 1 to 64 (waves)"},
      {"waves=99999999999999999999",
       "\"waves\" cannot be \"99999999999999999999\"; it must be a whole number from 1 to 64 (waves)"},
      {"offset=6", "\"offset\" cannot be \"6\"; it must be a whole number from -5 to 5"},
      {"progress=has", "\"progress\" cannot be \"has\"; it must be one of unfair, hsa, fair; did you mean \"hsa\"?"},
      {"progress=4", "\"progress\" cannot be \"4\"; it must be one of unfair, hsa, fair"},
      {"a\nb=1", "unknown key \"a?b\"; the keys are waves, progress, offset"},
  };
  for (const auto& [assignment, expected] : wrong) {
    parameters set = made();
    EXPECT_EQ(set.set(assignment), expected);
    EXPECT_EQ(set.values(), made().values()) << "a wrong assignment changes nothing";
  }
}

TEST(parameters_death, mistakes_of_the_program_end_it_with_a_message) {
  EXPECT_DEATH(made().number("colour"), "\"colour\" is not defined");
  EXPECT_DEATH(made().number("progress"), "\"progress\" is no number");
  EXPECT_DEATH(made().text("waves"), "\"waves\" is no text");
  EXPECT_DEATH(parameters({parameter::number("waves", 0, 1, 2, "", "")}), "default outside its range");
}

TEST(nearest, takes_what_was_probably_meant) {
  const std::vector<std::string> known = {"waves", "lanes", "port.echo", "zoo.crossed-calls"};
  EXPECT_EQ(nearest("wave", known), "waves");
  EXPECT_EQ(nearest("wvaes", known), "waves");
  EXPECT_EQ(nearest("port.ecko", known), "port.echo");
  EXPECT_EQ(nearest("crossed", known), "zoo.crossed-calls");
  EXPECT_EQ(nearest("colour", known), "");
  EXPECT_EQ(nearest("", known), "");
  EXPECT_EQ(nearest(std::string(100'000, 'a'), known), "");
}

}  // namespace
}  // namespace heddle
