// What a lane may see where memory is scoped: of each small program, exactly what the model allows.
#include "together.h"

namespace heddle::sim::tests::scoped_test {
namespace {

constexpr auto acquire = memory_order::acquire;
constexpr auto release = memory_order::release;
constexpr auto relaxed = memory_order::relaxed;
constexpr auto acq_rel = memory_order::acq_rel;
constexpr auto seq_cst = memory_order::seq_cst;

constexpr uint64_t many = 1500;

// -- read-modify-writes ------------------------------------------------------------------------------------------------------

program three_count(place where, scope reach) {
  const auto counts = [reach](words& at) {
    for (uint32_t n = 0; n < 2; ++n) {
      if (reach == scope::block)
        target::atomic_ref<uint32_t, scope::block>(at.data).fetch_add(1, relaxed);
      else
        word<uint32_t>(at.data).fetch_add(1, relaxed);
    }
  };
  return together(where, counts, counts, counts);
}

TEST(read_modify_writes, lose_nothing_in_the_right_scope) {
  machine on = scoped();
  for (const place where : all_places)
    EXPECT_EQ(all_seen(on, three_count(where, scope::system), many, data_alone), sightings{"6"}) << to_string(where);
  EXPECT_EQ(all_seen(on, three_count(place::block, scope::block), many, data_alone), sightings{"6"});
}

TEST(read_modify_writes, of_a_narrow_scope_are_a_scope_race_and_lose) {
  machine on = scoped();
  machine on_counting = counting();
  for (const place where : {place::device, place::from_device, place::to_device}) {
    EXPECT_EQ(all_seen(on, three_count(where, scope::block), 100, data_alone), sightings{"scope race"});
    const sightings seen = all_seen(on_counting, three_count(where, scope::block), many, data_alone);
    EXPECT_EQ(seen.count("6"), 1u) << to_string(where);
    EXPECT_GT(seen.size(), 1u) << to_string(where);
  }
}

TEST(read_modify_writes, of_which_one_may_win_have_one_winner) {
  machine on = scoped();
  const auto tries = [](uint32_t self) {
    return [self](words& at) {
      uint32_t expected = 0;
      const bool won = word<uint32_t>(at.flag).compare_exchange_strong(expected, self, relaxed);
      at.seen[self - 1].value = won ? 10 : expected;
    };
  };
  for (const place where : all_places)
    EXPECT_EQ(all_seen(on, together(where, tries(1), tries(2)), 300), (sightings{"10 1", "2 10"})) << to_string(where);
}

TEST(read_modify_writes, leave_nothing_between_what_they_read_and_what_they_write) {
  machine on = scoped();
  for (const place where : all_places)
    EXPECT_EQ(
        all_seen(on,
                 together(
                     where, [](words& at) { at.seen[0].value = word<uint32_t>(at.data).fetch_add(1, relaxed); },
                     [](words& at) { word<uint32_t>(at.data).store(10, relaxed); }),
                 many,
                 [](const words& of) { return std::to_string(of.seen[0].value) + ' ' + std::to_string(of.data); }),
        (sightings{"0 10", "10 11"}))
        << to_string(where);
}

// -- store buffering ---------------------------------------------------------------------------------------------------------

enum class between { nothing, fences };

program buffers_stores(place where, between what, scope reach, memory_order order) {
  const auto half = [=](uint32_t self) {
    return [=](words& at) {
      word<uint32_t>(self == 0 ? at.data : at.flag).store(1, relaxed);
      if (what == between::fences) fence_at(reach, order);
      at.seen[self].value = word<uint32_t>(self == 0 ? at.flag : at.data).load(relaxed);
    };
  };
  return together(where, half(0), half(1));
}

TEST(store_buffering, is_seen_unless_sequential_fences_reach_far_enough) {
  machine on = scoped();
  const sightings without = {"0 1", "1 0", "1 1"};
  sightings with = without;
  with.insert("0 0");
  for (const place where : all_places) {
    EXPECT_EQ(all_seen(on, buffers_stores(where, between::nothing, scope::system, seq_cst), many), with)
        << to_string(where);
    EXPECT_EQ(all_seen(on, buffers_stores(where, between::fences, scope::system, acq_rel), many), with)
        << to_string(where);
    // A full fence of an x86 processor knows no scope.
    for (const scope reach : all_scopes)
      EXPECT_EQ(all_seen(on, buffers_stores(where, between::fences, reach, seq_cst), many),
                reach >= scope_of(where) || where == place::host ? without : with)
          << to_string(where) << ", scope " << static_cast<int>(reach);
  }
}

TEST(store_buffering, is_not_seen_by_sequential_fences_of_two_scopes_that_include_both_lanes) {
  const auto half = [](uint32_t self, scope reach) {
    return [=](words& at) {
      word<uint32_t>(self == 0 ? at.data : at.flag).store(1, relaxed);
      fence_at(reach, seq_cst);
      at.seen[self].value = word<uint32_t>(self == 0 ? at.flag : at.data).load(relaxed);
    };
  };
  machine on = scoped();
  const sightings without = {"0 1", "1 0", "1 1"};
  sightings with = without;
  with.insert("0 0");
  for (const place where : all_places)
    for (const scope one : all_scopes)
      for (const scope other : all_scopes)
        EXPECT_EQ(all_seen(on, together(where, half(0, one), half(1, other)), many / 2),
                  counts_as(where, 0, one) >= scope_of(where) && counts_as(where, 1, other) >= scope_of(where) ? without
                                                                                                               : with)
            << to_string(where) << ", scopes " << static_cast<int>(one) << ' ' << static_cast<int>(other);
}

TEST(store_buffering, is_not_seen_by_sequential_accesses) {
  const auto half = [](uint32_t self, memory_order order) {
    return [=](words& at) {
      word<uint32_t>(self == 0 ? at.data : at.flag).store(1, order == seq_cst ? seq_cst : release);
      at.seen[self].value = word<uint32_t>(self == 0 ? at.flag : at.data).load(order == seq_cst ? seq_cst : acquire);
    };
  };
  machine on = scoped();
  for (const place where : all_places) {
    EXPECT_EQ(all_seen(on, together(where, half(0, seq_cst), half(1, seq_cst)), many), (sightings{"0 1", "1 0", "1 1"}))
        << to_string(where);
    EXPECT_EQ(all_seen(on, together(where, half(0, seq_cst), half(1, relaxed)), many).count("0 0"), 1u);
  }
}

TEST(store_buffering, is_not_seen_of_read_modify_writes_of_an_x86_host) {
  const auto half = [](uint32_t self) {
    return [=](words& at) {
      word<uint32_t>(self == 0 ? at.data : at.flag).exchange(1, relaxed);
      at.seen[self].value = word<uint32_t>(self == 0 ? at.flag : at.data).load(relaxed);
    };
  };
  machine on = scoped();
  for (const place where : all_places) {
    sightings wanted = {"0 1", "1 0", "1 1"};
    if (where != place::host) wanted.insert("0 0");
    EXPECT_EQ(all_seen(on, together(where, half(0), half(1)), many), wanted) << to_string(where);
  }
}

// -- coherence ---------------------------------------------------------------------------------------------------------------

TEST(coherence, two_reads_do_not_go_back_unless_they_are_plain) {
  const auto reads_twice = [](place where, bool plain) {
    return together(
        where,
        [=](words& at) {
          if (plain)
            at.data = 1;
          else
            word<uint32_t>(at.data).store(1, relaxed);
        },
        [=](words& at) {
          const volatile uint32_t& data = at.data;
          const uint32_t first = plain ? data : word<uint32_t>(at.data).load(relaxed);
          const uint32_t second = plain ? data : word<uint32_t>(at.data).load(relaxed);
          at.seen[0].value = first;
          at.seen[1].value = second;
        });
  };
  machine on = scoped();
  machine on_counting = counting();
  for (const place where : all_places) {
    EXPECT_EQ(all_seen(on, reads_twice(where, false), many), (sightings{"0 0", "0 1", "1 1"})) << to_string(where);
    const bool on_host = where == place::from_device || where == place::host;
    sightings wanted = {"0 0", "0 1", "1 1"};
    if (!on_host) wanted.insert("1 0");
    EXPECT_EQ(all_seen(on_counting, reads_twice(where, true), many), wanted) << to_string(where);
  }
}

std::string first_and_data(const words& of) { return std::to_string(of.seen[0].value) + ' ' + std::to_string(of.data); }

TEST(coherence, the_last_of_two_stores_of_a_lane_stays) {
  machine on = scoped();
  for (const place where : all_places)
    EXPECT_EQ(all_seen(on,
                       together(
                           where,
                           [](words& at) {
                             word<uint32_t>(at.data).store(1, relaxed);
                             word<uint32_t>(at.data).store(2, relaxed);
                           },
                           [](words& at) { at.seen[0].value = word<uint32_t>(at.data).load(relaxed); }),
                       many, first_and_data),
              (sightings{"0 2", "1 2", "2 2"}))
        << to_string(where);
}

TEST(coherence, a_read_behind_a_store_of_its_lane_finds_it_or_what_overwrites_it) {
  machine on = scoped();
  for (const place where : all_places)
    EXPECT_EQ(all_seen(on,
                       together(
                           where,
                           [](words& at) {
                             word<uint32_t>(at.data).store(1, relaxed);
                             at.seen[0].value = word<uint32_t>(at.data).load(relaxed);
                           },
                           [](words& at) { word<uint32_t>(at.data).store(2, relaxed); }),
                       many, first_and_data),
              (sightings{"1 1", "1 2", "2 2"}))
        << to_string(where);
}

TEST(coherence, a_store_behind_a_read_of_its_lane_overwrites_what_was_read) {
  machine on = scoped();
  for (const place where : all_places)
    EXPECT_EQ(all_seen(on,
                       together(
                           where,
                           [](words& at) {
                             at.seen[0].value = word<uint32_t>(at.data).load(relaxed);
                             word<uint32_t>(at.data).store(1, relaxed);
                           },
                           [](words& at) { word<uint32_t>(at.data).store(2, relaxed); }),
                       many, first_and_data),
              (sightings{"0 1", "0 2", "2 1"}))
        << to_string(where);
}

TEST(coherence, a_store_takes_any_place_among_those_that_its_lane_does_not_know) {
  const auto both_twice = [](place where, between what) {
    const auto half = [=](uint32_t self) {
      return [=](words& at) {
        word<uint32_t>(self == 0 ? at.data : at.flag).store(1, relaxed);
        if (what == between::fences) fence_at(scope::system, seq_cst);
        word<uint32_t>(self == 0 ? at.flag : at.data).store(2, relaxed);
      };
    };
    return together(where, half(0), half(1));
  };
  const auto text = [](const words& of) { return std::to_string(of.data) + ' ' + std::to_string(of.flag); };
  machine on = scoped();
  for (const place where : {place::wave, place::block, place::device, place::from_device, place::to_device}) {
    EXPECT_EQ(all_seen(on, both_twice(where, between::nothing), many, text), (sightings{"1 1", "1 2", "2 1", "2 2"}))
        << to_string(where);
    EXPECT_EQ(all_seen(on, both_twice(where, between::fences), many, text), (sightings{"1 2", "2 1", "2 2"}))
        << to_string(where);
  }
  // The stores of an x86 processor become visible in order.
  EXPECT_EQ(all_seen(on, both_twice(place::host, between::nothing), many, text), (sightings{"1 2", "2 1", "2 2"}));
}

TEST(coherence, two_readers_may_disagree_about_two_stores_unless_fences_are_sequential) {
  const auto disagrees = [](place where, between what) {
    const auto reads = [=](bool data_first) {
      return [=](words& at) {
        const uint32_t first = word<uint32_t>(data_first ? at.data : at.flag).load(acquire);
        if (what == between::fences) fence_at(scope::system, seq_cst);
        const uint32_t second = word<uint32_t>(data_first ? at.flag : at.data).load(acquire);
        at.seen[data_first ? 0 : 1].value = first * 2 + second;
      };
    };
    return together(
        where, [](words& at) { word<uint32_t>(at.data).store(1, release); }, reads(true), reads(false),
        [](words& at) { word<uint32_t>(at.flag).store(1, release); });
  };
  machine on = scoped();
  for (const place where : {place::block, place::device, place::from_device}) {
    EXPECT_EQ(all_seen(on, disagrees(where, between::nothing), 3000).count("2 2"), 1u) << to_string(where);
    EXPECT_EQ(all_seen(on, disagrees(where, between::fences), 3000).count("2 2"), 0u) << to_string(where);
  }
  // Host threads share one memory.
  EXPECT_EQ(all_seen(on, disagrees(place::host, between::nothing), 3000).count("2 2"), 0u);
}

// More stores than the machine keeps for late readers.
TEST(coherence, of_many_stores_a_reader_never_goes_back) {
  constexpr uint32_t stores = 25;
  const auto stores_up = [](uint32_t self) {
    return [self](words& at) {
      for (uint32_t n = 1; n <= stores; ++n) word<uint32_t>(at.data).store(self << 8 | n, relaxed);
    };
  };
  const auto reads = [](words& at) {
    uint32_t latest[2] = {};
    bool begun = false;
    for (uint32_t n = 0; n < 2 * stores; ++n) {
      const uint32_t seen = word<uint32_t>(at.data).load(relaxed);
      SIM_CHECK(seen != 0 || !begun);
      if (seen == 0) continue;
      begun = true;
      uint32_t& of_its_lane = latest[seen >> 8 & 1];
      SIM_CHECK((seen & 0xff) >= of_its_lane);
      of_its_lane = seen & 0xff;
    }
  };
  machine on = scoped();
  for (const place where : all_places)
    EXPECT_TRUE(always(verdict::ok, on.run_many(together(where, stores_up(2), stores_up(3), reads), 300)))
        << to_string(where);
}

// Those that are kept no more may have covered a part of an older one.
TEST(coherence, of_many_stores_to_a_half_a_reader_never_goes_back_to_the_whole) {
  constexpr uint32_t all_ones = 0xffffffff;
  const auto stores = [](words& at) {
    void* const both = &at.data;
    word<uint64_t>(*static_cast<uint64_t*>(both)).store(~uint64_t{0}, relaxed);
    for (uint32_t n = 1; n <= 25; ++n) word<uint32_t>(at.data).store(n, relaxed);
  };
  const auto reads = [](words& at) {
    uint32_t latest = 0;
    for (uint32_t n = 0; n < 25; ++n) {
      const uint32_t seen = word<uint32_t>(at.data).load(relaxed);
      if (seen == all_ones) at.seen[0].value = 1;
      if (latest == 0 && seen == all_ones) continue;
      SIM_CHECK(seen != all_ones && seen >= latest);
      latest = seen;
    }
  };
  machine on = counting();
  for (const place where : all_places)
    EXPECT_EQ(all_seen(on, together(where, stores, reads), many), (sightings{"0 0", "1 0"})) << to_string(where);
}

TEST(loads, return_when_they_are_issued) {
  machine on = scoped();
  const auto half = [](uint32_t self) {
    return [=](words& at) {
      at.seen[self].value = word<uint32_t>(self == 0 ? at.data : at.flag).load(relaxed);
      word<uint32_t>(self == 0 ? at.flag : at.data).store(1, relaxed);
    };
  };
  EXPECT_EQ(all_seen(on, together(place::device, half(0), half(1)), many), (sightings{"0 0", "0 1", "1 0"}));
}

// -- own stores --------------------------------------------------------------------------------------------------------------

TEST(a_lane, always_sees_its_own_stores) {
  machine on = counting();
  for (const place where : all_places) {
    const auto looks = [](words& at) {
      const volatile uint32_t& data = at.data;
      for (uint32_t n = 0; n < 5; ++n) {
        at.seen[1].value += data;
        word<uint32_t>(at.other).load(acquire);
      }
    };
    EXPECT_TRUE(always(verdict::ok, on.run_many(together(
                                                    where,
                                                    [](words& at) {
                                                      volatile uint32_t& data = at.data;
                                                      for (uint32_t n = 1; n < 5; ++n) {
                                                        data = n;
                                                        SIM_CHECK(data == n);
                                                        word<uint32_t>(at.other).store(n, relaxed);
                                                        SIM_CHECK(word<uint32_t>(at.other).load(relaxed) == n);
                                                      }
                                                    },
                                                    looks),
                                                300)))
        << to_string(where);
  }
}

// -- runs --------------------------------------------------------------------------------------------------------------------

std::vector<program> assorted() {
  std::vector<program> all;
  for (const place where : all_places) {
    all.push_back(passes(where, {}, payload::plain));
    all.push_back(passes(where, {.given = relaxed, .taken = relaxed}, payload::plain));
    all.push_back(passes(where, {.given_to = scope::block, .fences = true}, payload::plain));
    all.push_back(passes(where, {.given = relaxed, .taken = relaxed}, payload::atomic));
    all.push_back(buffers_stores(where, between::nothing, scope::system, relaxed));
    all.push_back(three_count(where, scope::block));
  }
  return all;
}

TEST(runs, are_the_same_again_and_when_they_are_explained) {
  for (const char* races : {"races=end", "races=count"})
    for (const std::string& strategy : all_strategies()) {
      machine on = scoped({races}, strategy);
      for (const program& body : assorted())
        for (uint64_t seed = 1; seed <= 40; ++seed) {
          // What a run finds in the program's variables is part of it.
          left = {};
          const outcome first = on.run(body, seed);
          for (const bool explained : {false, true}) {
            left = {};
            const outcome again = on.run(body, seed, explained);
            ASSERT_EQ(again.verdict, first.verdict) << on.about() << ", seed " << seed;
            EXPECT_EQ(again.digest, first.digest) << on.about() << ", seed " << seed;
            EXPECT_EQ(again.where, first.where);
            EXPECT_EQ(again.races, first.races);
            EXPECT_EQ(again.scope_races, first.scope_races);
          }
        }
    }
}

TEST(runs, show_nothing_that_is_not_allowed_whatever_decides) {
  for (const std::string& strategy : all_strategies()) {
    machine on = scoped({}, strategy);
    for (const place where : all_places) {
      const sightings message = all_seen(on, passes(where, {}, payload::atomic), 300);
      EXPECT_EQ(message.count("1 0"), 0u) << strategy;
      const sightings stores = all_seen(on, buffers_stores(where, between::fences, scope::system, seq_cst), 300);
      EXPECT_EQ(stores.count("0 0"), 0u) << strategy;
      EXPECT_EQ(all_seen(on, three_count(where, scope::system), 50, data_alone), sightings{"6"}) << strategy;
    }
  }
}

// -- settings ----------------------------------------------------------------------------------------------------------------

constexpr handover no_order{.given = relaxed, .taken = relaxed};

TEST(scoped_settings, without_late_loads_nobody_sees_an_older_value) {
  machine on = scoped({"late=0"});
  for (const place where : all_places) {
    EXPECT_EQ(all_seen(on, passes(where, no_order, payload::atomic), many), (sightings{"0 0", "0 7", "1 7"}))
        << to_string(where);
    EXPECT_EQ(all_seen(on, buffers_stores(where, between::nothing, scope::system, seq_cst), many),
              (sightings{"0 1", "1 0", "1 1"}))
        << to_string(where);
    // Races do not depend on it.
    EXPECT_EQ(all_seen(on, passes(where, no_order, payload::plain), 100), (sightings{"0 0", "race"}));
  }
}

TEST(scoped_settings, a_device_that_keeps_its_stores_in_order_shows_them_in_order_to_the_host) {
  const sightings in_order = {"0 0", "0 7", "1 7"};
  const sightings any = {"0 0", "0 7", "1 0", "1 7"};
  machine on = scoped({"link.pool=off"});
  EXPECT_EQ(all_seen(on, passes(place::from_device, no_order, payload::atomic), many), in_order);
  EXPECT_EQ(all_seen(on, passes(place::device, no_order, payload::atomic), many), any);
  EXPECT_EQ(all_seen(on, passes(place::from_device, no_order, payload::plain), 300), (sightings{"0 0", "race"}));
  machine with_pool = scoped();
  EXPECT_EQ(all_seen(with_pool, passes(place::from_device, no_order, payload::atomic), many), any);
  machine relaxed_ordering = scoped({"link.pool=off", "link.ro=on"});
  EXPECT_EQ(all_seen(relaxed_ordering, passes(place::from_device, no_order, payload::atomic), many), any);
  // Not over the link.
  machine in_device = scoped({"link.pool=off", "buffer=device"});
  EXPECT_EQ(all_seen(in_device, passes(place::from_device, no_order, payload::atomic), many), any);
}

struct gives_data {
  static constexpr int data_line = __LINE__ + 3;
  static constexpr int flag_line = __LINE__ + 3;
  void operator()(words& at) const {
    at.data = 71;
    word<uint32_t>(at.flag).store(1, release);
  }
};

program takes_data(place where) {
  return together(where, gives_data(), [](words& at) {
    if (word<uint32_t>(at.flag).load(acquire) == 1) SIM_CHECK(at.data == 71);
  });
}

TEST(scoped_settings, relaxed_ordering_without_drain_lets_a_release_overtake_what_it_releases) {
  machine faulty = scoped({"link.ro=on", "link.drain=off"});
  const tally seen = faulty.run_many(takes_data(place::from_device), many);
  ASSERT_TRUE(sometimes(verdict::assertion, seen));
  const outcome ended = faulty.explain(takes_data(place::from_device), seen.first_seeds.at(verdict::assertion));
  const size_t overtaken = ended.report.find("was overtaken by");
  ASSERT_NE(overtaken, std::string::npos) << ended.report;
  const std::string before = ended.report.substr(0, overtaken);
  const std::string behind = ended.report.substr(overtaken);
  EXPECT_TRUE(says(before, "wave 0 lane 0, plain store of words+0x0 (4 bytes)"));
  EXPECT_TRUE(says(before, SIM_LINE(gives_data::data_line)));
  EXPECT_TRUE(says(behind, "wave 0 lane 0, store release system of words+0x8 (4 bytes)"));
  EXPECT_TRUE(says(behind, SIM_LINE(gives_data::flag_line)));
}

TEST(scoped_settings, a_release_overtakes_nothing_unless_the_link_may_and_fences_do_not_wait) {
  for (const std::vector<std::string>& set :
       {std::vector<std::string>{"link.ro=on"}, {"link.drain=off"}, {"link.ro=on", "link.drain=on"}}) {
    machine on = scoped(set);
    EXPECT_TRUE(always(verdict::ok, on.run_many(takes_data(place::from_device), many)));
  }
  machine faulty = scoped({"link.ro=on", "link.drain=off"});
  for (const place where : {place::wave, place::block, place::device, place::to_device, place::host})
    EXPECT_TRUE(always(verdict::ok, faulty.run_many(takes_data(where), 300))) << to_string(where);
  machine in_device = scoped({"link.ro=on", "link.drain=off", "buffer=device"});
  EXPECT_TRUE(always(verdict::ok, in_device.run_many(takes_data(place::from_device), many)));
}

TEST(scoped_settings, the_same_holds_wherever_shared_memory_lies) {
  machine on = scoped({"buffer=device"});
  for (const place where : all_places) {
    EXPECT_EQ(all_seen(on, passes(where, {}, payload::plain), 300), (sightings{"0 0", "1 7"})) << to_string(where);
    EXPECT_EQ(all_seen(on, passes(where, no_order, payload::plain), 300), (sightings{"0 0", "race"}));
  }
}

}  // namespace
}  // namespace heddle::sim::tests::scoped_test
