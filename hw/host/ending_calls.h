// The calls of a device that end the program when they fail, built upon those that answer with a result.
#pragma once

#include <heddle/rpc/device_memory.h>
#include <heddle/rpc/launch.h>
#include <heddle/rpc/result.h>

#include <stddef.h>

namespace heddle {

/// For a device `Machine` that derives from it and has the members `try_...` of heddle::host_side; what the members mean is
/// said there.
template <typename Machine>
class ending_calls {
 public:
  template <typename T>
  T* allocate_shared(size_t count, const char* name) {
    return machine().template try_allocate_shared<T>(count, name).value();
  }
  template <typename T>
  T* allocate_device(size_t count, const char* name) {
    return machine().template try_allocate_device<T>(count, name).value();
  }
  auto link() { return machine().try_link().value(); }
  void free(void* memory) { machine().try_free(memory).value(); }
  device_memory memory() { return machine().try_memory().value(); }
  template <typename... Stream>
  void copy(void* to, const void* from, size_t bytes, Stream... in) {
    machine().try_copy(to, from, bytes, in...).value();
  }

  template <typename Kernel, typename... Stream>
  void launch(launch_shape shape, Kernel kernel, Stream... in) {
    machine().try_launch(shape, kernel, in...).value();
  }
  template <typename... Place>
  bool query(Place... place) {
    return machine().try_query(place...).value();
  }
  template <typename... Place>
  void synchronize(Place... place) {
    machine().try_synchronize(place...).value();
  }

  auto create_stream() { return machine().try_create_stream().value(); }
  auto create_event() { return machine().try_create_event().value(); }
  template <typename Event, typename Stream>
  void record(Event which, Stream in) {
    machine().try_record(which, in).value();
  }
  template <typename Stream, typename Event>
  void wait(Stream later, Event earlier) {
    machine().try_wait(later, earlier).value();
  }

 private:
  /// Nothing else derives from it.
  friend Machine;
  ending_calls() = default;
  ~ending_calls() = default;

  Machine& machine() { return static_cast<Machine&>(*this); }
};

}  // namespace heddle
