// Messages from lane to lane where memory is scoped: what comes with them depends on orders, on scopes, and on the lanes that pass them on.
#include <algorithm>

#include "together.h"

namespace heddle::sim::tests {
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

}  // namespace
}  // namespace heddle::sim::tests
