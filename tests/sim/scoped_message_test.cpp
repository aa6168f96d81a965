// Messages from lane to lane where memory is scoped: what comes with them depends on orders, on scopes, and on the lanes that pass them on.
#include "together.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace heddle::sim::tests::scoped_message_test {
namespace {

constexpr auto acquire = memory_order::acquire;
constexpr auto release = memory_order::release;
constexpr auto relaxed = memory_order::relaxed;
constexpr auto acq_rel = memory_order::acq_rel;

constexpr uint64_t many = 1500;

TEST(message_passing, in_the_right_scope_brings_the_payload_and_in_a_narrow_one_is_a_scope_race) {
  machine on = scoped();
  for (const place where : all_places)
    for (const scope reach : all_scopes)
      EXPECT_EQ(all_seen(on, passes(where, {.given_to = reach, .taken_from = reach}, payload::plain), 300),
                (std::min(counts_as(where, 0, reach), counts_as(where, 1, reach)) >= scope_of(where)
                     ? sightings{"0 0", "1 7"}
                     : sightings{"scope race"}))
          << to_string(where) << ", scope " << static_cast<int>(reach);
}

TEST(message_passing, is_a_scope_race_when_either_side_is_narrow) {
  machine on = scoped();
  for (const place where : {place::block, place::device, place::from_device, place::to_device, place::host}) {
    const auto seen = [&](uint32_t narrow) {
      return counts_as(where, narrow, scope::wave) >= scope_of(where) ? sightings{"0 0", "1 7"}
                                                                      : sightings{"scope race"};
    };
    EXPECT_EQ(all_seen(on, passes(where, {.given_to = scope::wave}, payload::plain), 100), seen(0)) << to_string(where);
    EXPECT_EQ(all_seen(on, passes(where, {.taken_from = scope::wave}, payload::plain), 100), seen(1))
        << to_string(where);
  }
}

TEST(message_passing, without_release_or_without_acquire_is_a_race) {
  machine on = scoped();
  for (const place where : all_places)
    for (const bool fences : {false, true})
      for (const auto& [given, taken] : {std::pair(relaxed, acquire), {release, relaxed}, {relaxed, relaxed}})
        EXPECT_EQ(all_seen(on, passes(where, {.given = given, .taken = taken, .fences = fences}, payload::plain), 300),
                  (sightings{"0 0", "race"}))
            << to_string(where) << (fences ? ", fences" : "");
}

TEST(message_passing, by_fences_depends_on_their_scopes) {
  machine on = scoped();
  for (const place where : all_places)
    for (const scope given_to : all_scopes)
      for (const scope taken_from : all_scopes) {
        const bool right =
            counts_as(where, 0, given_to) >= scope_of(where) && counts_as(where, 1, taken_from) >= scope_of(where);
        const handover by{.given_to = given_to, .taken_from = taken_from, .fences = true};
        EXPECT_EQ(all_seen(on, passes(where, by, payload::plain), 200),
                  (right ? sightings{"0 0", "1 7"} : sightings{"0 0", "scope race"}))
            << to_string(where) << ", scopes " << static_cast<int>(given_to) << ' ' << static_cast<int>(taken_from);
      }
}

// What an x86 orders by itself, a weak host does not: neither on the side that releases, nor on the side that acquires.
TEST(message_passing, of_a_weak_host_needs_the_orders_that_an_x86_does_not) {
  const handover unordered{.given = relaxed, .taken = relaxed};
  const sightings ordered = {"0 0", "0 7", "1 7"};
  machine strong = scoped();
  EXPECT_EQ(all_seen(strong, passes(place::host, unordered, payload::atomic), many), ordered);
  machine weak = scoped({"host=weak"});
  for (const place where : all_places) {
    EXPECT_EQ(all_seen(weak, passes(where, unordered, payload::atomic), many), (sightings{"0 0", "0 7", "1 0", "1 7"}))
        << to_string(where);
    EXPECT_EQ(all_seen(weak, passes(where, {}, payload::atomic), many), ordered) << to_string(where);
    EXPECT_EQ(all_seen(weak, passes(where, {.fences = true}, payload::plain), many), (sightings{"0 0", "1 7"}))
        << to_string(where);
  }
}

TEST(message_passing, of_an_atomic_payload_may_bring_the_old_one_unless_it_is_ordered) {
  machine on = scoped();
  for (const place where : all_places)
    for (const bool fences : {false, true})
      for (const memory_order given : {relaxed, release})
        for (const memory_order taken : {relaxed, acquire}) {
          const handover by{.given = given, .taken = taken, .fences = fences};
          sightings wanted = {"0 0", "0 7", "1 7"};
          if (!is_ordered(where, by)) wanted.insert("1 0");
          EXPECT_EQ(all_seen(on, passes(where, by, payload::atomic), many), wanted)
              << to_string(where) << (fences ? ", fences " : " ") << static_cast<int>(given) << static_cast<int>(taken);
        }
}

TEST(message_passing, of_an_atomic_payload_in_a_narrow_scope_may_bring_the_old_one) {
  machine on = counting();
  for (const place where : all_places)
    for (const scope given_to : all_scopes)
      for (const scope taken_from : all_scopes) {
        const handover by{.given_to = given_to, .taken_from = taken_from};
        const bool old = all_seen(on, passes(where, by, payload::atomic), many / 2).count("1 0") != 0;
        EXPECT_EQ(old, !is_ordered(where, by))
            << to_string(where) << ", scopes " << static_cast<int>(given_to) << ' ' << static_cast<int>(taken_from);
      }
}

TEST(message_passing, a_plain_payload_may_be_the_old_one_only_where_it_races) {
  machine on = counting();
  for (const place where : all_places) {
    const handover right;
    const handover wrong{.given = relaxed, .taken = relaxed};
    EXPECT_EQ(all_seen(on, passes(where, right, payload::plain), many), (sightings{"0 0", "1 7"}));
    sightings wanted = {"0 0", "1 7"};
    if (!is_ordered(where, wrong)) wanted.insert("1 0");
    EXPECT_EQ(all_seen(on, passes(where, wrong, payload::plain), many), wanted) << to_string(where);
  }
}

// -- releases that others continue -------------------------------------------------------------------------------------------

enum class third { modifies, stores };

/// The first lane hands over, the second counts the flag on, and the last takes the payload when the flag has come through both.
program through_another(place where, third way) {
  return together(
      where,
      [](words& at) {
        at.data = 7;
        word<uint32_t>(at.flag).store(1, release);
      },
      [way](words& at) {
        const word<uint32_t> flag(at.flag);
        if (way == third::modifies)
          flag.fetch_add(1, relaxed);
        else if (flag.load(relaxed) == 1)
          flag.store(2, relaxed);
      },
      [](words& at) {
        const uint32_t flag = word<uint32_t>(at.flag).load(acquire);
        at.seen[0].value = flag;
        if (flag == 2) at.seen[1].value = at.data;
      });
}

TEST(a_release, is_continued_by_a_read_modify_write_and_broken_by_a_store) {
  machine on = scoped();
  for (const place where : all_places) {
    EXPECT_EQ(all_seen(on, through_another(where, third::modifies), many), (sightings{"0 0", "1 0", "2 7"}))
        << to_string(where);
    EXPECT_EQ(all_seen(on, through_another(where, third::stores), many), (sightings{"0 0", "1 0", "race"}))
        << to_string(where);
  }
}

TEST(a_release, reaches_a_third_lane_through_a_second_that_acquires_and_releases) {
  const auto chain = [](place where, memory_order second_takes) {
    return together(
        where,
        [](words& at) {
          at.data = 7;
          word<uint32_t>(at.flag).store(1, release);
        },
        [=](words& at) {
          if (word<uint32_t>(at.flag).load(second_takes) == 1) word<uint32_t>(at.other).store(1, release);
        },
        [](words& at) {
          const uint32_t other = word<uint32_t>(at.other).load(acquire);
          at.seen[0].value = other;
          if (other == 1) at.seen[1].value = at.data;
        });
  };
  machine on = scoped();
  for (const place where : all_places) {
    EXPECT_EQ(all_seen(on, chain(where, acquire), many), (sightings{"0 0", "1 7"})) << to_string(where);
    EXPECT_EQ(all_seen(on, chain(where, relaxed), many), (sightings{"0 0", "race"})) << to_string(where);
  }
}

TEST(a_release, is_not_undone_by_a_later_relaxed_store_of_its_lane) {
  machine on = scoped();
  const auto again = [](memory_order first) {
    return together(
        place::device,
        [first](words& at) {
          at.data = 7;
          word<uint32_t>(at.flag).store(1, first);
          word<uint32_t>(at.flag).store(2, relaxed);
        },
        [](words& at) {
          const uint32_t flag = word<uint32_t>(at.flag).load(acquire);
          at.seen[0].value = flag;
          if (flag == 2) at.seen[1].value = at.data;
        });
  };
  EXPECT_EQ(all_seen(on, again(release), many), (sightings{"0 0", "1 0", "2 7"}));
  EXPECT_EQ(all_seen(on, again(relaxed), many), (sightings{"0 0", "1 0", "race"}));
}

// A list once doubled with each of these.
TEST(a_release, that_two_lanes_continue_by_turns_stays_cheap) {
  machine on = scoped();
  for (const place where : all_places) {
    const auto adds = [](words& at) {
      for (uint32_t n = 0; n < 300; ++n) word<uint32_t>(at.data).fetch_add(1, n % 2 == 0 ? acq_rel : relaxed);
    };
    EXPECT_EQ(all_seen(on, together(where, adds, adds), 3, data_alone), sightings{"600"});
  }
}

// -- Accesses of any size where memory is scoped: a lane sees each byte as it was written last, wherever accesses begin and end.

/// 64 bytes that are accessed in any size.
struct bytes {
  alignas(8) uint8_t at[64];
};

/// The first lane writes, and hands over; the second looks behind the hand-over.
template <typename Write, typename Look>
program writes_and_looks(place where, memory_order given, Write write, Look look) {
  return [=] {
    device host;
    auto* const shared = host.allocate_shared<bytes>(1, "bytes");
    auto* const flag = host.allocate_shared<uint32_t>(1, "flag");
    const auto first = [=] {
      write(shared->at);
      word<uint32_t>(*flag).store(1, given);
    };
    const auto second = [=] {
      if (word<uint32_t>(*flag).load(acquire) == 1) look(shared->at);
    };
    if (where == place::device) {
      host.launch({.blocks = 2, .waves = 1, .lanes = 1}, [=] {
        if (target::block_id() == 0)
          first();
        else
          second();
      });
    } else {
      host.launch({.blocks = 1, .waves = 1, .lanes = 1}, first);
      second();
    }
    host.synchronize();
  };
}

/// With the right order the second lane finds what it should; without it that is a race; and where races are only counted, it may
/// find something else.
template <typename Write, typename Look>
void expect_sizes_fit(Write write, Look look) {
  machine on = scoped();
  machine on_counting = counting();
  for (const place where : {place::device, place::from_device}) {
    EXPECT_TRUE(always(verdict::ok, on.run_many(writes_and_looks(where, release, write, look), 300)));
    EXPECT_TRUE(sometimes(verdict::race, on.run_many(writes_and_looks(where, relaxed, write, look), 300)));
    EXPECT_TRUE(
        sometimes(verdict::assertion, on_counting.run_many(writes_and_looks(where, relaxed, write, look), many)));
  }
}

template <typename T>
volatile T& as(uint8_t* at) {
  return *reinterpret_cast<volatile T*>(at);
}

TEST(sizes, a_long_store_is_read_in_halves_and_in_bytes) {
  expect_sizes_fit([](uint8_t* at) { as<uint64_t>(at) = 0x8877665544332211; },
                   [](uint8_t* at) {
                     SIM_CHECK(as<uint32_t>(at) == 0x44332211);
                     SIM_CHECK(as<uint32_t>(at + 4) == 0x88776655);
                     SIM_CHECK(as<uint8_t>(at + 2) == 0x33);
                     SIM_CHECK(as<uint16_t>(at + 6) == 0x8877);
                   });
}

TEST(sizes, a_word_is_put_together_from_bytes) {
  expect_sizes_fit(
      [](uint8_t* at) {
        as<uint32_t>(at) = 0xffffffff;
        as<uint8_t>(at + 1) = 0x11;
        as<uint16_t>(at + 2) = 0x3322;
      },
      [](uint8_t* at) {
        SIM_CHECK(as<uint32_t>(at) == 0x332211ff);
        SIM_CHECK(as<uint64_t>(at) == 0x332211ff);
      });
}

TEST(sizes, a_copy_of_many_granules_arrives_as_a_whole) {
  expect_sizes_fit(
      [](uint8_t* at) {
        uint8_t own[41];
        volatile size_t length = sizeof own;
        std::memset(own, 5, length);
        std::memcpy(at + 3, own, length);
      },
      [](uint8_t* at) {
        uint8_t own[41];
        volatile size_t length = sizeof own;
        std::memcpy(own, at + 3, length);
        for (const uint8_t each : own) SIM_CHECK(each == 5);
        SIM_CHECK(as<uint8_t>(at + 2) == 0);
        SIM_CHECK(as<uint8_t>(at + 44) == 0);
      });
}

TEST(sizes, an_object_of_16_bytes_is_copied) {
  struct pair {
    uint64_t first, second;
  };
  expect_sizes_fit(
      [](uint8_t* at) {
        *reinterpret_cast<pair*>(at + 16) = pair{.first = 3, .second = 4};
        // From memory to memory.
        *reinterpret_cast<pair*>(at) = *reinterpret_cast<pair*>(at + 16);
      },
      [](uint8_t* at) {
        const pair own = *reinterpret_cast<const pair*>(at);
        SIM_CHECK(own.first == 3);
        SIM_CHECK(own.second == 4);
      });
}

struct [[gnu::packed]] crooked {
  uint8_t one;
  uint64_t eight;
  uint32_t four;
};

TEST(sizes, accesses_may_cross_granules) {
  expect_sizes_fit(
      [](uint8_t* at) {
        auto* const to = reinterpret_cast<crooked*>(at + 4);
        to->eight = 0x8877665544332211;
        to->four = 0xccbbaa99;
      },
      [](uint8_t* at) {
        auto* const from = reinterpret_cast<const crooked*>(at + 4);
        SIM_CHECK(from->eight == 0x8877665544332211);
        SIM_CHECK(from->four == 0xccbbaa99);
        SIM_CHECK(as<uint8_t>(at + 7) == 0x33);
        SIM_CHECK(as<uint8_t>(at + 8) == 0x44);
      });
}

TEST(sizes, what_is_read_while_it_is_copied_may_be_old_in_one_granule_and_new_in_another) {
  const auto read_while_copied = [](words& at) {
    uint64_t own[2];
    volatile size_t length = sizeof own;
    std::memcpy(own, &at.data, length);
    at.seen[0].value = static_cast<uint32_t>(own[0]);
    at.seen[1].value = static_cast<uint32_t>(own[1]);
  };
  const auto copies = [](words& at) {
    const uint64_t own[2] = {1, 1};
    volatile size_t length = sizeof own;
    std::memcpy(&at.data, own, length);
  };
  machine on = counting();
  for (const place where : {place::block, place::device, place::from_device, place::to_device})
    EXPECT_EQ(all_seen(on, together(where, copies, read_while_copied), many), (sightings{"0 0", "0 1", "1 0", "1 1"}))
        << to_string(where);
}

TEST(sizes, lanes_that_write_bytes_of_one_word_do_not_disturb_each_other) {
  const auto writes_byte = [](uint32_t n) {
    return [n](words& at) { reinterpret_cast<volatile uint8_t*>(&at.data)[n] = static_cast<uint8_t>(n + 1); };
  };
  machine on = scoped();
  for (const place where : all_places) {
    EXPECT_EQ(all_seen(on, together(where, writes_byte(0), writes_byte(1), writes_byte(3)), 300, data_alone),
              sightings{std::to_string(0x04000201)})
        << to_string(where);
    EXPECT_EQ(all_seen(on, together(where, writes_byte(0), writes_byte(1), writes_byte(1)), 20, data_alone),
              sightings{"race"});
  }
}

// -- at random -----------------------------------------------------------------------------------------------------

/// What two lanes do by turns: each lane knows all of it, and what memory must hold then.
struct scribble {
  static constexpr uint32_t rounds = 12;
  struct write {
    uint32_t offset, length;
    uint8_t value;
  };
  write all[rounds];

  explicit scribble(uint64_t seed) {
    std::mt19937_64 random(seed);
    for (write& each : all) {
      each.length = 1 + static_cast<uint32_t>(random() % 20);
      each.offset = static_cast<uint32_t>(random() % (sizeof(bytes) - each.length));
      each.value = static_cast<uint8_t>(1 + random() % 255);
    }
  }

  void play(uint32_t self, uint8_t* at, uint32_t& turn, memory_order given) const {
    uint8_t expected[sizeof(bytes)] = {};
    for (uint32_t n = 0; n < rounds; ++n) {
      const write& one = all[n];
      if (n % 2 == self) {
        while (word<uint32_t>(turn).load(acquire) != n) target::pause();
        uint8_t found[sizeof(bytes)];
        volatile size_t all_bytes = sizeof found;
        // In two parts that seldom end where a write has.
        volatile size_t part = one.offset + 1;
        std::memcpy(found, at, part);
        std::memcpy(found + part, at + part, all_bytes - part);
        for (size_t byte = 0; byte < sizeof found; ++byte) SIM_CHECK(found[byte] == expected[byte]);
        volatile size_t length = one.length;
        std::memset(at + one.offset, one.value, length);
        word<uint32_t>(turn).store(n + 1, given);
      }
      for (uint32_t byte = 0; byte < one.length; ++byte) expected[one.offset + byte] = one.value;
    }
  }
};

program scribbles(place where, uint64_t seed, memory_order given) {
  return [=, what = scribble(seed)] {
    device host;
    auto* const shared = host.allocate_shared<bytes>(1, "bytes");
    auto* const turn = host.allocate_shared<uint32_t>(1, "turn");
    const auto* const plan = host.allocate_shared<scribble>(1, "plan");
    std::memcpy(const_cast<scribble*>(plan), &what, sizeof what);
    const uint32_t on_device = where == place::device ? 2 : 1;
    host.launch({.blocks = on_device, .waves = 1, .lanes = 1},
                [=] { plan->play(target::block_id(), shared->at, *turn, given); });
    if (where != place::device) plan->play(1, shared->at, *turn, given);
    host.synchronize();
  };
}

TEST(sizes, at_random_are_right_by_turns_and_wrong_without_a_release) {
  machine on = scoped();
  machine on_counting = counting();
  for (const place where : {place::device, place::from_device})
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE("program of seed " + std::to_string(seed) + ", " + to_string(where));
      EXPECT_TRUE(always(verdict::ok, on.run_many(scribbles(where, seed, release), 20)));
      EXPECT_TRUE(always(verdict::race, on.run_many(scribbles(where, seed, relaxed), 5)));
      if (where != place::device) continue;
      EXPECT_TRUE(sometimes(verdict::assertion, on_counting.run_many(scribbles(where, seed, relaxed), 100)));
    }
}

// -- fills of many bytes -----------------------------------------------------------------------------------------------------

constexpr size_t fill_bytes = 8192;

void fill(uint8_t* at, uint8_t value, size_t size_bytes = fill_bytes) {
  volatile size_t length = size_bytes;
  std::memset(at, value, length);
}
uint64_t load_of(uint8_t* at) { return word<uint64_t>(*reinterpret_cast<uint64_t*>(at)).load(relaxed); }
void look_at(const uint8_t& at) { [[maybe_unused]] const uint8_t seen = static_cast<const volatile uint8_t&>(at); }
uint64_t all_bytes(uint8_t value) { return value * 0x0101010101010101ull; }

/// Each part in a block of its own, after `before`.
template <typename Before, typename... Parts>
program on_bytes(Before before, Parts... parts) {
  return [=] {
    device host;
    auto* const at = host.allocate_device<uint8_t>(fill_bytes, "bytes");
    host.launch({.blocks = 1, .waves = 1, .lanes = 1}, [=] { before(at); });
    host.launch({.blocks = sizeof...(Parts), .waves = 1, .lanes = 1}, [=] {
      uint32_t n = 0;
      ((n++ == target::block_id() ? parts(at) : void()), ...);
    });
    host.synchronize();
  };
}
constexpr auto nothing = [](uint8_t*) {};
constexpr auto fills = [](uint8_t* at) { fill(at, 7); };

TEST(fills, race_with_accesses_to_any_of_their_bytes) {
  machine on = scoped();
  const auto fills_half = [](size_t from) { return [from](uint8_t* at) { fill(at + from, 3, fill_bytes / 2); }; };
  const auto touches_one = [](uint8_t* at) { look_at(at[4000]); };
  for (const size_t byte : {size_t{0}, size_t{4001}, fill_bytes - 1}) {
    EXPECT_TRUE(
        always(verdict::race, on.run_many(on_bytes(nothing, fills, [=](uint8_t* at) { look_at(at[byte]); }), 50)));
    EXPECT_TRUE(always(verdict::race, on.run_many(on_bytes(fills, fills, [=](uint8_t* at) { at[byte] = 1; }), 50)));
    EXPECT_TRUE(
        always(verdict::race,
               on.run_many(on_bytes(touches_one, fills, [=](uint8_t* at) { load_of(at + byte / 8 * 8); }), 50)));
  }
  EXPECT_TRUE(always(verdict::race, on.run_many(on_bytes(nothing, fills, fills), 50)));
  EXPECT_TRUE(always(verdict::race, on.run_many(on_bytes(fills, fills, fills_half(4095)), 50)));
  EXPECT_TRUE(always(verdict::race, on.run_many(on_bytes(nothing, fills_half(0), fills_half(4095)), 50)));
  EXPECT_TRUE(always(verdict::race, on.run_many(on_bytes(touches_one, fills_half(4096), fills_half(100)), 50)));
  EXPECT_TRUE(always(verdict::ok, on.run_many(on_bytes(fills, fills_half(0), fills_half(4096)), 50)));
  EXPECT_TRUE(always(verdict::ok, on.run_many(on_bytes(touches_one, fills), 50)));
}

TEST(fills, one_after_the_other_leave_the_last_one_there) {
  machine on = scoped();
  const auto fills_often = [](uint8_t* at) {
    for (uint8_t n = 1; n <= 20; ++n) {
      fill(at, n);
      if (n % 8 == 0) fill(at + 1000, 100, 2000);
    }
  };
  EXPECT_TRUE(always(verdict::ok, on.run_many(on_bytes(fills_often,
                                                       [](uint8_t* at) {
                                                         SIM_CHECK(load_of(at) == all_bytes(20));
                                                         SIM_CHECK(load_of(at + 1000) == all_bytes(20));
                                                         fill(at + 4, 1, 4000);
                                                         SIM_CHECK(at[3] == 20 && at[4] == 1);
                                                         SIM_CHECK(at[4003] == 1 && at[4004] == 20);
                                                       }),
                                              50)));
}

/// What two loads find of fills of that size by another block, or by an earlier kernel; one of each seed.
std::vector<std::pair<uint64_t, uint64_t>> found_of_fills(size_t size_bytes, bool at_the_same_time) {
  machine on = counting();
  std::vector<std::pair<uint64_t, uint64_t>> seen;
  static std::pair<uint64_t, uint64_t> last;
  const auto fills_often = [=](uint8_t* at) {
    for (uint8_t n = 1; n <= 12; ++n) fill(at, n, size_bytes);
  };
  const program body = [=] {
    device host;
    auto* const at = host.allocate_device<uint8_t>(fill_bytes, "bytes");
    auto* const found = host.allocate_shared<uint64_t>(2, "found");
    const auto looks = [=] {
      found[0] = load_of(at + 512);
      found[1] = load_of(at + 512);
    };
    const auto launch = [&](uint32_t blocks, const auto& kernel) {
      host.launch({.blocks = blocks, .waves = 1, .lanes = 1}, kernel);
    };
    launch(1, [=] { fill(at, 0, size_bytes); });
    if (at_the_same_time) {
      launch(2, [=] { target::block_id() == 0 ? fills_often(at) : looks(); });
    } else {
      launch(1, [=] { fills_often(at); });
      launch(1, looks);
    }
    host.synchronize();
    last = {found[0], found[1]};
  };
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    EXPECT_EQ(on.run(body, seed).verdict, verdict::ok);
    seen.push_back(last);
  }
  return seen;
}

// A fill of more than a kilobyte is kept as one store, one of less as a store of each 8 bytes.
TEST(fills, are_seen_as_stores_of_each_of_their_words) {
  const auto many_words = found_of_fills(fill_bytes, true);
  EXPECT_EQ(many_words, found_of_fills(1016, true));
  std::set<uint64_t> seen;
  for (const auto& [first, second] : many_words) seen.insert(second);
  std::set<uint64_t> all;
  for (uint8_t n = 0; n <= 12; ++n) all.insert(all_bytes(n));
  EXPECT_EQ(seen, all);
  for (const auto& [first, second] : found_of_fills(fill_bytes, false))
    EXPECT_TRUE(first == all_bytes(12) && second == first);
}

TEST(fills, wake_a_lane_that_waits_for_one_of_their_words) {
  for (const char* memory : {"fidelity=scoped", "fidelity=interleaving"}) {
    machine on({memory, "races=count"});
    const auto waits_for = [](uint8_t value) {
      return [value](uint8_t* at) {
        while (load_of(at + 4096) != all_bytes(value)) target::pause();
      };
    };
    EXPECT_TRUE(always(verdict::ok, on.run_many(on_bytes(nothing, waits_for(7), fills), 50)));
    EXPECT_TRUE(always(verdict::deadlock, on.run_many(on_bytes(nothing, waits_for(8), fills), 20)));
  }
}

// A fill that changes nothing is no progress.
TEST(fills, that_change_nothing_are_no_progress) {
  machine on = scoped();
  const auto fills_until = [](uint8_t value) {
    return [value](uint8_t* at) {
      while (load_of(at) != all_bytes(value)) {
        fill(at, 7);
        target::pause();
      }
    };
  };
  EXPECT_TRUE(always(verdict::deadlock, on.run_many(on_bytes(fills, fills_until(8)), 10)));
  EXPECT_TRUE(always(verdict::ok, on.run_many(on_bytes(fills, fills_until(7)), 10)));
}

TEST(fills, of_megabytes_are_one_store) {
  machine on = scoped();
  const program body = [] {
    device host;
    constexpr size_t bytes = 4 << 20;
    auto* const at = host.allocate_device<uint8_t>(bytes, "bytes");
    host.launch({.blocks = 1, .waves = 1, .lanes = 1}, [=] {
      for (uint8_t n = 1; n <= 20; ++n) fill(at, n, bytes);
      SIM_CHECK(at[bytes - 1] == 20);
    });
    host.synchronize();
  };
  // Kept by locations of 8 bytes, these stores would take 60 GB.
  EXPECT_TRUE(always(verdict::ok, on.run_many(body, 5)));
}

}  // namespace
}  // namespace heddle::sim::tests::scoped_message_test
