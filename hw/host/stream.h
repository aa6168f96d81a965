// Streams and events of the host machine: which work has to end before which.
#pragma once

#include <heddle/hw/host/position.h>
#include <heddle/hw/host/thread.h>
#include <heddle/hw/host/trap.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heddle::host {

namespace detail {

/// What one stream was given, and how far it has come.
struct stream_state {
  std::deque<std::function<void()>> waiting;  ///< that has not begun, in order
  std::atomic<uint64_t> given{0};             ///< written under the lock
  std::atomic<uint64_t> ended{0};
  bool closed = false;  ///< nothing more is given, and its thread may go
  bool gone = false;    ///< its thread has no more to do
  thread runner;

  bool is_idle() const noexcept {
    // Acquire: pairs with the release at the end of each launch, so that its results can be read.
    return ended.load(std::memory_order_acquire) == given.load(std::memory_order_relaxed);
  }
};

/// A place in a stream: behind the first `given` things that it was given. Of no stream, it has been reached.
struct stream_place {
  std::shared_ptr<stream_state> of;
  uint64_t given = 0;

  bool is_reached() const noexcept {
    // Acquire: as in stream_state::is_idle.
    return of == nullptr || of->ended.load(std::memory_order_acquire) >= given;
  }
};

}  // namespace detail

/// The streams of a device, each with a thread that runs what it is given, one after the other. Any thread may call any
/// member; a handle belongs to the set that made it.
///
/// Work that throws ends everything that has not begun in any stream, as a GPU does after an error; the exception is
/// kept for take_error().
class stream_set {
 public:
  /// A stream or an event, as the set's user has it; null is none.
  using stream = detail::stream_state*;
  struct event {
    uint32_t number = 0;
    friend bool operator==(const event&, const event&) = default;
  };

  stream_set() = default;
  stream_set(const stream_set&) = delete;
  stream_set& operator=(const stream_set&) = delete;

  /// Waits until all streams have done what they were given.
  ~stream_set() {
    std::unique_lock lock(mutex_);
    for (const auto& each : streams_) each->closed = true;
    changed_.notify_all();
    const std::vector<std::shared_ptr<detail::stream_state>> last = streams_;
    lock.unlock();
    for (const auto& each : last) each->runner.join();
  }

  /// Throws std::system_error when there is no thread for it.
  stream create() {
    const auto made = std::make_shared<detail::stream_state>();
    // Its first step takes the lock, so that it begins when it is among the streams.
    const std::lock_guard lock(mutex_);
    remove_gone();
    made->runner = thread("stream", position{}, [this, runs = made.get()] { run(*runs); });
    streams_.push_back(made);
    return made.get();
  }

  /// What the stream was given goes on.
  void destroy(stream which) {
    const std::lock_guard lock(mutex_);
    which->closed = true;
    changed_.notify_all();
  }

  event create_event() {
    const std::lock_guard lock(mutex_);
    events_.emplace(++last_event_, detail::stream_place{});
    return {last_event_};
  }
  void destroy(event which) {
    const std::lock_guard lock(mutex_);
    events_.erase(which.number);
  }

  void give(stream to, std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    give_locked(*to, std::move(work));
  }

  void record(event which, stream in) {
    const std::lock_guard lock(mutex_);
    for (const auto& each : streams_)
      if (each.get() == in) place_of(which) = {each, in->given.load(std::memory_order_relaxed)};
  }

  /// Later work of the stream begins when the event's place, as it is now, has been reached.
  void wait(stream later, event earlier) {
    const std::lock_guard lock(mutex_);
    const detail::stream_place place = place_of(earlier);
    if (place.is_reached()) return;
    give_locked(*later, [this, place] {
      std::unique_lock waiting(mutex_);
      changed_.wait(waiting, [&] { return place.is_reached(); });
    });
  }

  bool is_idle(stream which) const noexcept { return which->is_idle(); }
  bool is_reached(event which) {
    const std::lock_guard lock(mutex_);
    return place_of(which).is_reached();
  }
  /// Takes no lock: a server asks it in a loop.
  bool all_idle() const noexcept {
    // Acquire: as in stream_state::is_idle.
    return unended_.load(std::memory_order_acquire) == 0;
  }

  void wait_for(stream which) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return which->is_idle(); });
  }
  void wait_for(event which) {
    std::unique_lock lock(mutex_);
    const detail::stream_place place = place_of(which);
    changed_.wait(lock, [&] { return place.is_reached(); });
  }
  void wait_for_all() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return all_idle(); });
  }

  /// The first exception since it was last asked for, or null.
  std::exception_ptr take_error() {
    const std::lock_guard lock(mutex_);
    return std::exchange(error_, nullptr);
  }

 private:
  void give_locked(detail::stream_state& to, std::function<void()> work) {
    if (to.closed) trap(fault::assertion, "a launch in a stream that has been destroyed");
    to.waiting.push_back(std::move(work));
    to.given.fetch_add(1, std::memory_order_relaxed);
    unended_.fetch_add(1, std::memory_order_relaxed);
    changed_.notify_all();
  }

  detail::stream_place& place_of(event which) {
    const auto found = events_.find(which.number);
    if (found == events_.end())
      trap(fault::assertion, "an event that was never created, or has been destroyed, is used");
    return found->second;
  }

  /// The thread of one stream.
  void run(detail::stream_state& mine) {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return mine.closed || !mine.waiting.empty(); });
      if (mine.waiting.empty()) break;
      const std::function<void()> next = std::move(mine.waiting.front());
      mine.waiting.pop_front();
      lock.unlock();
      std::exception_ptr thrown;
      try {
        next();
      } catch (...) {
        thrown = std::current_exception();
      }
      lock.lock();
      if (thrown && !error_) error_ = thrown;
      if (error_) drop_what_waits();
      // Release: pairs with is_idle(), is_reached() and all_idle(), which take no lock.
      mine.ended.fetch_add(1, std::memory_order_release);
      unended_.fetch_sub(1, std::memory_order_release);
      changed_.notify_all();
    }
    mine.gone = true;
  }

  /// Keeps its place in the order, so that nothing seems to have ended before what it comes after.
  void drop_what_waits() {
    for (const auto& each : streams_)
      for (std::function<void()>& work : each->waiting) work = [] {};
  }

  /// Joins the threads of destroyed streams that have ended.
  void remove_gone() {
    std::erase_if(streams_, [](const auto& each) { return each->gone; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;  ///< something below it was changed
  std::vector<std::shared_ptr<detail::stream_state>> streams_;
  std::unordered_map<uint32_t, detail::stream_place> events_;
  uint32_t last_event_ = 0;
  std::atomic<uint64_t> unended_{0};  ///< of all streams, given and not ended
  std::exception_ptr error_;          ///< of the first lane that threw
};

}  // namespace heddle::host
