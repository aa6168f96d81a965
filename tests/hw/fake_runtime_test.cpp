// The played runtime itself: that it complains about a caller that breaks a rule, and fails when it is told to.
#include "fake_runtime.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace heddle::fake {
namespace {

using texts = std::vector<std::string>;

void do_nothing(uint32_t) {}

status launch_nothing(stream_state* in) {
  uint32_t argument = 0;
  void* arguments[] = {&argument};
  return runtime::launch(do_nothing, 1u, 1u, arguments, in);
}

TEST(fake_runtime, names_what_was_not_given_back) {
  computer on;
  void* memory = nullptr;
  stream_state* stream = nullptr;
  event_state* event = nullptr;
  EXPECT_EQ(runtime::allocate_host(&memory, size_t{8}), status::success);
  EXPECT_EQ(runtime::create_stream(&stream), status::success);
  EXPECT_EQ(runtime::create_event(&event), status::success);
  EXPECT_EQ(on.leaks(), (texts{"8 bytes, pinned", "a stream of device 0", "an event of device 0"}));
  EXPECT_EQ(runtime::free_host(memory), status::success);
  EXPECT_EQ(runtime::destroy_stream(stream), status::success);
  EXPECT_EQ(runtime::destroy_event(event), status::success);
  EXPECT_EQ(on.leaks(), texts{});
  EXPECT_EQ(on.complaints(), texts{});
}

TEST(fake_runtime, counts_an_attempt_to_give_back_that_fails) {
  computer on;
  void* memory = nullptr;
  EXPECT_EQ(runtime::allocate_device(&memory, size_t{8}), status::success);
  on.fail("fakeFree", 1, status::invalid_value);
  EXPECT_EQ(runtime::free_device(memory), status::invalid_value);
  EXPECT_EQ(on.leaks(), texts{});
}

TEST(fake_runtime, complains_about_memory_that_is_freed_twice_or_wrongly) {
  computer on;
  void* pinned = nullptr;
  void* local = nullptr;
  char own = 0;
  EXPECT_EQ(runtime::allocate_host(&pinned, size_t{8}), status::success);
  EXPECT_EQ(runtime::allocate_device(&local, size_t{8}), status::success);
  EXPECT_EQ(runtime::free_device(pinned), status::invalid_value);
  EXPECT_EQ(runtime::free_host(local), status::invalid_value);
  EXPECT_EQ(runtime::free_device(&own), status::invalid_value);
  EXPECT_EQ(runtime::free_host(pinned), status::success);
  EXPECT_EQ(runtime::free_host(pinned), status::invalid_value);
  EXPECT_EQ(runtime::free_device(local), status::success);
  EXPECT_EQ(on.complaints(), texts(4, "free of what was not allocated so"));
}

TEST(fake_runtime, complains_about_a_copy_or_a_clear_beyond_an_allocation) {
  computer on;
  void* memory = nullptr;
  stream_state* stream = nullptr;
  char own[16] = {};
  EXPECT_EQ(runtime::allocate_device(&memory, size_t{8}), status::success);
  EXPECT_EQ(runtime::create_stream(&stream), status::success);
  EXPECT_EQ(runtime::copy(memory, own, size_t{9}, stream), status::invalid_value);
  EXPECT_EQ(runtime::copy(own, memory, size_t{9}, stream), status::invalid_value);
  EXPECT_EQ(runtime::clear(memory, size_t{9}, stream), status::invalid_value);
  EXPECT_EQ(runtime::copy(own, memory, size_t{8}, stream), status::success);
  EXPECT_EQ(runtime::synchronize_stream(stream), status::success);
  EXPECT_EQ(own[0], static_cast<char>(0xa5)) << "memory of a runtime is not zeroed";
  EXPECT_EQ(on.complaints(), (texts{"a copy of memory that is not allocated", "a copy of memory that is not allocated",
                                    "a clear of memory that is not allocated"}));
}

TEST(fake_runtime, complains_about_a_stream_or_an_event_that_was_destroyed) {
  computer on;
  stream_state* stream = nullptr;
  event_state* event = nullptr;
  EXPECT_EQ(runtime::create_stream(&stream), status::success);
  EXPECT_EQ(runtime::create_event(&event), status::success);
  EXPECT_EQ(runtime::destroy_stream(stream), status::success);
  EXPECT_EQ(runtime::destroy_event(event), status::success);
  EXPECT_EQ(launch_nothing(stream), status::invalid_handle);
  EXPECT_EQ(runtime::query_stream(stream), status::invalid_handle);
  EXPECT_EQ(runtime::synchronize_stream(stream), status::invalid_handle);
  EXPECT_EQ(runtime::destroy_stream(stream), status::invalid_handle);
  EXPECT_EQ(runtime::query_event(event), status::invalid_handle);
  EXPECT_EQ(runtime::synchronize_event(event), status::invalid_handle);
  EXPECT_EQ(runtime::record_event(event, nullptr), status::invalid_handle);
  EXPECT_EQ(runtime::destroy_event(event), status::invalid_handle);
  EXPECT_EQ(on.complaints().size(), 8u);
}

TEST(fake_runtime, complains_about_a_current_device_that_is_not_the_streams) {
  computer on({.devices = 2});
  stream_state* stream = nullptr;
  event_state* event = nullptr;
  void* memory = nullptr;
  EXPECT_EQ(runtime::create_stream(&stream), status::success);
  EXPECT_EQ(runtime::allocate_device(&memory, size_t{8}), status::success);
  EXPECT_EQ(runtime::set_device(1), status::success);
  EXPECT_EQ(runtime::create_event(&event), status::success);
  EXPECT_EQ(launch_nothing(stream), status::invalid_handle);
  EXPECT_EQ(runtime::clear(memory, size_t{8}, stream), status::invalid_handle);
  EXPECT_EQ(runtime::record_event(event, stream), status::invalid_handle);
  EXPECT_EQ(runtime::set_device(2), status::invalid_device);
  EXPECT_EQ(on.complaints(), (texts{"a launch in a stream of device 0 while device 1 is current",
                                    "a clear in a stream of device 0 while device 1 is current",
                                    "a record of an event in a stream of another device"}));
}

TEST(fake_runtime, fails_the_call_that_it_was_told_to_and_remembers_the_error) {
  computer on;
  int count = 0;
  on.fail("fakeGetDeviceCount", 2, status::no_device);
  EXPECT_EQ(runtime::device_count(&count), status::success);
  EXPECT_EQ(on.failed(), "");
  EXPECT_EQ(runtime::device_count(&count), status::no_device);
  EXPECT_EQ(on.failed(), "fakeGetDeviceCount");
  EXPECT_EQ(runtime::device_count(&count), status::success);
  EXPECT_EQ(runtime::last_error(), status::no_device);
  EXPECT_EQ(runtime::last_error(), status::success);
}

TEST(fake_runtime, has_an_end_of_memory) {
  computer on({.devices = 1, .memory_bytes = 100});
  void* memory = nullptr;
  EXPECT_EQ(runtime::allocate_device(&memory, size_t{101}), status::out_of_memory);
  EXPECT_EQ(runtime::allocate_device(&memory, size_t{100}), status::success);
  void* more = nullptr;
  EXPECT_EQ(runtime::allocate_managed(&more, size_t{1}), status::out_of_memory);
  EXPECT_EQ(runtime::free_device(memory), status::success);
  EXPECT_EQ(runtime::allocate_managed(&more, size_t{1}), status::success);
  EXPECT_EQ(runtime::free_device(more), status::success);
}

TEST(fake_runtime, goes_on_failing_when_a_device_is_lost) {
  computer on({.devices = 2});
  stream_state* stream = nullptr;
  EXPECT_EQ(runtime::create_stream(&stream), status::success);
  on.lose_at(0, 2);
  EXPECT_EQ(runtime::query_stream(stream), status::success);
  EXPECT_EQ(runtime::query_stream(stream), status::lost);
  EXPECT_EQ(runtime::synchronize_stream(stream), status::lost);
  EXPECT_EQ(launch_nothing(stream), status::lost);
  void* memory = nullptr;
  EXPECT_EQ(runtime::allocate_host(&memory, size_t{8}), status::lost);
  EXPECT_EQ(runtime::destroy_stream(stream), status::lost);
  EXPECT_EQ(runtime::set_device(1), status::success);
  EXPECT_EQ(runtime::allocate_host(&memory, size_t{8}), status::success);
  EXPECT_EQ(runtime::free_host(memory), status::success);
  EXPECT_EQ(on.leaks(), texts{});
}

}  // namespace
}  // namespace heddle::fake
