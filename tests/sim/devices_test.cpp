// Several devices, unified ones, whose memory is whose, and copies that bring back what was there before a kernel.
#include <heddle/sim/runtime/gpu_calls.h>

#include "run.h"

#include <array>
#include <set>

namespace heddle::sim::tests::devices_test {
namespace {

constexpr uint64_t many = 300;
constexpr auto acquire = memory_order::acquire;
constexpr auto release = memory_order::release;

TEST(devices, are_as_many_as_the_setting_says_and_no_more) {
  machine on({"driver.devices=3"});
  const outcome ended = on.run([] {
    SIM_CHECK(device::count() == 3);
    device last(2);
    const auto missing = device::open(3);
    SIM_CHECK(!missing && missing.why().line().find("has 3, numbered from 0") != std::string::npos);
  });
  EXPECT_EQ(ended.verdict, verdict::ok) << ended.message;
}

TEST(devices, have_default_streams_and_ends_of_their_own) {
  machine on({"driver.devices=2", "fidelity=scoped"});
  EXPECT_TRUE(always(verdict::ok, on.run_many(
                                      [] {
                                        device first(0);
                                        device second(1);
                                        auto* const go = first.allocate_shared<uint32_t>(1, "go");
                                        auto* const made = first.allocate_shared<uint32_t>(1, "made");
                                        first.launch({}, [go] {
                                          while (word<uint32_t>(*go).load(acquire) == 0) target::pause();
                                        });
                                        second.launch({}, [made] { *made = 5; });
                                        second.synchronize();
                                        SIM_CHECK(*made == 5 && second.query() && !first.query());
                                        word<uint32_t>(*go).store(1, release);
                                        first.synchronize();
                                      },
                                      many)));
}

TEST(devices, wait_for_events_of_each_other) {
  machine on({"driver.devices=2", "fidelity=scoped"});
  EXPECT_TRUE(always(verdict::ok, on.run_many(
                                      [] {
                                        device first(0);
                                        device second(1);
                                        auto* const value = first.allocate_device<uint32_t>(1, "value");
                                        const device::event made = first.create_event();
                                        const device::stream one = first.create_stream();
                                        const device::stream other = second.create_stream();
                                        first.launch({}, [value] { *value = 5; }, one);
                                        first.record(made, one);
                                        second.wait(other, made);
                                        second.launch({}, [value] { SIM_CHECK(*value == 5); }, other);
                                        second.synchronize();
                                        first.synchronize();
                                      },
                                      many)));
}

TEST(devices, are_not_within_each_others_device_scope) {
  const auto counts = [](uint32_t other_device) {
    return [other_device] {
      device first(0);
      device second(other_device);
      auto* const count = first.allocate_device<uint32_t>(1, "count");
      const auto count_up = [count] {
        target::atomic_ref<uint32_t, scope::device>(*count).fetch_add(1, memory_order::relaxed);
      };
      first.launch({}, count_up, first.create_stream());
      second.launch({}, count_up, second.create_stream());
      first.synchronize();
      second.synchronize();
    };
  };
  machine on({"driver.devices=2", "fidelity=scoped"});
  EXPECT_TRUE(always(verdict::ok, on.run_many(counts(0), many)));
  EXPECT_TRUE(sometimes(verdict::scope_race, on.run_many(counts(1), many)));
}

TEST(devices, hold_so_many_waves_each) {
  // Each of two waves waits for the other: on one device that holds one wave that is a hang for want of places.
  const auto meet = [](uint32_t other_device) {
    return [other_device] {
      device first(0);
      device second(other_device);
      auto* const came = first.allocate_shared<uint32_t>(1, "came");
      const auto meets = [came] {
        word<uint32_t>(*came).fetch_add(1, release);
        while (word<uint32_t>(*came).load(acquire) != 2) target::pause();
      };
      first.launch({}, meets, first.create_stream());
      second.launch({}, meets, second.create_stream());
      first.synchronize();
      second.synchronize();
    };
  };
  machine on({"driver.devices=2", "resident=1"});
  EXPECT_TRUE(always(verdict::ok, on.run_many(meet(1), many)));
  EXPECT_TRUE(always(verdict::progress, on.run_many(meet(0), many)));
}

TEST(unified_device, deals_every_block_to_one_of_its_gpus_once) {
  for (const char* const starts : {"starts=in-order", "starts=any"})
    for (const char* const resident : {"resident=1", "resident=64"}) {
      machine on({"driver.devices=4", starts, resident});
      EXPECT_TRUE(always(verdict::ok, on.run_many(
                                          [] {
                                            constexpr uint32_t blocks = 7;
                                            const uint32_t all[] = {2, 0, 3};
                                            const auto unified = std::move(device::open_unified(all).value());
                                            auto* const runs = unified->allocate_shared<uint32_t>(blocks, "runs");
                                            unified->launch({.blocks = blocks}, [runs] {
                                              word<uint32_t>(runs[target::block_id()]).fetch_add(1, release);
                                            });
                                            unified->synchronize();
                                            for (uint32_t n = 0; n < blocks; ++n) SIM_CHECK(runs[n] == 1);
                                          },
                                          100)));
    }
}

TEST(unified_device, has_room_for_as_many_waves_as_its_gpus_together) {
  // All blocks meet. Of three GPUs that hold a wave each, three blocks have a place, and four have not.
  const auto meet = [](uint32_t blocks) {
    return [blocks] {
      const uint32_t all[] = {0, 1, 2};
      const auto unified = std::move(device::open_unified(all).value());
      auto* const came = unified->allocate_shared<uint32_t>(1, "came");
      unified->launch({.blocks = blocks}, [came, blocks] {
        word<uint32_t>(*came).fetch_add(1, release);
        while (word<uint32_t>(*came).load(acquire) != blocks) target::pause();
      });
      unified->synchronize();
    };
  };
  machine on({"driver.devices=3", "resident=1"});
  EXPECT_TRUE(always(verdict::ok, on.run_many(meet(3), 100)));
  EXPECT_TRUE(always(verdict::progress, on.run_many(meet(4), 100)));
}

TEST(unified_device, is_refused_where_a_gpu_is_not_there_or_named_twice_or_none_is) {
  machine on({"driver.devices=2"});
  const outcome ended = on.run([] {
    const auto refused = [](std::initializer_list<uint32_t> gpus, const char* why) {
      const auto made = device::open_unified(std::span(gpus.begin(), gpus.size()));
      SIM_CHECK(!made && made.why().line().find(why) != std::string::npos);
    };
    refused({}, "at least one GPU");
    refused({0, 2}, "there are 2 GPUs");
    refused({1, 1}, "GPU 1 is named twice");
  });
  EXPECT_EQ(ended.verdict, verdict::ok) << ended.message;
}

TEST(device_memory_of_the_machine, ends_where_the_setting_says) {
  machine on({"driver.devices=2", "driver.memory_kib=16"});
  for (int run = 0; run < 3; ++run) {  // what a run takes is there again for the next one
    const outcome ended = on.run([] {
      device first(0);
      device second(1);
      auto* const three = first.allocate_device<std::byte>(size_t{3} * 4096, "three pages");
      first.allocate_shared<std::byte>(1 << 20, "memory of the host");
      SIM_CHECK(first.memory().free_bytes == 4096 && first.memory().total_bytes == 16384);
      const auto two = first.try_allocate_device<std::byte>(4097, "two pages");
      SIM_CHECK(!two && two.why().line().find("4097 bytes, and 4096 of 16384 are free") != std::string::npos);
      SIM_CHECK(first.memory().free_bytes == 4096 && second.memory().free_bytes == 16384);
      first.free(three);
      SIM_CHECK(first.memory().free_bytes == 16384);
    });
    EXPECT_EQ(ended.verdict, verdict::ok) << ended.message;
  }
  const outcome ended = on.run([] { device(1).allocate_device<std::byte>(16385, "too much"); });
  EXPECT_EQ(ended.verdict, verdict::memory);
  EXPECT_TRUE(says(ended.message, "no memory left for 16385 bytes of too much"));
}

TEST(device_memory_of_the_machine, of_a_unified_device_is_dealt_out_page_by_page) {
  machine on({"driver.devices=2", "driver.memory_kib=16"});
  const outcome ended = on.run([] {
    device first(0);
    device second(1);
    const uint32_t both[] = {1, 0};
    const auto unified = std::move(device::open_unified(both).value());
    auto* const five = unified->allocate_device<std::byte>(size_t{5} * 4096, "five pages");
    // The first of the list has one more.
    SIM_CHECK(first.memory().free_bytes == size_t{2} * 4096 && second.memory().free_bytes == 4096);
    SIM_CHECK(unified->memory().free_bytes == size_t{3} * 4096);
    // As many are free, but not where they must be.
    SIM_CHECK(!unified->try_allocate_device<std::byte>(size_t{3} * 4096, "three pages"));
    unified->free(five);
    SIM_CHECK(unified->memory().free_bytes == size_t{8} * 4096);
  });
  EXPECT_EQ(ended.verdict, verdict::ok) << ended.message;
}

// Words of two GPUs' pages, read by one copy while a kernel stores them one after the other.
TEST(a_copy_over_several_gpus, takes_their_pieces_in_any_order) {
  machine on({"driver.devices=2", "fidelity=interleaving"});
  std::set<std::array<uint64_t, 2>> seen;
  EXPECT_TRUE(always(verdict::ok, on.run_many(
                                      [&] {
                                        constexpr size_t words = size_t{2} * 4096 / 8;
                                        const uint32_t both[] = {0, 1};
                                        const auto unified = std::move(device::open_unified(both).value());
                                        auto* const there = unified->allocate_device<uint64_t>(words, "there");
                                        auto* const last = there + words / 2;
                                        auto* const back = unified->allocate_shared<uint64_t>(2, "back");
                                        unified->launch({}, [=] {
                                          word<uint64_t>(last[-1]).store(1, release);
                                          word<uint64_t>(last[0]).store(1, release);
                                        });
                                        unified->copy(back, last - 1, 16);
                                        unified->synchronize();
                                        seen.insert({back[0], back[1]});
                                      },
                                      2000)));
  EXPECT_EQ(seen.size(), 4u);
}

program copies_back(bool in_stream, bool plain) {
  return [=] {
    device on;
    auto* const there = on.allocate_device<uint64_t>(2, "there");
    auto* const here = on.allocate_shared<uint64_t>(2, "here");
    here[0] = 4;
    on.copy(there, here, 8);
    on.launch({}, [=] {
      if (plain)
        there[0] += 38;
      else
        word<uint64_t>(there[0]).fetch_add(38, release);
    });
    on.synchronize();
    const device::stream in = on.create_stream();
    if (in_stream)
      on.copy(here, there, 8, in);
    else
      on.copy(here, there, 8);
    on.synchronize();
    SIM_CHECK(here[0] == 42);
    // Another copy has brought it there: past the cache, into memory.
    here[1] = 7;
    on.copy(there + 1, here + 1, 8);
    here[1] = 0;
    on.copy(here + 1, there + 1, 8);
    SIM_CHECK(here[1] == 7);
  };
}

TEST(a_kernels_result, is_never_stale_in_a_copy_and_always_is_when_caches_are_not_flushed) {
  for (const char* const fidelity : {"fidelity=interleaving", "fidelity=link", "fidelity=scoped"})
    for (const bool in_stream : {false, true})
      for (const bool plain : {false, true}) {
        EXPECT_TRUE(always(verdict::ok, machine({fidelity}).run_many(copies_back(in_stream, plain), many)));
        EXPECT_TRUE(always(verdict::assertion,
                           machine({fidelity, "driver.flush=off"}).run_many(copies_back(in_stream, plain), many)));
      }
}

// -- Calls into the driver that wait, for an idle device or for the context's lock, and launches that block; each where it hangs and where it
// does not.

void until_set(uint32_t& flag) {
  while (word<uint32_t>(flag).load(acquire) == 0) target::pause();
}

/// What a host thread does before the kernel gets what it waits for.
enum class before { allocates, frees, copies, makes_a_stream, launches, queries };

void call(device& on, before what, uint32_t* other) {
  uint32_t copied = 0;
  switch (what) {
    case before::allocates:
      on.allocate_shared<uint32_t>(1, "more");
      break;
    case before::frees:
      on.free(other);
      break;
    case before::copies:
      on.copy(&copied, other, sizeof copied);
      break;
    case before::makes_a_stream:
      on.destroy(on.create_stream());
      break;
    case before::launches:
      on.launch({}, [] {}, on.create_stream());
      break;
    case before::queries:
      on.query();
      break;
  }
}

/// A kernel waits for a thread that makes a call first, while the main one waits for the kernel.
program calls_first(before what) {
  return [what] {
    device on;
    auto* const flag = on.allocate_shared<uint32_t>(1, "flag");
    auto* const other = on.allocate_shared<uint32_t>(1, "other");
    on.launch({}, [flag] { until_set(*flag); });
    auto helper = on.spawn_host("helper", [=]() mutable {
      call(on, what, other);
      word<uint32_t>(*flag).store(1, release);
    });
    on.synchronize();
    helper.join();
  };
}

constexpr before every_call[] = {before::allocates,      before::frees,    before::copies,
                                 before::makes_a_stream, before::launches, before::queries};

TEST(a_driver, that_is_free_keeps_nobody) {
  for (const before what : every_call)
    EXPECT_TRUE(always(verdict::ok, machine({"driver=free"}).run_many(calls_first(what), many)));
}

TEST(a_driver, that_wants_an_idle_device_waits_for_a_kernel_that_waits_for_its_caller) {
  for (const before what : {before::allocates, before::frees, before::copies, before::makes_a_stream})
    EXPECT_TRUE(always(verdict::deadlock, machine({"driver=idle"}).run_many(calls_first(what), many)))
        << static_cast<int>(what);
  EXPECT_TRUE(always(verdict::ok, machine({"driver=idle"}).run_many(calls_first(before::queries), many)));
}

TEST(a_driver, with_one_lock_keeps_others_out_while_somebody_waits_for_a_kernel) {
  for (const before what : {before::allocates, before::frees, before::copies, before::makes_a_stream, before::launches})
    // A thread that comes before the main thread is not kept.
    EXPECT_TRUE(sometimes(verdict::deadlock, machine({"driver=context"}).run_many(calls_first(what), many)))
        << static_cast<int>(what);
  EXPECT_TRUE(always(verdict::ok, machine({"driver=context"}).run_many(calls_first(before::queries), many)));
}

TEST(a_driver, lets_a_thread_go_on_that_no_kernel_waits_for) {
  const program body = [] {
    device on;
    auto* const count = on.allocate_device<uint32_t>(1, "count");
    auto helper = on.spawn_host("helper", [=]() mutable {
      for (uint32_t n = 0; n < 3; ++n) on.free(on.allocate_shared<uint32_t>(1, "more"));
    });
    on.launch({}, [count] { word<uint32_t>(*count).fetch_add(1, release); });
    on.synchronize();
    uint32_t counted = 0;
    on.copy(&counted, count, sizeof counted);
    SIM_CHECK(counted == 1);
    helper.join();
  };
  for (const char* driver : {"driver=free", "driver=idle", "driver=context"})
    for (const char* fidelity : {"fidelity=interleaving", "fidelity=link", "fidelity=scoped"})
      EXPECT_TRUE(always(verdict::ok, machine({driver, fidelity}).run_many(body, many))) << driver << ' ' << fidelity;
}

TEST(a_driver, is_no_matter_of_kernels) {
  const program body = [] {
    device on;
    auto* const words = on.allocate_device<uint64_t>(2, "words");
    on.launch({}, [words] { device().copy(&words[0], &words[1], sizeof words[0]); });
    on.synchronize();
  };
  for (const char* driver : {"driver=idle", "driver=context"})
    EXPECT_TRUE(always(verdict::ok, machine({driver}).run_many(body, many))) << driver;
}

TEST(a_launch, that_blocks_returns_when_its_kernel_has_ended) {
  const program serves_behind_the_launch = [] {
    device on;
    auto* const flag = on.allocate_shared<uint32_t>(1, "flag");
    on.launch({}, [flag] { until_set(*flag); });
    word<uint32_t>(*flag).store(1, release);
    on.synchronize();
  };
  EXPECT_TRUE(always(verdict::ok, machine({"launches=async"}).run_many(serves_behind_the_launch, many)));
  EXPECT_TRUE(always(verdict::deadlock, machine({"launches=blocking"}).run_many(serves_behind_the_launch, many)));
  const program looks_behind_the_launch = [] {
    device on;
    auto* const flag = on.allocate_shared<uint32_t>(1, "flag");
    on.launch({}, [flag] { word<uint32_t>(*flag).store(1, release); });
    SIM_CHECK(word<uint32_t>(*flag).load(acquire) == 1);
  };
  EXPECT_TRUE(sometimes(verdict::assertion, machine({"launches=async"}).run_many(looks_behind_the_launch, many)));
  for (const char* driver : {"driver=free", "driver=idle", "driver=context"})
    EXPECT_TRUE(always(verdict::ok, machine({"launches=blocking", driver}).run_many(looks_behind_the_launch, many)));
}

/// Reads a byte of what CUDA's allocation gives, and of what a device's gives.
program reads_fill(uint8_t wanted) {
  return [wanted] {
    auto* const bytes =
        static_cast<uint8_t*>(runtime::allocate_unnamed(16, runtime::memory_place::host, "cudaMallocHost"));
    SIM_CHECK(bytes[3] == wanted);
    device on;
    SIM_CHECK(on.allocate_shared<uint8_t>(16, "zeroed")[3] == 0);
  };
}

TEST(fill, is_what_memory_holds_that_nobody_has_written) {
  EXPECT_TRUE(always(verdict::ok, machine().run_many(reads_fill(0xa5), 1)));
  EXPECT_TRUE(always(verdict::ok, machine({"fill=0x00"}).run_many(reads_fill(0), 1)));
  EXPECT_TRUE(always(verdict::ok, machine({"fill=0xff"}).run_many(reads_fill(0xff), 1)));
  EXPECT_TRUE(always(verdict::assertion, machine({"fill=0xff"}).run_many(reads_fill(0xa5), 1)));
}

}  // namespace
}  // namespace heddle::sim::tests::devices_test
