// What the devices of a GPU runtime have in common; CUDA and HIP differ only in the names of the calls.
#pragma once

#include <heddle/hw/ending_calls.h>
#include <heddle/hw/host/allocations.h>
#include <heddle/hw/host/thread.h>
#include <heddle/rpc/device.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace heddle {

/// Models heddle::host_side on one device of a runtime. Launches that name no stream go to one of the device's own, copies to
/// another, and neither is the default stream: so a handler may copy while a kernel waits for it. `stream` and `event` are the
/// runtime's own handles: a program may pass those that it has made itself.
///
/// allocate_*(), free() and destroy() may wait until the device is idle: never call them in a handler that a running kernel
/// waits for. launch() too waits when the runtime's queue is full (some 1000 launches).
///
/// After a kernel has failed, every call fails with the same error, as the runtime has it; only a new process can go on.
template <typename Runtime>
class runtime_device : public ending_calls<runtime_device<Runtime>>, public host::without_page_tables {
 public:
  using stream = typename Runtime::stream;
  using event = typename Runtime::event;

  /// 0 also where there is no driver.
  static uint32_t count() {
    int found = 0;
    return Runtime::count(&found) == Runtime::success && found > 0 ? static_cast<uint32_t>(found) : 0;
  }

  /// Whether this computer has such a device; the constructor ends the program where it has none.
  static bool present() { return count() != 0; }

  explicit runtime_device(uint32_t index = 0) : runtime_device(start(index).value()) {}
  static result<std::unique_ptr<runtime_device>> open(uint32_t index) {
    result<started> ready = start(index);
    if (!ready) return ready.why();
    return std::unique_ptr<runtime_device>(new runtime_device(ready.value()));
  }

  /// There is none: several devices are opened one by one, and the program deals its work out.
  static result<std::unique_ptr<runtime_device>> open_unified(std::span<const uint32_t> indices) {
    return host::not_unified(indices, "the runtime has no device that is several; open each by its number");
  }

  static result<std::unique_ptr<runtime_device>> open_process(uint32_t index) {
    return host::without_page_tables::refusal("open_process", std::to_string(index));
  }

  runtime_device(const runtime_device&) = delete;
  runtime_device& operator=(const runtime_device&) = delete;

  /// An error that has lost the device is printed: nobody is left to receive it.
  ~runtime_device() {
    if (const result<void> ended = this->try_synchronize(); !ended)
      std::fprintf(stderr, "heddle: a device is given back after an error: %s\n", ended.why().line().c_str());
    // With the device lost these fail too, and nothing is left to do about it.
    const typename Runtime::selected here(index_);
    memory_.clear([](void* memory, host::memory_kind kind) { (void)give_back(memory, kind); });
    for (const stream each : streams_) (void)Runtime::destroy_stream(each);
    for (const event each : events_) (void)Runtime::destroy_event(each);
    (void)Runtime::destroy_stream(copies_);
  }

  uint32_t max_lanes() const { return wave_lanes_; }
  result<device_memory> try_memory() {
    const typename Runtime::selected here(index_);
    if (here.status() != Runtime::success) return Runtime::failed(here.status(), Runtime::select_call, number());
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    if (const auto status = Runtime::memory(&free_bytes, &total_bytes); status != Runtime::success)
      return Runtime::failed(status, Runtime::memory_call, number());
    return device_memory{free_bytes, total_bytes};
  }
  /// Which of the devices this is, and what the runtime calls it.
  uint32_t index() const { return static_cast<uint32_t>(index_); }
  result<std::string> name() const {
    char text[256] = "";
    if (const auto status = Runtime::name(text, sizeof text, index_); status != Runtime::success)
      return Runtime::failed(status, "name of a device", number());
    return std::string(text);
  }
  /// Of the driver, as the runtime numbers them.
  static result<int> driver_version() {
    int version = 0;
    if (const auto status = Runtime::driver_version(&version); status != Runtime::success)
      return Runtime::failed(status, "version of the driver", "");
    return version;
  }

  /// Pinned host memory, which the device maps.
  template <typename T>
  result<T*> try_allocate_shared(size_t count, const char* name) {
    return allocate<T>(count, name, host::memory_kind::shared, Runtime::allocate_shared_call, Runtime::allocate_shared);
  }
  template <typename T>
  result<T*> try_allocate_device(size_t count, const char* name) {
    return allocate<T>(count, name, host::memory_kind::device, Runtime::allocate_device_call, Runtime::allocate_device);
  }

  /// Memory of the device at which the host's loads and stores arrive while a kernel runs. That is so where host and device are
  /// coherent, and the runtime says so (DirectManagedMemAccessFromHost): managed memory then stays with the device and the host
  /// reaches over. Over PCIe neither runtime promises it: CUDA gives device memory no host address (gdrcopy's kernel module
  /// would), and on an AMD GPU a host's store through a large BAR lies in the host data path until somebody flushes that.
  template <typename T>
  result<T*> try_allocate_mapped(size_t count, const char* name) {
    bool coherent = false;
    if (const auto status = Runtime::host_reaches_device_memory(&coherent, index_); status != Runtime::success)
      return Runtime::failed(status, "attributes of a device", number());
    if (!coherent)
      return error{"allocate_mapped", name, "not supported",
                   "the host has no coherent access to this device's memory (DirectManagedMemAccessFromHost is 0)"};
    return allocate<T>(
        count, name, host::memory_kind::device, Runtime::allocate_mapped_call,
        [index = index_](void** memory, size_t bytes) { return Runtime::allocate_mapped(memory, bytes, index); });
  }

  void free(void* memory) {
    if (memory == nullptr) return;
    const host::memory_kind kind = memory_.remove(memory);
    answer(give_back(memory, kind),
           kind == host::memory_kind::shared ? Runtime::free_shared_call : Runtime::free_device_call)
        .value();
  }

  result<void> try_copy(void* to, const void* from, size_t bytes) {
    if (const auto status = Runtime::copy(to, from, bytes, copies_); status != Runtime::success)
      return Runtime::failed(status, Runtime::copy_call, "");
    return answer(Runtime::wait_for(copies_), Runtime::wait_for_stream_call);
  }

  result<void> try_copy(void* to, const void* from, size_t bytes, stream in) {
    return answer(Runtime::copy(to, from, bytes, in), Runtime::copy_call);
  }

  /// `shape.waves` times the width of a wave must fit a block of the machine (1024 threads).
  template <typename Kernel>
  result<void> try_launch(launch_shape shape, Kernel kernel) {
    return try_launch(shape, kernel, streams_.front());
  }
  template <typename Kernel>
  result<void> try_launch(launch_shape shape, Kernel kernel, stream in) {
    static_assert(std::is_trivially_copyable_v<Kernel>, "a kernel travels to a device byte by byte");
    if (shape.lanes > max_lanes()) host::trap(fault::assertion, "a launch with more lanes than a wave has");
    const typename Runtime::selected here(index_);
    if (here.status() != Runtime::success) return Runtime::failed(here.status(), Runtime::select_call, number());
    return answer(Runtime::launch(shape, wave_lanes_, kernel, in), "kernel launch");
  }

  /// Asks every stream that this device has made.
  result<bool> try_query() {
    const std::lock_guard lock(mutex_);
    for (const stream each : streams_) {
      result<bool> ended = try_query(each);
      if (!ended || !ended.value()) return ended;
    }
    return true;
  }
  result<bool> try_query(stream which) { return ended(Runtime::query(which), Runtime::query_stream_call); }
  result<bool> try_query(event which) { return ended(Runtime::query(which), Runtime::query_event_call); }

  result<void> try_synchronize() {
    // Not under the lock: other threads must be able to ask meanwhile.
    std::unique_lock lock(mutex_);
    const std::vector<stream> all = streams_;
    lock.unlock();
    for (const stream each : all)
      if (const result<void> ended = try_synchronize(each); !ended) return ended;
    return {};
  }
  result<void> try_synchronize(stream which) { return answer(Runtime::wait_for(which), Runtime::wait_for_stream_call); }
  result<void> try_synchronize(event which) { return answer(Runtime::wait_for(which), Runtime::wait_for_event_call); }

  result<stream> try_create_stream() {
    stream made{};
    if (const result<void> done = create_here(Runtime::create_stream, made, Runtime::create_stream_call); !done)
      return done.why();
    const std::lock_guard lock(mutex_);
    streams_.push_back(made);
    return made;
  }
  void destroy(stream which) {
    forget(streams_, which);
    answer(Runtime::destroy_stream(which), Runtime::destroy_stream_call).value();
  }

  result<event> try_create_event() {
    event made{};
    if (const result<void> done = create_here(Runtime::create_event, made, Runtime::create_event_call); !done)
      return done.why();
    const std::lock_guard lock(mutex_);
    events_.push_back(made);
    return made;
  }
  void destroy(event which) {
    forget(events_, which);
    answer(Runtime::destroy_event(which), Runtime::destroy_event_call).value();
  }

  result<void> try_record(event which, stream in) { return answer(Runtime::record(which, in), Runtime::record_call); }
  result<void> try_wait(stream later, event earlier) {
    return answer(Runtime::wait_in(later, earlier), Runtime::wait_in_call);
  }

  /// Its wave_id() is the number of host threads that this device has started before it.
  template <typename Function>
  host::thread spawn_host(const char* name, Function&& function) {
    const uint32_t index = host_threads_.fetch_add(1, std::memory_order_relaxed);
    return host::thread(name, host::position{.block = 0, .wave = index}, std::forward<Function>(function));
  }

 private:
  using status_type = decltype(Runtime::success);

  /// What a device needs before it is one.
  struct started {
    int index;
    uint32_t wave_lanes;
    stream launches;
    stream copies;
  };

  static result<started> start(uint32_t index) {
    int found = 0;
    if (const auto status = Runtime::count(&found); status != Runtime::success)
      return Runtime::failed(status, Runtime::count_call, "");
    if (index >= static_cast<uint32_t>(found))
      return error{"device", std::to_string(index), "no such device",
                   "this computer has " + std::to_string(found) + ", numbered from 0"};
    started ready{static_cast<int>(index), 0, {}, {}};
    const typename Runtime::selected here(ready.index);
    if (here.status() != Runtime::success)
      return Runtime::failed(here.status(), Runtime::select_call, std::to_string(index));
    const char* call = "start of a device";
    auto status = Runtime::start();
    if (status == Runtime::success) status = Runtime::wave_lanes(&ready.wave_lanes, ready.index);
    if (status == Runtime::success) {
      call = Runtime::create_stream_call;
      status = Runtime::create_stream(&ready.launches);
    }
    if (status == Runtime::success) status = Runtime::create_stream(&ready.copies);
    if (status != Runtime::success) return Runtime::failed(status, call, std::to_string(index));
    return ready;
  }

  explicit runtime_device(const started& ready)
      : index_(ready.index), wave_lanes_(ready.wave_lanes), streams_{ready.launches}, copies_(ready.copies) {}

  std::string number() const { return std::to_string(index_); }

  static result<void> answer(status_type status, const char* call) {
    if (status == Runtime::success) return {};
    return Runtime::failed(status, call, "");
  }
  static result<bool> ended(status_type status, const char* call) {
    if (status == Runtime::not_ready) return false;
    if (status == Runtime::success) return true;
    return Runtime::failed(status, call, "");
  }

  /// What is made belongs to the calling thread's current device.
  template <typename Create, typename Made>
  result<void> create_here(Create create, Made& made, const char* call) {
    const typename Runtime::selected here(index_);
    if (here.status() != Runtime::success) return Runtime::failed(here.status(), Runtime::select_call, number());
    return answer(create(&made), call);
  }

  template <typename Made>
  void forget(std::vector<Made>& all, Made which) {
    const std::lock_guard lock(mutex_);
    std::erase(all, which);
  }

  template <typename T, typename Allocate>
  result<T*> allocate(size_t count, const char* name, host::memory_kind kind, const char* call,
                      Allocate allocate_bytes) {
    const size_t bytes = host::bytes_of<T>(count);
    const typename Runtime::selected here(index_);
    if (here.status() != Runtime::success) return Runtime::failed(here.status(), Runtime::select_call, number());
    void* memory = nullptr;
    if (const auto status = allocate_bytes(&memory, bytes); status != Runtime::success)
      return Runtime::failed(status, call, name);
    auto cleared = Runtime::clear(memory, bytes, copies_);
    if (cleared == Runtime::success) cleared = Runtime::wait_for(copies_);
    if (cleared != Runtime::success) {
      (void)give_back(memory, kind);
      return Runtime::failed(cleared, Runtime::clear_call, name);
    }
    memory_.add(memory, kind);
    return static_cast<T*>(memory);
  }

  static status_type give_back(void* memory, host::memory_kind kind) {
    return kind == host::memory_kind::shared ? Runtime::free_shared(memory) : Runtime::free_device(memory);
  }

  int index_;
  uint32_t wave_lanes_;
  host::allocations memory_;
  std::mutex mutex_;             ///< of the two below it
  std::vector<stream> streams_;  ///< the first is where a launch goes that names no stream
  std::vector<event> events_;
  stream copies_;
  std::atomic<uint32_t> host_threads_{0};
};

}  // namespace heddle
