// The host side of the machine that is this computer: memory, launches as threads, host threads beside them.
#pragma once

#include <heddle/hw/host/allocations.h>
#include <heddle/hw/host/thread.h>
#include <heddle/rpc/device.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace heddle::host {

/// Models heddle::host_side with one thread for each lane of a launch: each lane is a wave of one lane, and lanes of
/// one wave of the shape meet in no collective. All threads of a launch run at once, so its lanes may wait for each
/// other; the launches of a device run one after the other. Any thread may call any member.
///
/// A kernel that throws ends its launch, as far as the other lanes end, and drops the launches that have not begun, as
/// a GPU does after an error; synchronize() throws the first exception again, and the device is then as new.
class device {
 public:
  device() : launcher_("launcher", position{}, [this] { run_launches(); }) {}
  device(const device&) = delete;
  device& operator=(const device&) = delete;

  ~device() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    launcher_.join();
    if (error_) detail::print_lost_error("device", "host", error_);
    memory_.clear([](void* memory, memory_kind) { release(memory); });
  }

  /// Whether this machine has such a device; here it is always there.
  static bool present() noexcept { return true; }

  uint32_t max_lanes() const noexcept { return 64; }

  template <typename T>
  T* allocate_shared(size_t count, const char* name) {
    return static_cast<T*>(allocate(bytes_of<T>(count), memory_kind::shared, name));
  }

  template <typename T>
  T* allocate_device(size_t count, const char* name) {
    return static_cast<T*>(allocate(bytes_of<T>(count), memory_kind::device, name));
  }

  void free(void* memory) {
    if (memory == nullptr) return;
    memory_.remove(memory);
    release(memory);
  }

  void copy(void* to, const void* from, size_t bytes) noexcept {
    if (bytes != 0) std::memmove(to, from, bytes);
  }

  template <typename Kernel>
  void launch(launch_shape shape, Kernel kernel) {
    static_assert(std::is_trivially_copyable_v<Kernel>, "a kernel travels to a device byte by byte");
    if (shape.lanes > max_lanes()) trap(fault::assertion, "a launch with more lanes than the widest wave has");
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back([this, shape, kernel] { run(shape, kernel); });
      unfinished_.fetch_add(1, std::memory_order_relaxed);
    }
    changed_.notify_all();
  }

  /// True also when the launches ended by an exception, which synchronize() then throws.
  bool query() const noexcept {
    // Acquire: pairs with the release at the end of a launch, so that its results can be read.
    return unfinished_.load(std::memory_order_acquire) == 0;
  }

  void synchronize() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return query(); });
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

  /// Its wave_id() is the number of host threads that this device has started before it.
  template <typename Function>
  thread spawn_host(const char* name, Function&& function) {
    const uint32_t index = host_threads_.fetch_add(1, std::memory_order_relaxed);
    return thread(name, position{.block = 0, .wave = index}, std::forward<Function>(function));
  }

 private:
  static constexpr std::align_val_t alignment{64};

  void* allocate(size_t bytes, memory_kind kind, const char* name) {
    void* memory = ::operator new(bytes, alignment, std::nothrow);
    if (memory == nullptr) {
      std::fprintf(stderr, "heddle: no memory for '%s' of %zu bytes\n", name, bytes);
      std::abort();
    }
    std::memset(memory, 0, bytes);
    memory_.add(memory, kind);
    return memory;
  }

  static void release(void* memory) noexcept { ::operator delete(memory, alignment); }

  /// One launch: all of its threads, from the first to the last.
  template <typename Kernel>
  void run(launch_shape shape, const Kernel& kernel) {
    std::vector<thread> lanes;
    const uint32_t waves_per_block = shape.waves * shape.lanes;
    lanes.reserve(size_t{shape.blocks} * waves_per_block);
    for (uint32_t block = 0; block < shape.blocks; ++block)
      for (uint32_t wave = 0; wave < waves_per_block; ++wave)
        lanes.push_back(start_lane(position{.block = block, .wave = block * waves_per_block + wave}, kernel));
    for (thread& lane : lanes) keep_first_error([&lane] { lane.join(); });
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

  template <typename Step>
  void keep_first_error(Step&& step) noexcept {
    try {
      step();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }

  void run_launches() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const std::function<void()> next = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      keep_first_error(next);
      lock.lock();
      if (error_) {
        unfinished_.fetch_sub(static_cast<uint32_t>(waiting_.size()), std::memory_order_relaxed);
        waiting_.clear();
      }
      // Release: pairs with query(), which takes no lock.
      unfinished_.fetch_sub(1, std::memory_order_release);
      changed_.notify_all();
    }
  }

  allocations memory_;
  std::mutex mutex_;
  std::condition_variable changed_;            ///< something below it was changed
  std::deque<std::function<void()>> waiting_;  ///< launches that have not begun, in order
  std::exception_ptr error_;                   ///< of the first lane that threw
  bool closing_ = false;
  std::atomic<uint32_t> unfinished_{0};  ///< launches that have not ended
  std::atomic<uint32_t> host_threads_{0};
  thread launcher_;  ///< last: it starts when all of the above is there
};

}  // namespace heddle::host
