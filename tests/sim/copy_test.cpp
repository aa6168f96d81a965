// Copies by a host thread beside a kernel: each word whole and in any order, the copy itself in its place.
#include "run.h"
#include "together.h"

#include <cstring>
#include <vector>

namespace heddle::sim::tests::copy_test {
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

/// The host looks for a post in many words, by copies into one word of its frame, which changes with every copy.
program copies_until_post() {
  constexpr uint32_t looks = 100;
  constexpr uint64_t posted = 1000;
  return [] {
    device host;
    auto* const words = host.allocate_device<uint64_t>(looks + 1, "words");
    for (uint64_t n = 0; n < looks; ++n) host.copy(&words[n], &n, sizeof n);
    host.launch({}, [words] {
      while (word<uint64_t>(words[looks]).load(acquire) == 0) target::pause();
      word<uint64_t>(words[2]).store(posted, release);
    });
    for (uint64_t found = 0; found != posted;) {
      for (uint32_t n = 0; n < looks && found != posted; ++n) host.copy(&found, &words[n], sizeof found);
      target::pause();
    }
    host.synchronize();
  };
}

TEST(copies, that_find_the_same_again_and_again_wait) {
  for (const char* fidelity : {"fidelity=interleaving", "fidelity=link", "fidelity=scoped"}) {
    machine on({fidelity});
    const tally seen = on.run_many(copies_until_post(), 20);
    EXPECT_TRUE(always(verdict::deadlock, seen)) << fidelity;
    // What lies in its own frame is no memory that others wait for: without that the run goes on until the budget is over.
    EXPECT_LT(seen.steps_most, 5000u) << fidelity;
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

// -- Copies in streams: their order, what they see, what waits for them, and what is told when one never comes to its turn or is given what it
// must not have.

constexpr uint64_t schedules = 300;

struct buffers {
  uint32_t* here;
  uint32_t* there;
  uint32_t* back;
};
buffers three(device& on, uint32_t count) {
  return {on.allocate_shared<uint32_t>(count, "here"), on.allocate_device<uint32_t>(count, "there"),
          on.allocate_shared<uint32_t>(count, "back")};
}

TEST(stream_copy, comes_behind_what_its_stream_was_given_and_before_what_it_is_given_next) {
  for (const char* const fidelity : {"fidelity=interleaving", "fidelity=link", "fidelity=scoped"}) {
    machine on({fidelity});
    EXPECT_TRUE(always(verdict::ok, on.run_many(
                                        [] {
                                          device on_it;
                                          const buffers of = three(on_it, 3);
                                          const device::stream in = on_it.create_stream();
                                          for (uint32_t n = 0; n < 3; ++n) of.here[n] = n + 1;
                                          on_it.copy(of.there, of.here, 12, in);
                                          on_it.launch({}, [of] { of.there[1] += 40; }, in);
                                          on_it.copy(of.back, of.there, 12, in);
                                          on_it.synchronize(in);
                                          SIM_CHECK(of.back[0] == 1 && of.back[1] == 42 && of.back[2] == 3);
                                        },
                                        schedules)));
  }
}

TEST(stream_copy, does_not_wait_and_is_waited_for_by_the_whole_device) {
  machine on({"fidelity=scoped"});
  bool was_there_at_once = false;
  bool was_there_later = false;
  EXPECT_TRUE(always(verdict::ok, on.run_many(
                                      [&] {
                                        device on_it;
                                        const buffers of = three(on_it, 1);
                                        of.here[0] = 7;
                                        on_it.copy(of.there, of.here, 4, on_it.create_stream());
                                        (on_it.query() ? was_there_at_once : was_there_later) = true;
                                        on_it.synchronize();
                                        SIM_CHECK(on_it.query());
                                        uint32_t seen = 0;
                                        on_it.copy(&seen, of.there, 4);
                                        SIM_CHECK(seen == 7);
                                      },
                                      schedules)));
  EXPECT_TRUE(was_there_at_once && was_there_later);
}

TEST(stream_copy, of_another_stream_comes_in_any_order) {
  machine on;
  std::vector<bool> seen(4);
  EXPECT_TRUE(always(verdict::ok, on.run_many(
                                      [&] {
                                        device on_it;
                                        const buffers of = three(on_it, 1);
                                        of.here[0] = 1;
                                        of.back[0] = 2;
                                        on_it.copy(of.there, of.here, 4, on_it.create_stream());
                                        on_it.copy(of.there, of.back, 4, on_it.create_stream());
                                        on_it.synchronize();
                                        seen[*of.there] = true;
                                      },
                                      schedules)));
  EXPECT_TRUE(seen[1] && seen[2]);
}

TEST(stream_copy, takes_words_one_by_one_from_either_end_while_a_kernel_stores_them) {
  machine on({"fidelity=scoped"});
  std::vector<bool> seen(4);
  EXPECT_TRUE(always(verdict::ok, on.run_many(
                                      [&] {
                                        device on_it;
                                        auto* const there = on_it.allocate_device<uint64_t>(2, "there");
                                        auto* const back = on_it.allocate_shared<uint64_t>(2, "back");
                                        on_it.launch(
                                            {},
                                            [there] {
                                              word<uint64_t>(there[0]).store(1, release);
                                              word<uint64_t>(there[1]).store(1, release);
                                            },
                                            on_it.create_stream());
                                        on_it.copy(back, there, 16, on_it.create_stream());
                                        on_it.synchronize();
                                        seen[back[0] | back[1] << 1] = true;
                                      },
                                      2000)));
  for (const bool each : seen) EXPECT_TRUE(each);
}

TEST(stream_copy, beside_a_kernel_that_stores_plainly_is_a_race) {
  machine on({"fidelity=scoped"});
  EXPECT_TRUE(sometimes(verdict::race, on.run_many(
                                           [] {
                                             device on_it;
                                             const buffers of = three(on_it, 1);
                                             on_it.launch({}, [of] { *of.there = 1; }, on_it.create_stream());
                                             on_it.copy(of.back, of.there, 4, on_it.create_stream());
                                             on_it.synchronize();
                                           },
                                           schedules)));
}

TEST(stream_copy, needs_no_place_on_the_device_and_is_promised_its_turns) {
  for (const char* const progress : {"progress=hsa", "progress=slots", "progress=cuda"}) {
    machine on({"resident=1", progress});
    EXPECT_TRUE(always(verdict::ok, on.run_many(
                                        [] {
                                          device on_it;
                                          const buffers of = three(on_it, 1);
                                          on_it.launch({}, [of] {
                                            while (word<uint32_t>(*of.there).load(acquire) == 0) target::pause();
                                          });
                                          of.here[0] = 1;
                                          on_it.copy(of.there, of.here, 4, on_it.create_stream());
                                          on_it.synchronize();
                                        },
                                        schedules)));
  }
}

TEST(stream_copy, that_never_comes_to_its_turn_is_told_with_its_stream_and_who_is_in_front_of_it) {
  machine on;
  const outcome hung = on.explain([] {
    device on_it;
    const buffers of = three(on_it, 1);
    const device::stream in = on_it.create_stream();
    on_it.launch(
        {},
        [of] {
          while (word<uint32_t>(*of.there).load(acquire) == 0) target::pause();
        },
        in);
    on_it.copy(of.there, of.here, 4, in);
    on_it.launch({.blocks = 2}, [] {}, in);
    on_it.synchronize(in);
  });
  EXPECT_EQ(hung.verdict, verdict::deadlock);
  EXPECT_TRUE(says(hung.report, "copy 1 of stream 1: waits for its turn in its stream"));
  EXPECT_TRUE(says(hung.report, "copy_test.cpp"));
  EXPECT_TRUE(says(hung.report, "copy 1 of stream 1 -> wave 0  (its turn in its stream)"));
  EXPECT_TRUE(says(hung.report, "waves 1 to 2 of stream 1 have not begun, and wait for their turn"));
  EXPECT_TRUE(says(hung.report, "copy 1 of stream 1 comes before, and has not ended"));
  EXPECT_TRUE(says(hung.report, "wave 1 -> copy 1 of stream 1  (its turn in stream 1)"));
  EXPECT_EQ(hung.hang, "copy, host main, wave");
}

TEST(stream_copy, of_memory_that_is_freed_before_it_happens_is_found) {
  machine on;
  EXPECT_TRUE(sometimes(verdict::memory, on.run_many(
                                             [] {
                                               device on_it;
                                               const buffers of = three(on_it, 1);
                                               on_it.copy(of.there, of.here, 4, on_it.create_stream());
                                               on_it.free(of.here);
                                               on_it.synchronize();
                                             },
                                             schedules)));
}

[[gnu::noinline]] void copy_to_a_frame(device& on, const uint32_t* from) {
  uint32_t own[4] = {};
  on.copy(own, from, sizeof own, on.create_stream());
}

/// The same, far below what the thread calls later.
[[gnu::noinline]] void copy_to_a_deep_frame(device& on, const uint32_t* from) {
  volatile char above[8192];
  above[0] = 1;
  copy_to_a_frame(on, from);
  above[1] = above[0];
}

TEST(stream_copy, reaches_a_frame_of_a_thread_until_that_has_returned) {
  machine on;
  const outcome waits = on.run([] {
    device on_it;
    uint32_t own = 0;
    auto* const from = on_it.allocate_shared<uint32_t>(4, "from");
    from[0] = 7;
    on_it.copy(&own, from, 4, on_it.create_stream());
    on_it.synchronize();
    SIM_CHECK(own == 7);
    on_it.free(from);
  });
  EXPECT_EQ(waits.verdict, verdict::ok) << waits.message;
  const outcome returned = on.run([] {
    device on_it;
    copy_to_a_deep_frame(on_it, on_it.allocate_shared<uint32_t>(4, "from"));
    on_it.synchronize();
  });
  EXPECT_EQ(returned.verdict, verdict::memory);
  EXPECT_TRUE(says(returned.message, "in a frame of host main that has returned"));
}

TEST(stream_copy, in_a_stream_that_is_destroyed_or_was_never_made_is_an_error) {
  machine on;
  const outcome destroyed = on.run([] {
    device on_it;
    const buffers of = three(on_it, 1);
    const device::stream in = on_it.create_stream();
    on_it.destroy(in);
    on_it.copy(of.there, of.here, 4, in);
  });
  EXPECT_EQ(destroyed.verdict, verdict::assertion);
  EXPECT_TRUE(says(destroyed.message, "a stream that has been destroyed is used"));
  const outcome unknown = on.run([] {
    device on_it;
    const buffers of = three(on_it, 1);
    on_it.copy(of.there, of.here, 4, device::stream{7});
  });
  EXPECT_EQ(unknown.verdict, verdict::assertion);
}

TEST(stream_copy, leaves_its_stack_to_the_next_one) {
  machine on({}, "round-robin");
  const outcome ended = on.run([] {
    device on_it;
    const buffers of = three(on_it, 1);
    const device::stream in = on_it.create_stream();
    for (int n = 0; n < 3000; ++n) {
      on_it.copy(of.there, of.here, 4, in);
      on_it.synchronize(in);
    }
  });
  EXPECT_EQ(ended.verdict, verdict::ok) << ended.message;
}

// What a thread has stored may still be on its way to memory, and it finds it all the same.
TEST(calls_of_the_c_library, find_what_their_thread_has_stored) {
  for (const char* fidelity : {"fidelity=interleaving", "fidelity=link", "fidelity=scoped"}) {
    machine on({fidelity});
    EXPECT_TRUE(always(verdict::ok, on.run_many(
                                        [] {
                                          device host;
                                          auto* const words = host.allocate_shared<uint64_t>(16, "words");
                                          auto* const text = reinterpret_cast<char*>(words + 12);
                                          host.launch({}, [] {});
                                          for (uint64_t n = 0; n < 4; ++n) words[n] = n + 5;
                                          std::memcpy(words + 4, words, 32);
                                          for (uint64_t n = 0; n < 4; ++n) SIM_CHECK(words[n + 4] == n + 5);
                                          words[3] = 9;
                                          std::memmove(words + 1, words, 32);
                                          SIM_CHECK(words[1] == 5 && words[4] == 9);
                                          words[8] = 1;
                                          words[9] = 1;
                                          SIM_CHECK(std::memcmp(words + 8, words + 9, 8) == 0);
                                          text[0] = 'a';
                                          text[1] = '\0';
                                          SIM_CHECK(std::strlen(text) == 1 && std::strcmp(text, "a") == 0);
                                          host.synchronize();
                                        },
                                        30)))
        << fidelity;
  }
}

}  // namespace
}  // namespace heddle::sim::tests::copy_test
