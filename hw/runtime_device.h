// What the devices of a GPU runtime have in common; CUDA and HIP differ only in the names of the calls.
#pragma once

#include <heddle/hw/host/allocations.h>
#include <heddle/hw/host/thread.h>
#include <heddle/rpc/device.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>

namespace heddle {

namespace detail {

/// Ends the program with one line: the call, what it was for (or ""), and what the runtime said.
[[noreturn]] inline void runtime_failed(const char* call, const char* name, const char* error_name,
                                        const char* error_text) {
  std::fprintf(stderr, "heddle: %s(%s): %s: %s\n", call, name, error_name, error_text);
  std::abort();
}

}  // namespace detail

/// Models heddle::host_side on the first device of a runtime. Launches go to one stream, copies to another, and neither
/// is the default stream: so a handler may copy while a kernel waits for it.
///
/// allocate_*() and free() may wait until the device is idle: never call them in a handler that a running kernel waits
/// for. launch() too waits when the runtime's queue is full (some 1000 launches).
template <typename Runtime>
class runtime_device {
 public:
  runtime_device() {
    Runtime::start();
    launches_ = Runtime::create_stream();
    copies_ = Runtime::create_stream();
  }
  runtime_device(const runtime_device&) = delete;
  runtime_device& operator=(const runtime_device&) = delete;

  ~runtime_device() {
    synchronize();
    memory_.clear(give_back);
    Runtime::destroy_stream(launches_);
    Runtime::destroy_stream(copies_);
  }

  /// Whether this machine has such a device; the constructor ends the program where it has none.
  static bool present() { return Runtime::present(); }

  uint32_t max_lanes() const { return Runtime::wave_lanes(); }

  template <typename T>
  T* allocate_shared(size_t count, const char* name) {
    const size_t bytes = host::bytes_of<T>(count);
    return static_cast<T*>(keep(Runtime::allocate_shared(bytes, name), bytes, host::memory_kind::shared));
  }

  template <typename T>
  T* allocate_device(size_t count, const char* name) {
    const size_t bytes = host::bytes_of<T>(count);
    return static_cast<T*>(keep(Runtime::allocate_device(bytes, name), bytes, host::memory_kind::device));
  }

  void free(void* memory) {
    if (memory != nullptr) give_back(memory, memory_.remove(memory));
  }

  void copy(void* to, const void* from, size_t bytes) {
    Runtime::copy(to, from, bytes, copies_);
    Runtime::wait(copies_);
  }

  /// `shape.waves` times the width of a wave must fit a block of the machine (1024 threads).
  template <typename Kernel>
  void launch(launch_shape shape, Kernel kernel) {
    static_assert(std::is_trivially_copyable_v<Kernel>, "a kernel travels to a device byte by byte");
    if (shape.lanes > max_lanes()) host::trap(fault::assertion, "a launch with more lanes than a wave has");
    Runtime::launch(shape, kernel, launches_);
  }

  bool query() { return Runtime::ended(launches_); }
  void synchronize() { Runtime::wait(launches_); }

  /// Its wave_id() is the number of host threads that this device has started before it.
  template <typename Function>
  host::thread spawn_host(const char* name, Function&& function) {
    const uint32_t index = host_threads_.fetch_add(1, std::memory_order_relaxed);
    return host::thread(name, host::position{.block = 0, .wave = index}, std::forward<Function>(function));
  }

 private:
  void* keep(void* memory, size_t bytes, host::memory_kind kind) {
    Runtime::clear(memory, bytes, copies_);
    Runtime::wait(copies_);
    memory_.add(memory, kind);
    return memory;
  }

  static void give_back(void* memory, host::memory_kind kind) {
    if (kind == host::memory_kind::shared)
      Runtime::free_shared(memory);
    else
      Runtime::free_device(memory);
  }

  host::allocations memory_;
  typename Runtime::stream launches_{};
  typename Runtime::stream copies_{};
  std::atomic<uint32_t> host_threads_{0};
};

}  // namespace heddle
