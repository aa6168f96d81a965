// Verdicts on programs that every reader can check, and on the shapes of remote calls.
#include <heddle/tools/progress/judge/rpc_shapes.h>

#include <map>
#include <stdexcept>

#include "verdicts.h"

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
      {"barrier", "P/P F/F F/F F/F F/F F/F"},
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
            "after T0:0 (T0 at 0, T1 at 0) for ever T0:0; nobody is guaranteed a step");
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

}  // namespace
}  // namespace heddle::judge
