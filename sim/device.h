// The host side of the simulated machine.
#pragma once

#include <heddle/rpc/device.h>
#include <heddle/sim/fiber/fiber_body.h>
#include <heddle/sim/runtime/calls.h>
#include <heddle/sim/runtime/gpu_calls.h>

#include <memory>
#include <new>
#include <span>
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

/// A device of the current run (driver.devices); all objects of one number are the same one. What an object has allocated and what is
/// not freed yet is freed when that object is destroyed, unless launches are still running: then it goes away with the run.
/// Launches that name no stream go to the device's default stream, which the others do not wait for.
class device {
 public:
  /// Names of what the run holds.
  struct stream {
    uint32_t number = 0;
  };
  struct event {
    uint32_t number = 0;
  };

  static uint32_t count() { return runtime::device_count(); }

  device() = default;
  device(const device&) = default;
  device& operator=(const device&) = default;
  ~device() { runtime::device_ends(this); }
  explicit device(uint32_t index) : number_(index), default_{index} { check(index).value(); }
  static result<std::unique_ptr<device>> open(uint32_t index) {
    if (const result<void> there = check(index); !there) return there.why();
    return std::make_unique<device>(index);
  }
  static result<std::unique_ptr<device>> open_unified(std::span<const uint32_t> indices) {
    result<uint32_t> made = runtime::unify(indices);
    if (!made) return made.why();
    auto unified = std::make_unique<device>();
    unified->number_ = made.value();
    unified->default_ = {runtime::default_stream_of(made.value())};
    return unified;
  }

  /// Inline, behind its class.
  static result<std::unique_ptr<class process_device>> open_process(uint32_t index);

  static uint32_t max_lanes() { return 64; }

  template <typename T>
  T* allocate_shared(size_t count, const char* name) {
    return static_cast<T*>(runtime::allocate(count * sizeof(T), false, name, 0, this));
  }
  template <typename T>
  T* allocate_device(size_t count, const char* name) {
    return static_cast<T*>(runtime::allocate(count * sizeof(T), true, name, number_, this));
  }
  template <typename T>
  result<T*> try_allocate_shared(size_t count, const char* name) {
    return allocate_shared<T>(count, name);
  }
  /// An error where the device has not enough memory (driver.memory_kib).
  template <typename T>
  result<T*> try_allocate_device(size_t count, const char* name) {
    void* const made = runtime::try_allocate(count * sizeof(T), true, name, number_, this);
    if (made == nullptr)
      return error{"allocate_device", name, "out of memory",
                   std::to_string(count * sizeof(T)) + " bytes, and " + std::to_string(memory().free_bytes) + " of " +
                       std::to_string(memory().total_bytes) + " are free on the device"};
    return static_cast<T*>(made);
  }
  /// All simulated device memory can be reached by the host: how it is then mapped is for the settings of the link to say.
  template <typename T>
  result<T*> try_allocate_mapped(size_t count, const char* name) {
    return try_allocate_device<T>(count, name);
  }
  /// All device memory is.
  template <typename T>
  result<T*> try_allocate_fine(size_t count, const char* name) {
    return try_allocate_device<T>(count, name);
  }
  /// As link.rmw says where there is a link (fidelity=link), and all of them elsewhere.
  static link_properties link() { return runtime::link_of_run(); }
  static result<link_properties> try_link() { return link(); }
  template <typename T>
  result<T*> try_allocate_moving(size_t count, const char* name) {
    void* const made = runtime::try_allocate(count * sizeof(T), true, name, number_, this, true);
    if (made == nullptr) return error{"allocate_moving", name, "out of memory", "the device has not enough pages"};
    return static_cast<T*>(made);
  }
  /// Of memory of this device's process.
  result<device_page> page_of(const void* pointer) { return runtime::page_of(number_, pointer); }
  /// What this device's process has at a virtual address, as page_of() tells them.
  result<void*> at(uint64_t address) { return runtime::at(number_, address); }
  device_memory memory() { return runtime::memory_of(number_); }
  result<device_memory> try_memory() { return memory(); }
  void free(void* pointer) { runtime::release(pointer); }
  result<void> try_free(void* pointer) {
    free(pointer);
    return {};
  }
  void copy(void* to, const void* from, size_t size_bytes) { runtime::copy(to, from, size_bytes); }
  void copy(void* to, const void* from, size_t size_bytes, stream in) {
    runtime::copy_in_stream(to, from, size_bytes, in.number);
  }
  /// An error where one of the two is memory of a process that open_process() has made; nothing has been copied then.
  template <typename... Place>
  result<void> try_copy(void* to, const void* from, size_t size_bytes, Place... in) {
    if (result<void> mine = runtime::check_copy(0, to, from, size_bytes); !mine) return mine;
    copy(to, from, size_bytes, in...);
    return {};
  }

  template <typename Kernel>
  void launch(const launch_shape& shape, Kernel kernel) {
    launch(shape, kernel, default_);
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

  bool query() { return runtime::query(number_); }
  bool query(stream which) { return runtime::query_stream(which.number); }
  bool query(event which) { return runtime::query_event(which.number); }
  template <typename... Place>
  result<bool> try_query(Place... place) {
    return query(place...);
  }

  void synchronize() { runtime::synchronize(number_); }
  void synchronize(stream which) { runtime::synchronize_stream(which.number); }
  void synchronize(event which) { runtime::synchronize_event(which.number); }
  template <typename... Place>
  result<void> try_synchronize(Place... place) {
    synchronize(place...);
    return {};
  }

  /// Work of a stream of higher priority gets places on the device first, and may evict that of others (setting `evict`).
  stream create_stream(int32_t priority = 0) { return {runtime::create_stream(false, number_, priority)}; }
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
#if __has_builtin(__builtin_clear_padding)
    // Which frames it refers to is read from its bytes; those that no member has would be whatever an earlier run has left there.
    __builtin_clear_padding(&function);
#endif
    return host_thread(runtime::spawn_host(name, body, &function));
  }

 private:
  friend class process_device;
  static result<void> check(uint32_t index) {
    if (index < count()) return {};
    return error{"device", std::to_string(index), "no such device",
                 "the simulated machine has " + std::to_string(count()) + ", numbered from 0 (driver.devices)"};
  }

  uint32_t number_ = 0;
  stream default_;
};

/// A device as a process of its own has it: what it allocates belongs to it alone, and it reaches nothing that others have allocated.
class process_device : public device {
 public:
  explicit process_device(uint32_t number) {
    number_ = number;
    default_ = {runtime::default_stream_of(number)};
  }

  void free(void* pointer) { runtime::release(pointer, number_); }
  result<void> try_free(void* pointer) {
    free(pointer);
    return {};
  }
  using device::copy;  // in a stream of the process: an engine of the process makes it
  void copy(void* to, const void* from, size_t size_bytes) { runtime::copy(to, from, size_bytes, number_); }
  /// An error where one of the two is memory of another process; nothing has been copied then.
  template <typename... Place>
  result<void> try_copy(void* to, const void* from, size_t size_bytes, Place... in) {
    if (result<void> mine = runtime::check_copy(number_, to, from, size_bytes); !mine) return mine;
    copy(to, from, size_bytes, in...);
    return {};
  }
};

inline result<std::unique_ptr<process_device>> device::open_process(uint32_t index) {
  result<uint32_t> made = runtime::open_process(index);
  if (!made) return made.why();
  return std::make_unique<process_device>(made.value());
}

}  // namespace heddle::sim
