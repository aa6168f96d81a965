// The host side of a GPU, over its runtime: CUDA and HIP differ in the names of the calls, and in little else.
#pragma once

#include <heddle/hw/gpu/device_streams.h>
#include <heddle/hw/gpu/runtime.h>
#include <heddle/hw/host/allocations.h>
#include <heddle/hw/host/ending_calls.h>
#include <heddle/hw/host/thread.h>
#include <heddle/rpc/device.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

// An entry of a launch. A runtime that plays a GPU on this processor has plain functions.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define HEDDLE_KERNEL __global__
#else
#define HEDDLE_KERNEL
#endif

namespace heddle::gpu {

namespace detail {

/// Runs the kernel in the first `lanes` lanes of each wave; the others leave at once and are in no mask.
template <typename Target, typename Kernel>
HEDDLE_KERNEL void run_lanes(uint32_t lanes, Kernel kernel) {
  if (Target::lane_id() < lanes) kernel();
}

}  // namespace detail

/// Models heddle::host_side on one device of a runtime. Launches that name no stream go to one of the device's own,
/// copies to another, and neither is the default stream: so a handler may copy while a kernel waits for it. `stream`
/// and `event` are the runtime's own handles: a program may pass those that it has made itself.
///
/// allocate_*(), free() and destroy() may wait until the device is idle: never call them in a handler that a running
/// kernel waits for. launch() too waits when the runtime's queue is full (some 1000 launches).
///
/// After a kernel has failed, every call fails with the same error, as the runtime has it; only a new process can go
/// on.
template <runtime Runtime>
class basic_device : public ending_calls<basic_device<Runtime>>, public host::without_page_tables {
 public:
  using runtime_type = Runtime;
  using stream = typename Runtime::stream;
  using event = typename Runtime::event;

  /// 0 also where there is no driver.
  static uint32_t count() {
    int found = 0;
    if (ask(Runtime::device_count, "", &found)) return found > 0 ? static_cast<uint32_t>(found) : 0;
    return 0;
  }

  /// Whether this computer has such a device; the constructor ends the program where it has none.
  static bool present() { return count() != 0; }

  explicit basic_device(uint32_t index = 0) : basic_device(start(index).value()) {}
  static result<std::unique_ptr<basic_device>> open(uint32_t index) {
    result<started> ready = start(index);
    if (!ready) return ready.why();
    return std::unique_ptr<basic_device>(new basic_device(ready.value()));
  }

  /// There is none: several devices are opened one by one, and the program deals its work out.
  static result<std::unique_ptr<basic_device>> open_unified(std::span<const uint32_t> indices) {
    return host::not_unified(indices, "the runtime has no device that is several; open each by its number");
  }

  static result<std::unique_ptr<basic_device>> open_process(uint32_t index) {
    return host::without_page_tables::refusal("open_process", std::to_string(index));
  }

  basic_device(const basic_device&) = delete;
  basic_device& operator=(const basic_device&) = delete;

  /// Its first error is printed: no caller is left to receive it.
  ~basic_device() {
    bool told = false;
    const auto tell = [&told](const result<void>& done) {
      if (done || std::exchange(told, true)) return;
      std::fprintf(stderr, "heddle: a device is given back after an error: %s\n", done.why().line().c_str());
    };
    tell(this->try_synchronize());
    // With the device lost these fail too, and nothing is left to do about it.
    const current_device<Runtime> here(index_);
    if (!here) tell(here.why());
    memory_.clear([&tell](void* memory, host::memory_kind kind) { tell(give_back(memory, kind)); });
    streams_.clear(tell);
    tell(ask(Runtime::destroy_stream, "", copies_));
  }

  uint32_t max_lanes() const { return wave_lanes_; }
  static constexpr uint32_t most_block_lanes = 1024;  ///< of all GPUs that CUDA and HIP drive
  /// A launch of so many waves for a kernel to which blocks mean nothing: one block where that can have them, else a block for each wave, of which
  /// there may be more than fit the device at once. wave_id() is the same either way.
  launch_shape shape_of(uint32_t waves, uint32_t lanes) const {
    if (uint64_t{waves} * wave_lanes_ <= most_block_lanes) return {.blocks = 1, .waves = waves, .lanes = lanes};
    return {.blocks = waves, .waves = 1, .lanes = lanes};
  }
  result<device_memory> try_memory() {
    const current_device<Runtime> here(index_);
    if (!here) return here.why();
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    const result<void> told = ask(Runtime::memory_info, number().c_str(), &free_bytes, &total_bytes);
    if (!told) return told.why();
    return device_memory{free_bytes, total_bytes};
  }
  /// Which of the devices this is, and what the runtime calls it.
  uint32_t index() const { return static_cast<uint32_t>(index_); }
  result<std::string> name() const {
    typename Runtime::properties properties{};
    const result<void> told =
        answered<Runtime>(Runtime::device_properties(&properties, index_), "name of a device", number().c_str());
    if (!told) return told.why();
    return std::string(properties.name);
  }
  /// Of the driver, as the runtime numbers them.
  static result<int> driver_version() {
    int version = 0;
    const result<void> told = answered<Runtime>(Runtime::driver_version(&version), "version of the driver");
    if (!told) return told.why();
    return version;
  }

  /// Pinned host memory, which the device maps at the same address.
  template <typename T>
  result<T*> try_allocate_shared(size_t count, const char* name) {
    return allocate<T>(count, name, host::memory_kind::shared, [name](void** memory, size_t bytes) {
      return ask(Runtime::allocate_host, name, memory, bytes);
    });
  }
  template <typename T>
  result<T*> try_allocate_device(size_t count, const char* name) {
    return allocate<T>(count, name, host::memory_kind::device, [name](void** memory, size_t bytes) {
      return ask(Runtime::allocate_device, name, memory, bytes);
    });
  }

  /// Memory of the device that it does not cache where that would keep a kernel from what the host copies there.
  template <typename T>
  result<T*> try_allocate_fine(size_t count, const char* name) {
    return allocate<T>(count, name, host::memory_kind::device, [name](void** memory, size_t bytes) {
      return ask(Runtime::allocate_fine, name, memory, bytes);
    });
  }

  /// Memory of the device at which the host's loads and stores arrive while a kernel runs. That is so where host and
  /// device are coherent, and the runtime says so (DirectManagedMemAccessFromHost): managed memory then stays with the
  /// device and the host reaches over. Over PCIe neither runtime promises it: CUDA gives device memory no host address
  /// (gdrcopy's kernel module would), and on an AMD GPU a host's store through a large BAR lies in the host data path
  /// until that is flushed.
  template <typename T>
  result<T*> try_allocate_mapped(size_t count, const char* name) {
    result<bool> coherent = host_reaches_memory();
    if (!coherent) return coherent.why();
    if (!coherent.value())
      return error{"allocate_mapped", name, "not supported",
                   "the host has no coherent access to this device's memory (DirectManagedMemAccessFromHost is 0)"};
    return allocate<T>(count, name, host::memory_kind::device,
                       [this, name](void** memory, size_t bytes) { return allocate_at_device(memory, bytes, name); });
  }

  /// What crosses the link is asked of the runtime.
  result<link_properties> try_link() {
    result<bool> coherent = host_reaches_memory();
    if (!coherent) return coherent.why();
    link_properties found;
    const result<void> told = ask(Runtime::link_atomics, number().c_str(), &found, index_);
    if (!told) return told.why();
    found.coherent = coherent.value();
    found.fine = true;
    return found;
  }

  result<void> try_free(void* memory) {
    if (memory == nullptr) return {};
    return give_back(memory, memory_.remove(memory));
  }

  result<void> try_copy(void* to, const void* from, size_t bytes) {
    if (const result<void> begun = try_copy(to, from, bytes, copies_); !begun) return begun;
    return try_synchronize(copies_);
  }

  result<void> try_copy(void* to, const void* from, size_t bytes, stream in) {
    return ask(Runtime::copy, "", to, from, bytes, in);
  }

  /// What the runtime launches for a kernel, for questions to the runtime.
  template <typename Kernel>
  static auto entry() {
    return detail::run_lanes<typename Runtime::target, Kernel>;
  }

  /// `shape.waves` times the width of a wave must fit a block of the machine (most_block_lanes).
  template <typename Kernel>
  result<void> try_launch(launch_shape shape, Kernel kernel) {
    return try_launch(shape, kernel, launches_);
  }
  template <typename Kernel>
  result<void> try_launch(launch_shape shape, Kernel kernel, stream in) {
    static_assert(std::is_trivially_copyable_v<Kernel>, "a kernel travels to a device byte by byte");
    if (shape.lanes > max_lanes()) host::trap(fault::assertion, "a launch with more lanes than a wave has");
    const current_device<Runtime> here(index_);
    if (!here) return here.why();
    // A kernel that is loaded at its first launch may have to wait for the one that runs, which may be waiting for a
    // request that this thread should serve. So it is loaded here, before it could be the one that waits.
    if (const result<void> loaded = answered<Runtime>(Runtime::load(entry<Kernel>()), "kernel launch"); !loaded)
      return loaded;
    void* arguments[] = {&shape.lanes, &kernel};
    return answered<Runtime>(Runtime::launch(entry<Kernel>(), shape.blocks, shape.waves * wave_lanes_, arguments, in),
                             "kernel launch");
  }

  /// Of all streams that this device has made.
  result<bool> try_query() { return streams_.query(); }
  result<bool> try_query(stream which) { return has_ended<Runtime>(Runtime::query_stream, which); }
  result<bool> try_query(event which) { return has_ended<Runtime>(Runtime::query_event, which); }

  result<void> try_synchronize() { return streams_.synchronize(); }
  result<void> try_synchronize(stream which) { return ask(Runtime::synchronize_stream, "", which); }
  result<void> try_synchronize(event which) { return ask(Runtime::synchronize_event, "", which); }

  result<stream> try_create_stream() { return create_here<stream>(Runtime::create_stream); }
  void destroy(stream which) { streams_.destroy(which).value(); }
  result<event> try_create_event() { return create_here<event>(Runtime::create_event); }
  void destroy(event which) { streams_.destroy(which).value(); }

  result<void> try_record(event which, stream in) { return ask(Runtime::record_event, "", which, in); }
  result<void> try_wait(stream later, event earlier) { return ask(Runtime::wait_in_stream, "", later, earlier); }

  /// Its host threads are threads of this computer, which may be told where to run (rpc/placement.h).
  static constexpr bool has_processors = true;

  /// Its wave_id() is the number of host threads that this device has started before it.
  template <typename Function>
  host::thread spawn_host(const char* name, Function&& function) {
    const uint32_t index = host_threads_.fetch_add(1, std::memory_order_relaxed);
    return host::thread(name, host::position{.block = 0, .wave = index}, std::forward<Function>(function));
  }

 private:
  /// What a device needs before it is one.
  struct started {
    int index;
    uint32_t wave_lanes;
    stream launches;
    stream copies;
  };

  static result<started> start(uint32_t index) {
    int found = 0;
    if (const result<void> counted = ask(Runtime::device_count, "", &found); !counted) return counted.why();
    const std::string named = std::to_string(index);
    if (index >= static_cast<uint32_t>(found))
      return error{"device", named, "no such device",
                   "this computer has " + std::to_string(found) + ", numbered from 0"};
    started ready{static_cast<int>(index), 0, {}, {}};
    const current_device<Runtime> here(ready.index);
    if (!here) return here.why();
    // To free nothing makes the device's context, now and not at the first launch.
    auto status = Runtime::free_device(nullptr);
    int wave_lanes = 0;
    if (status == Runtime::success) status = Runtime::device_attribute(&wave_lanes, Runtime::wave_lanes, ready.index);
    if (status != Runtime::success) return failed<Runtime>(status, "start of a device", named.c_str());
    ready.wave_lanes = static_cast<uint32_t>(wave_lanes);
    if constexpr (requires { Runtime::begin(""); })
      if (const result<void> begun = Runtime::begin(named.c_str()); !begun) return begun.why();
    const result<void> first = ask(Runtime::create_stream, named.c_str(), &ready.launches);
    if (!first) return first.why();
    const result<void> second = ask(Runtime::create_stream, named.c_str(), &ready.copies);
    if (second) return ready;
    (void)ask(Runtime::destroy_stream, "", ready.launches);
    return second.why();
  }

  explicit basic_device(const started& ready)
      : index_(ready.index), wave_lanes_(ready.wave_lanes), launches_(ready.launches), copies_(ready.copies) {
    streams_.add(launches_);
  }

  std::string number() const { return std::to_string(index_); }

  template <typename Call, typename... Arguments>
  static result<void> ask(const Call& which, const char* subject, Arguments... arguments) {
    return gpu::ask<Runtime>(which, subject, arguments...);
  }

  /// What is made belongs to the calling thread's current device.
  template <typename Made, typename Create>
  result<Made> create_here(const Create& create) {
    const current_device<Runtime> here(index_);
    if (!here) return here.why();
    Made made{};
    if (const result<void> done = ask(create, "", &made); !done) return done.why();
    streams_.add(made);
    return made;
  }

  /// `allocate_bytes(&memory, bytes)` answers with a result.
  template <typename T, typename Allocate>
  result<T*> allocate(size_t count, const char* name, host::memory_kind kind, Allocate allocate_bytes) {
    const size_t bytes = host::bytes_of<T>(count);
    const current_device<Runtime> here(index_);
    if (!here) return here.why();
    void* memory = nullptr;
    if (const result<void> made = allocate_bytes(&memory, bytes); !made) return made.why();
    if (kind == host::memory_kind::shared) {
      std::memset(memory, 0, bytes);
    } else if (const result<void> cleared = clear(memory, bytes, name); !cleared) {
      (void)give_back(memory, kind);
      return cleared.why();
    }
    memory_.add(memory, kind);
    return static_cast<T*>(memory);
  }

  result<void> clear(void* memory, size_t bytes, const char* name) const {
    if (const result<void> begun = ask(Runtime::clear, name, memory, bytes, copies_); !begun) return begun;
    return ask(Runtime::synchronize_stream, name, copies_);
  }

  result<bool> host_reaches_memory() const {
    int direct = 0;
    int concurrent = 0;
    auto status = Runtime::device_attribute(&direct, Runtime::host_reaches_memory, index_);
    if (status == Runtime::success) status = Runtime::device_attribute(&concurrent, Runtime::concurrent_access, index_);
    if (status != Runtime::success) return failed<Runtime>(status, "attributes of a device", number().c_str());
    return direct != 0 && concurrent != 0;
  }

  /// Managed memory that stays with the device.
  result<void> allocate_at_device(void** memory, size_t bytes, const char* name) const {
    if (const result<void> made = ask(Runtime::allocate_managed, name, memory, bytes); !made) return made;
    const result<void> kept = keep_at_device(*memory, bytes, name);
    if (!kept) (void)give_back(*memory, host::memory_kind::device);
    return kept;
  }
  result<void> keep_at_device(void* memory, size_t bytes, const char* name) const {
    const auto advise = [&](typename Runtime::advice which, int index) {
      return ask(Runtime::advise, name, memory, bytes, which, index);
    };
    if (const result<void> kept = advise(Runtime::prefer_location, index_); !kept) return kept;
    // The host's mapping is made now, not at a fault of a server.
    return advise(Runtime::accessed_by, Runtime::host);
  }

  static result<void> give_back(void* memory, host::memory_kind kind) {
    return kind == host::memory_kind::shared ? ask(Runtime::free_host, "", memory)
                                             : ask(Runtime::free_device, "", memory);
  }

  int index_;
  uint32_t wave_lanes_;
  stream launches_;  ///< where a launch goes that names no stream
  stream copies_;
  host::allocations memory_;
  device_streams<Runtime> streams_;  ///< those that query() and synchronize() mean
  std::atomic<uint32_t> host_threads_{0};
};

}  // namespace heddle::gpu

#undef HEDDLE_KERNEL
