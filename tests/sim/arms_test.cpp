// Memory under convergence=lockstep: what the lanes of an arm do as one, what that orders, and what it does not. And scopes in host threads.
#include <heddle/sim/runtime/gpu_calls.h>

#include "together.h"

namespace heddle::sim::tests::arms_test {
namespace {

constexpr memory_order relaxed = memory_order::relaxed;
constexpr memory_order acquire = memory_order::acquire;
constexpr memory_order release = memory_order::release;
constexpr memory_order acq_rel = memory_order::acq_rel;

/// A wave of these lanes and a host thread share 64 words of data and a flag, each in a granule of its own.
struct shared {
  struct alignas(8) cell {
    uint32_t value;
  };
  cell data[64];
  cell flag;
};

template <typename Wave, typename Host>
program beside_host(uint32_t lanes, Wave wave_does, Host host_does) {
  return [=] {
    device host;
    auto* const at = host.allocate_shared<shared>(1, "shared");
    host.launch({.blocks = 1, .waves = 1, .lanes = lanes}, [=] { wave_does(*at, target::lane_id(), lanes); });
    host_does(*at, lanes);
    host.synchronize();
  };
}

uint64_t all_of(uint32_t lanes) { return ~uint64_t{0} >> (64 - lanes); }

void read_all(shared& at, uint32_t lanes) {
  while (word<uint32_t>(at.flag.value).load(acquire) == 0) target::pause();
  for (uint32_t lane = 0; lane < lanes; ++lane) SIM_CHECK(at.data[lane].value == lane + 1);
}
void fill_all(shared& at, uint32_t lanes) {
  for (uint32_t lane = 0; lane < lanes; ++lane) at.data[lane].value = lane + 1;
  word<uint32_t>(at.flag.value).store(1, release);
}

/// In lockstep it always ends well; where lanes are scheduled each on its own, it races, or a lane finds what is not there yet.
void only_lockstep_orders(const std::function<program(uint32_t)>& body) {
  for (const uint32_t lanes : {2u, 4u, 32u}) {
    for (const char* const arms : {"arms=then-first", "arms=else-first", "arms=any"}) {
      machine on = scoped({"convergence=lockstep", arms});
      EXPECT_TRUE(always(verdict::ok, on.run_many(body(lanes), lanes == 32 ? 10 : 100))) << lanes << " lanes";
    }
    machine on = scoped();
    EXPECT_LT(on.run_many(body(lanes), 20).count(verdict::ok), 20u) << lanes << " lanes, each on its own";
  }
}
void lockstep_orders_nothing(const program& body, verdict wanted = verdict::race) {
  for (const char* const arms : {"arms=then-first", "arms=else-first"}) {
    machine on = scoped({"convergence=lockstep", arms});
    EXPECT_GT(on.run_many(body, 60).count(wanted), 0u) << arms;
  }
}

TEST(arms, a_fence_of_an_arm_releases_what_all_of_its_lanes_have_stored) {
  only_lockstep_orders([](uint32_t lanes) {
    return beside_host(
        lanes,
        [](shared& at, uint32_t lane, uint32_t) {
          at.data[lane].value = lane + 1;
          target::fence<scope::system>(release);
          word<uint32_t>(at.flag.value).store(1, relaxed);
        },
        read_all);
  });
}

TEST(arms, a_release_store_of_an_arm_does_so_too) {
  only_lockstep_orders([](uint32_t lanes) {
    return beside_host(
        lanes,
        [](shared& at, uint32_t lane, uint32_t) {
          at.data[lane].value = lane + 1;
          word<uint32_t>(at.flag.value).store(1, release);
        },
        read_all);
  });
}

TEST(arms, a_release_of_one_lane_gives_what_the_others_had_stored_when_they_parted_from_it) {
  only_lockstep_orders([](uint32_t lanes) {
    return beside_host(
        lanes,
        [](shared& at, uint32_t lane, uint32_t) {
          at.data[lane].value = lane + 1;
          if (lane == 0) word<uint32_t>(at.flag.value).store(1, release);
        },
        read_all);
  });
}

TEST(arms, what_one_lane_has_read_a_fence_of_the_arm_acquires_for_all) {
  only_lockstep_orders([](uint32_t lanes) {
    return beside_host(
        lanes,
        [](shared& at, uint32_t lane, uint32_t count) {
          while (target::broadcast(all_of(count), word<uint32_t>(at.flag.value).load(relaxed)) == 0) target::pause();
          target::fence<scope::system>(acquire);
          SIM_CHECK(at.data[lane].value == lane + 1);
        },
        fill_all);
  });
}

TEST(arms, what_one_lane_has_acquired_alone_the_others_know_when_they_meet_it) {
  only_lockstep_orders([](uint32_t lanes) {
    return beside_host(
        lanes,
        [](shared& at, uint32_t lane, uint32_t) {
          if (lane == 0)
            while (word<uint32_t>(at.flag.value).load(acquire) == 0) target::pause();
          SIM_CHECK(at.data[lane].value == lane + 1);
        },
        fill_all);
  });
}

TEST(arms, a_full_fence_orders_the_lanes_of_its_arm) {
  only_lockstep_orders([](uint32_t lanes) {
    return beside_host(
        lanes,
        [](shared& at, uint32_t lane, uint32_t) {
          at.data[lane].value = lane + 1;
          target::fence<scope::wave>(acq_rel);
          SIM_CHECK(at.data[lane ^ 1].value == (lane ^ 1) + 1);
        },
        [](shared&, uint32_t) {});
  });
}

// Both arms of a macro stand on the line where it is used.
#define WAITS_OR_STORES(wave_lane, of)                             \
  if ((wave_lane) == 0) {                                          \
    while (word<uint32_t>(of).load(acquire) == 0) target::pause(); \
  } else {                                                         \
    word<uint32_t>(of).store(1, release);                          \
  }

TEST(arms, that_stand_on_one_line_run_in_either_order) {
  const program body = beside_host(
      2, [](shared& at, uint32_t lane, uint32_t) { WAITS_OR_STORES(lane, at.flag.value) }, [](shared&, uint32_t) {});
  for (const char* const arms : {"arms=then-first", "arms=else-first"}) {
    machine on = scoped({"convergence=lockstep", arms});
    const tally seen = on.run_many(body, 60);
    EXPECT_GT(seen.count(verdict::deadlock), 0u) << arms;
    EXPECT_GT(seen.count(verdict::ok), 0u) << arms;
  }
}

TEST(arms, lanes_that_store_to_one_word_store_once) {
  // All lanes give the lock back; a second store of 0 would give back the next owner's.
  const auto body = [](uint32_t lanes) {
    return program([=] {
      device host;
      auto* const words = host.allocate_shared<uint32_t>(8, "words");
      host.launch({.blocks = 3, .waves = 1, .lanes = lanes}, [=] {
        const bool first = target::lane_id() == 0;
        if (first)
          while (word<uint32_t>(words[0]).exchange(1, acquire) != 0) target::pause();
        target::sync_lanes(all_of(lanes));
        if (first) {
          SIM_CHECK(word<uint32_t>(words[2]).exchange(1, relaxed) == 0);
          ++words[4];
          word<uint32_t>(words[2]).store(0, relaxed);
        }
        target::sync_lanes(all_of(lanes));
        word<uint32_t>(words[0]).store(0, release);
      });
      host.synchronize();
      SIM_CHECK(words[4] == 3);
    });
  };
  for (const char* const fidelity : {"fidelity=interleaving", "fidelity=scoped"}) {
    machine on({"convergence=lockstep", fidelity});
    EXPECT_TRUE(always(verdict::ok, on.run_many(body(4), 300))) << fidelity;
    machine each({fidelity});
    EXPECT_LT(each.run_many(body(4), 300).count(verdict::ok), 300u) << fidelity;
  }
}

TEST(arms, plain_accesses_of_two_lanes_are_ordered_by_nothing) {
  lockstep_orders_nothing(beside_host(
      4,
      [](shared& at, uint32_t lane, uint32_t) {
        at.data[lane].value = lane + 1;
        SIM_CHECK(at.data[lane ^ 1].value < 100);
      },
      [](shared&, uint32_t) {}));
}

TEST(arms, a_relaxed_store_of_the_arm_releases_nothing) {
  lockstep_orders_nothing(beside_host(
      4,
      [](shared& at, uint32_t lane, uint32_t) {
        at.data[lane].value = lane + 1;
        word<uint32_t>(at.flag.value).store(1, relaxed);
      },
      read_all));
}

TEST(arms, a_relaxed_load_of_the_arm_acquires_nothing) {
  lockstep_orders_nothing(beside_host(
      4,
      [](shared& at, uint32_t lane, uint32_t) {
        while (word<uint32_t>(at.flag.value).load(relaxed) == 0) target::pause();
        SIM_CHECK(at.data[lane].value == lane + 1);
      },
      fill_all));
}

TEST(arms, a_scope_that_is_too_narrow_stays_so) {
  lockstep_orders_nothing(beside_host(
                              4,
                              [](shared& at, uint32_t lane, uint32_t) {
                                at.data[lane].value = lane + 1;
                                target::fence<scope::device>(release);
                                word<uint32_t>(at.flag.value).store(1, relaxed);
                              },
                              read_all),
                          verdict::scope_race);
}

TEST(arms, a_release_in_one_arm_gives_nothing_of_what_another_arm_does) {
  lockstep_orders_nothing(beside_host(
      4,
      [](shared& at, uint32_t lane, uint32_t) {
        if (lane == 0)
          word<uint32_t>(at.flag.value).store(1, release);
        else
          at.data[lane].value = lane + 1;
      },
      [](shared& at, uint32_t) {
        while (word<uint32_t>(at.flag.value).load(acquire) == 0) target::pause();
        at.data[0].value = at.data[1].value;
      }));
}

TEST(arms, what_is_stored_behind_a_release_is_not_released) {
  lockstep_orders_nothing(beside_host(
      4,
      [](shared& at, uint32_t lane, uint32_t) {
        word<uint32_t>(at.flag.value).store(1, release);
        at.data[lane].value = lane + 1;
      },
      [](shared& at, uint32_t) {
        while (word<uint32_t>(at.flag.value).load(acquire) == 0) target::pause();
        at.data[0].value = at.data[1].value;
      }));
}

// -- scopes in host threads ----------------------------------------------------------------------------------------------------

TEST(host_scopes, a_fence_of_a_narrow_scope_in_a_host_thread_is_one_of_the_host) {
  for (const char* const host : {"host=x86", "host=weak"}) {
    machine on = scoped({"fidelity=scoped", host});
    // As the host's half of a header that is compiled for both sides.
    EXPECT_TRUE(always(verdict::ok, on.run_many(beside_host(
                                                    1,
                                                    [](shared& at, uint32_t, uint32_t) {
                                                      at.data[0].value = 1;
                                                      word<uint32_t>(at.flag.value).store(1, release);
                                                    },
                                                    [](shared& at, uint32_t) {
                                                      const target::atomic_ref<uint32_t, scope::device> flag(
                                                          at.flag.value);
                                                      while (flag.load(relaxed) == 0) target::pause();
                                                      target::fence<scope::device>(acquire);
                                                      SIM_CHECK(at.data[0].value == 1);
                                                    }),
                                                200)));
    EXPECT_TRUE(always(verdict::ok,
                       on.run_many(beside_host(
                                       1,
                                       [](shared& at, uint32_t, uint32_t) {
                                         while (word<uint32_t>(at.flag.value).load(acquire) == 0) target::pause();
                                         SIM_CHECK(at.data[0].value == 1);
                                       },
                                       [](shared& at, uint32_t) {
                                         at.data[0].value = 1;
                                         target::fence<scope::wave>(release);
                                         target::atomic_ref<uint32_t, scope::wave>(at.flag.value).store(1, relaxed);
                                       }),
                                   200)));
  }
}

TEST(host_scopes, the_scope_of_the_device_counts_as_ever) {
  machine on = scoped();
  EXPECT_GT(on.run_many(beside_host(
                            1,
                            [](shared& at, uint32_t, uint32_t) {
                              at.data[0].value = 1;
                              target::atomic_ref<uint32_t, scope::device>(at.flag.value).store(1, release);
                            },
                            [](shared& at, uint32_t) {
                              while (target::atomic_ref<uint32_t, scope::device>(at.flag.value).load(acquire) == 0)
                                target::pause();
                              SIM_CHECK(at.data[0].value == 1);
                            }),
                        100)
                .count(verdict::scope_race),
            0u);
}

TEST(host_scopes, an_order_that_is_missing_is_missing_on_the_host_too) {
  machine on = scoped();
  EXPECT_GT(on.run_many(beside_host(
                            1,
                            [](shared& at, uint32_t, uint32_t) {
                              at.data[0].value = 1;
                              word<uint32_t>(at.flag.value).store(1, release);
                            },
                            [](shared& at, uint32_t) {
                              while (word<uint32_t>(at.flag.value).load(relaxed) == 0) target::pause();
                              SIM_CHECK(at.data[0].value == 1);
                            }),
                        100)
                .count(verdict::race),
            0u);
}

}  // namespace
}  // namespace heddle::sim::tests::arms_test
