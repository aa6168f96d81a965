// The host side of the machine that is this computer: memory, launches as threads, host threads beside them.
#pragma once

#include <heddle/hw/host/allocations.h>
#include <heddle/hw/host/ending_calls.h>
#include <heddle/hw/host/stream.h>
#include <heddle/hw/host/thread.h>
#include <heddle/rpc/device.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace heddle::host {

/// Models heddle::host_side with one thread for each lane of a launch: each lane is a wave of one lane, and lanes of
/// one wave of the shape meet in no collective. All threads of a launch run at once, so its lanes may wait for each
/// other, and so may launches of different streams. All memory is the heap.
///
/// A kernel that throws ends its launch, as far as the other lanes end, and drops the launches that have not begun, as
/// a GPU does after an error. synchronize() throws the first exception again, and try_synchronize() answers with it; the
/// device is then as new.
class device : public ending_calls<device>, public without_page_tables {
 public:
  using stream = stream_set::stream;
  using event = stream_set::event;

  /// There is one.
  static uint32_t count() noexcept { return 1; }
  static bool present() noexcept { return true; }

  explicit device(uint32_t index = 0) : device(std::move(start(index).value())) {}
  static result<std::unique_ptr<device>> open(uint32_t index) {
    result<started> ready = start(index);
    if (!ready) return ready.why();
    return std::unique_ptr<device>(new device(std::move(ready.value())));
  }

  /// There is none: this computer has one device.
  static result<std::unique_ptr<device>> open_unified(std::span<const uint32_t> indices) {
    return not_unified(indices, "this computer has one such device, number 0");
  }

  static result<std::unique_ptr<device>> open_process(uint32_t index) {
    return refusal("open_process", std::to_string(index));
  }

  device(const device&) = delete;
  device& operator=(const device&) = delete;

  ~device() {
    streams_->wait_for_all();
    if (const std::exception_ptr error = streams_->take_error()) detail::print_lost_error("device", "host", error);
    // Before the memory: nothing runs any more.
    streams_.reset();
    memory_.clear([](void* memory, memory_kind) { release(memory); });
  }

  uint32_t max_lanes() const noexcept { return 64; }
  /// The computer's own.
  static result<device_memory> try_memory() {
    const long page_bytes = sysconf(_SC_PAGESIZE);
    const long free_pages = sysconf(_SC_AVPHYS_PAGES);
    const long all_pages = sysconf(_SC_PHYS_PAGES);
    if (page_bytes < 0 || free_pages < 0 || all_pages < 0)
      return heddle::error{"sysconf", "", "EINVAL", "the system does not say how much memory there is"};
    const auto each = static_cast<uint64_t>(page_bytes);
    return device_memory{static_cast<uint64_t>(free_pages) * each, static_cast<uint64_t>(all_pages) * each};
  }

  template <typename T>
  result<T*> try_allocate_shared(size_t count, const char* name) {
    return allocate<T>(count, memory_kind::shared, name);
  }
  template <typename T>
  result<T*> try_allocate_device(size_t count, const char* name) {
    return allocate<T>(count, memory_kind::device, name);
  }
  /// Safe here: host and device have one memory.
  template <typename T>
  result<T*> try_allocate_mapped(size_t count, const char* name) {
    return allocate<T>(count, memory_kind::device, name);
  }

  /// There is one memory: that of every other allocation.
  template <typename T>
  result<T*> try_allocate_fine(size_t count, const char* name) {
    return allocate<T>(count, memory_kind::device, name);
  }
  static result<link_properties> try_link() { return link_properties::everything(); }

  result<void> try_free(void* memory) {
    if (memory == nullptr) return {};
    memory_.remove(memory);
    release(memory);
    return {};
  }

  result<void> try_copy(void* to, const void* from, size_t bytes) noexcept {
    copy_words(to, from, bytes);
    return {};
  }
  result<void> try_copy(void* to, const void* from, size_t bytes, stream in) {
    streams_->give(in, [=] { copy_words(to, from, bytes); });
    return {};
  }

  template <typename Kernel>
  result<void> try_launch(launch_shape shape, Kernel kernel) {
    return try_launch(shape, kernel, launches_);
  }
  template <typename Kernel>
  result<void> try_launch(launch_shape shape, Kernel kernel, stream in) {
    static_assert(std::is_trivially_copyable_v<Kernel>, "a kernel travels to a device byte by byte");
    if (shape.lanes > max_lanes()) trap(fault::assertion, "a launch with more lanes than the widest wave has");
    streams_->give(in, [shape, kernel] { run(shape, kernel); });
    return {};
  }

  /// True also when the launches ended by an exception, of which synchronize() tells.
  result<bool> try_query() const noexcept { return streams_->all_idle(); }
  result<bool> try_query(stream which) const noexcept { return streams_->is_idle(which); }
  result<bool> try_query(event which) { return streams_->is_reached(which); }

  template <typename... Place>
  result<void> try_synchronize(Place... place) {
    wait_for(place...);
    const std::exception_ptr error = streams_->take_error();
    if (!error) return {};
    result<void> told;
    detail::with_message(error, [&](const char* message) { told = heddle::error{"kernel", "", "exception", message}; });
    return told;
  }
  template <typename... Place>
  void synchronize(Place... place) {
    wait_for(place...);
    if (const std::exception_ptr error = streams_->take_error()) std::rethrow_exception(error);
  }

  result<stream> try_create_stream() {
    try {
      return streams_->create();
    } catch (const std::system_error& error) {
      return no_thread("a stream", error);
    }
  }
  void destroy(stream which) { streams_->destroy(which); }

  result<event> try_create_event() { return streams_->create_event(); }
  void destroy(event which) { streams_->destroy(which); }

  result<void> try_record(event which, stream in) {
    streams_->record(which, in);
    return {};
  }
  result<void> try_wait(stream later, event earlier) {
    streams_->wait(later, earlier);
    return {};
  }

  /// Its host threads are threads of this computer, which may be told where to run (rpc/placement.h).
  static constexpr bool has_processors = true;

  /// Its wave_id() is the number of host threads that this device has started before it.
  template <typename Function>
  thread spawn_host(const char* name, Function&& function) {
    const uint32_t index = host_threads_.fetch_add(1, std::memory_order_relaxed);
    return thread(name, position{.block = 0, .wave = index}, std::forward<Function>(function));
  }

 private:
  static constexpr std::align_val_t alignment{64};

  /// What a device needs before it is one.
  struct started {
    std::unique_ptr<stream_set> streams;
    stream launches;
  };

  static result<started> start(uint32_t index) {
    if (index >= count())
      return error{"device", std::to_string(index), "ENODEV", "this computer has one such device, number 0"};
    started ready{std::make_unique<stream_set>(), nullptr};
    try {
      ready.launches = ready.streams->create();
    } catch (const std::system_error& error) {
      return no_thread("launches", error);
    }
    return ready;
  }

  explicit device(started&& ready) : streams_(std::move(ready.streams)), launches_(ready.launches) {}

  static error no_thread(const char* subject, const std::system_error& why) {
    return {"std::thread", subject, why.code().category().name(), why.what()};
  }

  template <typename T>
  result<T*> allocate(size_t count, memory_kind kind, const char* name) {
    const size_t bytes = bytes_of<T>(count);
    void* memory = ::operator new(bytes, alignment, std::nothrow);
    if (memory == nullptr) return error{"operator new", name, "ENOMEM", std::strerror(ENOMEM)};
    std::memset(memory, 0, bytes);
    memory_.add(memory, kind);
    return static_cast<T*>(memory);
  }

  static void release(void* memory) noexcept { ::operator delete(memory, alignment); }

  static void copy_words(void* to, const void* from, size_t bytes) noexcept {
    // What is copied may be of any type.
    using any_word [[gnu::may_alias]] = uint64_t;
    constexpr size_t word_bytes = sizeof(any_word);
    auto* const into = static_cast<std::byte*>(to);
    const auto* const out_of = static_cast<const std::byte*>(from);
    const auto misaligned = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from);
    size_t done = 0;
    // A kernel may store there: each aligned word is taken whole. Acquire pairs with the kernel's release of what it has written before,
    // release with the kernel's acquire of a word that it waits for.
    if (misaligned % word_bytes == 0)
      for (; bytes - done >= word_bytes; done += word_bytes)
        __atomic_store_n(reinterpret_cast<any_word*>(into + done),
                         __atomic_load_n(reinterpret_cast<const any_word*>(out_of + done), __ATOMIC_ACQUIRE),
                         __ATOMIC_RELEASE);
    if (bytes != done) std::memmove(into + done, out_of + done, bytes - done);
  }

  void wait_for() { streams_->wait_for_all(); }
  template <typename Place>
  void wait_for(Place which) {
    streams_->wait_for(which);
  }

  /// One launch: all of its threads, from the first to the last. Throws what the first of them threw.
  template <typename Kernel>
  static void run(launch_shape shape, const Kernel& kernel) {
    std::vector<thread> lanes;
    const uint32_t waves_per_block = shape.waves * shape.lanes;
    lanes.reserve(size_t{shape.blocks} * waves_per_block);
    for (uint32_t block = 0; block < shape.blocks; ++block)
      for (uint32_t wave = 0; wave < waves_per_block; ++wave)
        lanes.push_back(start_lane(position{.block = block, .wave = block * waves_per_block + wave}, kernel));
    std::exception_ptr first;
    for (thread& lane : lanes) try {
        lane.join();
      } catch (...) {
        if (!first) first = std::current_exception();
      }
    if (first) std::rethrow_exception(first);
  }

  template <typename Kernel>
  static thread start_lane(position where, const Kernel& kernel) {
    try {
      return thread("lane", where, kernel);
    } catch (const std::system_error& error) {
      // The lanes that have started may wait for this one for ever, so there is nothing to go back to.
      std::fprintf(stderr, "heddle: no thread for lane %u of a launch: %s\n", where.wave, error.what());
      std::abort();
    }
  }

  allocations memory_;
  std::unique_ptr<stream_set> streams_;
  stream launches_;  ///< where a launch goes that names no stream
  std::atomic<uint32_t> host_threads_{0};
};

}  // namespace heddle::host
