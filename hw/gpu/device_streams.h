// The streams and events of a device on a GPU.
#pragma once

#include <heddle/hw/gpu/runtime.h>

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace heddle::gpu {

/// What a device has made and not yet given back. Any thread may call any member.
template <typename Runtime>
class device_streams {
 public:
  using stream = typename Runtime::stream;
  using event = typename Runtime::event;

  void add(stream made) {
    const std::lock_guard lock(mutex_);
    streams_.push_back(made);
  }
  void add(event made) {
    const std::lock_guard lock(mutex_);
    events_.push_back(made);
  }

  /// Also of one that was not added. While a call of synchronize() is under way, which may still use the stream, it is
  /// only forgotten: the last such call gives it back.
  result<void> destroy(stream which) {
    std::unique_lock lock(mutex_);
    std::erase(streams_, which);
    if (waits_ != 0) {
      destroyed_.push_back(which);
      return {};
    }
    lock.unlock();
    return ask<Runtime>(Runtime::destroy_stream, "", which);
  }
  result<void> destroy(event which) {
    std::unique_lock lock(mutex_);
    std::erase(events_, which);
    lock.unlock();
    return ask<Runtime>(Runtime::destroy_event, "", which);
  }

  /// Whether all streams have ended what they were given.
  result<bool> query() {
    const std::lock_guard lock(mutex_);
    for (const stream each : streams_) {
      result<bool> ended = has_ended<Runtime>(Runtime::query_stream, each);
      if (!ended || !ended.value()) return ended;
    }
    return true;
  }

  /// Waits until all streams have, or to the first error.
  result<void> synchronize() {
    // Not under the lock: other threads must be able to ask, create and destroy meanwhile.
    std::unique_lock lock(mutex_);
    const std::vector<stream> all = streams_;
    ++waits_;
    lock.unlock();
    const result<void> ended = synchronize_each(all);
    lock.lock();
    if (--waits_ != 0) return ended;
    const std::vector<stream> unused = std::exchange(destroyed_, {});
    lock.unlock();
    std::optional<error> first;
    if (!ended) first = ended.why();
    for (const stream each : unused)
      if (const result<void> done = ask<Runtime>(Runtime::destroy_stream, "", each); !done && !first)
        first = done.why();
    if (first) return *first;
    return {};
  }

  /// Gives all back, and calls `tell(result)` for each.
  template <typename Tell>
  void clear(Tell tell) {
    for (const stream each : streams_) tell(ask<Runtime>(Runtime::destroy_stream, "", each));
    for (const event each : events_) tell(ask<Runtime>(Runtime::destroy_event, "", each));
  }

 private:
  static result<void> synchronize_each(const std::vector<stream>& all) {
    for (const stream each : all)
      if (const result<void> ended = ask<Runtime>(Runtime::synchronize_stream, "", each); !ended) return ended;
    return {};
  }

  std::mutex mutex_;  ///< of all below it
  std::vector<stream> streams_;
  std::vector<event> events_;
  uint32_t waits_ = 0;             ///< calls of synchronize() under way
  std::vector<stream> destroyed_;  ///< for the last of them to give back
};

}  // namespace heddle::gpu
