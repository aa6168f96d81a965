// The host side of the simulated machine.
#pragma once

#include <heddle/rpc/device.h>
#include <heddle/sim/fiber_body.h>
#include <heddle/sim/runtime/calls.h>

#include <new>
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

/// The device of the current run. What it has allocated goes away with the run.
class device {
 public:
  static uint32_t max_lanes() { return 64; }

  template <typename T>
  T* allocate_shared(size_t count, const char* name) {
    return static_cast<T*>(runtime::allocate(count * sizeof(T), false, name));
  }
  template <typename T>
  T* allocate_device(size_t count, const char* name) {
    return static_cast<T*>(runtime::allocate(count * sizeof(T), true, name));
  }
  void free(void* pointer) { runtime::release(pointer); }
  void copy(void* to, const void* from, size_t size_bytes) { runtime::copy(to, from, size_bytes); }

  template <typename Kernel>
  void launch(const launch_shape& shape, Kernel kernel) {
    static_assert(std::is_trivially_copyable_v<Kernel>, "a kernel is copied to the device byte by byte");
    static constexpr fiber_body body = {
        .size_bytes = sizeof(Kernel),
        .move_to = nullptr,
        .invoke = [](void* self) { (*static_cast<const Kernel*>(self))(); },
    };
    runtime::launch(shape, body, &kernel);
  }
  bool query() { return runtime::query(); }
  void synchronize() { runtime::synchronize(); }

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
};

}  // namespace heddle::sim
