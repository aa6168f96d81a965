// Two steps that touch nothing in common: the second order of them is not run, and nothing is found that would not be found else.
#include <heddle/sim/base/state_key.h>
#include <heddle/sim/code/thread_locals.h>
#include <heddle/sim/verify/diamonds.h>
#include <heddle/sim/verify/run_state.h>

#include <algorithm>
#include <deque>

#include "explored.h"
#include "random_program.h"

// As of a program: those of the namespace are heddle's.
thread_local uint32_t number_of_a_thread = 0;

namespace heddle::sim::tests {
namespace {

// -- whole searches -----------------------------------------------------------------------------------------------------------------

/// Each lane stores so often to a word of its own, or all to one.
program stores(uint32_t lanes, uint32_t count, bool apart) {
  return [=] {
    device machine;
    auto* const words = machine.allocate_shared<uint32_t>(size_t{16} * lanes, "words");
    machine.launch({.blocks = lanes, .waves = 1, .lanes = 1}, [=] {
      const word<uint32_t> own(words[apart ? 16 * target::block_id() : 0]);
      for (uint32_t n = 0; n < count; ++n) own.store(1 + n, relaxed);
    });
    machine.synchronize();
    machine.free(words);
  };
}

search_options of_steps(bool crosses) {
  search_options made;
  made.cross_steps = crosses;
  // Else what no other lane touches is no step at all.
  made.skip_local = false;
  return made;
}

TEST(search_crossing, leaves_out_runs_and_neither_states_nor_ways) {
  for (const char* const memory : {"fidelity=interleaving", "fidelity=scoped"}) {
    const explored all = explorer_of(stores(3, 4, true), {memory}).all(of_steps(false));
    const explored fewer = explorer_of(stores(3, 4, true), {memory}).all(of_steps(true));
    ASSERT_TRUE(all.search.complete && fewer.search.complete) << memory << all.search.left_out << fewer.search.left_out;
    EXPECT_EQ(fewer.search.states, all.search.states) << memory;
    EXPECT_EQ(fewer.search.transitions, all.search.transitions) << memory;
    EXPECT_LT(fewer.search.runs * 2, all.search.runs) << memory;
  }
}

TEST(search_crossing, runs_both_orders_of_steps_that_meet) {
  const explored all = explorer_of(stores(2, 3, false), {}).all(of_steps(false));
  const explored fewer = explorer_of(stores(2, 3, false), {}).all(of_steps(true));
  ASSERT_TRUE(all.search.complete && fewer.search.complete);
  EXPECT_EQ(fewer.search.states, all.search.states);
  EXPECT_EQ(fewer.search.transitions, all.search.transitions);
  // But for the two ends, each step of one lane meets one of the other.
  EXPECT_GE(fewer.search.runs + 2, all.search.runs);
}

TEST(search_crossing, which_thread_has_run_last_is_no_part_of_a_state) {
  thread_local_values all;
  all.begin_run(true);
  all.begins(1);
  all.begins(2);
  const auto key = [&] {
    key_maker made;
    EXPECT_TRUE(all.visit_state(made));
    return made.key();
  };
  number_of_a_thread = 7;
  all.enter(1);
  number_of_a_thread = 8;
  all.enter(2);
  const state_key second_runs = key();
  all.enter(1);
  EXPECT_EQ(number_of_a_thread, 8u);
  EXPECT_EQ(key(), second_runs);
  all.enter(0);
  EXPECT_EQ(number_of_a_thread, 7u);
  EXPECT_EQ(key(), second_runs);
  all.enter(2);
  number_of_a_thread = 9;
  EXPECT_NE(key(), second_runs) << "what it has stored is";
  all.enter(0);
}

TEST(search_crossing, finds_of_random_programs_what_is_found_without) {
  using with = random_program::with;
  const char* const asked = std::getenv("HEDDLE_PROGRAMS");
  const uint64_t programs = asked == nullptr ? 200 : std::strtoull(asked, nullptr, 10);
  const std::vector<std::string> models = {"fair", "hsa", "obe", "unfair"};
  const uint64_t first = first_program();
  uint64_t compared = 0;
  uint64_t runs = 0;
  uint64_t runs_less = 0;
  uint64_t hangs = 0;
  std::map<verdict, uint64_t> verdicts;
  for (uint64_t seed = first; seed < first + programs; ++seed) {
    random_program tested(seed,
                          seed % 3 == 0   ? with::messages
                          : seed % 3 == 1 ? with::waits
                                          : with::loads_and_stores,
                          seed % 11 == 0);
    std::vector<std::string> settings = {"progress=" + models[seed % 4], seed % 5 == 0 ? "host=weak" : "host=x86",
                                         seed % 7 == 0 ? "races=weigh" : "races=end"};
    if (seed % 8 != 0) settings.insert(settings.end(), {"fidelity=scoped", "late=1000", "history=60"});
    search_options options;
    options.skip_local = seed % 2 == 0;
    options.runs_max = 30'000;
    options.cross_steps = false;
    const auto note = [&] { return tested.left(); };
    const explored all = explorer_of([&] { tested.run(); }, settings, note).all(options);
    if (!all.search.complete) continue;  // too many runs
    ++compared;
    options.cross_steps = true;
    const explored fewer = explorer_of([&] { tested.run(); }, settings, note).all(options);
    ASSERT_TRUE(fewer.search.complete) << fewer.search.left_out << ", program " << seed;
    if (all.verdicts.contains(verdict::race)) {
      // Which of two runs a race ends depends on which state was met first.
      ASSERT_TRUE(fewer.verdicts.contains(verdict::race)) << "program " << seed;
    } else {
      ASSERT_EQ(fewer.notes, all.notes) << "program " << seed;
      ASSERT_EQ(fewer.verdicts, all.verdicts) << "program " << seed;
    }
    for (const verdict each : all.verdicts) ++verdicts[each];
    runs += all.search.runs;
    runs_less += fewer.search.runs;
  }
  hangs = verdicts[verdict::deadlock] + verdicts[verdict::progress];
  std::printf("programs %llu to %llu: %llu compared, %llu runs, %llu where all are made; %llu with races, %llu hang\n",
              static_cast<unsigned long long>(first), static_cast<unsigned long long>(first + programs - 1),
              static_cast<unsigned long long>(compared), static_cast<unsigned long long>(runs_less),
              static_cast<unsigned long long>(runs), static_cast<unsigned long long>(verdicts[verdict::race]),
              static_cast<unsigned long long>(hangs));
  EXPECT_GE(compared, programs / 2);
  EXPECT_LT(runs_less, runs);
  EXPECT_GE(hangs, programs / 50);
}

// -- ways that follow ---------------------------------------------------------------------------------------------------------------

footprint touching(uintptr_t word, bool writes) {
  footprint made;
  made.begin();
  if (writes)
    made.add_write(reinterpret_cast<const void*>(word), 4);
  else
    made.add_read(reinterpret_cast<const void*>(word), 4);
  return made;
}

diamonds::way step(uint32_t lane, uint32_t to) {
  return {.label = 100 + lane, .to = to, .lane = lane, .commutes = true, .lasts = true};
}

/// What follows in a state where three of the four ways are known: lanes 1 and 2 stand in state 0, from where lane 1 has come to 1 and from there lane 2
/// to 2; now lane 2 has come from 0 to 3.
class three_ways {
 public:
  three_ways(diamonds::way one, const footprint& of_one, diamonds::way other, const footprint& of_other) {
    all.push(0, {});
    all.arrive(one, of_one);
    all.push(1, {});
    other.to = 2;
    all.arrive(other, of_other);
    all.pop();
    other.to = 3;
    all.arrive(other, of_other);
  }
  /// Lanes that need no run, and where each of their ways leads.
  uint64_t follow() {
    all.push(3, {});
    return all.follow([&](const diamonds::way& each) { to.push_back(each.to); });
  }
  shared_ways known{64};
  diamonds all{known};
  std::vector<uint32_t> to;
};

TEST(diamonds, the_fourth_way_follows) {
  three_ways known(step(1, 1), touching(0x1000, true), step(2, 0), touching(0x2000, true));
  EXPECT_EQ(known.follow(), uint64_t{1} << 1);
  EXPECT_EQ(known.to, std::vector<uint32_t>{2});
}

TEST(diamonds, reads_of_one_word_touch_nothing_in_common_and_a_write_does) {
  three_ways reads(step(1, 1), touching(0x1000, false), step(2, 0), touching(0x1000, false));
  EXPECT_EQ(reads.follow(), uint64_t{1} << 1);
  three_ways writes(step(1, 1), touching(0x1004, false), step(2, 0), touching(0x1000, true));
  EXPECT_EQ(writes.follow(), 0u);
}

TEST(diamonds, nothing_follows_of_steps_that_do_more_than_touch_memory) {
  diamonds::way one = step(1, 1);
  one.commutes = false;
  three_ways first(one, touching(0x1000, true), step(2, 0), touching(0x2000, true));
  EXPECT_EQ(first.follow(), 0u);
  diamonds::way other = step(2, 0);
  other.commutes = false;
  three_ways second(step(1, 1), touching(0x1000, true), other, touching(0x2000, true));
  EXPECT_EQ(second.follow(), 0u);
}

TEST(diamonds, what_one_thread_of_the_host_reads_another_one_knows) {
  diamonds::way one = step(1, 1);
  diamonds::way other = step(2, 0);
  one.host = other.host = true;
  three_ways alike(one, touching(0x1000, false), other, touching(0x1000, false));
  EXPECT_EQ(alike.follow(), 0u);
  three_ways apart(one, touching(0x1000, false), other, touching(0x2000, false));
  EXPECT_EQ(apart.follow(), uint64_t{1} << 1);
}

TEST(diamonds, nothing_follows_of_a_lane_that_is_gone_through_elsewhere_too) {
  three_ways known(step(1, 1), touching(0x1000, true), step(2, 0), touching(0x2000, true));
  known.all.spoil(0, 1);
  EXPECT_EQ(known.follow(), 0u);
}

TEST(diamonds, each_way_of_a_lane_has_to_follow) {
  diamonds::way value = step(1, 4);
  value.label = 200;
  shared_ways known(64);
  diamonds made(known);
  made.push(0, {});
  made.arrive(step(1, 1), touching(0x1000, false));
  made.push(1, {});
  made.arrive(step(2, 2), touching(0x2000, true));
  made.pop();
  // It leads to a state from where no step of lane 2 is known.
  made.arrive(value, touching(0x1000, false));
  made.arrive(step(2, 3), touching(0x2000, true));
  made.push(3, {});
  std::vector<uint32_t> to;
  EXPECT_EQ(made.follow([&](const diamonds::way& each) { to.push_back(each.to); }), 0u);
  EXPECT_TRUE(to.empty());
}

/// Lanes that need no run behind the way of lane 1 from state 0 to state 3, where `all` finds what lane 2 has done in the states 0 and 1 before.
uint64_t follow_later(diamonds& all) {
  all.push(0, {});
  all.arrive(step(1, 1), touching(0x1000, true));
  all.arrive(step(2, 3), touching(0x2000, true));
  all.push(3, {});
  return all.follow([](const diamonds::way&) {});
}

TEST(diamonds, what_one_copy_of_a_search_has_run_another_one_need_not) {
  shared_ways known(64);
  diamonds one(known);
  diamonds other(known);
  EXPECT_EQ(follow_later(other), 0u);
  other.go_back();
  one.push(1, {});
  one.arrive(step(2, 2), touching(0x2000, true));
  EXPECT_EQ(follow_later(other), uint64_t{1} << 1);
}

TEST(order_of_lanes, what_changes_memory_comes_before_what_looks_at_it_and_the_latest_lane_first) {
  std::deque<lane> lanes(17);
  std::vector<lane*> all;
  for (lane& each : lanes) {
    each.id = static_cast<uint32_t>(all.size());
    each.pending.kind = operation_kind::load;
    all.push_back(&each);
  }
  EXPECT_EQ(order_of_lanes(all), 0u) << "more than have four bits each";
  lanes[0].pending.kind = operation_kind::store;
  lanes[2].pending.kind = operation_kind::read_modify_write;
  EXPECT_EQ(order_of_lanes({&lanes[3], &lanes[0], &lanes[1], &lanes[2]}), 0x2013u);
  lanes[0].pending.kind = operation_kind::synchronize;
  EXPECT_EQ(order_of_lanes({&lanes[3], &lanes[0], &lanes[1], &lanes[2]}), 0x2031u);
  EXPECT_EQ(order_of_lanes({&lanes[1]}), 0u);
}

TEST(shared_ways, many_are_kept) {
  constexpr uint32_t many = 5000;
  shared_ways made(many);
  for (uint32_t n = 0; n < many; ++n) {
    made.keep(n, 7, n + 1);
    made.keep(n, 8, n + 2);
  }
  for (uint32_t n = 0; n < many; ++n) {
    ASSERT_EQ(made.find(n, 7), n + 1);
    ASSERT_EQ(made.find(n, 8), n + 2);
    ASSERT_EQ(made.find(n, 9), shared_ways::none);
  }
  EXPECT_GE(made.bytes(), many * 2 * 16);
  made.clear();
  EXPECT_EQ(made.find(0, 7), shared_ways::none);
  made.keep(1, 7, 3);
  EXPECT_EQ(made.find(1, 7), 3u);
  EXPECT_EQ(made.find(2, 7), shared_ways::none);
}

TEST(shared_ways, a_full_table_finds_what_it_has) {
  shared_ways made(1);
  uint32_t n = 0;
  for (; n < 100000; ++n) made.keep(n, 7, n + 1);
  EXPECT_EQ(made.find(0, 7), 1u);
  EXPECT_EQ(made.find(n - 1, 7), shared_ways::none);
}

}  // namespace
}  // namespace heddle::sim::tests
