// Verdicts on programs that every reader can check, and on the shapes of remote calls.
#include <heddle/tools/litmus/progress_table.h>
#include <heddle/tools/progress/judge/graph.h>
#include <heddle/tools/progress/judge/rpc_shapes.h>

#include "generated.h"
#include "verdicts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>

namespace heddle::judge {
namespace {

TEST(judge, a_program_without_a_loop_ends_under_every_model) {
  // Strong fairness says nothing of `unfair`, under which no thread need step at all.
  EXPECT_EQ(row("T0{0:st m0=1; 1:st m0=2} T1{0:xchg(m0,3)}"), "P/P P/P P/P P/P P/P P/F");
}

TEST(judge, a_thread_that_waits_for_what_never_comes_hangs_under_every_model) {
  EXPECT_EQ(row("T0{0:if ld m0==0 goto 0}"), "F/F F/F F/F F/F F/F F/F");
}

TEST(judge, a_consumer_needs_the_models_that_start_its_producer) {
  EXPECT_EQ(row("T0{0:st m0=1} T1{0:if ld m0==0 goto 0}"), "P/P P/P F/F P/P P/P F/F") << "a lower one";
  EXPECT_EQ(row("T0{0:if ld m0==0 goto 0} T1{0:st m0=1}"), "P/P F/F F/F F/F F/F F/F") << "a higher one";
}

TEST(judge, a_spin_lock_needs_that_who_has_started_goes_on) {
  const std::string locked = "{0:if xchg(m0,1)==1 goto 0; 1:st m0=0}";
  EXPECT_EQ(row("T0" + locked + " T1" + locked), "P/P F/F P/P P/P P/P F/F");
}

TEST(judge, a_barrier_needs_fairness_for_all) {
  EXPECT_EQ(row("T0{0:st m0=1; 1:if ld m1==0 goto 1} T1{0:st m1=1; 1:if ld m0==0 goto 1}"), "P/P F/F F/F F/F F/F F/F");
}

TEST(judge, what_ends_only_if_a_chance_is_taken_at_last_needs_strong_fairness) {
  // T0 must meet a moment at which T1 has just written 1.
  const std::string text = "T0{0:if xchg(m0,0)==0 goto 0} T1{0:st m0=1; 1:st m0=0; 2:if ld m1==0 goto 0}";
  EXPECT_EQ(both(text, fair), "F/F") << "T1 waits for ever";
  EXPECT_EQ(both("T0{0:if xchg(m0,0)==1 goto 0} T1{0:if xchg(m0,1)==0 goto 0}", fair), "F/P");
}

TEST(judge, hsa_obe_and_lobe_differ_once_a_higher_thread_has_started) {
  // T0 waits for T1 only where it has seen T2: then lobe owes T1 a turn, and hsa_obe does not.
  const std::string text = "T0{0:if ld m0==0 goto END; 1:if ld m1==0 goto 1} T1{0:st m1=1} T2{0:st m0=1}";
  EXPECT_EQ(row(text), "P/P F/F F/F F/F P/P F/F");
}

TEST(judge, slots_hold_as_many_as_they_are_and_in_order) {
  const std::string waits_for_higher = "T0{0:if ld m0==0 goto 0} T1{0:st m0=1}";
  EXPECT_EQ(both(waits_for_higher, {rule::slots, 1}), "F/F");
  EXPECT_EQ(both(waits_for_higher, {rule::slots, 2}), "P/P");
  const std::string waits_for_lower = "T0{0:st m0=1} T1{0:if ld m0==0 goto 0}";
  EXPECT_EQ(both(waits_for_lower, {rule::slots, 1}), "P/P");
  // T2 comes in when T1 has ended, beside T0, which waits for it.
  const std::string second_place = "T0{0:if ld m0==0 goto 0} T1{0:st m1=1} T2{0:st m0=1}";
  EXPECT_EQ(both(second_place, {rule::slots, 1}), "F/F");
  EXPECT_EQ(both(second_place, {rule::slots, 2}), "P/P");
  EXPECT_EQ(both(second_place, {rule::slots, 9}), both(second_place, fair));
}

TEST(judge, lockstep_runs_one_arm_and_then_the_other) {
  const std::string text = "T0{0:if ld m0==0 goto 0} T1{0:st m0=1}";
  EXPECT_EQ(both(text, {rule::then_first}), "F/F");
  EXPECT_EQ(both(text, {rule::else_first}), "P/P");
}

// -- the host -----------------------------------------------------------------------------------------------------------------------

TEST(judge, host_threads_are_always_guaranteed_a_turn) {
  for (const model each : {fair, hsa, obe, hsa_obe, lobe}) {
    EXPECT_EQ(both("T0{0:if ld m0==0 goto 0} H0{0:st m0=1}", each), "P/P") << to_string(each);
    EXPECT_EQ(both("H0{0:if ld m0==0 goto 0} H1{0:st m0=1}", each), "P/P") << to_string(each);
  }
}

TEST(judge, a_wave_starts_in_the_end_though_a_host_thread_goes_on_for_ever) {
  const std::string text = "T0{0:st m0=1} H0{0:if ld m0==0 goto 0}";
  for (const model each : {fair, hsa, obe, hsa_obe, lobe}) EXPECT_EQ(both(text, each), "P/P") << to_string(each);
  // One of them; not each.
  EXPECT_EQ(both("T0{0:st m0=1} T1{0:st m1=1; 1:if ld m0==0 goto 1} H0{0:if ld m0==0 goto 0}", obe), "F/F");
  EXPECT_EQ(both("T0{0:st m0=1} T1{0:st m1=1} H0{0:if ld m0==0 goto 0}", obe), "P/P");
}

TEST(judge, a_server_need_not_end_and_a_host_thread_must) {
  EXPECT_EQ(both("T0{0:st m0=1} S0{0:if ld m0==0 goto 0; 1:if ld m0==1 goto 0}", fair), "P/P");
  EXPECT_EQ(both("T0{0:st m0=1} H0{0:if ld m0==0 goto 0; 1:if ld m0==1 goto 0}", fair), "F/F");
}

TEST(judge, remote_calls_need_what_their_shape_says) {
  //                                                    fair hsa obe hsa_obe lobe unfair
  const std::map<std::string, std::string> expected = {
      {"own-ports", "P/P P/P P/P P/P P/P F/F"},        {"shared-port", "P/P F/F P/P P/P P/P F/F"},
      {"shared-port-3", "P/P F/F P/P P/P P/P F/F"},    {"try-lock", "P/P F/F P/P P/P P/P F/F"},
      {"waits-for-higher", "P/P F/F F/F F/F F/F F/F"}, {"waits-for-lower", "P/P P/P F/F P/P P/P F/F"},
      {"barrier", "P/P F/F F/F F/F F/F F/F"},          {"few-places", "P/P F/F F/F F/F F/F F/F"},
      {"helper-kernel", "P/P F/F F/F F/F F/F F/F"},    {"persistent-kernel", "P/P F/F F/F F/F F/F F/F"},
  };
  ASSERT_EQ(rpc_shapes().size(), expected.size());
  for (const rpc_shape& each : rpc_shapes())
    EXPECT_EQ(row(each.program), expected.at(std::string(each.name))) << each.name;
}

TEST(judge, a_server_that_is_no_host_thread_is_not_enough) {
  // The same server as a wave: a call waits for a wave of higher id.
  EXPECT_EQ(row("T0{0:st ask0=1; 1:if ld done0==0 goto 1} T1{0:if xchg(ask0,0)==0 goto 0; 1:st done0=1}"),
            "P/P F/F F/F F/F F/F F/F");
}

TEST(judge, more_ports_or_a_fairer_model_mend_a_shape_and_a_missing_unlock_breaks_it) {
  const std::string server = " S0{0:if xchg(ask0,0)==0 goto 0; 1:if xchg(done0,1)==0 goto 0}";
  const std::string call = "{0:if xchg(lock0,1)==1 goto 0; 1:st ask0=1; 2:if xchg(done0,0)==0 goto 2; 3:st lock0=0}";
  const std::string kept = "{0:if xchg(lock0,1)==1 goto 0; 1:st ask0=1; 2:if xchg(done0,0)==0 goto 2}";
  EXPECT_EQ(both("T0" + call + " T1" + call + server, obe), "P/P");
  EXPECT_EQ(both("T0" + kept + " T1" + kept + server, fair), "F/F");
  EXPECT_EQ(both("T0" + call + " T1" + call + server, {rule::slots, 1}), "P/P");
}

TEST(judge, turns_on_the_device_are_as_good_as_places_for_all) {
  const std::string waits_for_higher = "T0{0:if ld m0==0 goto 0} T1{0:st m0=1}";
  EXPECT_EQ(both(waits_for_higher, {rule::slots, 1}), "F/F");
  EXPECT_EQ(both(waits_for_higher, {rule::turns, 1}), "P/P");
  for (const char* name : {"few-places", "helper-kernel", "persistent-kernel"})
    for (const rpc_shape& shape : rpc_shapes()) {
      if (shape.name != name) continue;
      EXPECT_EQ(both(std::string(shape.program), {rule::slots, 1}), "F/F") << name;
      EXPECT_EQ(both(std::string(shape.program), {rule::turns, 1}), "P/P") << name;
      EXPECT_EQ(both(std::string(shape.program), obe), "F/F") << name;
    }
  // What nothing ends, turns do not end.
  EXPECT_EQ(both("T0{0:if ld m0==0 goto 0} T1{0:if ld m0==0 goto 0}", {rule::turns, 1}), "F/F");
  // In turns of two steps, wave 0 always finds what it has written itself.
  const std::string undone = "T0{0:st m0=1; 1:if ld m0==1 goto 0; 2:st stop=1} T1{0:st m0=2; 1:if ld stop==0 goto 0}";
  EXPECT_EQ(both(undone, {rule::turns, 1, 2}), "F/F");
  EXPECT_EQ(both(undone, {rule::turns, 1, 1}), "P/P");
}

// -- reasons ------------------------------------------------------------------------------------------------------------------------

TEST(judge, says_how_a_program_hangs) {
  examination of(parse("T0{0:if ld m0==0 goto 0} T1{0:st m0=1}"));
  const judgement weak = of.judge(obe, fairness::weak);
  ASSERT_TRUE(weak.why);
  EXPECT_EQ(to_string(of.code(), *weak.why), "after T0:0 (T0 at 0, T1 at 0) for ever T0:0; guaranteed: T0");
  const judgement strong = of.judge(hsa, fairness::strong);
  ASSERT_TRUE(strong.why);
  EXPECT_EQ(to_string(of.code(), *strong.why), "from the start (T0 at 0, T1 at 0) no steps of T0 lead to an end");
  EXPECT_EQ(to_string(of.code(), *of.judge(unfair, fairness::weak).why),
            "after T0:0 (T0 at 0, T1 at 0) for ever T0:0; nothing is guaranteed a step");
  EXPECT_FALSE(of.judge(fair, fairness::weak).why);
}

TEST(judge, each_weak_hang_of_a_shape_can_be_played) {
  for (const rpc_shape& shape : rpc_shapes()) {
    examination of(parse(shape.program));
    for (const model each : open_models()) {
      const judgement judged = of.judge(each, fairness::weak);
      EXPECT_EQ(judged.ends, !judged.why.has_value());
      if (judged.why) replayed(of.code()).check(each, *judged.why);
    }
  }
}

TEST(judge, too_many_states_are_refused) {
  const program code = parse("T0{0:st m0=1; 1:st m0=2} T1{0:st m1=1; 1:st m1=2}");
  EXPECT_EQ(examination(code, 9).states(), 9u);
  try {
    const examination too_small(code, 8);
    FAIL() << too_small.states();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "program: it has more than 8 states; use fewer threads, steps or values");
  }
}

// -- Programs that can be read, and what is said of those that cannot.

std::string refusal(const std::string& text) {
  try {
    parse(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(program, is_printed_as_it_was_read) {
  for (const std::string text : {
           "T0{0:st m0=1}",
           "T0{0:st m0=1; 1:if ld m0==0 goto 0} T1{0:if xchg(m1,255)==1 goto END; 1:xchg(m0,2)}",
           "H0{0:if ld flag==1 goto END; 1:if ld flag==0 goto 1} T0{0:st flag=1} S0{0:if xchg(ask0,0)==0 goto 0}",
       })
    EXPECT_EQ(to_string(parse(text)), text);
  EXPECT_EQ(to_string(parse(" T0 { 0 : st  a_b=1 ;1:if xchg( a_b , 2 )== 3 goto 0 }\n T1{0:xchg(a_b,0)}")),
            "T0{0:st a_b=1; 1:if xchg(a_b,2)==3 goto 0} T1{0:xchg(a_b,0)}");
}

TEST(program, has_threads_of_three_kinds) {
  const program code = parse("T0{0:st x=1} H0{0:st y=2} S0{0:st x=3} T1{0:st z=4}");
  ASSERT_EQ(code.threads.size(), 4u);
  EXPECT_EQ(code.threads[1].kind, thread_kind::host);
  EXPECT_EQ(code.threads[2].kind, thread_kind::server);
  EXPECT_EQ(code.threads[3].name(), "T1");
  EXPECT_EQ(code.locations, (std::vector<std::string>{"x", "y", "z"}));
  EXPECT_EQ(waves_of(code), 0b1001u);
}

TEST(program, steps_do_what_they_say) {
  const program code = parse("T0{0:st m=3; 1:if ld m==3 goto 3; 2:st m=9; 3:if xchg(m,5)==4 goto 0; 4:xchg(m,6)}");
  state at = first_state(code);
  std::string seen;
  while (!is_final(code, at)) {
    at = stepped(code, at, 0);
    seen += to_string(code, at) + "; ";
  }
  EXPECT_EQ(seen, "T0 at 1, m=3; T0 at 3, m=3; T0 at 4, m=5; T0 at END, m=6; ");
}

TEST(program, malformed_ones_are_refused_with_where_and_how_to_mend_them) {
  EXPECT_EQ(refusal("T0{0:st m0=1}"), "");
  EXPECT_EQ(refusal("  "), "program: it is empty; write a thread, such as T0{0:st m0=1}");
  EXPECT_EQ(refusal("W0{0:st m0=1}"),
            "program: a thread, which begins with T (wave), H (host thread) or S (server), must stand before "
            "\"W0{0:st m0=1}\"");
  EXPECT_EQ(refusal("T0{0:st m0=1} T2{0:st m0=1}"),
            "program: the thread T2 must be T1: threads of a kind are numbered 0, 1, ... in their order");
  EXPECT_EQ(refusal("T{0:st m0=1}"), "program: the number of the thread T must stand before \"{0:st m0=1}\"");
  EXPECT_EQ(refusal("T0{0:st m0=1"), "program: T0, step 0: \"}\" is missing at the end");
  EXPECT_EQ(refusal("T0{}"), "program: T0: the number of step 0 must stand before \"}\"");
  EXPECT_EQ(refusal("T0{1:st m0=1}"), "program: T0: step 1 must be 0: steps are numbered 0, 1, ... in their order");
  EXPECT_EQ(refusal("T0{0:load m0}"),
            "program: T0, step 0: a step (\"st\", \"xchg\", \"if ld\" or \"if xchg\") must stand before \"load m0}\"");
  EXPECT_EQ(refusal("T0{0:store m0=1}"),
            "program: T0, step 0: a step (\"st\", \"xchg\", \"if ld\" or \"if xchg\") must stand before "
            "\"store m0=1}\"");
  EXPECT_EQ(refusal("T0{0:st m0=1; 1:if st m0==1 goto 0}"),
            "program: T0, step 1: \"ld\" or \"xchg\" must stand before \"st m0==1 goto 0}\"");
  EXPECT_EQ(refusal("T0{0:st M0=1}"),
            "program: T0, step 0: a location, a lower-case word such as m0, must stand before \"M0=1}\"");
  EXPECT_EQ(refusal("T0{0:st m0=256}"), "program: T0, step 0: the value 256 is too large; the largest is 255");
  EXPECT_EQ(refusal("T0{0:st m0=99999999}"), "program: T0, step 0: the number at \"99999999}\" is too large");
  EXPECT_EQ(refusal("T0{0:st m0=1} T1{0:st m0=1; 1:if ld m0==0 goto 2}"),
            "program: T1, step 1: goes to step 2, which is not there; the steps are 0 to 1, and END");
  EXPECT_EQ(refusal("T0{0:if ld m0=0 goto 0}"), "program: T0, step 0: \"==\" must stand before \"=0 goto 0}\"");
  EXPECT_EQ(refusal("T0{0:if ld m0==0 go 0}"), "program: T0, step 0: \"goto\" must stand before \"go 0}\"");
  EXPECT_EQ(refusal("T0{0:st m0=\n1x}"), "program: T0, step 0: \"}\" must stand before \"x}\"");
}

TEST(program, too_much_of_it_is_refused) {
  std::string threads, steps, locations;
  for (uint32_t n = 0; n <= threads_max; ++n) threads += "T" + std::to_string(n) + "{0:st m=1} ";
  for (uint32_t n = 0; n <= steps_max; ++n) steps += (n == 0 ? "" : ";") + std::to_string(n) + ":st m=1";
  for (uint32_t n = 0; n <= locations_max; ++n)
    locations += (n == 0 ? "" : ";") + std::to_string(n) + ":st m" + std::to_string(n) + "=1";
  EXPECT_EQ(refusal(threads), "program: more than 32 threads; leave some out");
  EXPECT_EQ(refusal("T0{" + steps + "}"), "program: T0, step 253: more than 254 steps; make it shorter");
  EXPECT_EQ(refusal("T0{" + locations + "}"), "program: T0, step 64: more than 64 locations; use fewer");
  std::string most = steps.substr(0, steps.rfind(';'));
  EXPECT_EQ(refusal("T0{" + most + "}"), "");
}

// -- The published verdicts on programs of two threads: all of them, and each hang played.

class published : public testing::Test {
 protected:
  void SetUp() override {
    const std::string file = LITMUS_PROGRESS;
    if (!std::filesystem::exists(file)) GTEST_SKIP() << "there is no " << file;
    std::ifstream stream(file, std::ios::binary);
    read_tests = litmus::progress_tests_of(
        litmus::csv_table("progress_2threads.csv", std::string{std::istreambuf_iterator<char>(stream), {}}));
  }

  std::vector<litmus::progress_test> read_tests;
};

TEST_F(published, all_verdicts_of_the_models_and_of_lockstep_are_found_again) {
  size_t equal = 0, of_models = 0, of_lockstep = 0, of_slots = 0;
  for (const litmus::progress_test& each : read_tests) {
    const litmus::progress_result result = litmus::judge_progress(each);
    for (size_t n = 0; n < each.published.size(); ++n) {
      const rule is = each.published[n].under.is;
      ++(is == rule::then_first ? of_lockstep : is == rule::slots ? of_slots : of_models);
      equal += result.equal(each, n) ? 1 : 0;
    }
    EXPECT_TRUE(result.ok(each)) << each.name;
  }
  EXPECT_EQ(of_models, 3'570u);
  EXPECT_EQ(of_lockstep, 357u);
  EXPECT_EQ(of_slots, 357u);
  EXPECT_EQ(equal, 3'570u + 2 * 357u);
}

TEST_F(published, each_weak_hang_can_be_played) {
  size_t hangs = 0;
  for (const litmus::progress_test& each : read_tests) {
    examination of(each.code);
    for (const model under : open_models()) {
      const judgement judged = of.judge(under, fairness::weak);
      if (!judged.why) continue;
      ++hangs;
      replayed(of.code()).check(under, *judged.why);
    }
  }
  EXPECT_GT(hangs, 1'000u);
}

TEST_F(published, the_other_arm_first_is_another_machine_and_two_slots_are_fair) {
  size_t as_then_first = 0;
  for (const litmus::progress_test& each : read_tests) {
    examination of(each.code);
    as_then_first += both(of, {rule::then_first}) == both(of, {rule::else_first}) ? 1 : 0;
    EXPECT_EQ(both(of, {rule::slots, 2}), both(of, fair)) << each.name;
  }
  EXPECT_EQ(as_then_first, 193u);
}

// -- Programs of three threads, drawn at random from the grammar: what must hold between the models, on each of them.

constexpr uint64_t programs = 2'000;

/// What must hold between the verdicts of any program.
void expect_hierarchy(examination& of) {
  const auto implies = [&](model weaker, model stronger, fairness how) {
    EXPECT_TRUE(!ends(of, weaker, how) || ends(of, stronger, how))
        << to_string(of.code()) << " ends under " << to_string(weaker) << ", not under " << to_string(stronger) << ", "
        << to_string(how);
  };
  for (const fairness how : all_fairness) {
    implies(unfair, hsa, how);
    implies(unfair, obe, how);
    implies(hsa, hsa_obe, how);
    implies(obe, hsa_obe, how);
    implies(hsa_obe, lobe, how);
    implies(lobe, fair, how);
  }
  // With turns of a length that is fixed, not each step that could be taken again and again is.
  implies(fair, {rule::turns, 1}, fairness::weak);
  implies(fair, {rule::turns, 2}, fairness::weak);
  for (const fairness how : all_fairness)
    EXPECT_EQ(ends(of, {rule::turns, threads_max}, how), ends(of, fair, how)) << to_string(of.code());
  // Weak passes are strong ones, but under `unfair`, where no step of a wave leads anywhere by right.
  for (const model each : open_models()) {
    if (each == unfair) continue;
    EXPECT_TRUE(!ends(of, each, fairness::weak) || ends(of, each, fairness::strong))
        << to_string(of.code()) << ", " << to_string(each);
  }
}

TEST(generated, models_are_ordered_by_strength_on_every_program) {
  generator all(1);
  for (uint64_t n = 0; n < programs; ++n) {
    examination of(parse(all.next(false)));
    expect_hierarchy(of);
  }
}

TEST(generated, and_so_they_are_beside_a_host_thread) {
  generator all(2);
  for (uint64_t n = 0; n < programs; ++n) {
    examination of(parse(all.next(true)));
    expect_hierarchy(of);
  }
}

TEST(generated, each_model_differs_from_its_neighbours_on_some_program) {
  generator all(1);
  const std::vector<std::pair<model, model>> pairs = {{unfair, hsa},  {unfair, obe},  {hsa, obe},      {obe, hsa},
                                                      {hsa, hsa_obe}, {obe, hsa_obe}, {hsa_obe, lobe}, {lobe, fair}};
  // By fairness and pair: programs that end under the second and may hang under the first.
  std::array<std::vector<size_t>, 2> separated = {std::vector<size_t>(pairs.size()), std::vector<size_t>(pairs.size())};
  for (uint64_t n = 0; n < programs; ++n) {
    examination of(parse(all.next(false)));
    for (const fairness how : all_fairness)
      for (size_t pair = 0; pair < pairs.size(); ++pair)
        separated[static_cast<size_t>(how)][pair] +=
            !ends(of, pairs[pair].first, how) && ends(of, pairs[pair].second, how) ? 1 : 0;
  }
  for (const fairness how : all_fairness)
    for (size_t pair = 0; pair < pairs.size(); ++pair) {
      const std::string name = to_string(pairs[pair].first) + " < " + to_string(pairs[pair].second);
      RecordProperty(name + ", " + to_string(how), static_cast<int>(separated[static_cast<size_t>(how)][pair]));
      EXPECT_GT(separated[static_cast<size_t>(how)][pair], 0u) << name << ", " << to_string(how);
    }
}

TEST(generated, each_weak_hang_can_be_played) {
  for (const bool host : {false, true}) {
    generator all(3);
    for (uint64_t n = 0; n < programs / 2; ++n) {
      examination of(parse(all.next(host)));
      for (const model each : open_models()) {
        const judgement judged = of.judge(each, fairness::weak);
        if (judged.why) replayed(of.code()).check(each, *judged.why);
        if (HasFailure()) FAIL() << to_string(of.code()) << ", " << to_string(each);
      }
    }
  }
}

TEST(generated, as_many_slots_as_threads_are_fair_and_one_is_lockstep) {
  generator all(4);
  for (uint64_t n = 0; n < programs / 4; ++n) {
    examination of(parse(all.next(n % 2 == 0)));
    EXPECT_EQ(both(of, {rule::slots, 3}), both(of, fair)) << to_string(of.code());
    EXPECT_EQ(both(of, {rule::slots, 1}), both(of, {rule::then_first})) << to_string(of.code());
  }
}

}  // namespace
}  // namespace heddle::judge
