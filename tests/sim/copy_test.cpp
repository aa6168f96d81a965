// Copies by a host thread beside a kernel: each word whole and in any order, the copy itself in its place.
#include "together.h"

namespace heddle::sim::tests {
namespace {

constexpr auto acquire = memory_order::acquire;
constexpr auto release = memory_order::release;
constexpr uint64_t many = 600;

/// What a host thread may find in two words that a kernel stores, the first one first, when it copies both at once.
enum class pair { neither, first, second, both };

/// Ends with `assertion` where the copy has found this.
program copies_both(pair found) {
  return [found] {
    device host;
    auto* const words = host.allocate_device<uint64_t>(2, "words");
    host.launch({}, [words] {
      word<uint64_t>(words[0]).store(1, release);
      word<uint64_t>(words[1]).store(1, release);
    });
    uint64_t seen[2] = {};
    host.copy(seen, words, sizeof seen);
    host.synchronize();
    SIM_CHECK(!((seen[0] != 0) == (found == pair::first || found == pair::both) &&
                (seen[1] != 0) == (found == pair::second || found == pair::both)));
  };
}

TEST(copies, take_words_in_any_order) {
  for (const char* fidelity : {"fidelity=interleaving", "fidelity=link", "fidelity=scoped"})
    for (const pair found : {pair::neither, pair::first, pair::second, pair::both}) {
      machine on({fidelity});
      const tally seen = on.run_many(copies_both(found), many);
      EXPECT_GT(seen.count(verdict::assertion), 0u) << fidelity << ' ' << static_cast<int>(found) << seen.text();
      EXPECT_EQ(seen.count(verdict::assertion) + seen.count(verdict::ok), seen.schedules) << seen.text();
    }
}

/// What a kernel stores before its flag is copied behind the copy that has shown the flag.
program copies_flag_then_data() {
  return [] {
    device host;
    auto* const words = host.allocate_device<uint64_t>(2, "flag and data");
    host.launch({}, [words] {
      words[1] = 7;
      word<uint64_t>(words[0]).store(1, release);
    });
    for (uint64_t flag = 0; flag == 0;) {
      host.copy(&flag, &words[0], sizeof flag);
      target::pause();
    }
    uint64_t data = 0;
    host.copy(&data, &words[1], sizeof data);
    SIM_CHECK(data == 7);
    host.synchronize();
  };
}

/// The host copies data and then a flag to the device.
program copies_data_then_flag() {
  return [] {
    device host;
    auto* const words = host.allocate_device<uint64_t>(2, "flag and data");
    host.launch({}, [words] {
      while (word<uint64_t>(words[0]).load(acquire) == 0) target::pause();
      SIM_CHECK(words[1] == 7);
    });
    const uint64_t data = 7;
    const uint64_t flag = 1;
    host.copy(&words[1], &data, sizeof data);
    host.copy(&words[0], &flag, sizeof flag);
    host.synchronize();
  };
}

TEST(copies, come_one_after_the_other) {
  for (const char* fidelity : {"fidelity=interleaving", "fidelity=link", "fidelity=scoped"}) {
    machine on({fidelity});
    EXPECT_TRUE(always(verdict::ok, on.run_many(copies_flag_then_data(), many))) << fidelity;
    EXPECT_TRUE(always(verdict::ok, on.run_many(copies_data_then_flag(), many))) << fidelity;
  }
}

program copies_beside(bool plain, size_t bytes) {
  return [=] {
    device host;
    auto* const words = host.allocate_device<uint64_t>(2048, "words");
    host.launch({}, [=] {
      if (plain)
        words[0] = 1;
      else
        word<uint64_t>(words[0]).store(1, release);
    });
    auto* const copied = host.allocate_shared<uint64_t>(2048, "copied");
    host.copy(copied, words, bytes);
    host.synchronize();
  };
}

TEST(copies, race_with_what_is_stored_plainly_and_when_they_are_long) {
  machine on = scoped();
  EXPECT_TRUE(always(verdict::ok, on.run_many(copies_beside(false, 8), 100)));
  EXPECT_TRUE(always(verdict::ok, on.run_many(copies_beside(false, 8192), 20)));
  EXPECT_TRUE(always(verdict::race, on.run_many(copies_beside(true, 8), 100)));
  EXPECT_TRUE(always(verdict::race, on.run_many(copies_beside(false, 8200), 100)));
}

// Bytes that no word holds are copied too, and no others.
TEST(copies, of_any_length_and_alignment_bring_every_byte) {
  machine on = scoped();
  EXPECT_TRUE(always(verdict::ok, on.run_many(
                                      [] {
                                        device host;
                                        auto* const from = host.allocate_shared<unsigned char>(64, "from");
                                        auto* const to = host.allocate_device<unsigned char>(64, "to");
                                        for (unsigned n = 0; n < 64; ++n) from[n] = static_cast<unsigned char>(n + 1);
                                        for (const size_t begin : {0u, 1u, 4u, 6u})
                                          for (const size_t bytes : {0u, 1u, 3u, 8u, 15u, 31u}) {
                                            const unsigned char none[64] = {};
                                            host.copy(to, none, sizeof none);
                                            host.copy(to + begin, from + 8, bytes);
                                            for (size_t n = 0; n < 64; ++n)
                                              SIM_CHECK(to[n] == (n >= begin && n < begin + bytes ? n - begin + 9 : 0));
                                          }
                                      },
                                      3)));
}

}  // namespace
}  // namespace heddle::sim::tests
