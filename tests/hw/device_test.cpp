// The host device: memory, launches and host threads, and what becomes of their exceptions.
#include <heddle/hw/host/device.h>
#include <heddle/hw/host/target.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace heddle::host {
namespace {

static_assert(host_side<device>);

using word = target::atomic_ref<uint32_t, scope::system>;
using namespace std::chrono_literals;

bool is_aligned(const void* memory) { return reinterpret_cast<uintptr_t>(memory) % 64 == 0; }

TEST(memory, is_zeroed_aligned_and_never_null) {
  device machine;
  for (const size_t count : {size_t{0}, size_t{1}, size_t{1000}}) {
    const uint32_t* const shared = machine.allocate_shared<uint32_t>(count, "shared");
    const uint32_t* const local = machine.allocate_device<uint32_t>(count, "local");
    ASSERT_NE(shared, nullptr);
    ASSERT_NE(local, nullptr);
    EXPECT_TRUE(is_aligned(shared) && is_aligned(local));
    for (size_t n = 0; n < count; ++n) EXPECT_EQ(shared[n] + local[n], 0u);
  }
}

TEST(memory, is_copied_when_copy_returns) {
  device machine;
  uint32_t* const local = machine.allocate_device<uint32_t>(2, "local");
  const uint32_t sent[2] = {3, 4};
  uint32_t received[2] = {};
  machine.copy(local, sent, sizeof sent);
  machine.copy(received, local, sizeof received);
  EXPECT_EQ(received[1], 4u);
  machine.free(local);
  machine.free(nullptr);
}

TEST(memory, that_is_not_the_devices_own_is_refused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  device owner;
  uint32_t* const foreign = owner.allocate_shared<uint32_t>(1, "foreign");
  EXPECT_DEATH(device().free(foreign), "did not allocate");
}

TEST(launch, runs_each_lane_once_with_a_wave_of_its_own) {
  device machine;
  constexpr launch_shape shape{.blocks = 2, .waves = 3, .lanes = 4};
  uint32_t* const visits = machine.allocate_shared<uint32_t>(24, "visits");
  machine.launch(shape, [visits] {
    word(visits[target::wave_id()]).fetch_add(1, memory_order::relaxed);
    if (target::block_id() != target::wave_id() / 12) word(visits[0]).fetch_add(100, memory_order::relaxed);
  });
  machine.synchronize();
  for (uint32_t lane = 0; lane < 24; ++lane) EXPECT_EQ(visits[lane], 1u) << lane;
}

TEST(launch, does_not_wait_and_lets_all_lanes_run_at_once) {
  device machine;
  uint32_t* const arrived = machine.allocate_shared<uint32_t>(2, "arrived");
  machine.launch({.waves = 2, .lanes = 3}, [arrived] {
    word(arrived[0]).fetch_add(1, memory_order::release);
    while (word(arrived[0]).load(memory_order::acquire) != 7) target::pause();
    word(arrived[1]).fetch_add(1, memory_order::relaxed);
  });
  EXPECT_FALSE(machine.query());
  // The seventh: had launch() waited, this line would not be reached.
  word(arrived[0]).fetch_add(1, memory_order::release);
  while (!machine.query()) target::pause();
  EXPECT_EQ(arrived[1], 6u);
}

TEST(launch, comes_after_earlier_ones_have_ended) {
  device machine;
  uint32_t* const sum = machine.allocate_shared<uint32_t>(1, "sum");
  uint32_t* const wrong = machine.allocate_shared<uint32_t>(1, "wrong");
  for (uint32_t n = 0; n < 20; ++n)
    machine.launch({.lanes = 3}, [sum, wrong, n] {
      if (word(*sum).fetch_add(1, memory_order::relaxed) / 3 != n) word(*wrong).store(1, memory_order::relaxed);
    });
  machine.synchronize();
  EXPECT_EQ(*sum, 60u);
  EXPECT_EQ(*wrong, 0u);
}

TEST(launch, has_ended_when_the_device_is_gone) {
  uint32_t ran = 0;
  {
    device machine;
    machine.launch({.lanes = 2}, [&ran] {
      std::this_thread::sleep_for(5ms);
      word(ran).fetch_add(1, memory_order::relaxed);
    });
  }
  EXPECT_EQ(ran, 2u);
}

TEST(launch, throws_its_first_exception_from_synchronize_once) {
  device machine;
  machine.launch({.lanes = 3}, [] { throw std::runtime_error("lane"); });
  try {
    machine.synchronize();
    FAIL() << "an exception was lost";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "lane");
  }
  EXPECT_TRUE(machine.query());
  EXPECT_NO_THROW(machine.synchronize());
}

TEST(launch, that_failed_drops_those_that_have_not_begun) {
  device machine;
  uint32_t* const go = machine.allocate_shared<uint32_t>(2, "go");
  machine.launch({}, [go] {
    while (word(go[0]).load(memory_order::acquire) == 0) target::pause();
    throw std::runtime_error("first");
  });
  machine.launch({}, [go] { word(go[1]).store(1, memory_order::relaxed); });
  word(go[0]).store(1, memory_order::release);
  EXPECT_THROW(machine.synchronize(), std::runtime_error);
  EXPECT_EQ(go[1], 0u);
  machine.launch({}, [go] { word(go[1]).store(2, memory_order::relaxed); });
  machine.synchronize();
  EXPECT_EQ(go[1], 2u);
}

TEST(launch, tells_its_first_exception_as_a_result_once) {
  device machine;
  machine.launch({}, [] { throw std::runtime_error("lane"); });
  const result<void> failed = machine.try_synchronize();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.why().line(), "kernel(): exception: lane");
  EXPECT_TRUE(machine.try_query().value());
  EXPECT_TRUE(machine.try_synchronize());
}

TEST(launch, prints_an_exception_that_nobody_asks_for) {
  testing::internal::CaptureStderr();
  {
    device().launch({}, [] { throw std::runtime_error("unheard"); });
  }
  EXPECT_NE(testing::internal::GetCapturedStderr().find("unheard"), std::string::npos);
}

TEST(stream, runs_beside_the_others) {
  device machine;
  const device::stream other = machine.create_stream();
  uint32_t* const go = machine.allocate_shared<uint32_t>(1, "go");
  machine.launch({}, [go] {
    while (word(*go).load(memory_order::acquire) == 0) target::pause();
  });
  machine.launch({}, [go] { word(*go).store(1, memory_order::release); }, other);
  machine.synchronize();
  EXPECT_TRUE(machine.query(other));
}

TEST(stream, that_is_destroyed_ends_what_it_was_given_and_takes_no_more) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  device machine;
  uint32_t* const ran = machine.allocate_shared<uint32_t>(1, "ran");
  for (uint32_t n = 0; n < 50; ++n) {
    const device::stream brief = machine.create_stream();
    machine.launch({}, [ran] { word(*ran).fetch_add(1, memory_order::relaxed); }, brief);
    machine.destroy(brief);
  }
  machine.synchronize();
  EXPECT_EQ(*ran, 50u);
  EXPECT_DEATH(
      {
        device owner;
        const device::stream gone = owner.create_stream();
        owner.destroy(gone);
        owner.launch({}, [] {}, gone);
      },
      "stream that has been destroyed");
}

TEST(stream, drops_what_has_not_begun_when_another_failed) {
  device machine;
  const device::stream failing = machine.create_stream();
  uint32_t* const words = machine.allocate_shared<uint32_t>(2, "words");
  const device::event behind = machine.create_event();
  machine.launch({}, [] { throw std::runtime_error("first"); }, failing);
  machine.record(behind, failing);
  const device::stream later = machine.create_stream();
  machine.launch(
      {},
      [words] {
        while (word(words[0]).load(memory_order::acquire) == 0) target::pause();
      },
      later);
  machine.launch({}, [words] { word(words[1]).store(1, memory_order::relaxed); }, later);
  while (!machine.query(behind)) target::pause();
  word(words[0]).store(1, memory_order::release);
  EXPECT_FALSE(machine.try_synchronize());
  EXPECT_EQ(words[1], 0u);
  machine.launch({}, [words] { word(words[1]).store(2, memory_order::relaxed); }, later);
  machine.synchronize(later);
  EXPECT_EQ(words[1], 2u);
}

TEST(event, outlives_its_stream_and_is_gone_when_destroyed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  device machine;
  const device::event place = machine.create_event();
  const device::stream brief = machine.create_stream();
  machine.launch({}, [] {}, brief);
  machine.record(place, brief);
  machine.destroy(brief);
  machine.synchronize(place);
  machine.destroy(machine.create_stream());
  EXPECT_TRUE(machine.query(place));
  machine.destroy(place);
  EXPECT_DEATH(machine.query(place), "has been destroyed");
}

TEST(errors, of_an_allocation_say_of_what_and_why) {
#if defined(__SANITIZE_ADDRESS__) || defined(HEDDLE_THREAD_SANITIZER)
  GTEST_SKIP() << "a sanitizer ends the program at an allocation of that size";
#endif
  device machine;
  const result<char*> too_large = machine.try_allocate_shared<char>(size_t{1} << 60, "mailboxes");
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.why().line(), "operator new(mailboxes): ENOMEM: Cannot allocate memory");
}

TEST(errors, of_a_device_that_is_not_there_name_it) {
  EXPECT_EQ(device::count(), 1u);
  const result<std::unique_ptr<device>> none = device::open(1);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.why().line(), "device(1): ENODEV: this computer has one such device, number 0");
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(device(1), "this computer has one such device");
}

TEST(host_thread, is_joined_by_its_handle_wherever_that_moves) {
  device machine;
  uint32_t ran = 0;
  {
    thread first = machine.spawn_host("first", [&] { word(ran).fetch_add(1, memory_order::relaxed); });
    thread second = machine.spawn_host("second", [&] { word(ran).fetch_add(1, memory_order::relaxed); });
    const thread moved = std::move(first);
    second = machine.spawn_host("third", [&] { word(ran).fetch_add(1, memory_order::relaxed); });
    second.join();
    second.join();
  }
  EXPECT_EQ(ran, 3u);
}

TEST(host_thread, has_the_next_wave_number) {
  device machine;
  uint32_t number = 77;
  machine.spawn_host("first", [] {}).join();
  machine.spawn_host("second", [&] { number = target::wave_id(); }).join();
  EXPECT_EQ(number, 1u);
}

TEST(host_thread, throws_its_exception_from_join) {
  device machine;
  thread failing = machine.spawn_host("failing", [] { throw std::runtime_error("host"); });
  EXPECT_THROW(failing.join(), std::runtime_error);
  EXPECT_NO_THROW(failing.join());
}

TEST(host_thread, prints_an_exception_that_nobody_asks_for) {
  device machine;
  testing::internal::CaptureStderr();
  {
    const thread failing = machine.spawn_host("quiet one", [] { throw 5; });
  }
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_NE(printed.find("quiet one"), std::string::npos);
  EXPECT_NE(printed.find("unknown type"), std::string::npos);
}

TEST(host_thread, may_end_with_what_is_expected_and_with_nothing_else) {
  device machine;
  testing::internal::CaptureStderr();
  machine.spawn_host("foreseen", [] { throw std::runtime_error("told"); }).finish_expecting<std::exception>();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  machine.spawn_host("unforeseen", [] { throw 5; }).finish_expecting<std::exception>();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("unforeseen"), std::string::npos);
}

}  // namespace
}  // namespace heddle::host
