// The host side of a machine that is watched: names memory and actors, and hands kernels their view.
#pragma once

#include <heddle/hw/host/thread.h>
#include <heddle/hw/observed/actor.h>
#include <heddle/hw/observed/session.h>
#include <heddle/rpc/device.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace heddle::host {
class device;
}

namespace heddle::observed {

/// A kernel that knows which actor runs it. Machine is the Target that is watched.
template <typename Machine, typename Kernel>
struct watched_kernel {
  view of;
  Kernel kernel;

  HEDDLE_CALLS_BACK
  HEDDLE_FUNCTION void operator()() const {
    here() = of;
    if (!Machine::is_device()) here().first += Machine::wave_id();
    const actor<Machine> self;
    self.begin();
    kernel();
    self.does(activity::ended);
  }
};

/// Reads the device's clock when the host says so: words are the question, the answer, and the clock.
template <typename Machine>
struct clock_kernel {
  uint64_t* words;
  HEDDLE_FUNCTION void operator()() const {
    using word = typename Machine::template atomic_ref<uint64_t, scope::system>;
    for (uint64_t asked = 1; asked <= rounds; ++asked) {
      // Acquire and release pair with those of the host: the clock is read between question and answer.
      while (word(words[0]).load(memory_order::acquire) != asked) Machine::pause();
      words[2] = clock();
      word(words[1]).store(asked, memory_order::release);
    }
  }
  static constexpr uint64_t rounds = 16;
};

/// Models heddle::host_side as Device does, which it is; Machine is Device's Target. What is not named here is Device's own.
template <typename Device, typename Machine>
class basic_device : public Device {
 public:
  explicit basic_device(uint32_t index = 0) : Device(index) {
    session::instance().device_made(allocate_logs);
    if constexpr (!on_this_computer) {
      static const clock_line line = calibrated();
      session::instance().set_clock(line);
      session::instance().set_copy(
          [this](void* to, const void* from, size_t bytes) { (void)Device::try_copy(to, from, bytes); });
    }
  }
  static result<std::unique_ptr<basic_device>> open(uint32_t index) {
    if (const result<std::unique_ptr<Device>> tried = Device::open(index); !tried) return tried.why();
    return std::make_unique<basic_device>(index);
  }
  /// No machine that is watched has one.
  static result<std::unique_ptr<basic_device>> open_unified(std::span<const uint32_t> indices) {
    return Device::open_unified(indices).why();
  }
  static result<std::unique_ptr<basic_device>> open_process(uint32_t index) {
    return Device::open_process(index).why();
  }
  basic_device(const basic_device&) = delete;
  basic_device& operator=(const basic_device&) = delete;
  ~basic_device() { session::instance().device_gone(this); }

  template <typename T>
  result<T*> try_allocate_shared(size_t count, const char* name) {
    return named(Device::template try_allocate_shared<T>(count, name), count, name, false);
  }
  template <typename T>
  result<T*> try_allocate_device(size_t count, const char* name) {
    return named(Device::template try_allocate_device<T>(count, name), count, name, true);
  }
  template <typename T>
  result<T*> try_allocate_fine(size_t count, const char* name) {
    return named(Device::template try_allocate_fine<T>(count, name), count, name, true);
  }
  template <typename T>
  result<T*> try_allocate_mapped(size_t count, const char* name) {
    return named(Device::template try_allocate_mapped<T>(count, name), count, name, false);
  }
  template <typename T>
  T* allocate_shared(size_t count, const char* name) {
    return try_allocate_shared<T>(count, name).value();
  }
  template <typename T>
  T* allocate_device(size_t count, const char* name) {
    return try_allocate_device<T>(count, name).value();
  }
  result<void> try_free(void* memory) {
    session::instance().freed(memory);
    return Device::try_free(memory);
  }
  void free(void* memory) { try_free(memory).value(); }

  template <typename Kernel, typename... Stream>
  result<void> try_launch(launch_shape shape, Kernel kernel, Stream... in) {
    const view made = session::instance().new_launch(shape.blocks * shape.waves * (on_this_computer ? shape.lanes : 1),
                                                     on_this_computer ? 1 : shape.lanes);
    return Device::try_launch(shape, watched_kernel<Machine, Kernel>{made, kernel}, in...);
  }
  template <typename Kernel, typename... Stream>
  void launch(launch_shape shape, Kernel kernel, Stream... in) {
    try_launch(shape, kernel, in...).value();
  }

  template <typename... Place>
  result<bool> try_query(Place... place) {
    leave_if_stopped();
    return Device::try_query(place...);
  }
  template <typename... Place>
  bool query(Place... place) {
    return try_query(place...).value();
  }
  template <typename... Place>
  result<void> try_synchronize(Place... place) {
    const actor<Machine> self;
    self.does(activity::synchronizes);
    result<void> ended = Device::try_synchronize(place...);
    leave_if_stopped();
    self.does(activity::running);
    return ended;
  }
  template <typename... Place>
  void synchronize(Place... place) {
    const actor<Machine> self;
    self.does(activity::synchronizes);
    Device::synchronize(place...);
    leave_if_stopped();
    self.does(activity::running);
  }

  /// As Device's handle, and says whether its owner joins.
  class thread {
   public:
    explicit thread(host::thread runs) : runs_(std::move(runs)) {}
    thread(thread&&) noexcept = default;
    thread& operator=(thread&&) noexcept = default;
    /// Does not print that it was stopped: the watchdog has said so.
    ~thread() { runs_.finish_expecting<stopped>(); }

    void join() {
      const actor<Machine> self;
      self.does(activity::joins);
      runs_.join();
      self.does(activity::running);
    }

   private:
    host::thread runs_;
  };

  template <typename Function>
  thread spawn_host(const char* name, Function&& function) {
    return thread(Device::spawn_host(name, [of = session::instance().new_host_thread(name),
                                            work = std::decay_t<Function>(std::forward<Function>(function))]() mutable {
      this_thread = of;
      const actor<Machine> self;
      self.begin();
      work();
      self.does(activity::ended);
    }));
  }

 private:
  /// Where a lane is a host thread, and logs may lie on the heap.
  static constexpr bool on_this_computer = std::is_same_v<Device, host::device>;

  template <typename T>
  result<T*> named(result<T*> allocated, size_t count, const char* name, bool on_device) {
    if (allocated)
      session::instance().allocated(
          allocated.value(), {.name = name, .size_bytes = count * sizeof(T), .on_device = on_device, .owner = this});
    return allocated;
  }

  static void leave_if_stopped() {
    if (session::instance().stopping()) leave();
  }

  template <typename T>
  static T* zeroed(uint64_t count) {
    // From the heap as it comes: of logs that are never written no page is ever touched.
    void* const memory = std::calloc(count, sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }

  /// They outlive every device: the watchdog reads them to the end of the process.
  static log_memory allocate_logs(uint32_t actors, uint64_t events) {
    log_memory made;
    made.actors = actors;
    made.events_in_all = events;
    made.host_memories = zeroed<actor_memory>(actors);
    if constexpr (on_this_computer) {
      made.stop = zeroed<uint32_t>(1);
      made.logs = zeroed<actor_log>(actors);
      made.events = zeroed<event>(events);
      made.memories = made.host_memories;
    } else {
      static Device* const keeper = new Device;
      made.stop = keeper->template allocate_shared<uint32_t>(1, "stop word of the watchdog");
      made.logs = keeper->template allocate_shared<actor_log>(actors, "flight recorder");
      made.events = keeper->template allocate_shared<event>(events, "flight recorder");
      made.memories = keeper->template allocate_device<actor_memory>(actors, "flight recorder");
    }
    return made;
  }

  /// The device's clock against this computer's, by questions and answers: each puts the clock between two times of the host, and the
  /// narrowest counts. The rate comes from two of them that are some milliseconds apart.
  clock_line calibrated() {
    using word = typename Machine::template atomic_ref<uint64_t, scope::system>;
    using kernel = clock_kernel<Machine>;
    uint64_t* const words = Device::template allocate_shared<uint64_t>(3, "clock");
    Device::launch({}, kernel{words});
    struct reading {
      uint64_t host_ns = 0, ticks = 0, width_ns = ~uint64_t{0};
    } readings[2];
    for (uint64_t asked = 1; asked <= kernel::rounds; ++asked) {
      if (asked == kernel::rounds / 2 + 1) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      const uint64_t before_ns = clock();
      word(words[0]).store(asked, memory_order::release);
      while (word(words[1]).load(memory_order::acquire) != asked) (void)Device::query();
      const uint64_t after_ns = clock();
      reading& best = readings[asked > kernel::rounds / 2];
      if (after_ns - before_ns < best.width_ns) best = {(before_ns + after_ns) / 2, words[2], after_ns - before_ns};
    }
    Device::synchronize();
    Device::free(words);
    clock_line line{.at = readings[0].ticks, .host_ns = readings[0].host_ns};
    if (readings[1].ticks != readings[0].ticks)
      line.ns_per_tick = static_cast<double>(readings[1].host_ns - readings[0].host_ns) /
                         static_cast<double>(readings[1].ticks - readings[0].ticks);
    return line;
  }
};

}  // namespace heddle::observed
