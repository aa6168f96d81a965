// The host side of the simulated machine.
#pragma once

#include <heddle/rpc/device.h>
#include <heddle/sim/fiber_body.h>
#include <heddle/sim/runtime/calls.h>
#include <heddle/sim/runtime/gpu_calls.h>

#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

namespace heddle::sim {

/// A host thread of the simulation. Movable; joins when it is destroyed.
class host_thread {
 public:
  explicit host_thread(const wave* thread) : thread_(thread) {}
  host_thread(host_thread&& other) noexcept : thread_(std::exchange(other.thread_, nullptr)) {}
  host_thread& operator=(host_thread&& other) noexcept {
    if (this != &other) {
      join();
      thread_ = std::exchange(other.thread_, nullptr);
    }
    return *this;
  }
  ~host_thread() { join(); }

  /// Waits until the thread has ended; does nothing the second time.
  void join() {
    if (const wave* const thread = std::exchange(thread_, nullptr)) runtime::join(thread);
  }

 private:
  const wave* thread_;
};

/// The device of the current run; all objects of this class are the same one. What it has allocated goes away with the run.
/// Launches that name no stream go to the default stream, which the others do not wait for.
class device {
 public:
  /// Names of what the run holds.
  struct stream {
    uint32_t number = 0;
  };
  struct event {
    uint32_t number = 0;
  };

  static uint32_t count() { return 1; }

  device() = default;
  explicit device(uint32_t index) { check(index).value(); }
  static result<std::unique_ptr<device>> open(uint32_t index) {
    if (const result<void> there = check(index); !there) return there.why();
    return std::make_unique<device>();
  }

  static uint32_t max_lanes() { return 64; }

  template <typename T>
  T* allocate_shared(size_t count, const char* name) {
    return static_cast<T*>(runtime::allocate(count * sizeof(T), false, name));
  }
  template <typename T>
  T* allocate_device(size_t count, const char* name) {
    return static_cast<T*>(runtime::allocate(count * sizeof(T), true, name));
  }
  template <typename T>
  result<T*> try_allocate_shared(size_t count, const char* name) {
    return allocate_shared<T>(count, name);
  }
  template <typename T>
  result<T*> try_allocate_device(size_t count, const char* name) {
    return allocate_device<T>(count, name);
  }
  /// All simulated device memory can be reached by the host: how it is then mapped is for the settings of the link to say.
  template <typename T>
  result<T*> try_allocate_mapped(size_t count, const char* name) {
    return allocate_device<T>(count, name);
  }
  void free(void* pointer) { runtime::release(pointer); }
  void copy(void* to, const void* from, size_t size_bytes) { runtime::copy(to, from, size_bytes); }
  void copy(void* to, const void* from, size_t size_bytes, stream in) {
    runtime::copy_in_stream(to, from, size_bytes, in.number);
  }
  template <typename... Place>
  result<void> try_copy(void* to, const void* from, size_t size_bytes, Place... in) {
    copy(to, from, size_bytes, in...);
    return {};
  }

  template <typename Kernel>
  void launch(const launch_shape& shape, Kernel kernel) {
    launch(shape, kernel, stream{});
  }
  template <typename Kernel>
  void launch(const launch_shape& shape, Kernel kernel, stream in) {
    static_assert(std::is_trivially_copyable_v<Kernel>, "a kernel is copied to the device byte by byte");
    static constexpr fiber_body body = {
        .size_bytes = sizeof(Kernel),
        .move_to = nullptr,
        .invoke = [](void* self) { (*static_cast<const Kernel*>(self))(); },
    };
    runtime::launch(shape, body, &kernel, in.number);
  }
  /// As launch().
  template <typename Kernel, typename... Place>
  result<void> try_launch(const launch_shape& shape, Kernel kernel, Place... in) {
    launch(shape, kernel, in...);
    return {};
  }

  bool query() { return runtime::query(); }
  bool query(stream which) { return runtime::query_stream(which.number); }
  bool query(event which) { return runtime::query_event(which.number); }
  template <typename... Place>
  result<bool> try_query(Place... place) {
    return query(place...);
  }

  void synchronize() { runtime::synchronize(); }
  void synchronize(stream which) { runtime::synchronize_stream(which.number); }
  void synchronize(event which) { runtime::synchronize_event(which.number); }
  template <typename... Place>
  result<void> try_synchronize(Place... place) {
    synchronize(place...);
    return {};
  }

  stream create_stream() { return {runtime::create_stream(false)}; }
  result<stream> try_create_stream() { return create_stream(); }
  void destroy(stream which) { runtime::destroy_stream(which.number); }

  event create_event() { return {runtime::create_event()}; }
  result<event> try_create_event() { return create_event(); }
  /// Of no effect: an event takes no room that would be missed.
  void destroy(event) {}

  void record(event which, stream in) { runtime::record_event(which.number, in.number); }
  result<void> try_record(event which, stream in) {
    record(which, in);
    return {};
  }
  void wait(stream later, event earlier) { runtime::wait_event(later.number, earlier.number); }
  result<void> try_wait(stream later, event earlier) {
    wait(later, earlier);
    return {};
  }

  template <typename Function>
  host_thread spawn_host(const char* name, Function function) {
    static constexpr fiber_body body = {
        .size_bytes = sizeof(Function),
        .move_to = [](void* to, void* from) { new (to) Function(std::move(*static_cast<Function*>(from))); },
        .invoke =
            [](void* self) {
              auto& moved = *static_cast<Function*>(self);
              moved();
              moved.~Function();
            },
    };
    static_assert(alignof(Function) <= 64);
    return host_thread(runtime::spawn_host(name, body, &function));
  }

 private:
  static result<void> check(uint32_t index) {
    if (index < count()) return {};
    return error{"device", std::to_string(index), "no such device", "the simulated machine has one, number 0"};
  }
};

}  // namespace heddle::sim
