// Lanes that take their next step together: what stays together, what is parted and how often, and that nothing is seen that lanes on their
// own could not do.
#include "run.h"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace heddle::sim::tests::issue_test {
namespace {

constexpr auto acquire = memory_order::acquire;
constexpr auto release = memory_order::release;
constexpr auto relaxed = memory_order::relaxed;

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* const given = std::getenv(name);
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

template <typename Kernel>
program waves_of(uint32_t waves, uint32_t lanes, Kernel kernel) {
  return [waves, lanes, kernel] {
    device host;
    auto* const words = host.allocate_device<uint32_t>(256, "words");
    host.launch({.blocks = waves, .waves = 1, .lanes = lanes}, [words, kernel] { kernel(words); });
    host.synchronize();
  };
}

/// What `note` said behind each of the schedules.
std::set<uint64_t> seen_in(machine& on, const program& body, const uint64_t& note, uint64_t schedules) {
  std::set<uint64_t> seen;
  for (uint64_t seed = 1; seed <= schedules; ++seed) {
    const outcome ended = on.run(body, seed);
    EXPECT_EQ(ended.verdict, verdict::ok) << on.about() << " seed " << seed << ": " << ended.message;
    seen.insert(note);
  }
  return seen;
}

/// Those that have the strategy decide to the end: in the fair tail, which others draw, lanes take turns of their own.
std::vector<std::string> strategies_without_tail() {
  std::vector<std::string> names = all_strategies();
  std::erase_if(names, [](const std::string& each) { return each == "mix" || each == "rhythm"; });
  return names;
}

// A lane raises a flag for a moment; a sibling that never parts from it looks before or behind, and never meanwhile.
TEST(issues, lanes_that_the_program_keeps_together_are_parted_only_as_often_as_partings_says) {
  static uint64_t found = 0;
  const program body = [] {
    device host;
    auto* const words = host.allocate_device<uint32_t>(2, "words");
    host.launch({.blocks = 1, .waves = 1, .lanes = 2}, [words] {
      const uint32_t self = target::lane_id();
      // One instruction for both lanes: each has its own words.
      word<uint32_t>(words[self]).fetch_add(1, relaxed);
      word<uint32_t>(words[self]).fetch_add(1, relaxed);
      const uint32_t other = word<uint32_t>(words[1 - self]).load(relaxed);
      if (self == 0) found = other;
    });
    host.synchronize();
  };
  for (const std::string& strategy : strategies_without_tail()) {
    machine together({"partings=0"}, strategy);
    EXPECT_EQ(seen_in(together, body, found, 200), std::set<uint64_t>{2}) << strategy;
  }
  machine once({"partings=1"});
  EXPECT_EQ(seen_in(once, body, found, 500), (std::set<uint64_t>{0, 1, 2}));
  machine alone({"step=lane"});
  EXPECT_EQ(seen_in(alone, body, found, 500), (std::set<uint64_t>{0, 1, 2}));
}

TEST(issues, what_the_program_parts_is_parted) {
  static uint64_t found = 0;
  const program body = [] {
    device host;
    auto* const words = host.allocate_device<uint32_t>(1, "words");
    host.launch({.blocks = 1, .waves = 1, .lanes = 4}, [words] {
      const word<uint32_t> one(words[0]);
      if (target::lane_id() == 0) {
        one.store(1, relaxed);
        one.store(2, relaxed);
      } else {
        const uint32_t value = one.load(relaxed);
        if (target::lane_id() == 1) found = value;
      }
    });
    host.synchronize();
  };
  machine together({"partings=0"});
  EXPECT_EQ(seen_in(together, body, found, 300), (std::set<uint64_t>{0, 1, 2}));
}

TEST(issues, any_lane_may_be_the_last_of_those_that_store_to_one_word_in_one_step) {
  static uint64_t found = 0;
  const auto store_all = [](uint32_t lanes) -> program {
    return [lanes] {
      device host;
      auto* const words = host.allocate_device<uint32_t>(1, "words");
      host.launch({.blocks = 1, .waves = 1, .lanes = lanes},
                  [words] { word<uint32_t>(words[0]).store(target::lane_id() + 1, relaxed); });
      host.synchronize();
      found = words[0];
    };
  };
  machine together({"partings=0"});
  EXPECT_EQ(seen_in(together, store_all(5), found, 400), (std::set<uint64_t>{1, 2, 3, 4, 5}));
  machine weak({"partings=0", "fidelity=scoped"});
  EXPECT_EQ(seen_in(weak, store_all(3), found, 400), (std::set<uint64_t>{1, 2, 3}));
}

TEST(issues, a_mask_of_active_lanes_names_those_that_stand_together) {
  static uint64_t found = 0;
  const program body = waves_of(1, 8, [](uint32_t* words) {
    const uint64_t mask = target::lane_mask();
    if (target::lane_id() == 3) found = mask;
    words[target::lane_id()] = 1;
  });
  machine together({"partings=0"});
  EXPECT_EQ(seen_in(together, body, found, 50), std::set<uint64_t>{0xff});
  machine parted({"partings=1"});
  const std::set<uint64_t> seen = seen_in(parted, body, found, 1000);
  EXPECT_TRUE(seen.contains(0xff));
  EXPECT_TRUE(seen.contains(0x08)) << "lane 3 ahead";
  EXPECT_TRUE(seen.contains(0xfe)) << "lane 0 behind or ahead";
}

// The last lane that comes to a collective goes no further than the others before something else is chosen.
TEST(issues, a_collective_parts_no_lanes) {
  static uint64_t found = 0;
  const program body = [] {
    device host;
    auto* const words = host.allocate_device<uint32_t>(2, "words");
    host.launch({.blocks = 1, .waves = 1, .lanes = 2}, [words] {
      const uint32_t self = target::lane_id();
      target::sync_lanes(3);
      word<uint32_t>(words[self]).store(1, relaxed);
      const uint32_t other = word<uint32_t>(words[1 - self]).load(relaxed);
      if (self == 0) found = other;
      target::sync_lanes(3);
    });
    host.synchronize();
  };
  for (const std::string& strategy : strategies_without_tail()) {
    machine together({"partings=0"}, strategy);
    EXPECT_EQ(seen_in(together, body, found, 100), std::set<uint64_t>{1}) << strategy;
  }
}

TEST(issues, a_step_of_a_wave_is_taken_as_one_whatever_the_strategy) {
  for (const std::string& convergence : {std::string("independent"), std::string("lockstep")})
    for (const std::string& strategy : strategies_without_tail()) {
      machine on({"partings=0", "convergence=" + convergence}, strategy);
      // All waves count one word up: the lanes of each are next to each other in its order.
      static uint64_t wrong = 0;
      const program checked = [] {
        wrong = 0;
        device host;
        auto* const words = host.allocate_device<uint32_t>(64, "words");
        host.launch({.blocks = 3, .waves = 1, .lanes = 8}, [words] {
          const uint32_t place = word<uint32_t>(words[0]).fetch_add(1, relaxed);
          word<uint32_t>(words[1 + place]).store(target::block_id() + 1, relaxed);
        });
        host.synchronize();
        for (uint32_t n = 0; n < 24; ++n) wrong += words[1 + n] != words[1 + n / 8 * 8] ? 1 : 0;
      };
      EXPECT_EQ(seen_in(on, checked, wrong, 50), std::set<uint64_t>{0}) << strategy << ' ' << convergence;
    }
}

TEST(issues, a_run_is_repeated_by_its_seed_and_its_answers) {
  const program body = waves_of(2, 16, [](uint32_t* words) {
    for (uint32_t n = 0; n < 4; ++n) {
      word<uint32_t>(words[target::lane_id() % 3]).fetch_add(1, relaxed);
      const uint64_t mask = target::lane_mask();
      target::sync_lanes(mask);
    }
  });
  for (const std::string& strategy : all_strategies()) {
    machine on({"fidelity=scoped", "races=count"}, strategy);
    machine again({"fidelity=scoped", "races=count"}, strategy);
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      const uint64_t digest = on.run(body, seed).digest;
      EXPECT_EQ(digest, again.run(body, seed, true).digest) << strategy << " seed " << seed;
    }
  }
}

// -- random programs ----------------------------------------------------------------------------------------------------------------

/// Straight code with branches by lane, atomics on few words, collectives of all lanes. What it ends with is one number.
struct drawn_code {
  enum class kind : uint8_t { add, store, load, exchange, sync, ballot, odd_store, mask };
  struct one {
    kind what;
    uint32_t word;
  };
  uint32_t waves = 1;
  uint32_t lanes = 2;
  std::vector<one> code;
};

drawn_code draw_code(uint64_t seed) {
  std::mt19937_64 numbers(seed);
  const auto below = [&](uint32_t count) { return static_cast<uint32_t>(numbers() % count); };
  drawn_code made;
  made.waves = 1 + below(2);
  made.lanes = made.waves == 2 ? 2 : 2 + below(2);
  const uint32_t length = made.waves * made.lanes > 3 ? 2 + below(2) : 2 + below(3);
  for (uint32_t n = 0; n < length; ++n) made.code.push_back({static_cast<drawn_code::kind>(below(8)), below(2)});
  return made;
}

uint64_t note_of_code = 0;

program body_of(const drawn_code& drawn) {
  return [&drawn] {
    device host;
    auto* const words = host.allocate_device<uint32_t>(2, "words");
    auto* const results = host.allocate_device<uint32_t>(8, "results");
    host.launch({.blocks = drawn.waves, .waves = 1, .lanes = drawn.lanes}, [words, results, &drawn] {
      const uint32_t self = target::lane_id();
      const uint32_t name = target::block_id() * drawn.lanes + self;
      const uint64_t all = (uint64_t{1} << drawn.lanes) - 1;
      uint32_t sum = 0;
      for (const drawn_code::one& each : drawn.code) {
        const word<uint32_t> at(words[each.word]);
        switch (each.what) {
          case drawn_code::kind::add:
            sum = sum * 3 + at.fetch_add(1, relaxed);
            break;
          case drawn_code::kind::store:
            at.store(name + 1, release);
            break;
          case drawn_code::kind::load:
            sum = sum * 3 + at.load(acquire);
            break;
          case drawn_code::kind::exchange:
            sum = sum * 3 + at.exchange(name + 1, relaxed);
            break;
          case drawn_code::kind::sync:
            target::sync_lanes(all);
            break;
          case drawn_code::kind::ballot:
            sum = sum * 3 + static_cast<uint32_t>(target::ballot(all, (sum + self) % 2 == 0));
            break;
          case drawn_code::kind::odd_store:
            if (self % 2 == 1) at.store(5, relaxed);
            break;
          case drawn_code::kind::mask:
            sum = sum * 3 + static_cast<uint32_t>(target::lane_mask());
            break;
        }
      }
      results[name] = sum;
    });
    host.synchronize();
    uint64_t note = words[0] * 7 + words[1];
    for (uint32_t n = 0; n < drawn.waves * drawn.lanes; ++n) note = note * 1000003 + results[n];
    note_of_code = note;
  };
}

TEST(issues, together_lanes_do_what_they_can_do_alone_and_parted_often_enough_all_of_it) {
  const uint64_t programs = from_environment("HEDDLE_ISSUE_PROGRAMS", 40);
  const uint64_t first = from_environment("HEDDLE_ISSUE_FIRST", 1);
  const uint64_t schedules = from_environment("HEDDLE_ISSUE_SCHEDULES", 600);
  uint64_t compared = 0;
  uint64_t ends = 0;
  uint64_t reached = 0;
  uint64_t reached_alone = 0;
  for (uint64_t seed = first; seed < first + programs; ++seed) {
    const drawn_code drawn = draw_code(seed);
    const program body = body_of(drawn);
    // Everything that lanes on their own can do.
    parameters settings(machine_parameters());
    for (const char* const each : {"fidelity=interleaving", "wakes=1000", "points=atomics"})
      ASSERT_FALSE(settings.set(each)) << each;
    simulation explorer;
    std::set<uint64_t> possible;
    search_options options;
    options.states_max = 20000;
    options.ended = [&](const outcome& ended, const std::vector<scheduler::answer>&) {
      EXPECT_EQ(ended.verdict, verdict::ok) << "program " << seed << ": " << ended.message;
      possible.insert(note_of_code);
      return true;
    };
    const search_result all = explorer.search(
        [&](scheduler::choice_source& choices) { return explorer.run(settings, body, choices, false); }, options);
    if (!all.complete) continue;
    ++compared;
    machine together({"partings=0"});
    machine parted({"partings=1000"});
    machine usual;
    machine alone({"step=lane"});
    const std::set<uint64_t> few = seen_in(together, body, note_of_code, 60);
    const std::set<uint64_t> more = seen_in(usual, body, note_of_code, 60);
    const std::set<uint64_t> most = seen_in(parted, body, note_of_code, schedules);
    for (const std::set<uint64_t>* seen : {&few, &more, &most})
      EXPECT_TRUE(std::includes(possible.begin(), possible.end(), seen->begin(), seen->end()))
          << "program " << seed << " ends as no order of its lanes can end";
    ends += possible.size();
    reached += most.size();
    reached_alone += seen_in(alone, body, note_of_code, schedules).size();
  }
  RecordProperty("compared", static_cast<int>(compared));
  EXPECT_GE(compared, programs / 2) << "programs are too large to be searched through";
  // Sampled, not searched: not far fewer ends are met than where each lane takes its own steps.
  EXPECT_GE(reached * 2, reached_alone) << reached << ", alone " << reached_alone << " of " << ends << " ends of "
                                        << compared << " programs, from " << first;
}

}  // namespace
}  // namespace heddle::sim::tests::issue_test
