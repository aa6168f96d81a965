// Races: two accesses that nothing orders are one in every schedule, and what orders them makes it go away.
#include "together.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>

namespace heddle::sim::tests::race_test {
namespace {

constexpr auto acquire = memory_order::acquire;
constexpr auto release = memory_order::release;
constexpr auto relaxed = memory_order::relaxed;

constexpr uint64_t some = 200;

testing::AssertionResult always_ends(verdict wanted, const program& body, std::vector<std::string> settings = {}) {
  machine on = scoped(std::move(settings));
  return always(wanted, on.run_many(body, some));
}

// -- which two accesses ------------------------------------------------------------------------------------------------------

void look_at(const volatile uint32_t& at) { [[maybe_unused]] const uint32_t seen = at; }

enum class access { read, write, atomic_read, atomic_write, modify };
constexpr access all_accesses[] = {access::read, access::write, access::atomic_read, access::atomic_write,
                                   access::modify};

void make(access what, uint32_t& on) {
  switch (what) {
    case access::read:
      look_at(on);
      return;
    case access::write:
      static_cast<volatile uint32_t&>(on) = 1;
      return;
    case access::atomic_read:
      word<uint32_t>(on).load(acquire);
      return;
    case access::atomic_write:
      word<uint32_t>(on).store(1, release);
      return;
    case access::modify:
      word<uint32_t>(on).fetch_add(1, memory_order::acq_rel);
      return;
  }
}

bool is_plain(access what) { return what == access::read || what == access::write; }
bool reads_only(access what) { return what == access::read || what == access::atomic_read; }

TEST(races, are_conflicts_of_which_one_is_plain) {
  machine on = scoped();
  for (const place where : all_places)
    for (const access first : all_accesses)
      for (const access second : all_accesses) {
        const bool conflict = !reads_only(first) || !reads_only(second);
        const bool races = conflict && (is_plain(first) || is_plain(second));
        const program body =
            together(where, [=](words& at) { make(first, at.data); }, [=](words& at) { make(second, at.data); });
        EXPECT_TRUE(always(races ? verdict::race : verdict::ok, on.run_many(body, 30)))
            << to_string(where) << ", " << static_cast<int>(first) << " and " << static_cast<int>(second);
      }
}

TEST(races, are_about_bytes) {
  const auto writes = [](uint32_t from, uint32_t count) {
    return [=](words& at) {
      volatile size_t length = count;
      std::memset(reinterpret_cast<std::byte*>(&at) + from, 1, length);
    };
  };
  const auto apart = [&](uint32_t from, uint32_t count) {
    return together(place::device, writes(10, 10), writes(from, count));
  };
  EXPECT_TRUE(always_ends(verdict::ok, apart(0, 10)));
  EXPECT_TRUE(always_ends(verdict::race, apart(0, 11)));
  EXPECT_TRUE(always_ends(verdict::ok, apart(20, 10)));
  EXPECT_TRUE(always_ends(verdict::race, apart(19, 1)));
}

TEST(races, are_atomic_accesses_that_overlap_in_part) {
  const auto stores_both = [](words& at) {
    void* const both = &at.data;
    word<uint64_t>(*static_cast<uint64_t*>(both)).store(1, relaxed);
  };
  for (const place where : all_places) {
    EXPECT_TRUE(always_ends(
        verdict::race, together(where, stores_both, [](words& at) { word<uint32_t>(at.data).store(2, relaxed); })));
    EXPECT_TRUE(always_ends(verdict::race,
                            together(where, stores_both, [](words& at) { word<uint32_t>(at.data).load(acquire); })));
    EXPECT_TRUE(always_ends(verdict::ok, together(where, stores_both, stores_both)));
    EXPECT_TRUE(always_ends(
        verdict::ok, together(where, stores_both, [](words& at) { word<uint32_t>(at.flag).store(2, relaxed); })));
  }
}

TEST(races, of_a_lane_with_itself_are_none) {
  EXPECT_TRUE(always_ends(verdict::ok, together(place::device, [](words& at) {
                            for (const access first : all_accesses) make(first, at.data);
                            for (const access first : all_accesses) make(first, at.data);
                          })));
}

TEST(races, are_found_however_long_ago_the_first_access_was) {
  EXPECT_TRUE(always_ends(verdict::race, together(
                                             place::device, [](words& at) { at.data = 1; },
                                             [](words& at) {
                                               for (uint32_t n = 0; n < 40; ++n) {
                                                 word<uint32_t>(at.flag).fetch_add(1, memory_order::acq_rel);
                                                 look_at(at.seen[n % 4].value);
                                               }
                                               at.data = 2;
                                             })));
}

// A third lane's reads and writes must not make the finder forget the first one's.
TEST(races, are_found_behind_others_that_are_ordered) {
  const auto body = [](bool third_is_ordered) {
    return together(
        place::device, [](words& at) { look_at(at.data); },
        [](words& at) {
          look_at(at.data);
          word<uint32_t>(at.flag).fetch_add(1, release);
        },
        [=](words& at) {
          look_at(at.data);
          while (word<uint32_t>(at.flag).load(acquire) == 0) target::pause();
          if (!third_is_ordered) at.data = 1;
        });
  };
  EXPECT_TRUE(always_ends(verdict::race, body(false)));
  EXPECT_TRUE(always_ends(verdict::ok, body(true)));
}

uint32_t a_global = 0;

TEST(races, of_variables_of_the_program_are_found) {
  const auto writes = [](bool atomic) {
    return [atomic](words&) {
      if (atomic)
        word<uint32_t>(a_global).store(1, relaxed);
      else
        a_global = 1;
    };
  };
  EXPECT_TRUE(always_ends(verdict::race, together(place::host, writes(false), writes(false))));
  EXPECT_TRUE(always_ends(verdict::ok, together(place::host, writes(true), writes(true))));
}

// -- scopes ------------------------------------------------------------------------------------------------------------------

template <scope First, scope Second>
program counts_in(place where) {
  return together(
      where, [](words& at) { target::atomic_ref<uint32_t, First>(at.data).fetch_add(1, relaxed); },
      [](words& at) { target::atomic_ref<uint32_t, Second>(at.data).fetch_add(1, relaxed); });
}

TEST(scope_races, are_atomic_accesses_of_which_one_does_not_include_the_other_lane) {
  for (const place where : all_places) {
    const auto ends = [&](scope first, scope second) {
      const bool both = counts_as(where, 0, first) >= scope_of(where) && counts_as(where, 1, second) >= scope_of(where);
      return both ? verdict::ok : verdict::scope_race;
    };
    const verdict narrow_first = ends(scope::wave, scope::system), narrow_second = ends(scope::system, scope::wave);
    EXPECT_TRUE(always_ends(narrow_first, counts_in<scope::wave, scope::system>(where))) << to_string(where);
    EXPECT_TRUE(always_ends(narrow_second, counts_in<scope::system, scope::wave>(where))) << to_string(where);
    const verdict of_block = ends(scope::block, scope::device), of_device = ends(scope::device, scope::device);
    EXPECT_TRUE(always_ends(of_block, counts_in<scope::block, scope::device>(where))) << to_string(where);
    EXPECT_TRUE(always_ends(of_device, counts_in<scope::device, scope::device>(where))) << to_string(where);
    EXPECT_TRUE(always_ends(verdict::ok, counts_in<scope::system, scope::system>(where))) << to_string(where);
  }
}

// -- what orders -------------------------------------------------------------------------------------------------------------

enum class order { right, wrong };

/// The right one of the program is silent, and the wrong one a race, in every schedule or in some.
template <typename Program>
void expect_orders(Program body, bool always_wrong = true) {
  machine on = scoped();
  EXPECT_TRUE(always(verdict::ok, on.run_many(body(order::right), some)));
  const tally wrong = on.run_many(body(order::wrong), some);
  EXPECT_TRUE(always_wrong ? always(verdict::race, wrong) : sometimes(verdict::race, wrong));
}

constexpr launch_shape one_lane = {.blocks = 1, .waves = 1, .lanes = 1};

TEST(order, a_launch_brings_what_the_host_did_before_it) {
  expect_orders([](order what) {
    return [what] {
      device host;
      auto* const data = host.allocate_shared<uint32_t>(1, "data");
      if (what == order::right) *data = 1;
      host.launch(one_lane, [data] { SIM_CHECK(*data == 1 || *data == 0); });
      if (what == order::wrong) *data = 1;
      host.synchronize();
    };
  });
}

TEST(order, synchronizing_brings_what_the_device_did) {
  expect_orders([](order what) {
    return [what] {
      device host;
      auto* const data = host.allocate_shared<uint32_t>(1, "data");
      host.launch(one_lane, [data] { *data = 1; });
      if (what == order::right) host.synchronize();
      SIM_CHECK(*data == 1 || what == order::wrong);
    };
  });
}

TEST(order, a_query_that_says_idle_brings_what_the_device_did) {
  expect_orders(
      [](order what) {
        return [what] {
          device host;
          auto* const data = host.allocate_shared<uint32_t>(1, "data");
          host.launch(one_lane, [data] { *data = 1; });
          if (what == order::right)
            while (!host.query()) target::pause();
          else
            host.query();
          SIM_CHECK(*data == 1 || what == order::wrong);
        };
      },
      false);
}

TEST(order, a_kernel_comes_after_the_one_before) {
  expect_orders([](order what) {
    return [what] {
      device host;
      auto* const data = host.allocate_device<uint32_t>(1, "data");
      if (what == order::right) {
        host.launch(one_lane, [data] { *data = 1; });
        host.launch(one_lane, [data] { SIM_CHECK(*data == 1); });
      } else {
        host.launch({.blocks = 2, .waves = 1, .lanes = 1}, [data] {
          if (target::block_id() == 0)
            *data = 1;
          else
            look_at(*data);
        });
      }
      host.synchronize();
    };
  });
}

TEST(order, a_host_thread_begins_after_its_spawn_and_ends_before_its_join) {
  expect_orders([](order what) {
    return [what] {
      device host;
      auto* const data = host.allocate_shared<uint32_t>(2, "data");
      if (what == order::right) data[0] = 1;
      auto thread = host.spawn_host("thread", [=] {
        SIM_CHECK(data[0] <= 1);
        data[1] = 1;
      });
      if (what == order::wrong) data[0] = 1;
      thread.join();
      SIM_CHECK(data[1] == 1);
    };
  });
  expect_orders([](order what) {
    return [what] {
      device host;
      auto* const data = host.allocate_shared<uint32_t>(1, "data");
      auto thread = host.spawn_host("thread", [=] { *data = 1; });
      if (what == order::right) thread.join();
      SIM_CHECK(*data == 1 || what == order::wrong);
    };
  });
}

TEST(order, joining_one_thread_says_nothing_of_another) {
  expect_orders([](order what) {
    return [what] {
      device host;
      auto* const data = host.allocate_shared<uint32_t>(1, "data");
      auto one = host.spawn_host("one", [=] { *data = 1; });
      auto other = host.spawn_host("other", [] {});
      other.join();
      if (what == order::right) one.join();
      look_at(*data);
    };
  });
}

TEST(order, holders_of_a_mutex_come_one_after_the_other) {
  expect_orders([](order what) {
    return [what] {
      device host;
      auto* const data = host.allocate_shared<uint32_t>(1, "data");
      std::mutex mutex, another;
      const auto adds = [&mutex, data] {
        for (uint32_t n = 0; n < 2; ++n) {
          const std::lock_guard held(mutex);
          ++*data;
        }
      };
      auto one = host.spawn_host("one", adds);
      auto two = host.spawn_host("two", adds);
      {
        const std::lock_guard held(what == order::right ? mutex : another);
        ++*data;
      }
      one.join();
      two.join();
      SIM_CHECK(*data == 5);
    };
  });
}

TEST(order, a_barrier_of_lanes_orders_those_that_take_part) {
  expect_orders([](order what) {
    return together(
        place::wave,
        [=](words& at) {
          at.data = 1;
          target::sync_lanes(what == order::right ? 0b111 : 0b011);
        },
        [=](words&) { target::sync_lanes(what == order::right ? 0b111 : 0b011); },
        [=](words& at) {
          target::sync_lanes(what == order::right ? 0b111 : 0b100);
          SIM_CHECK(at.data == 1 || what == order::wrong);
        });
  });
}

TEST(order, other_collectives_only_carry_their_value) {
  for (const bool ballots : {false, true})
    expect_orders([=](order what) {
      const auto meets = [=] {
        if (what == order::right)
          target::sync_lanes(0b11);
        else if (ballots)
          target::ballot(0b11, true);
        else
          target::broadcast(0b11, uint32_t{1});
      };
      return together(
          place::wave,
          [=](words& at) {
            at.data = 1;
            meets();
          },
          [=](words& at) {
            meets();
            look_at(at.data);
          });
    });
}

TEST(order, a_ring_brings_what_was_done_before_it) {
  expect_orders([](order what) {
    return [what] {
      device host;
      auto* const data = host.allocate_shared<uint32_t>(1, "data");
      auto* const bell = host.allocate_shared<doorbell>(1, "bell");
      host.launch(one_lane, [=] {
        if (what == order::right) *data = 1;
        target::notify(*bell);
        if (what == order::wrong) *data = 1;
      });
      while (word<doorbell>(*bell).load(acquire) == 0) target::wait(*bell, 0, no_timeout);
      SIM_CHECK(*data == 1 || what == order::wrong);
      host.synchronize();
    };
  });
}

// A thread that has been woken, or has run out of time, knows nothing before it has read the count.
TEST(order, a_count_that_is_read_relaxed_brings_nothing) {
  expect_orders([](order what) {
    return [what] {
      device host;
      auto* const data = host.allocate_shared<uint32_t>(1, "data");
      auto* const bell = host.allocate_shared<doorbell>(1, "bell");
      host.launch(one_lane, [=] {
        *data = 1;
        target::notify(*bell);
      });
      while (word<doorbell>(*bell).load(what == order::right ? acquire : relaxed) == 0) target::pause();
      SIM_CHECK(*data == 1 || what == order::wrong);
      host.synchronize();
    };
  });
}

TEST(order, a_copy_of_the_device_is_an_access_of_the_host) {
  expect_orders([](order what) {
    return [what] {
      device host;
      auto* const from = host.allocate_shared<uint32_t>(4, "from");
      auto* const to = host.allocate_device<uint32_t>(4, "to");
      host.launch(one_lane, [=] { from[3] = 1; });
      if (what == order::right) host.synchronize();
      host.copy(to, from, 16);
      SIM_CHECK(to[3] == 1 || what == order::wrong);
    };
  });
}

TEST(order, of_two_who_ask_for_the_data_sequential_fences_let_one_at_most_have_it) {
  expect_orders(
      [](order what) {
        const auto half = [=](bool first) {
          return [=](words& at) {
            word<uint32_t>(first ? at.flag : at.other).store(1, relaxed);
            target::fence<scope::system>(what == order::right ? memory_order::seq_cst : memory_order::acq_rel);
            if (word<uint32_t>(first ? at.other : at.flag).load(relaxed) == 0) at.data = 1;
          };
        };
        return together(place::device, half(true), half(false));
      },
      false);
}

// -- counting ----------------------------------------------------------------------------------------------------------------

TEST(counted_races, do_not_end_the_run) {
  machine on = scoped({"races=count"});
  const auto counts = [&](const program& body) {
    std::set<std::pair<uint64_t, uint64_t>> seen;
    for (uint64_t seed = 1; seed <= some; ++seed) {
      const outcome ended = on.run(body, seed);
      EXPECT_EQ(ended.verdict, verdict::ok);
      seen.emplace(ended.races, ended.scope_races);
    }
    return seen;
  };
  using pairs = std::set<std::pair<uint64_t, uint64_t>>;
  const auto writes = [](words& at) { at.data = 1; };
  EXPECT_EQ(counts(together(place::device, writes, writes)), (pairs{{1, 0}}));
  EXPECT_EQ(counts(together(place::device, writes, writes, writes)), (pairs{{3, 0}}));
  EXPECT_EQ(counts(counts_in<scope::block, scope::block>(place::device)), (pairs{{0, 1}}));
  EXPECT_EQ(counts(counts_in<scope::device, scope::device>(place::device)), (pairs{{0, 0}}));
  // One after the other.
  EXPECT_EQ(counts(together(place::device, writes, [](words& at) { at.other = 1; })), (pairs{{0, 0}}));
}

// -- weighing ----------------------------------------------------------------------------------------------------------------

constexpr auto writes_data = [](words& at) { at.data = 1; };
constexpr auto waits_for_ever = [](words& at) {
  at.data = 2;
  while (word<uint32_t>(at.flag).load(acquire) == 0) target::pause();
};

TEST(weighed_races, end_the_run_when_nothing_else_has) {
  machine on = scoped({"races=weigh"});
  const tally seen = on.run_many(together(place::device, writes_data, writes_data), some);
  EXPECT_TRUE(always(verdict::race, seen));
  const std::string& message = seen.examples.at(verdict::race).message;
  EXPECT_NE(message.find("; nothing came of it in this run"), std::string::npos) << message;
  EXPECT_TRUE(always(verdict::scope_race, on.run_many(counts_in<scope::block, scope::block>(place::device), some)));
  EXPECT_TRUE(always(verdict::ok, on.run_many(counts_in<scope::device, scope::device>(place::device), some)));
}

TEST(weighed_races, come_behind_what_comes_of_them) {
  const program body = together(place::device, writes_data, waits_for_ever);
  EXPECT_TRUE(always_ends(verdict::race, body));
  machine on = scoped({"races=weigh"});
  EXPECT_TRUE(always(verdict::deadlock, on.run_many(body, some)));
  const outcome told = on.explain(body);
  EXPECT_NE(told.report.find("races that the run went on behind"), std::string::npos) << told.report;
  EXPECT_NE(told.report.find("is not ordered after a plain store by"), std::string::npos) << told.report;
  // One run after another: what the first one listed is not the second one's.
  EXPECT_EQ(on.explain(together(place::device, waits_for_ever)).report.find("went on behind"), std::string::npos);
}

TEST(weighed_races, are_each_listed_once) {
  machine on = scoped({"races=weigh"});
  const outcome told = on.explain(together(
      place::device, [](words& at) { at.data = at.other = 1; },
      [](words& at) {
        for (uint32_t n = 0; n < 3; ++n) at.data = n;
        at.other = 2;
      }));
  EXPECT_EQ(told.verdict, verdict::race);
  EXPECT_NE(told.message.find("and 1 other race; nothing"), std::string::npos) << told.message;
  EXPECT_NE(told.report.find("nothing orders them"), std::string::npos) << told.report;
}

/// A flag that says that data is there: stored in one order, and loaded in another.
program flag_and_data(memory_order stored, memory_order loaded) {
  return together(
      place::device,
      [=](words& at) {
        at.data = 1;
        word<uint32_t>(at.flag).store(1, stored);
      },
      [=](words& at) {
        while (word<uint32_t>(at.flag).load(loaded) == 0) target::pause();
        look_at(at.data);
      });
}

TEST(excused_races, lack_an_acquire_alone) {
  const auto excused = [](const std::string& kinds) { return "races.excuse=" + kinds; };
  for (const char* effect : {"races=end", "races=weigh"}) {
    EXPECT_TRUE(always_ends(verdict::race, flag_and_data(release, relaxed), {effect}));
    EXPECT_TRUE(always_ends(verdict::ok, flag_and_data(release, relaxed), {effect, excused("acquire")}));
    EXPECT_TRUE(always_ends(verdict::ok, flag_and_data(release, relaxed), {effect, excused("after-read+acquire")}));
    EXPECT_TRUE(always_ends(verdict::race, flag_and_data(release, relaxed), {effect, excused("after-read")}));
    // The lane that stores orders nothing.
    for (const char* kinds : {"acquire", "acquire-store", "acquire+acquire-store+after-read+plain-flag+same-value"}) {
      EXPECT_TRUE(always_ends(verdict::race, flag_and_data(relaxed, relaxed), {effect, excused(kinds)}));
      EXPECT_TRUE(always_ends(verdict::race, flag_and_data(relaxed, acquire), {effect, excused(kinds)}));
    }
  }
}

/// Lanes of two blocks, one behind the other: a flag is stored in one order and scope, and loaded in another; then the data is stored again.
program locked_data(memory_order stored, scope reach, memory_order loaded) {
  return together(
      place::device,
      [=](words& at) {
        at.data = 1;
        if (reach == scope::block)
          target::fence<scope::block>(stored);
        else
          target::fence<scope::device>(stored);
        word<uint32_t>(at.flag).store(1, relaxed);
      },
      [=](words& at) {
        while (word<uint32_t>(at.flag).load(loaded) == 0) target::pause();
        at.data = 2;
      });
}

TEST(excused_races, of_a_store_without_an_acquire_are_a_kind_of_their_own) {
  const program body = locked_data(release, scope::device, relaxed);
  EXPECT_TRUE(always_ends(verdict::ok, locked_data(release, scope::device, acquire)));
  EXPECT_TRUE(always_ends(verdict::race, body, {"races.excuse=acquire"}));
  EXPECT_TRUE(always_ends(verdict::ok, body, {"races.excuse=acquire-store"}));
  // One that its lane has loaded first comes behind that load: it is the load that comes too early.
  const program loaded = together(
      place::device,
      [](words& at) {
        at.data = 1;
        word<uint32_t>(at.flag).store(1, release);
      },
      [](words& at) {
        while (word<uint32_t>(at.flag).load(relaxed) == 0) target::pause();
        look_at(at.data);
        at.data = 2;
      });
  EXPECT_TRUE(always_ends(verdict::race, loaded, {"races.excuse=acquire-store"}));
  EXPECT_TRUE(always_ends(verdict::ok, loaded, {"races.excuse=acquire"}));
  // A fence that does not reach the other block is none: an acquire would not do.
  EXPECT_TRUE(
      always_ends(verdict::race, locked_data(release, scope::block, relaxed), {"races.excuse=acquire+acquire-store"}));
}

TEST(excused_races, are_told_with_what_is_missing) {
  machine on = scoped({"races=weigh"});
  const outcome narrow = on.explain(locked_data(release, scope::block, relaxed));
  EXPECT_NE(narrow.report.find("releases nothing that reaches"), std::string::npos) << narrow.report;
  EXPECT_NE(narrow.report.find("a scope is too narrow, and there is no acquire, where"), std::string::npos)
      << narrow.report;
  const outcome store = on.explain(locked_data(release, scope::device, relaxed));
  EXPECT_NE(store.report.find("races.excuse=acquire-store leaves these alone"), std::string::npos) << store.report;
}

TEST(excused_races, are_stores_of_the_value_that_is_there) {
  const auto stores = [](uint32_t value) { return [=](words& at) { at.data = value; }; };
  const program same = together(place::device, stores(7), stores(7));
  const program other = together(place::device, stores(7), stores(8));
  for (const char* effect : {"races=end", "races=weigh"}) {
    EXPECT_TRUE(always_ends(verdict::race, same, {effect}));
    EXPECT_TRUE(always_ends(verdict::race, same, {effect, "races.excuse=acquire"}));
    EXPECT_TRUE(always_ends(verdict::ok, same, {effect, "races.excuse=same-value"}));
    EXPECT_TRUE(always_ends(verdict::race, other, {effect, "races.excuse=same-value"}));
  }
  EXPECT_NE(scoped({"races=weigh"}).explain(same).report.find("the second one changes nothing"), std::string::npos);
}

/// A payload behind a fence, and a flag that is stored plainly.
program plain_flag(bool fenced, bool acquired) {
  return together(
      place::device,
      [=](words& at) {
        at.data = 1;
        if (fenced) target::fence<scope::device>(release);
        at.flag = 1;
      },
      [=](words& at) {
        while (word<uint32_t>(at.flag).load(relaxed) == 0) target::pause();
        if (acquired) target::fence<scope::device>(acquire);
        look_at(at.data);
      });
}

TEST(excused_races, are_of_a_plain_flag_behind_a_fence) {
  for (const char* effect : {"races=end", "races=weigh"}) {
    EXPECT_TRUE(always_ends(verdict::race, plain_flag(true, true), {effect}));
    EXPECT_TRUE(always_ends(verdict::ok, plain_flag(true, true), {effect, "races.excuse=plain-flag"}));
    EXPECT_TRUE(always_ends(verdict::race, plain_flag(false, true), {effect, "races.excuse=plain-flag"}));
    // The payload lacks an acquire, too.
    EXPECT_TRUE(always_ends(verdict::race, plain_flag(true, false), {effect, "races.excuse=plain-flag"}));
  }
}

/// A file of excuses, for as long as it is there.
class excuse_file {
 public:
  /// Of this process alone: tests run side by side.
  explicit excuse_file(const std::string& text)
      : name_(testing::TempDir() + "heddle_excuses_" + std::to_string(getpid()) + ".txt") {
    std::ofstream(name_) << text;
  }
  ~excuse_file() { std::remove(name_.c_str()); }
  excuse_file(const excuse_file&) = delete;
  excuse_file& operator=(const excuse_file&) = delete;
  std::string setting() const { return "races.known=" + name_; }
  std::string line(int n) const { return name_ + ":" + std::to_string(n); }

 private:
  std::string name_;
};

TEST(known_races, are_of_a_place_or_a_variable) {
  const int line = __LINE__ + 1;
  const auto stores = [](words& at) { at.data = 1; };
  const auto loads = [](words& at) { look_at(at.data); };
  const program body = together(place::device, stores, loads);
  // Whichever access comes first.
  for (const std::string& text : {"place " + SIM_LINE(line) + "\n", std::string("variable words # of all lanes\n")}) {
    const excuse_file file("# known\n" + text);
    for (const char* effect : {"races=end", "races=weigh"})
      EXPECT_TRUE(always_ends(verdict::ok, body, {effect, file.setting()})) << text;
    machine on = scoped({file.setting()});
    const outcome told = on.explain(body);
    EXPECT_EQ(told.excused.size(), 1U);
    EXPECT_EQ(told.excused.count(file.line(2)), 1U) << told.report;
    EXPECT_NE(told.report.find("races that were left alone: 1 (" + file.line(2) + ")"), std::string::npos)
        << told.report;
    // One run after another.
    EXPECT_TRUE(on.explain(together(place::device, loads)).excused.empty());
  }
  for (const std::string& text :
       {"place " + SIM_LINE(line + 7), std::string("variable word"), std::string("variable flag")}) {
    const excuse_file file(text);
    EXPECT_TRUE(always_ends(verdict::race, body, {file.setting()})) << text;
  }
}

TEST(known_races, are_where_a_comment_says_so) {
  const auto stores = [](words& at) { at.data = 1; };  // heddle: excuse race
  const auto stores_too = [](words& at) {
    // heddle: excuse race
    at.data = 2;
  };
  const auto others = [](words& at) { at.data = 3; };
  const auto loads = [](words& at) { look_at(at.data); };
  const std::string here = "races.known=" RACE_TEST_SOURCE;
  EXPECT_TRUE(always_ends(verdict::ok, together(place::device, stores, loads), {here}));
  EXPECT_TRUE(always_ends(verdict::ok, together(place::device, stores_too, loads), {here}));
  EXPECT_TRUE(always_ends(verdict::race, together(place::device, others, loads), {here}));
  EXPECT_TRUE(always_ends(verdict::race, together(place::device, stores, loads)));
}

TEST(known_races, are_read_from_good_files_alone) {
  const auto told = [](const std::string& text) {
    std::vector<excuse> known;
    const excuse_file file(text);
    return read_excuses(file.setting().substr(sizeof "races.known"), known).value_or("");
  };
  for (const char* good : {"", "# nothing\n\n", "place a/b.cu:7", "  variable cudaMalloc 1  # why\r\n"})
    EXPECT_EQ(told(good), "");
  for (const char* bad :
       {"place a.cu", "place a.cu:", "place a.cu:0", "place a.cu:7x", "place :7", "variable ", "ring.cu:7"})
    EXPECT_NE(told(std::string("\n") + bad).find(":2: \""), std::string::npos) << bad;
  std::vector<excuse> known;
  EXPECT_EQ(read_excuses("no/such", known), "cannot read the excuses in \"no/such\": No such file or directory");
  EXPECT_EQ(read_excuses("/", known), "cannot read the excuses in \"/\": Is a directory");
  EXPECT_EQ(read_excuses("/dev/zero", known), "cannot read the excuses in \"/dev/zero\": it is larger than 64 MiB");
}

TEST(relaxed_races, are_none_of_plain_words) {
  EXPECT_TRUE(always_ends(verdict::race, plain_flag(true, true)));
  EXPECT_TRUE(always_ends(verdict::ok, plain_flag(true, true), {"races=relaxed"}));
  // They order nothing: what the program checks shows it.
  const program unordered = together(
      place::device,
      [](words& at) {
        at.data = 1;
        at.flag = 1;
      },
      [](words& at) {
        while (static_cast<volatile uint32_t&>(at.flag) == 0) target::pause();
        SIM_CHECK(static_cast<volatile uint32_t&>(at.data) == 1);
      });
  const tally seen = scoped({"races=relaxed"}).run_many(unordered, 1000);
  EXPECT_GT(seen.count(verdict::assertion), 0U) << seen.text();
  EXPECT_EQ(seen.count(verdict::race), 0U) << seen.text();
  // What no instruction makes at once still races.
  struct three {
    uint8_t bytes[3];
  };
  const auto copies = [](words& at) { std::memcpy(&at.data, "abc", sizeof(three)); };
  EXPECT_TRUE(always_ends(verdict::race, together(place::device, copies, copies), {"races=relaxed"}));
}

TEST(excused_races, are_of_a_load_and_a_later_store) {
  const auto reads = [](words& at) { look_at(at.data); };
  const program body = together(place::device, reads, writes_data);
  const tally reported = scoped({"races.excuse=acquire"}).run_many(body, some);
  EXPECT_TRUE(always(verdict::race, reported));
  // The other way round it is none of these.
  const tally seen = scoped({"races.excuse=after-read"}).run_many(body, some);
  EXPECT_GT(seen.count(verdict::race), 0u) << seen.text();
  EXPECT_GT(seen.count(verdict::ok), 0u) << seen.text();
  EXPECT_EQ(seen.count(verdict::race) + seen.count(verdict::ok), some) << seen.text();
}

// The flag says that the first lane is done with the data, and does not release that.
TEST(excused_races, are_of_a_load_and_a_store_behind_a_flag_that_releases_nothing) {
  const auto hands_over = [](auto uses, memory_order stored) {
    return together(
        place::device,
        [=](words& at) {
          uses(at);
          word<uint32_t>(at.flag).store(1, stored);
        },
        [](words& at) {
          while (word<uint32_t>(at.flag).load(acquire) == 0) target::pause();
          at.data = 2;
        });
  };
  const auto reads = [](words& at) { look_at(at.data); };
  const std::vector<std::string> excused = {"races.excuse=after-read"};
  EXPECT_TRUE(always_ends(verdict::race, hands_over(reads, relaxed)));
  EXPECT_TRUE(always_ends(verdict::ok, hands_over(reads, relaxed), excused));
  EXPECT_TRUE(always_ends(verdict::race, hands_over(writes_data, relaxed), excused));
  EXPECT_TRUE(always_ends(verdict::ok, hands_over(reads, release)));
}

}  // namespace
}  // namespace heddle::sim::tests::race_test
