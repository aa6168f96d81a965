// The connection between a driver and its engine as MGPUSim has it (driver.go: Run(), runAsync(), runEngine(), DrainCommandQueue()), in
// which two wake-ups can be lost; and what it takes to explore its schedules, and those of ours: a driver that is as small as a connection
// can tell, and conditions that every machine can run. For tests and the zoo: a search of schedules must find both.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

namespace heddle::driver::tests {

/// Conditions as every Target can run them: a wait reads a number that each notification changes.
template <typename Target>
struct explored_threads {
  using mutex = std::mutex;
  class condition {
   public:
    void wait(std::unique_lock<std::mutex>& held) {
      const uint32_t before = notified_.load(std::memory_order_relaxed);
      held.unlock();
      while (notified_.load(std::memory_order_acquire) == before) Target::pause();
      held.lock();
    }
    void notify_all() { notified_.fetch_add(1, std::memory_order_release); }

   private:
    std::atomic<uint32_t> notified_{0};
  };
  static void pause() { Target::pause(); }
};

/// As much of a driver as a connection sees: some queues, one tick at a time, a command of each queue in each tick.
class small_driver {
 public:
  static constexpr uint32_t queues = 8;
  static constexpr uint32_t outside_queue = queues;
  static constexpr uint32_t commands_outside = 2;

  void enqueue(uint32_t queue) { ++waiting_[queue]; }
  /// A command that is finished from outside, once the engine has come to it.
  void enqueue_for_outside() { ++for_outside_; }
  void finish() {
    --outside_;
    ++finished_;
  }
  void signal() { tick_ = true; }
  bool step() {
    if (!tick_) return false;
    // Two accesses to the time, so that another thread could run in between.
    in_event_ = true;
    tick_ = false;
    ++now_;
    for (uint32_t& each : waiting_)
      if (each != 0) {
        tick_ = true;
        if (--each == 0) ++emptied_;
      }
    outside_ += std::exchange(for_outside_, 0);
    // What has been finished is looked at a tick later.
    if (finished_ != 0 && finished_seen_ != finished_) {
      finished_seen_ = finished_;
      tick_ = true;
    } else if (finished_ != 0) {
      ended_ += std::exchange(finished_, 0);
      finished_seen_ = 0;
      ++emptied_;
    }
    in_event_ = false;
    return true;
  }
  bool is_empty(uint32_t queue) const {
    return queue == outside_queue ? ended_ == commands_outside : waiting_[queue] == 0;
  }
  uint64_t emptied() const { return emptied_; }
  uint64_t outside() const { return outside_; }
  bool outcome_of(uint32_t queue) const { return is_empty(queue); }
  bool in_event() const { return in_event_; }
  uint64_t now() const { return now_; }

 private:
  std::array<uint32_t, queues> waiting_ = {};
  uint32_t for_outside_ = 0;
  uint32_t outside_ = 0;
  uint32_t finished_ = 0;
  uint32_t finished_seen_ = 0;
  uint32_t ended_ = 0;
  bool tick_ = false;
  bool in_event_ = false;
  uint64_t emptied_ = 0;
  uint64_t now_ = 0;
};

enum class lost { at_the_start, at_the_end };

/// serve() and run_engine() are threads of their own. With at_the_start, "running" is cleared only after the engine has returned: a
/// signal in between finds the engine running and starts nothing. With at_the_end, a drain first looks whether the queue is empty, and only
/// then begins to listen for its end.
template <typename Driver, typename Threads, lost What>
class losing_connection {
 public:
  explicit losing_connection(Driver& to) : driver_(&to) {}

  void serve() {
    lock held(mutex_);
    while (true) {
      while (!stopped_ && !signalled_) work_.wait(held);
      if (stopped_) break;
      signalled_ = false;
      driver_->signal();
      if (running_) continue;
      running_ = true;
      start_.notify_all();
    }
    start_.notify_all();
  }

  void run_engine() {
    lock held(mutex_);
    while (true) {
      while (!stopped_ && !running_) start_.wait(held);
      if (stopped_) return;
      while (true) {
        const uint64_t emptied = driver_->emptied();
        const bool any = driver_->step();
        if (driver_->emptied() != emptied) idle_.notify_all();
        if (!any) break;
      }
      if constexpr (What == lost::at_the_start) {
        // The run has returned.
        held.unlock();
        held.lock();
      }
      running_ = false;
    }
  }

  void stop() {
    const lock held(mutex_);
    stopped_ = true;
    work_.notify_all();
  }

  template <typename Use>
  auto access(Use&& use) {
    const lock held(mutex_);
    return use(*driver_);
  }

  template <typename Queue>
  auto drain(Queue queue) {
    lock held(mutex_);
    signalled_ = true;
    work_.notify_all();
    while (!driver_->is_empty(queue)) {
      if constexpr (What == lost::at_the_end) {
        // The queue was not empty.
        held.unlock();
        held.lock();
      }
      idle_.wait(held);
    }
    return driver_->outcome_of(queue);
  }

 private:
  using lock = std::unique_lock<typename Threads::mutex>;

  Driver* driver_;
  typename Threads::mutex mutex_;
  typename Threads::condition work_;
  typename Threads::condition start_;
  typename Threads::condition idle_;
  bool signalled_ = false;
  bool running_ = false;
  bool stopped_ = false;
};

}  // namespace heddle::driver::tests
