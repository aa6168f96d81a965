// What a run assumes of the program that is not so: the same comes of it as of the program with that change.
#include "together.h"

namespace heddle::sim::tests::assume_test {
namespace {

constexpr auto acquire = memory_order::acquire;
constexpr auto release = memory_order::release;
constexpr auto relaxed = memory_order::relaxed;

constexpr uint64_t some = 300;

/// "assume=...", of "LINE=CHANGE" of this file.
std::string assume(const std::vector<std::pair<int, std::string>>& changes) {
  std::string text = "assume=";
  for (const auto& [line, change] : changes) text += (text.ends_with('=') ? "" : ",") + SIM_LINE(line) + "=" + change;
  return text;
}

/// Hands data over by the flag.
template <memory_order Order, scope Scope = scope::system>
struct gives {
  static constexpr int line = __LINE__ + 3;
  void operator()(words& at) const {
    at.data = 7;
    target::atomic_ref<uint32_t, Scope>(at.flag).store(1, Order);
  }
};
template <memory_order Order, scope Scope = scope::system>
struct takes {
  static constexpr int line = __LINE__ + 2;
  void operator()(words& at) const {
    if (target::atomic_ref<uint32_t, Scope>(at.flag).load(Order) != 1) return;
    at.seen[0].value = at.data;
  }
};

struct gives_plainly {
  static constexpr int line = __LINE__ + 3;
  void operator()(words& at) const {
    at.data = 7;
    at.flag = 1;
  }
};
struct takes_plainly {
  static constexpr int line = __LINE__ + 2;
  void operator()(words& at) const {
    if (at.flag != 1) return;
    at.seen[0].value = at.data;
  }
};

TEST(assumptions, orders_of_loads_and_stores) {
  for (const place where : all_places) {
    SCOPED_TRACE(to_string(where));
    const program no_release = together(where, gives<relaxed>(), takes<acquire>());
    EXPECT_TRUE(sometimes(verdict::race, scoped().run_many(no_release, some)));
    EXPECT_TRUE(always(verdict::ok, scoped({assume({{gives<relaxed>::line, "release"}})}).run_many(no_release, some)));
    const program no_acquire = together(where, gives<release>(), takes<relaxed>());
    EXPECT_TRUE(sometimes(verdict::race, scoped().run_many(no_acquire, some)));
    EXPECT_TRUE(always(verdict::ok, scoped({assume({{takes<relaxed>::line, "acquire"}})}).run_many(no_acquire, some)));
    // And the other way round.
    const program sound = together(where, gives<release>(), takes<acquire>());
    EXPECT_TRUE(always(verdict::ok, scoped().run_many(sound, some)));
    EXPECT_TRUE(sometimes(verdict::race, scoped({assume({{takes<acquire>::line, "relaxed"}})}).run_many(sound, some)));
  }
}

TEST(assumptions, of_another_line_change_nothing) {
  const program no_release = together(place::device, gives<relaxed>(), takes<acquire>());
  EXPECT_EQ(scoped({assume({{takes_plainly::line, "acquire"}})}).run_many(no_release, some).counts,
            scoped().run_many(no_release, some).counts);
}

TEST(assumptions, scopes) {
  const program narrow = together(place::from_device, gives<release, scope::device>(), takes<acquire, scope::device>());
  EXPECT_NE(scoped().run_many(narrow, some).count(verdict::scope_race), 0u);
  const std::string wide = assume({{gives<release, scope::device>::line, "system"}});
  EXPECT_TRUE(always(verdict::ok, scoped({wide}).run_many(narrow, some)));
  const program sound = together(place::from_device, gives<release>(), takes<acquire>());
  EXPECT_NE(scoped({assume({{gives<release>::line, "block"}})}).run_many(sound, some).count(verdict::scope_race), 0u);
}

TEST(assumptions, plain_accesses_that_are_atomic) {
  for (const place where : all_places) {
    SCOPED_TRACE(to_string(where));
    const program plain = together(where, gives_plainly(), takes_plainly());
    const auto with = [&](const std::string& given, const std::string& taken) {
      return scoped({assume({{gives_plainly::line, given}, {takes_plainly::line, taken}})}).run_many(plain, some);
    };
    // Without a word for plain accesses they stay as they are.
    EXPECT_EQ(with("release", "acquire").counts, scoped().run_many(plain, some).counts);
    EXPECT_TRUE(sometimes(verdict::race, scoped().run_many(plain, some)));
    EXPECT_TRUE(sometimes(verdict::race, with("plain.relaxed", "plain.relaxed")));
    EXPECT_TRUE(sometimes(verdict::race, with("plain.release", "plain.relaxed")));
    EXPECT_TRUE(sometimes(verdict::race, with("plain.relaxed", "plain.acquire")));
    EXPECT_TRUE(always(verdict::ok, with("plain.release", "plain.acquire")));
    EXPECT_TRUE(always(verdict::ok, with("plain.seq_cst", "plain.seq_cst")));
  }
}

TEST(assumptions, fences) {
  for (const std::string convergence : {"independent", "lockstep"}) {
    SCOPED_TRACE(convergence);
    for (const place where : all_places) {
      SCOPED_TRACE(to_string(where));
      const program bare = together(where, gives<relaxed>(), takes<relaxed>());
      const auto with = [&](const std::vector<std::pair<int, std::string>>& changes) {
        return scoped({assume(changes), "convergence=" + convergence}).run_many(bare, some);
      };
      const std::pair<int, std::string> given = {gives<relaxed>::line, "before:fence.release.system"};
      const std::pair<int, std::string> taken = {takes<relaxed>::line, "after:fence.acquire.system"};
      if (convergence == "independent") {
        EXPECT_TRUE(sometimes(verdict::race, with({given})));
        EXPECT_TRUE(sometimes(verdict::race, with({taken})));
        EXPECT_TRUE(sometimes(verdict::race, with({{given.first, "after:fence"}, taken})));
      }
      EXPECT_TRUE(always(verdict::ok, with({given, taken})));
    }
  }
}

struct stores_data {
  static constexpr int line = __LINE__ + 1;
  void operator()(words& at) const { at.data = 7; }
};
struct loads_data {
  static constexpr int line = __LINE__ + 1;
  void operator()(words& at) const { at.seen[0].value = at.data; }
};

TEST(assumptions, meetings_of_lanes) {
  for (const auto& [where, meeting] : {std::pair(place::wave, "sync_lanes"), std::pair(place::block, "sync_block")}) {
    const program apart = together(where, stores_data(), loads_data());
    EXPECT_TRUE(sometimes(verdict::race, scoped().run_many(apart, some)));
    const std::string behind = std::string("after:") + meeting;
    const std::string in_front = std::string("before:") + meeting;
    // The load behind the store, or in front of it.
    machine later = scoped({assume({{stores_data::line, behind}, {loads_data::line, in_front}})});
    EXPECT_EQ(all_seen(later, apart, some), (sightings{"7 0"}));
    machine earlier = scoped({assume({{stores_data::line, in_front}, {loads_data::line, behind}})});
    EXPECT_EQ(all_seen(earlier, apart, some), (sightings{"0 0"}));
    EXPECT_TRUE(sometimes(verdict::race, scoped({assume({{stores_data::line, behind}})}).run_many(apart, some)));
  }
}

/// Two lanes of three meet; the third waits for what comes behind.
struct stores_data_behind_a_ballot {
  static constexpr int line = __LINE__ + 3;
  void operator()(words& at) const {
    (void)target::ballot(3, true);
    at.data = 7;
  }
};
struct loads_data_behind_a_ballot {
  static constexpr int line = __LINE__ + 3;
  void operator()(words& at) const {
    (void)target::ballot(3, true);
    at.seen[0].value = at.data;
    target::atomic_ref<uint32_t, scope::device>(at.flag).store(1, release);
  }
};
struct waits_for_the_flag {
  void operator()(words& at) const {
    while (target::atomic_ref<uint32_t, scope::device>(at.flag).load(acquire) != 1) target::pause();
  }
};

TEST(assumptions, meetings_of_the_lanes_of_the_last_collective) {
  const program apart =
      together(place::wave, stores_data_behind_a_ballot(), loads_data_behind_a_ballot(), waits_for_the_flag());
  EXPECT_TRUE(sometimes(verdict::race, scoped().run_many(apart, some)));
  const auto with = [&](const std::string& meeting) {
    machine met = scoped({assume({{stores_data_behind_a_ballot::line, "after:" + meeting},
                                  {loads_data_behind_a_ballot::line, "before:" + meeting}})});
    return all_seen(met, apart, some);
  };
  EXPECT_EQ(with("sync_same"), (sightings{"7 0"}));
  EXPECT_EQ(with("sync_lanes"), (sightings{"deadlock"}));
}

TEST(assumptions, that_cannot_be_are_refused_in_one_line) {
  const std::string file = SIM_LINE(0).substr(0, SIM_LINE(0).rfind(':'));
  EXPECT_EQ(wrong_assumption(""), std::nullopt);
  EXPECT_EQ(wrong_assumption(SIM_LINE(stores_data::line) + "=acquire+system"), std::nullopt);
  // The end of a path is enough.
  EXPECT_EQ(wrong_assumption("sim/assume_test.cpp:" + std::to_string(stores_data::line) + "=release"), std::nullopt);
  const auto refused = [](const std::string& text, const std::string& part) {
    const std::optional<std::string> wrong = wrong_assumption(text);
    ASSERT_TRUE(wrong) << text;
    EXPECT_TRUE(says(*wrong, part));
    EXPECT_EQ(wrong->find('\n'), std::string::npos);
  };
  refused(file + "=acquire", "is no FILE:LINE=CHANGE");
  refused(file + ":3x=acquire", "is no number of a line");
  refused(file + ":3=", "says no change");
  refused(file + ":3=sharp", "\"sharp\" is no change; use relaxed");
  refused(file + ":3=before:fence.relaxed", "is no change");
  refused(file + ":1=acquire", "there is no code of " + file + ":1 ");
  refused("nowhere.cpp:3=acquire", "there is no code of nowhere.cpp:3 ");
}

// -- in a search -------------------------------------------------------------------------------------------------------------------

/// What all runs of the program leave, and how they end.
sightings of_all_runs(const program& body, const std::string& assumed) {
  parameters settings(machine_parameters());
  for (const std::string& each : {std::string("fidelity=scoped"), std::string("late=1000"), std::string("history=60"),
                                  std::string("wakes=1000"), assumed})
    EXPECT_FALSE(settings.set(each)) << each;
  simulation machine;
  sightings seen;
  search_options options;
  options.ended = [&](const outcome& ended, const std::vector<scheduler::answer>&) {
    seen.insert(ended.verdict == verdict::ok ? first_two(left) : std::string(to_string(ended.verdict)));
    return true;
  };
  const search_result all = machine.search(
      [&](scheduler::choice_source& choices) { return machine.run(settings, body, choices, false); }, options);
  EXPECT_TRUE(all.complete) << all.left_out;
  return seen;
}

constexpr int store_line = __LINE__ + 3;
void posts(words& at) {
  word<uint32_t>(at.data).store(7, relaxed);
  word<uint32_t>(at.flag).store(1, relaxed);
}
constexpr int load_line = __LINE__ + 2;
void looks(words& at) {
  at.seen[0].value = word<uint32_t>(at.flag).load(relaxed);
  at.seen[1].value = word<uint32_t>(at.data).load(relaxed);
}

TEST(assumptions, are_gone_through_as_the_program_with_that_change) {
  const sightings strict = {"0 0", "0 7", "1 7"};
  const sightings weak = {"0 0", "0 7", "1 0", "1 7"};
  const program bare = together(place::device, posts, looks);
  EXPECT_EQ(of_all_runs(bare, "assume="), weak);
  EXPECT_EQ(of_all_runs(bare, assume({{store_line, "release"}})), weak);
  EXPECT_EQ(of_all_runs(bare, assume({{store_line, "release"}, {load_line, "acquire"}})), strict);
  EXPECT_EQ(
      of_all_runs(bare, assume({{store_line, "before:fence.release.device"}, {load_line, "after:fence.acquire"}})),
      strict);
  EXPECT_EQ(of_all_runs(bare, assume({{store_line, "after:fence"}, {load_line, "before:fence"}})), weak);
}

}  // namespace
}  // namespace heddle::sim::tests::assume_test
