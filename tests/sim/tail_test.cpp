// The fair tail: runs in which a lane moves for ever. What is a hang, of which kind, what is none, and what cannot be known.
#include "run.h"

#include <atomic>

namespace heddle::sim::tests::tail_test {
namespace {

constexpr auto acquire = memory_order::acquire;
constexpr auto release = memory_order::release;
constexpr auto relaxed = memory_order::relaxed;

/// Runs `kernel(words)` on waves of one lane, with 16 zeroed words.
template <typename Kernel>
program waves_of(uint32_t waves, Kernel kernel) {
  return [=] {
    device host;
    auto* const words = host.allocate_shared<uint32_t>(16, "words");
    host.launch({.blocks = waves, .waves = 1, .lanes = 1}, [words, kernel] { kernel(words); });
    host.synchronize();
  };
}

bool takes(uint32_t& lock) { return word<uint32_t>(lock).exchange(1, acquire) == 0; }
void gives(uint32_t& lock) { word<uint32_t>(lock).store(0, release); }
constexpr int gives_line = __LINE__ - 1;

// Each takes one lock, and gives it back when it does not get the other one.
void takes_both(uint32_t* locks, uint32_t first, bool pauses = true) {
  while (true) {
    if (takes(locks[first])) {
      if (takes(locks[1 - first])) break;
      gives(locks[first]);
    }
    if (pauses) target::pause();
  }
  gives(locks[1 - first]);
  gives(locks[first]);
}

std::vector<std::string> small(const std::vector<std::string>& more = {}) {
  std::vector<std::string> all = {"budget=3000"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(tail, two_that_back_off_from_each_other_for_ever_are_a_livelock) {
  const program crossed = waves_of(2, [](uint32_t* words) { takes_both(words, target::wave_id()); });
  const program ordered = waves_of(2, [](uint32_t* words) { takes_both(words, 0); });
  for (const char* const fidelity : {"fidelity=interleaving", "fidelity=link", "fidelity=scoped"}) {
    machine on(small({fidelity}), "rhythm");
    EXPECT_TRUE(sometimes(verdict::livelock, on.run_many(crossed, 300)));
    EXPECT_TRUE(always(verdict::ok, on.run_many(ordered, 300)));
  }
}

TEST(tail, the_report_of_a_livelock_has_the_steps_of_each_lane_with_lines_places_and_values) {
  machine on(small(), "rhythm");
  const program crossed = waves_of(2, [](uint32_t* words) { takes_both(words, target::wave_id()); });
  const tally seen = on.run_many(crossed, 300);
  ASSERT_GT(seen.count(verdict::livelock), 0u) << seen.text();
  const outcome ended = on.explain(crossed, seen.first_seeds.at(verdict::livelock));
  EXPECT_EQ(ended.verdict, verdict::livelock);
  EXPECT_TRUE(says(ended.where, "tests/sim/tail_test.cpp:"));
  EXPECT_TRUE(says(ended.message, "for ever: memory changes, and nothing is ever done"));
  EXPECT_TRUE(says(ended.report, "repeated for ever, "));
  EXPECT_TRUE(says(ended.report, "  wave 0 lane 0\n"));
  EXPECT_TRUE(says(ended.report, "  wave 1 lane 0\n"));
  EXPECT_TRUE(says(ended.report, "store release system of words+0x0 (4 bytes) = 0x0 at " + SIM_LINE(gives_line)));
  EXPECT_TRUE(says(ended.report, "read-modify-write acquire system of words+0x4 (4 bytes) = 0x1 at "));
  EXPECT_TRUE(says(ended.report, "progress models that rule this hang out: none"));
}

TEST(tail, it_is_found_by_the_default_strategy_and_when_the_budget_is_used_up) {
  const program crossed = waves_of(2, [](uint32_t* words) { takes_both(words, target::wave_id()); });
  machine mixed(small(), "mix");
  EXPECT_TRUE(sometimes(verdict::livelock, mixed.run_many(crossed, 400)));
  // Turn by turn the two never meet: without an end game that is drawn, the one after the budget shows it.
  // Whether they meet in that depends on whose turn it begins with.
  uint32_t livelocks = 0;
  for (const char* const budget : {"budget=3000", "budget=3001"}) {
    machine in_turn({budget}, "round-robin:1");
    const outcome ended =
        in_turn.run(waves_of(2, [](uint32_t* words) { takes_both(words, target::wave_id(), false); }));
    EXPECT_TRUE(ended.verdict == verdict::livelock || ended.verdict == verdict::ok) << ended.message;
    EXPECT_GT(ended.steps, 3000u);
    livelocks += ended.verdict == verdict::livelock ? 1 : 0;
  }
  EXPECT_GT(livelocks, 0u);
}

TEST(tail, a_spin_is_no_livelock_and_neither_is_a_lock_that_is_waited_for) {
  const auto critical = [](uint32_t* words) {
    while (!takes(words[0])) target::pause();
    ++words[1];
    gives(words[0]);
  };
  const auto without_pause = [](uint32_t* words) {
    while (!takes(words[0])) {
    }
    ++words[1];
    gives(words[0]);
  };
  for (const char* const strategy : {"rhythm", "mix", "starve", "round-robin:1"})
    for (const char* const fidelity : {"fidelity=interleaving", "fidelity=scoped"}) {
      machine on(small({fidelity}), strategy);
      EXPECT_TRUE(always(verdict::ok, on.run_many(waves_of(4, critical), 100)));
      EXPECT_TRUE(always(verdict::ok, on.run_many(waves_of(4, without_pause), 100)));
    }
}

TEST(tail, what_changes_nothing_is_a_deadlock) {
  // A wave polls by taking and giving a lock, another one waits for what never happens. The first ends when the other has.
  const program body = waves_of(2, [](uint32_t* words) {
    if (target::wave_id() == 0) {
      while (word<uint32_t>(words[0]).load(acquire) == 0) target::pause();
      word<uint32_t>(words[1]).store(1, release);
    } else {
      while (word<uint32_t>(words[1]).load(acquire) == 0) word<uint32_t>(words[2]).load(acquire);
    }
  });
  machine on(small(), "rhythm");
  EXPECT_TRUE(always(verdict::deadlock, on.run_many(body, 200)));
}

TEST(tail, polling_that_changes_memory_beside_a_wait_in_vain_is_a_hang_that_is_found) {
  const auto body = [](bool is_set) {
    return waves_of(2, [is_set](uint32_t* words) {
      if (target::wave_id() == 1) {
        if (is_set) word<uint32_t>(words[0]).store(1, release);
        while (!takes(words[1])) target::pause();
        gives(words[1]);
        return;
      }
      bool done = false;
      while (!done) {
        while (!takes(words[1])) target::pause();
        done = word<uint32_t>(words[0]).load(acquire) != 0;
        gives(words[1]);
      }
    });
  };
  for (const std::string& strategy : all_strategies()) {
    machine on(small(), strategy);
    EXPECT_TRUE(always(verdict::livelock, on.run_many(body(false), 50)));
    EXPECT_TRUE(always(verdict::ok, on.run_many(body(true), 50)));
  }
}

TEST(tail, who_polls_by_changing_memory_for_one_that_is_promised_nothing_is_a_hang_of_the_model) {
  const program body = waves_of(2, [](uint32_t* words) {
    if (target::wave_id() == 1) return word<uint32_t>(words[0]).store(1, release);
    for (bool done = false; !done;) {
      if (!takes(words[1])) continue;
      done = word<uint32_t>(words[0]).load(acquire) != 0;
      gives(words[1]);
    }
  });
  for (const char* const model : {"obe", "hsa", "hsa_obe", "lobe", "unfair", "cuda"}) {
    machine on(small({std::string("progress=") + model}), "starve:2");
    const tally seen = on.run_many(body, 50);
    EXPECT_TRUE(sometimes(verdict::progress, seen)) << model;
    const outcome ended = on.explain(body, seen.first_seeds.at(verdict::progress));
    // Where no wave is promised anything, no lane goes round.
    if (std::string(model) != "unfair") {
      EXPECT_TRUE(says(ended.report, "repeated for ever, ")) << model;
    }
    EXPECT_TRUE(says(ended.report, "wave 1, block 1, lane 0: can run, but is not guaranteed a turn")) << model;
    EXPECT_TRUE(says(ended.report, "progress models under which one of these would have to move: fair")) << model;
  }
  for (const char* const model : {"fair", "slots"})
    for (const std::string& strategy : all_strategies()) {
      machine on(small({std::string("progress=") + model}), strategy);
      EXPECT_TRUE(always(verdict::ok, on.run_many(body, 50))) << model;
    }
}

TEST(tail, a_livelock_among_those_who_are_guaranteed_turns_that_an_outsider_would_end_is_one_of_progress) {
  // Two try each other's locks in step, until the third says stop.
  const program body = waves_of(3, [](uint32_t* words) {
    const uint32_t self = target::wave_id();
    if (self == 2) return word<uint32_t>(words[4]).store(1, release);
    while (word<uint32_t>(words[4]).load(acquire) == 0)
      if (takes(words[self])) {
        word<uint32_t>(words[1 - self]).load(acquire);
        gives(words[self]);
      }
  });
  machine on(small({"progress=obe"}), "starve:3");
  EXPECT_TRUE(sometimes(verdict::progress, on.run_many(body, 100)));
}

TEST(tail, a_wait_that_gives_up_after_some_rounds_is_no_hang) {
  // Nothing that it reads changes, while another one goes round until it has given up: it must be seen to do so.
  for (const uint32_t rounds : {3u, 60u}) {
    const program body = waves_of(2, [rounds](uint32_t* words) {
      if (target::wave_id() == 0) {
        for (uint32_t n = 0; n < rounds && word<uint32_t>(words[0]).load(acquire) == 0; ++n) target::pause();
        return word<uint32_t>(words[2]).store(1, release);
      }
      for (bool done = false; !done;) {
        takes(words[1]);
        done = word<uint32_t>(words[2]).load(acquire) != 0;
        gives(words[1]);
      }
    });
    for (const char* const strategy : {"rhythm", "mix", "round-robin:1"}) {
      machine on(small(), strategy);
      EXPECT_TRUE(always(verdict::ok, on.run_many(body, 100))) << rounds;
    }
  }
}

TEST(tail, a_count_of_rounds_is_part_of_the_state_wherever_it_stands) {
  // The rounds look alike but for a counter: in a register or on the stack, in memory of the device, in a static variable.
  static uint32_t count_in_static = 0;
  const auto body = [](uint32_t where) {
    return [where] {
      count_in_static = 0;
      waves_of(1, [where](uint32_t* words) {
        for (uint32_t n = 0;; ++n) {
          takes(words[0]);
          gives(words[0]);
          if (where == 0 && n == 500) return;
          if (where == 1 && ++words[3] == 500) return;
          if (where == 2 && ++count_in_static == 500) return;
        }
      })();
    };
  };
  for (const uint32_t where : {0u, 1u, 2u}) {
    machine on({"budget=20000"}, "rhythm");
    EXPECT_TRUE(always(verdict::ok, on.run_many(body(where), 40))) << where;
  }
}

TEST(tail, a_static_variable_that_goes_round_is_seen_to) {
  static uint32_t round = 0;
  machine on(small(), "rhythm");
  const outcome ended = on.run([] {
    round = 0;
    waves_of(1, [](uint32_t* words) {
      while (word<uint32_t>(words[0]).load(acquire) == 0) round = (round + 1) % 3;
    })();
  });
  EXPECT_EQ(ended.verdict, verdict::livelock) << ended.message;
}

TEST(tail, what_a_pending_store_will_write_is_part_of_the_state) {
  // The waves swap words through each other: the value in flight is in no memory. One more than what it was each round.
  const program body = waves_of(1, [](uint32_t* words) {
    while (word<uint32_t>(words[0]).load(relaxed) != 400)
      word<uint32_t>(words[0]).store(word<uint32_t>(words[0]).load(relaxed) + 1, relaxed);
  });
  machine on({"budget=20000"}, "rhythm");
  EXPECT_TRUE(always(verdict::ok, on.run_many(body, 50)));
}

TEST(tail, changes_of_the_heap_of_c_plus_plus_leave_it_open) {
  machine on(small(), "rhythm");
  const auto body = [](bool on_heap) {
    return [on_heap] {
      auto* const elsewhere = new std::atomic<uint32_t>(0);  // abandoned with the run
      waves_of(1, [elsewhere, on_heap](uint32_t* words) {
        while (word<uint32_t>(words[0]).load(acquire) == 0) {
          takes(words[1]);
          gives(words[1]);
          if (on_heap) elsewhere->store(1 - elsewhere->load());
        }
      })();
    };
  };
  const outcome hidden = on.run(body(true));
  EXPECT_EQ(hidden.verdict, verdict::budget);
  EXPECT_TRUE(says(hidden.message, "it changes memory of the C++ heap, or of libraries, which cannot be compared"));
  EXPECT_EQ(on.run(body(false)).verdict, verdict::livelock);
}

// A buffer on the C++ heap that is filled byte by byte is larger than the budget; a lane waits for what follows. A loop that does nothing but
// fill ends all the same.
TEST(tail, plain_accesses_to_the_heap_of_c_plus_plus_do_not_eat_it) {
  const auto body = [](uint32_t rounds) {
    return [rounds] {
      device host;
      auto* const words = host.allocate_shared<uint32_t>(1, "words");
      auto filler = host.spawn_host("filler", [=] {
        const auto bytes = std::make_unique<unsigned char[]>(1000);
        for (uint32_t round = 0; round < rounds; ++round)
          for (uint32_t n = 0; n < 1000; ++n) bytes[n] = static_cast<unsigned char>(n + round);
        word<uint32_t>(words[0]).store(1, release);
      });
      host.launch({.waves = 1}, [=] {
        while (word<uint32_t>(words[0]).load(acquire) == 0) target::pause();
      });
      host.synchronize();
      filler.join();
    };
  };
  for (const char* const strategy : {"random", "rhythm", "starve"}) {
    machine on({"budget=600"}, strategy);
    EXPECT_TRUE(always(verdict::ok, on.run_many(body(2), 40))) << strategy;
    const outcome endless = on.run(body(1000));
    EXPECT_EQ(endless.verdict, verdict::budget) << strategy;
    EXPECT_LT(endless.steps, 600 * 10) << strategy;
  }
}

TEST(tail, a_state_that_is_too_large_leaves_it_open_and_says_so) {
  machine on(small(), "rhythm");
  const auto body = [](size_t mebibytes) {
    return [mebibytes] {
      device host;
      host.allocate_device<unsigned char>(mebibytes << 20, "ballast");
      waves_of(1, [](uint32_t* words) {
        while (word<uint32_t>(words[0]).load(acquire) == 0) {
          takes(words[1]);
          gives(words[1]);
        }
      })();
    };
  };
  const outcome large = on.run(body(80));
  EXPECT_EQ(large.verdict, verdict::budget);
  EXPECT_TRUE(says(large.message, "its state is larger than 64 MiB and was not compared"));
  EXPECT_EQ(on.run(body(8)).verdict, verdict::livelock);
}

TEST(tail, mutexes_belong_to_the_state) {
  // Both try the mutex again and again; neither holds it for ever, so they take turns and end.
  const program body = [] {
    static std::atomic_flag ready;
    ready.clear();
    waves_of(2, [](uint32_t* words) {
      for (uint32_t n = 0; n < 30; ++n) {
        while (!takes(words[0])) target::pause();
        gives(words[0]);
      }
    })();
  };
  machine on(small(), "rhythm");
  EXPECT_TRUE(always(verdict::ok, on.run_many(body, 50)));
}

TEST(tail, a_wave_that_is_owed_a_start_gets_it_while_the_host_goes_round) {
  // Under these models no wave is in the fair set at first. The host polls by changing memory.
  const program body = [] {
    device host;
    auto* const words = host.allocate_shared<uint32_t>(4, "words");
    host.launch({.blocks = 3, .waves = 1, .lanes = 1}, [words] { word<uint32_t>(words[0]).fetch_add(1, relaxed); });
    for (bool done = false; !done;) {
      takes(words[1]);
      host.query();
      done = word<uint32_t>(words[0]).load(acquire) != 0;
      gives(words[1]);
    }
  };
  for (const char* const model : {"obe", "unfair", "lobe", "hsa", "cuda"}) {
    machine on(small({std::string("progress=") + model}), "rhythm");
    const tally seen = on.run_many(body, 100);
    // Under `unfair` the other two may be left out when one has stepped.
    EXPECT_EQ(seen.count(verdict::ok) + seen.count(verdict::progress), seen.schedules) << seen.text();
    if (std::string(model) != "unfair") {
      EXPECT_EQ(seen.count(verdict::livelock) + seen.count(verdict::deadlock), 0u) << seen.text();
    }
  }
}

TEST(tail, a_run_is_the_same_again_with_the_recorded_end_game) {
  const program crossed = waves_of(2, [](uint32_t* words) { takes_both(words, target::wave_id()); });
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    machine on(small(), "rhythm");
    const outcome once = on.run(crossed, seed);
    const outcome again = on.explain(crossed, seed);
    EXPECT_EQ(once.verdict, again.verdict);
    EXPECT_EQ(once.digest, again.digest);
    EXPECT_EQ(once.steps, again.steps);
    EXPECT_EQ(once.where, again.where);
  }
}

// -- words that lanes only count in ------------------------------------------------------------------------------------------------------

enum class looks { at_nothing, at_the_result, at_the_word, plainly_at_the_word, now_and_then };

/// Turns for ever, and counts its turns in words[0]; in all but the first case it ends when these are many.
template <looks How>
void counts_turns(uint32_t* words) {
  constexpr uint32_t many = 3000;
  const word<uint32_t> turns(words[0]);
  const word<uint32_t> stop(words[8]);
  for (uint32_t n = 0; stop.load(relaxed) == 0; n = (n + 1) % 16) {
    if constexpr (How == looks::at_the_result) {
      if (turns.fetch_add(1, relaxed) >= many) return;
    } else {
      turns.fetch_add(1, relaxed);
    }
    if constexpr (How == looks::at_the_word)
      if (turns.load(relaxed) >= many) return;
    if constexpr (How == looks::plainly_at_the_word)
      if (words[0] >= many) return;
    if constexpr (How == looks::now_and_then)
      if (n == 15 && turns.load(relaxed) >= many) return;
  }
}

TEST(tail, a_loop_that_counts_its_turns_and_never_looks_is_one_that_never_ends) {
  for (const char* const fidelity : {"fidelity=interleaving", "fidelity=link", "fidelity=scoped"}) {
    machine on({"budget=20000", fidelity, "stack_kib=8"});
    const auto ends = [&](verdict wanted, void (*kernel)(uint32_t*)) {
      EXPECT_TRUE(always(wanted, on.run_many(waves_of(1, kernel), 20))) << fidelity;
    };
    ends(verdict::livelock, counts_turns<looks::at_nothing>);
    ends(verdict::ok, counts_turns<looks::at_the_result>);
    ends(verdict::ok, counts_turns<looks::at_the_word>);
    ends(verdict::ok, counts_turns<looks::plainly_at_the_word>);
    ends(verdict::ok, counts_turns<looks::now_and_then>);
  }
}

TEST(tail, a_count_that_another_lane_looks_at_may_end_the_loop) {
  machine on({"budget=20000", "fidelity=scoped"});
  const auto kernel = [](uint32_t* words) {
    if (target::wave_id() == 0) return counts_turns<looks::at_nothing>(words);
    while (word<uint32_t>(words[0]).load(relaxed) < 2000) {
    }
    word<uint32_t>(words[8]).store(1, relaxed);
  };
  EXPECT_TRUE(always(verdict::ok, on.run_many(waves_of(2, kernel), 20)));
}

}  // namespace
}  // namespace heddle::sim::tests::tail_test
