// The connection between a driver and its engine as MGPUSim has it (driver.go: Run(), runAsync(), runEngine(), DrainCommandQueue()), in
// which two wake-ups can be lost. For tests: whoever explores schedules must find both.
#pragma once

#include <cstdint>
#include <mutex>

namespace heddle::sim::driver::tests {

enum class lost { at_the_start, at_the_end };

/// serve() and run_engine() are threads of their own. With at_the_start, "running" is cleared only after the engine has returned: a
/// signal in between finds the engine running and starts nothing. With at_the_end, whoever drains looks whether the queue is empty, and only
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

}  // namespace heddle::sim::driver::tests
