// The runtime of a GPU as a parameter: the calls that a device makes, the same of CUDA and of HIP.
#pragma once

#include <heddle/rpc/link.h>
#include <heddle/rpc/result.h>
#include <stddef.h>
#include <stdint.h>

#include <concepts>
#include <cstdio>
#include <string>

namespace heddle::gpu {

/// One call of a runtime, and the name that a report gives it.
template <typename Function>
struct call {
  constexpr call(const char* called, Function function) : name(called), run(function) {}

  template <typename... Arguments>
  constexpr auto operator()(Arguments... arguments) const {
    return run(arguments...);
  }

  const char* name;
  Function run;
};

namespace detail {

/// A call that answers with a status, as nearly all do.
template <typename Runtime, typename Call, typename... Arguments>
concept answers = requires(const Call& which, Arguments... arguments) {
  { which(arguments...) } -> std::same_as<typename Runtime::status>;
  { which.name } -> std::convertible_to<const char*>;
};

template <typename Runtime>
concept tells_of_errors = requires(typename Runtime::status status) {
  { Runtime::success } -> std::convertible_to<typename Runtime::status>;
  { Runtime::not_ready } -> std::convertible_to<typename Runtime::status>;
  { Runtime::last_error() } -> std::same_as<typename Runtime::status>;
  { Runtime::error_name(status) } -> std::convertible_to<const char*>;
  { Runtime::error_text(status) } -> std::convertible_to<const char*>;
};

template <typename Runtime>
concept has_devices =
    answers<Runtime, decltype(Runtime::device_count), int*> && answers<Runtime, decltype(Runtime::get_device), int*> &&
    answers<Runtime, decltype(Runtime::set_device), int> &&
    answers<Runtime, decltype(Runtime::device_attribute), int*, typename Runtime::attribute, int> &&
    answers<Runtime, decltype(Runtime::link_atomics), link_properties*, int> &&
    answers<Runtime, decltype(Runtime::device_properties), typename Runtime::properties*, int> &&
    answers<Runtime, decltype(Runtime::driver_version), int*>;

template <typename Runtime>
concept has_memory =
    answers<Runtime, decltype(Runtime::allocate_host), void**, size_t> &&
    answers<Runtime, decltype(Runtime::allocate_device), void**, size_t> &&
    answers<Runtime, decltype(Runtime::allocate_fine), void**, size_t> &&
    answers<Runtime, decltype(Runtime::allocate_managed), void**, size_t> &&
    answers<Runtime, decltype(Runtime::advise), void*, size_t, typename Runtime::advice, int> &&
    answers<Runtime, decltype(Runtime::free_host), void*> && answers<Runtime, decltype(Runtime::free_device), void*> &&
    answers<Runtime, decltype(Runtime::memory_info), size_t*, size_t*> &&
    answers<Runtime, decltype(Runtime::clear), void*, size_t, typename Runtime::stream> &&
    answers<Runtime, decltype(Runtime::copy), void*, const void*, size_t, typename Runtime::stream>;

template <typename Runtime>
concept has_launches =
    answers<Runtime, decltype(Runtime::load), void (*)(int)> &&
    answers<Runtime, decltype(Runtime::launch), void (*)(int), uint32_t, uint32_t, void**, typename Runtime::stream>;

template <typename Runtime>
concept has_streams =
    answers<Runtime, decltype(Runtime::create_stream), typename Runtime::stream*> &&
    answers<Runtime, decltype(Runtime::destroy_stream), typename Runtime::stream> &&
    answers<Runtime, decltype(Runtime::query_stream), typename Runtime::stream> &&
    answers<Runtime, decltype(Runtime::synchronize_stream), typename Runtime::stream> &&
    answers<Runtime, decltype(Runtime::wait_in_stream), typename Runtime::stream, typename Runtime::event>;

template <typename Runtime>
concept has_events =
    answers<Runtime, decltype(Runtime::create_event), typename Runtime::event*> &&
    answers<Runtime, decltype(Runtime::destroy_event), typename Runtime::event> &&
    answers<Runtime, decltype(Runtime::record_event), typename Runtime::event, typename Runtime::stream> &&
    answers<Runtime, decltype(Runtime::query_event), typename Runtime::event> &&
    answers<Runtime, decltype(Runtime::synchronize_event), typename Runtime::event>;

}  // namespace detail

/// A runtime: a type whose static members are each one call of the runtime and nothing more. All that is done with them
/// stands in gpu::basic_device. A test passes a runtime of its own.
///
///   target                        the Target of code that runs on the device
///   status, success, not_ready    what a call answers; not_ready is no failure: what was asked for has not ended
///   last_error()                  the calling thread's last error, which the thread then has no more
///   error_name(status), error_text(status)
/// Devices
///   device_count(&count), get_device(&index), set_device(index)    the last two: of the calling thread
///   attribute                     the type of the constants wave_lanes, host_reaches_memory and concurrent_access
///   device_attribute(&value, attribute, index)
///   link_atomics(&link, index)    sets the read-modify-writes that the device performs as one on memory of the host
///   properties                    has the device's `name`
///   device_properties(&properties, index)
///   driver_version(&version)
///   begin(number)                 where it is there: a result<void>, asked once the current device has been started, with its number as a text
/// Memory
///   allocate_host(&memory, bytes)     pinned, and mapped by every device at the same address
///   allocate_device(&memory, bytes)   of the current device
///   allocate_fine(&memory, bytes)     of the current device; a kernel that runs sees copies into it, and copies see its stores
///   allocate_managed(&memory, bytes)
///   advice                        the type of the constants prefer_location and accessed_by; `host` is an index too
///   advise(memory, bytes, advice, index)
///   free_host(memory), free_device(memory)    of null: makes the current device's context
///   memory_info(&free, &total)    of the current device
///   clear(memory, bytes, stream), copy(to, from, bytes, stream)    do not wait
/// Launches
///   load(kernel)                  the kernel is in the current device's memory
///   launch(kernel, blocks, threads of a block, pointers to arguments, stream)
/// Streams and events
///   create_stream(&stream)        of the current device, and independent of the default stream
///   destroy_stream(stream), query_stream(stream), synchronize_stream(stream), wait_in_stream(later, event)
///   create_event(&event)          of the current device, without times
///   destroy_event(event), record_event(event, stream), query_event(event), synchronize_event(event)
template <typename Runtime>
concept runtime = detail::tells_of_errors<Runtime> && detail::has_devices<Runtime> && detail::has_memory<Runtime> &&
                  detail::has_launches<Runtime> && detail::has_streams<Runtime> && detail::has_events<Runtime>;

/// The error of a call that has answered with `status`.
template <typename Runtime>
error failed(typename Runtime::status status, const char* call, const char* subject) {
  // It is told here: later code of the program may ask for the thread's last error, and find its own.
  (void)Runtime::last_error();
  return {call, subject, Runtime::error_name(status), Runtime::error_text(status)};
}

/// What a call's answer means.
template <typename Runtime>
result<void> answered(typename Runtime::status status, const char* call, const char* subject = "") {
  if (status == Runtime::success) return {};
  return failed<Runtime>(status, call, subject);
}

/// Makes a call; `subject` is what it is for.
template <typename Runtime, typename Call, typename... Arguments>
result<void> ask(const Call& which, const char* subject, Arguments... arguments) {
  return answered<Runtime>(which(arguments...), which.name, subject);
}

/// Makes a call that asks whether something has ended: a stream or an event.
template <typename Runtime, typename Call, typename Place>
result<bool> has_ended(const Call& which, Place place) {
  const auto status = which(place);
  if (status == Runtime::not_ready) return false;
  if (status == Runtime::success) return true;
  return failed<Runtime>(status, which.name, "");
}

/// Makes a device the calling thread's current one, until the end of the scope. Converts to whether it is.
template <typename Runtime>
class current_device {
 public:
  explicit current_device(int index) : index_(index), status_(Runtime::get_device(&before_)) {
    if (status_ != Runtime::success || before_ == index) return;
    call_ = Runtime::set_device.name;
    status_ = Runtime::set_device(index);
    changed_ = status_ == Runtime::success;
  }

  /// The call that needed the device has answered: that its thread stays on that device can only be printed.
  ~current_device() {
    if (!changed_) return;
    const result<void> back =
        answered<Runtime>(Runtime::set_device(before_), Runtime::set_device.name, number(before_).c_str());
    if (!back)
      std::fprintf(stderr, "heddle: device %d stays a thread's current one after an error: %s\n", index_,
                   back.why().line().c_str());
  }
  current_device(const current_device&) = delete;
  current_device& operator=(const current_device&) = delete;

  explicit operator bool() const { return status_ == Runtime::success; }
  /// Where it is not.
  error why() const { return failed<Runtime>(status_, call_, number(index_).c_str()); }

 private:
  static std::string number(int index) { return std::to_string(index); }

  int index_;
  int before_ = 0;
  const char* call_ = Runtime::get_device.name;
  typename Runtime::status status_;
  bool changed_ = false;
};

}  // namespace heddle::gpu
