// A runtime that plays GPUs on this processor, as a parameter of hw/gpu, and the machine that comes of it: fake::target
// and fake::device.
#pragma once

#include "fake_computer.h"

#include <heddle/hw/gpu/device.h>
#include <heddle/hw/host/target.h>

#include <bit>

namespace heddle::fake {

/// In a lane, a thread that is alone in its mask; in a host thread, as beside any GPU.
struct target : host::polling_target {
  static bool is_device() { return this_lane != nullptr; }

  static uint64_t lane_mask() { return is_device() ? uint64_t{1} << lane_id() : polling_target::lane_mask(); }
  static uint32_t lane_id() { return is_device() ? this_lane->thread % lane_count() : polling_target::lane_id(); }
  static uint32_t lane_count() { return is_device() ? this_lane->on->wave_lanes() : polling_target::lane_count(); }
  static bool is_first_lane(uint64_t mask) {
    return is_device() ? lane_id() == static_cast<uint32_t>(std::countr_zero(mask)) : true;
  }

  static uint32_t block_id() { return is_device() ? this_lane->block : polling_target::block_id(); }
  static uint32_t wave_id() {
    if (!is_device()) return polling_target::wave_id();
    return this_lane->block * (this_lane->block_threads / lane_count()) + this_lane->thread / lane_count();
  }

  /// Also ends the lane, when its device is lost.
  static void pause() {
    if (is_device() && this_lane->on->is_lost(this_lane->device)) throw lane_stopped();
    polling_target::pause();
  }
  static void wait(doorbell& bell, uint32_t seen, uint64_t timeout_ns) {
    if (is_device()) return pause();
    polling_target::wait(bell, seen, timeout_ns);
  }
  /// In a lane: the device is lost, as after any fault of a kernel.
  [[noreturn]] static void trap(fault reason, const char* message) {
    if (!is_device()) host::trap(reason, message);
    this_lane->on->lose(this_lane->device);
    throw lane_stopped();
  }
};

namespace detail {

/// One call of the computer, by its name.
template <auto Member>
constexpr auto call(const char* name) {
  return gpu::call(name, [name](auto... arguments) {
    computer& on = computer::here();
    return on.make(name, [&](computer::held& lock) { return (on.*Member)(lock, arguments...); }, [] {});
  });
}
/// One that gives something back.
template <typename What>
constexpr auto give_back(const char* name, status (computer::*member)(computer::held&, What*)) {
  return gpu::call(name, [name, member](What* what) {
    computer& on = computer::here();
    return on.make(name, [&](computer::held& lock) { return (on.*member)(lock, what); }, [&] { on.give_back(what); });
  });
}

}  // namespace detail

struct runtime {
  using target = fake::target;
  using stream = stream_state*;
  using event = event_state*;

  using status = fake::status;
  static constexpr status success = status::success;
  static constexpr status not_ready = status::not_ready;
  static status last_error() { return computer::here().last_error(); }
  static const char* error_name(status of) { return fake::error_name(of); }
  static const char* error_text(status of) { return fake::error_text(of); }

  static constexpr auto device_count = detail::call<&computer::device_count>("fakeGetDeviceCount");
  static constexpr auto get_device = detail::call<&computer::get_device>("fakeGetDevice");
  static constexpr auto set_device = detail::call<&computer::set_device>("fakeSetDevice");
  using attribute = fake::attribute;
  static constexpr attribute wave_lanes = attribute::wave_lanes;
  static constexpr attribute host_reaches_memory = attribute::host_reaches_memory;
  static constexpr attribute concurrent_access = attribute::concurrent_access;
  static constexpr auto device_attribute = detail::call<&computer::device_attribute>("fakeDeviceGetAttribute");
  static constexpr auto link_atomics = detail::call<&computer::link_atomics>("fakeDeviceGetLinkAtomics");
  using properties = fake::properties;
  static constexpr auto device_properties = detail::call<&computer::device_properties>("fakeGetDeviceProperties");
  static constexpr auto driver_version = detail::call<&computer::driver_version>("fakeDriverGetVersion");

  static constexpr auto allocate_host = detail::call<&computer::allocate<computer::kind::pinned>>("fakeHostAlloc");
  static constexpr auto allocate_device = detail::call<&computer::allocate<computer::kind::device>>("fakeMalloc");
  static constexpr auto allocate_fine =
      detail::call<&computer::allocate<computer::kind::device>>("fakeExtMallocWithFlags");
  static constexpr auto allocate_managed =
      detail::call<&computer::allocate<computer::kind::managed>>("fakeMallocManaged");
  using advice = fake::advice;
  static constexpr advice prefer_location = advice::prefer_location;
  static constexpr advice accessed_by = advice::accessed_by;
  static constexpr int host = computer::host;
  static constexpr auto advise = detail::call<&computer::advise>("fakeMemAdvise");
  static constexpr auto free_host = detail::give_back("fakeFreeHost", &computer::free<true>);
  static constexpr auto free_device = detail::give_back("fakeFree", &computer::free<false>);
  static constexpr auto memory_info = detail::call<&computer::memory_info>("fakeMemGetInfo");
  static constexpr auto clear = detail::call<&computer::clear>("fakeMemsetAsync");
  static constexpr auto copy = detail::call<&computer::copy>("fakeMemcpyAsync");

  static constexpr auto load = gpu::call("fakeFuncGetAttributes", [](auto) {
    computer& on = computer::here();
    return on.make("fakeFuncGetAttributes", [&](computer::held& lock) { return on.load(lock); }, [] {});
  });
  static constexpr auto launch =
      gpu::call("fakeLaunchKernel", [](auto kernel, uint32_t blocks, uint32_t threads, void** arguments, stream in) {
        computer& on = computer::here();
        const auto work = [&](computer::held& lock) { return on.launch(lock, kernel, blocks, threads, arguments, in); };
        return on.make("fakeLaunchKernel", work, [] {});
      });

  static constexpr auto create_stream = detail::call<&computer::create_stream>("fakeStreamCreateWithFlags");
  static constexpr auto destroy_stream = detail::give_back("fakeStreamDestroy", &computer::destroy_stream);
  static constexpr auto query_stream = detail::call<&computer::query_stream>("fakeStreamQuery");
  static constexpr auto synchronize_stream = detail::call<&computer::synchronize_stream>("fakeStreamSynchronize");
  static constexpr auto wait_in_stream = detail::call<&computer::wait_in_stream>("fakeStreamWaitEvent");
  static constexpr auto create_event = detail::call<&computer::create_event>("fakeEventCreateWithFlags");
  static constexpr auto destroy_event = detail::give_back("fakeEventDestroy", &computer::destroy_event);
  static constexpr auto record_event = detail::call<&computer::record_event>("fakeEventRecord");
  static constexpr auto query_event = detail::call<&computer::query_event>("fakeEventQuery");
  static constexpr auto synchronize_event = detail::call<&computer::synchronize_event>("fakeEventSynchronize");
};

using device = gpu::basic_device<runtime>;

}  // namespace heddle::fake
