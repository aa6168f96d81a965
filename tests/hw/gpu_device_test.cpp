// The device of a GPU over a runtime that is played: what it does with each answer that a runtime can give.
#include "fake_runtime.h"

#include <heddle/rpc/offload/server.h>
#include <heddle/rpc/ring/hostcall.h>
#include <heddle/rpc/service/server.h>
#include <heddle/rpc/slot/client.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace heddle::fake {
namespace {

static_assert(host_side<device>);
static_assert(gpu::runtime<runtime>);
static_assert(target_machine<target>);

using word = target::atomic_ref<uint32_t, scope::system>;
using namespace std::chrono_literals;

constexpr status refused = status::invalid_value;

bool is_one_line(const std::string& text) { return !text.empty() && text.find('\n') == std::string::npos; }

/// Lines of what was printed.
size_t lines_of(const std::string& text) { return static_cast<size_t>(std::count(text.begin(), text.end(), '\n')); }

/// At the end nothing is left over and no rule was broken.
class computer_under_test : public computer {
 public:
  explicit computer_under_test(const shape& with = {.devices = 2}) : computer(with) {}
  ~computer_under_test() {
    EXPECT_EQ(complaints(), std::vector<std::string>{});
    EXPECT_EQ(leaks(), std::vector<std::string>{});
  }
};

/// Adds one to a word.
struct count_lane {
  uint32_t* lanes;
  void operator()() const { word(*lanes).fetch_add(1, memory_order::relaxed); }
};

/// Waits until the host says so.
struct wait_for_host {
  uint32_t* go;
  void operator()() const {
    while (word(*go).load(memory_order::acquire) == 0) target::pause();
  }
};

struct fail_an_assertion {
  void operator()() const { target::trap(fault::assertion, "not so"); }
};

/// Says so when it goes out of scope at the latest.
class host_says_go {
 public:
  explicit host_says_go(uint32_t* go) : go_(go) {}
  ~host_says_go() { now(); }
  host_says_go(const host_says_go&) = delete;
  host_says_go& operator=(const host_says_go&) = delete;
  void now() { word(*go_).store(1, memory_order::release); }

 private:
  uint32_t* go_;
};

// -- devices ----------------------------------------------------------------------------------------------------------

TEST(gpu_device, is_one_of_those_that_the_runtime_counts) {
  const computer_under_test on({.devices = 2, .wave_lanes = 8});
  EXPECT_EQ(device::count(), 2u);
  EXPECT_TRUE(device::present());
  const device second(1);
  EXPECT_EQ(second.index(), 1u);
  EXPECT_EQ(second.max_lanes(), 8u);
  EXPECT_EQ(second.name().value(), "played device 1");
  EXPECT_EQ(device::driver_version().value(), 1000);
}

/// Counts in a word of its wave.
struct count_wave {
  uint32_t* of_waves;
  void operator()() const { word(of_waves[target::wave_id()]).fetch_add(1, memory_order::relaxed); }
};

TEST(gpu_device, has_more_waves_than_a_block_can_have) {
  const computer_under_test on({.wave_lanes = 64});
  device gpu;
  for (const uint32_t waves : {1u, 16u, 17u}) {
    auto* const counts = gpu.allocate_shared<uint32_t>(waves, "of each wave");
    const launch_shape shape = gpu.shape_of(waves, 2);
    EXPECT_EQ(shape.blocks == 1, waves <= 16);
    gpu.launch(shape, count_wave{counts});
    gpu.synchronize();
    for (uint32_t wave = 0; wave < waves; ++wave) EXPECT_EQ(word(counts[wave]).load(memory_order::relaxed), 2u) << wave;
  }
  EXPECT_FALSE(gpu.try_launch({.blocks = 1, .waves = 17, .lanes = 2}, count_wave{nullptr}));
}

TEST(gpu_device, that_is_not_there_is_an_error) {
  const computer_under_test on;
  const result<std::unique_ptr<device>> third = device::open(2);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.why().line(), "device(2): no such device: this computer has 2, numbered from 0");
}

TEST(gpu_device, is_none_where_the_runtime_counts_none) {
  computer_under_test on({.devices = 0});
  EXPECT_EQ(device::count(), 0u);
  EXPECT_FALSE(device::present());
  EXPECT_EQ(on.last_error(), status::success);
  const result<std::unique_ptr<device>> first = device::open(0);
  ASSERT_FALSE(first);
  EXPECT_EQ(first.why().line(), "fakeGetDeviceCount(): fakeErrorNoDevice: no device is there");
}

TEST(gpu_device, ends_the_program_with_one_line_where_it_cannot_be_made) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        computer on({.devices = 1});
        on.fail("fakeFree", 1, status::out_of_memory);
        device made;
      },
      "^heddle: start of a device\\(0\\): fakeErrorMemoryAllocation: out of memory\n$");
}

TEST(gpu_device, gives_back_its_first_stream_when_there_is_no_second) {
  computer_under_test on;
  on.fail("fakeStreamCreateWithFlags", 2, status::out_of_memory);
  const result<std::unique_ptr<device>> made = device::open(1);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.why().line(), "fakeStreamCreateWithFlags(1): fakeErrorMemoryAllocation: out of memory");
}

TEST(gpu_device, has_no_unified_form_and_no_processes) {
  const computer_under_test on;
  const std::array<uint32_t, 2> both = {0, 1};
  EXPECT_TRUE(is_one_line(device::open_unified(both).why().line()));
  EXPECT_TRUE(is_one_line(device::open_process(0).why().line()));
}

// -- memory -----------------------------------------------------------------------------------------------------------

TEST(gpu_memory, is_zeroed_and_counted) {
  const computer_under_test on({.devices = 2, .memory_bytes = 4096, .coherent = true});
  device second(1);
  const uint64_t* const local = second.allocate_device<uint64_t>(16, "local");
  const uint64_t* const shared = second.allocate_shared<uint64_t>(16, "shared");
  const result<uint64_t*> mapped = second.try_allocate_mapped<uint64_t>(16, "mapped");
  ASSERT_TRUE(mapped);
  for (int n = 0; n < 16; ++n) EXPECT_EQ(local[n] | shared[n], 0u);
  const device_memory there = second.memory();
  EXPECT_EQ(there.total_bytes, 4096u);
  EXPECT_EQ(there.free_bytes, 4096u - 2 * 128u);
}

TEST(gpu_memory, that_is_not_there_is_an_error_and_no_more) {
  computer_under_test on({.devices = 1, .memory_bytes = 1024});
  device only;
  const result<uint32_t*> large = only.try_allocate_device<uint32_t>(1000, "large");
  ASSERT_FALSE(large);
  EXPECT_EQ(large.why().line(), "fakeMalloc(large): fakeErrorMemoryAllocation: out of memory");
  EXPECT_EQ(on.last_error(), status::success) << "later code of the program finds an error that is not its own";
  EXPECT_TRUE(only.try_allocate_device<uint32_t>(100, "small"));
}

TEST(gpu_memory, that_cannot_be_cleared_is_given_back) {
  for (const char* const call : {"fakeMemsetAsync", "fakeStreamSynchronize"}) {
    computer_under_test on;
    device second(1);
    on.fail(call, 1, refused);
    const result<uint32_t*> words = second.try_allocate_device<uint32_t>(1, "words");
    ASSERT_FALSE(words);
    EXPECT_EQ(words.why().line(), std::string(call) + "(words): fakeErrorInvalidValue: invalid argument");
    EXPECT_EQ(second.memory().free_bytes, second.memory().total_bytes);
  }
}

TEST(gpu_memory, of_the_host_is_cleared_by_the_host) {
  computer_under_test on;
  device second(1);
  on.fail("fakeMemsetAsync", 1, refused);
  result<uint64_t*> words = second.try_allocate_shared<uint64_t>(4, "words");
  ASSERT_TRUE(words);
  for (int n = 0; n < 4; ++n) EXPECT_EQ(words.value()[n], 0u);
}

TEST(gpu_memory, is_mapped_only_where_host_and_device_are_coherent) {
  const computer_under_test on({.devices = 1, .coherent = false});
  device only;
  const result<uint32_t*> words = only.try_allocate_mapped<uint32_t>(1, "words");
  ASSERT_FALSE(words);
  EXPECT_EQ(words.why().call, "allocate_mapped");
  EXPECT_EQ(words.why().name, "not supported");
}

TEST(gpu_memory, that_cannot_be_kept_at_the_device_is_given_back) {
  for (const uint64_t nth : {1u, 2u}) {
    computer_under_test on({.devices = 1, .coherent = true});
    device only;
    on.fail("fakeMemAdvise", nth, refused);
    const result<uint32_t*> words = only.try_allocate_mapped<uint32_t>(1, "words");
    ASSERT_FALSE(words);
    EXPECT_EQ(words.why().line(), "fakeMemAdvise(words): fakeErrorInvalidValue: invalid argument");
    EXPECT_EQ(only.memory().free_bytes, only.memory().total_bytes);
  }
}

TEST(gpu_memory, that_the_runtime_does_not_take_back_ends_the_program_with_one_line) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto freed = [](const char* call, bool shared) {
    computer on({.devices = 1});
    device only;
    void* const memory = shared ? only.allocate_shared<char>(1, "memory") : only.allocate_device<char>(1, "memory");
    on.fail(call, 1, refused);
    only.free(memory);
  };
  EXPECT_DEATH(freed("fakeFreeHost", true), "^heddle: fakeFreeHost\\(\\): fakeErrorInvalidValue: invalid argument\n$");
  EXPECT_DEATH(freed("fakeFree", false), "^heddle: fakeFree\\(\\): fakeErrorInvalidValue: invalid argument\n$");
}

TEST(gpu_memory, of_a_service_is_told_of_when_the_device_is_lost_and_ends_nothing) {
  computer on({.devices = 1});
  device only;
  testing::internal::CaptureStderr();
  {
    rpc::basic_service<target, device> host(only, {.ports = 2});
    host.start();
    on.lose(0);
    host.stop();
    EXPECT_TRUE(host.join(uint64_t{60} * 1'000'000'000));
  }
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_EQ(told.find("heddle: a service is given back after an error: fakeFree"), 0U) << told;
  EXPECT_TRUE(is_one_line(told.substr(0, told.size() - 1))) << told;
}

/// A protocol as it says what it needs.
struct picky {
  static constexpr const char* name = "calls of a test";
  static constexpr link_properties needs = {.add = true, .compare = true, .fine = true};
  static constexpr const char* instead = "shouting needs none";
};

TEST(gpu_link, is_refused_in_one_line_where_it_lacks_what_a_protocol_needs) {
  const computer_under_test without({.devices = 1});
  {
    device only;
    EXPECT_FALSE(only.link().add || only.link().swap || only.link().compare || only.link().bits);
    EXPECT_FALSE(only.link().coherent);
    EXPECT_TRUE(check_link_of<rpc::word_a_slot>(only)) << "loads and stores cross every link";
    EXPECT_TRUE(check_link_of<rpc::copied_entries<void (*)(void*, const void*, size_t)>>(only));
    EXPECT_EQ(check_link_of<picky>(only).why().line(),
              "link(calls of a test): not supported: this device's link has not an atomic addition, an atomic "
              "compare-and-exchange; shouting needs none");
    EXPECT_TRUE(is_one_line(check_link_of<rpc::hostcall_layout>(only).why().line()));
    EXPECT_FALSE(check_link_of<rpc::bit_a_slot>(only));
    EXPECT_FALSE(check_link_of<rpc::bit_by_compare>(only));
  }
}

TEST(gpu_link, has_what_the_runtime_says) {
  const computer_under_test pcie(
      {.devices = 1, .coherent = true, .link = {.add = true, .swap = true, .compare = true}});
  device only;
  EXPECT_TRUE(check_link_of<rpc::hostcall_layout>(only));
  EXPECT_TRUE(check_link_of<picky>(only));
  EXPECT_TRUE(only.link().coherent && only.link().fine);
  EXPECT_FALSE(only.link().bits);
  uint32_t* const fine = only.try_allocate_fine<uint32_t>(4, "fine").value();
  only.free(fine);
}

TEST(gpu_memory, that_is_not_the_devices_own_is_refused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        device first(0);
        device second(1);
        first.free(second.allocate_device<char>(1, "foreign"));
      },
      "did not allocate");
}

// -- launches ---------------------------------------------------------------------------------------------------------

TEST(gpu_launch, runs_the_first_lanes_of_each_wave) {
  const computer_under_test on({.devices = 2, .wave_lanes = 4});
  device second(1);
  uint32_t* const lanes = second.allocate_shared<uint32_t>(1, "lanes");
  second.launch({.blocks = 2, .waves = 3, .lanes = 3}, count_lane{lanes});
  second.synchronize();
  EXPECT_EQ(*lanes, 2u * 3u * 3u);
}

TEST(gpu_launch, that_fails_is_an_error_and_no_more) {
  for (const char* const call : {"fakeFuncGetAttributes", "fakeLaunchKernel"}) {
    computer_under_test on;
    device second(1);
    uint32_t* const lanes = second.allocate_shared<uint32_t>(1, "lanes");
    on.fail(call, 1, refused);
    const result<void> failed = second.try_launch({}, count_lane{lanes});
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.why().line(), "kernel launch(): fakeErrorInvalidValue: invalid argument");
    EXPECT_EQ(on.last_error(), status::success);
    EXPECT_TRUE(second.try_synchronize());
    EXPECT_EQ(*lanes, 0u);
    second.launch({}, count_lane{lanes});
    second.synchronize();
    EXPECT_EQ(*lanes, 1u);
  }
}

TEST(gpu_launch, with_more_threads_than_a_block_has_is_an_error) {
  const computer_under_test on({.devices = 1, .wave_lanes = 32});
  device only;
  uint32_t* const lanes = only.allocate_shared<uint32_t>(1, "lanes");
  EXPECT_TRUE(is_one_line(only.try_launch({.waves = 33}, count_lane{lanes}).why().line()));
}

TEST(gpu_launch, with_more_lanes_than_a_wave_has_is_refused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(device().launch({.lanes = 5}, count_lane{nullptr}), "more lanes than a wave has");
}

// -- streams and events -----------------------------------------------------------------------------------------------

TEST(gpu_stream, has_not_ended_while_its_kernel_runs) {
  const computer_under_test on;
  device second(1);
  uint32_t* const go = second.allocate_shared<uint32_t>(1, "go");
  host_says_go release(go);
  const device::stream beside = second.create_stream();
  const device::event behind = second.create_event();
  EXPECT_TRUE(second.query(behind));
  second.launch({}, wait_for_host{go}, beside);
  second.record(behind, beside);
  EXPECT_FALSE(second.query());
  EXPECT_FALSE(second.query(beside));
  EXPECT_FALSE(second.query(behind));
  release.now();
  second.synchronize(behind);
  EXPECT_TRUE(second.query(behind));
  second.synchronize();
  EXPECT_TRUE(second.query());
  second.destroy(behind);
  second.destroy(beside);
}

TEST(gpu_stream, that_the_runtime_does_not_take_back_ends_the_program_with_one_line) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        computer on({.devices = 1});
        device only;
        on.fail("fakeStreamDestroy", 1, refused);
        only.destroy(only.create_stream());
      },
      "^heddle: fakeStreamDestroy\\(\\): fakeErrorInvalidValue: invalid argument\n$");
  EXPECT_DEATH(
      {
        computer on({.devices = 1});
        device only;
        on.fail("fakeEventDestroy", 1, refused);
        only.destroy(only.create_event());
      },
      "^heddle: fakeEventDestroy\\(\\): fakeErrorInvalidValue: invalid argument\n$");
}

TEST(gpu_stream, may_be_destroyed_while_another_thread_waits_for_all) {
  computer_under_test on;
  device second(1);
  uint32_t* const go = second.allocate_shared<uint32_t>(1, "go");
  host_says_go release(go);
  const device::stream brief = second.create_stream();
  second.launch({}, wait_for_host{go});
  auto waiter = second.spawn_host("waiter", [&second] { EXPECT_TRUE(second.try_synchronize()); });
  while (on.waiting() == 0) std::this_thread::yield();
  second.destroy(brief);
  release.now();
  waiter.join();
  EXPECT_TRUE(second.try_synchronize());
}

TEST(gpu_stream, that_is_destroyed_then_and_not_taken_back_is_told_by_the_wait) {
  computer_under_test on;
  device second(1);
  uint32_t* const go = second.allocate_shared<uint32_t>(1, "go");
  host_says_go release(go);
  const device::stream brief = second.create_stream();
  second.launch({}, wait_for_host{go});
  auto waiter = second.spawn_host("waiter", [&second] {
    const result<void> ended = second.try_synchronize();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.why().line(), "fakeStreamDestroy(): fakeErrorInvalidValue: invalid argument");
  });
  while (on.waiting() == 0) std::this_thread::yield();
  on.fail("fakeStreamDestroy", 1, refused);
  second.destroy(brief);
  release.now();
  waiter.join();
}

TEST(gpu_stream, may_be_created_while_another_thread_launches) {
  const computer_under_test on;
  device second(1);
  uint32_t* const lanes = second.allocate_shared<uint32_t>(1, "lanes");
  auto launcher = second.spawn_host("launcher", [&second, lanes] {
    for (int n = 0; n < 20; ++n) second.launch({}, count_lane{lanes});
  });
  for (int n = 0; n < 20; ++n) second.destroy(second.create_stream());
  launcher.join();
  second.synchronize();
  EXPECT_EQ(*lanes, 20u);
}

// -- the current device -----------------------------------------------------------------------------------------------

TEST(gpu_current_device, is_the_threads_own_again_after_each_call) {
  computer_under_test on({.devices = 3, .coherent = true});
  EXPECT_EQ(runtime::set_device(2), status::success);
  {
    device first(0);
    device second(1);
    uint32_t* const lanes = second.allocate_shared<uint32_t>(1, "lanes");
    EXPECT_EQ(on.current_device(), 2);
    EXPECT_TRUE(first.try_allocate_device<uint32_t>(1, "of the first"));
    EXPECT_TRUE(second.try_allocate_mapped<uint32_t>(1, "of the second"));
    EXPECT_FALSE(second.try_allocate_device<char>(1 << 30, "large"));
    EXPECT_EQ(on.current_device(), 2);
    (void)second.memory();
    second.launch({}, count_lane{lanes}, second.create_stream());
    (void)second.create_event();
    EXPECT_EQ(on.current_device(), 2);
    auto other = second.spawn_host("other", [&] {
      EXPECT_EQ(on.current_device(), 0);
      second.launch({}, count_lane{lanes});
      EXPECT_EQ(on.current_device(), 0);
    });
    other.join();
    second.synchronize();
    EXPECT_EQ(*lanes, 2u);
  }
  EXPECT_EQ(on.current_device(), 2);
}

TEST(gpu_current_device, that_cannot_be_set_is_an_error_of_that_call) {
  for (const char* const call : {"fakeGetDevice", "fakeSetDevice"}) {
    computer_under_test on;
    device second(1);
    const std::string line = std::string(call) + "(1): fakeErrorInvalidValue: invalid argument";
    on.fail(call, 1, refused);
    EXPECT_EQ(second.try_allocate_shared<uint32_t>(1, "words").why().line(), line);
    on.fail(call, 1, refused);
    EXPECT_EQ(second.try_create_stream().why().line(), line);
    on.fail(call, 1, refused);
    EXPECT_EQ(second.try_create_event().why().line(), line);
    on.fail(call, 1, refused);
    EXPECT_EQ(second.try_memory().why().line(), line);
    on.fail(call, 1, refused);
    EXPECT_EQ(second.try_launch({}, count_lane{nullptr}).why().line(), line);
    on.fail(call, 1, refused);
    EXPECT_EQ(device::open(1).why().line(), line);
    EXPECT_EQ(on.current_device(), 0);
  }
}

TEST(gpu_current_device, that_cannot_be_set_back_is_printed) {
  computer_under_test on;
  device second(1);
  on.fail("fakeSetDevice", 2, refused);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(second.try_allocate_device<uint32_t>(1, "words"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "heddle: device 1 stays a thread's current one after an error: fakeSetDevice(0): fakeErrorInvalidValue: "
            "invalid argument\n");
  EXPECT_EQ(on.last_error(), status::success);
  EXPECT_EQ(on.current_device(), 1);
}

// -- a device that is lost --------------------------------------------------------------------------------------------

const std::string lost_line = "fakeErrorLaunchFailure: unspecified launch failure";

TEST(gpu_lost_device, ends_every_wait) {
  struct wait {
    const char* call;
    std::function<result<void>(device&, device::stream, device::event)> begin;
  };
  const wait waits[] = {
      {"fakeStreamSynchronize", [](device& on, device::stream, device::event) { return on.try_synchronize(); }},
      {"fakeStreamSynchronize", [](device& on, device::stream in, device::event) { return on.try_synchronize(in); }},
      {"fakeEventSynchronize", [](device& on, device::stream, device::event of) { return on.try_synchronize(of); }}};
  for (const wait& each : waits) {
    testing::internal::CaptureStderr();
    {
      computer_under_test on;
      device second(1);
      uint32_t* const go = second.allocate_shared<uint32_t>(1, "go");
      const device::stream in = second.create_stream();
      const device::event behind = second.create_event();
      second.launch({}, wait_for_host{go}, in);
      second.record(behind, in);
      auto waiter = second.spawn_host("waiter", [&] {
        const result<void> ended = each.begin(second, in, behind);
        ASSERT_FALSE(ended);
        EXPECT_EQ(ended.why().line(), std::string(each.call) + "(): " + lost_line);
      });
      while (on.waiting() == 0) std::this_thread::yield();
      on.lose(1);
      waiter.join();
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "heddle: a device is given back after an error: fakeStreamSynchronize(): " + lost_line + "\n");
  }
}

TEST(gpu_lost_device, fails_every_call) {
  testing::internal::CaptureStderr();
  computer_under_test on;
  {
    device second(1);
    uint32_t* const words = second.allocate_shared<uint32_t>(1, "words");
    const device::stream in = second.create_stream();
    const device::event behind = second.create_event();
    second.launch({}, fail_an_assertion{}, in);
    while (!on.is_lost(1)) std::this_thread::yield();
    const auto expect_lost = [](const auto& answer) {
      ASSERT_FALSE(answer);
      EXPECT_EQ(answer.why().name, "fakeErrorLaunchFailure");
      EXPECT_TRUE(is_one_line(answer.why().line()));
    };
    expect_lost(second.try_query());
    expect_lost(second.try_query(in));
    expect_lost(second.try_query(behind));
    expect_lost(second.try_synchronize());
    expect_lost(second.try_launch({}, count_lane{words}));
    expect_lost(second.try_copy(words, words, sizeof *words));
    expect_lost(second.try_copy(words, words, sizeof *words, in));
    expect_lost(second.try_allocate_shared<uint32_t>(1, "more"));
    expect_lost(second.try_allocate_device<uint32_t>(1, "more"));
    expect_lost(second.try_memory());
    expect_lost(second.try_create_stream());
    expect_lost(second.try_create_event());
    expect_lost(second.try_record(behind, in));
    expect_lost(second.try_wait(in, behind));
    expect_lost(device::open(1));
    EXPECT_EQ(on.last_error(), status::success);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "heddle: a device is given back after an error: fakeStreamSynchronize(): " + lost_line + "\n");
}

TEST(gpu_lost_device, leaves_the_others_alone) {
  testing::internal::CaptureStderr();
  {
    computer_under_test on;
    device first(0);
    device second(1);
    uint32_t* const lanes = first.allocate_shared<uint32_t>(1, "lanes");
    second.launch({}, fail_an_assertion{});
    EXPECT_FALSE(second.try_synchronize());
    first.launch({.lanes = 2}, count_lane{lanes});
    EXPECT_TRUE(first.try_synchronize());
    EXPECT_EQ(*lanes, 2u);
    EXPECT_EQ(on.current_device(), 0);
  }
  EXPECT_EQ(lines_of(testing::internal::GetCapturedStderr()), 1u);
}

// -- a program in which one call fails --------------------------------------------------------------------------------

/// The first error of a program leaves it as this.
struct program_error {
  error why;
};
template <typename T>
T value_of(result<T>&& answer) {
  if (!answer) throw program_error{answer.why()};
  if constexpr (!std::is_void_v<T>) return std::move(answer.value());
}

/// Makes every call that a device can make, on one that is not the thread's current one; ends before the device is
/// given back only where a call fails. Throws the error of that call.
void use_everything() {
  const std::unique_ptr<device> made = value_of(device::open(1));
  device& on = *made;
  EXPECT_EQ(value_of(on.name()), "played device 1");
  EXPECT_EQ(value_of(device::driver_version()), 1000);
  (void)value_of(on.try_memory());
  uint32_t* const go = value_of(on.try_allocate_shared<uint32_t>(1, "go"));
  host_says_go release(go);
  uint32_t* const lanes = value_of(on.try_allocate_device<uint32_t>(1, "lanes"));
  uint32_t* const mapped = value_of(on.try_allocate_mapped<uint32_t>(1, "mapped"));
  uint32_t* const seen = value_of(on.try_allocate_shared<uint32_t>(1, "seen"));
  const device::stream beside = value_of(on.try_create_stream());
  const device::event behind = value_of(on.try_create_event());

  value_of(on.try_launch({}, wait_for_host{go}));
  value_of(on.try_launch({.lanes = 2}, count_lane{lanes}));
  value_of(on.try_record(behind, beside));
  (void)value_of(on.try_query());
  (void)value_of(on.try_query(beside));
  (void)value_of(on.try_query(behind));
  release.now();
  value_of(on.try_synchronize());
  value_of(on.try_launch({.lanes = 3}, count_lane{lanes}, beside));
  value_of(on.try_record(behind, beside));
  value_of(on.try_wait(beside, behind));
  value_of(on.try_copy(seen, lanes, sizeof *seen, beside));
  value_of(on.try_synchronize(behind));
  value_of(on.try_synchronize(beside));
  EXPECT_EQ(*seen, 5u);
  const uint32_t given = 7;
  value_of(on.try_copy(mapped, &given, sizeof given));
  EXPECT_EQ(*mapped, 7u);
}

/// What came of it: the error that the program was told, and the lines that were printed.
struct outcome {
  std::optional<error> told;
  std::string printed;
};
outcome run_program() {
  outcome came;
  testing::internal::CaptureStderr();
  try {
    use_everything();
  } catch (const program_error& failed) {
    came.told = failed.why;
  }
  came.printed = testing::internal::GetCapturedStderr();
  return came;
}

/// A call whose error is told by what it is for.
const std::map<std::string, std::string> told_as = {
    {"fakeGetDeviceProperties", "name of a device"},
    {"fakeDriverGetVersion", "version of the driver"},
    {"fakeDeviceGetAttribute", "start of a device or attributes of a device"},
    {"fakeFuncGetAttributes", "kernel launch"},
    {"fakeLaunchKernel", "kernel launch"},
    {"fakeFree", "start of a device"},
};

TEST(gpu_single_failure, is_one_error_of_one_line_and_leaves_nothing) {
  uint64_t nth = 1;
  for (;; ++nth) {
    computer_under_test on({.devices = 2, .coherent = true});
    on.fail(nullptr, nth, status::out_of_memory);
    const outcome came = run_program();
    const std::string failed = on.failed();
    SCOPED_TRACE("call " + std::to_string(nth) + ", " + failed);
    EXPECT_EQ(on.last_error(), status::success);
    if (failed.empty()) {
      EXPECT_FALSE(came.told);
      EXPECT_EQ(came.printed, "");
      break;
    }
    EXPECT_EQ((came.told ? 1 : 0) + lines_of(came.printed), 1u) << came.printed;
    const std::string line = came.told ? came.told->line() : came.printed.substr(0, came.printed.find('\n'));
    EXPECT_TRUE(is_one_line(line));
    EXPECT_NE(line.find("fakeErrorMemoryAllocation"), std::string::npos) << line;
    if (came.told) {
      const auto named = told_as.find(failed);
      EXPECT_NE((named == told_as.end() ? failed : named->second).find(came.told->call), std::string::npos) << line;
      EXPECT_EQ(on.current_device(), 0);
    } else {
      EXPECT_NE(line.find(failed), std::string::npos) << line;
    }
  }
  // All the calls of a runtime were made, some often.
  EXPECT_GT(nth, 80u);
}

TEST(gpu_single_failure, of_each_call_by_its_name_is_met) {
  for (const char* const call : {"fakeGetDeviceCount",
                                 "fakeGetDevice",
                                 "fakeSetDevice",
                                 "fakeDeviceGetAttribute",
                                 "fakeGetDeviceProperties",
                                 "fakeDriverGetVersion",
                                 "fakeHostAlloc",
                                 "fakeMalloc",
                                 "fakeMallocManaged",
                                 "fakeMemAdvise",
                                 "fakeFreeHost",
                                 "fakeFree",
                                 "fakeMemGetInfo",
                                 "fakeMemsetAsync",
                                 "fakeMemcpyAsync",
                                 "fakeFuncGetAttributes",
                                 "fakeLaunchKernel",
                                 "fakeStreamCreateWithFlags",
                                 "fakeStreamDestroy",
                                 "fakeStreamQuery",
                                 "fakeStreamSynchronize",
                                 "fakeStreamWaitEvent",
                                 "fakeEventCreateWithFlags",
                                 "fakeEventDestroy",
                                 "fakeEventRecord",
                                 "fakeEventQuery",
                                 "fakeEventSynchronize"}) {
    computer_under_test on({.devices = 2, .coherent = true});
    on.fail(call, 1, refused);
    const outcome came = run_program();
    EXPECT_EQ(on.failed(), call);
    EXPECT_EQ((came.told ? 1 : 0) + lines_of(came.printed), 1u) << call << ": " << came.printed;
  }
}

TEST(gpu_single_failure, that_loses_the_device_ends_the_program) {
  for (uint64_t nth = 1;; ++nth) {
    computer_under_test on({.devices = 2, .coherent = true});
    on.lose_at(1, nth);
    const outcome came = run_program();
    SCOPED_TRACE("before call " + std::to_string(nth) + ", " + on.failed());
    EXPECT_EQ(on.current_device(), 0);
    EXPECT_EQ(on.last_error(), status::success);
    if (on.failed().empty()) break;
    // One for the program, one for the device that is given back; calls that need no device go on.
    EXPECT_LE(lines_of(came.printed), 1u) << came.printed;
    if (came.told) {
      EXPECT_EQ(came.told->name, "fakeErrorLaunchFailure");
      EXPECT_TRUE(is_one_line(came.told->line()));
    }
  }
}

}  // namespace
}  // namespace heddle::fake
