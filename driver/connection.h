// Several threads, one driver: which thread runs the engine, and how the others wait for it.
//
// A driver is a passive object. One thread, of its owner's, is the engine's: it calls serve(), which sleeps until there is a
// signal, runs the engine until nothing is left to do, and sleeps again. Programs on other threads enqueue by access() and wait by
// drain(). One lock guards the driver, the engine and the state of this class; the engine releases it only between two events. So
//
// - a signal is seen. "Running" is not a flag that is cleared after the run has returned: the loop looks for new signals and goes to
//   sleep in one critical section, so none can come between the two;
// - the end of a queue is seen. A thread that drains looks whether its queue is empty and goes to sleep in one critical section, too;
// - the engine's time does not change while another thread reads it, and at most one thread runs the engine.
//
// Both wake-ups are lost in the original (sarchlab/mgpusim, driver.go: runAsync(), DrainCommandQueue()).
//
// `Driver` is gpu_driver, or whatever has its signal(), step(), is_empty(), emptied(), outcome_of() and outside(). `Threads` has a `mutex` and a
// `condition` with the members of the standard's, and `pause()`: std_threads below, or those of a machine that explores schedules.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>

namespace heddle::driver {

struct std_threads {
  using mutex = std::mutex;
  using condition = std::condition_variable;
  static void pause() { std::this_thread::yield(); }
};

template <typename Driver, typename Threads = std_threads>
class connection {
 public:
  /// The driver must outlive it, and be used through it alone.
  explicit connection(Driver& to) : driver_(&to) {}
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  /// Runs the engine, whenever there is a reason to, until stop() is called. For one thread at a time.
  void serve() {
    serve([](const char*) {});
  }
  /// The same; `log(line)` is told that the simulation starts, once, before anything is run. (MGPUSim, driver.go: logSimulationStart().)
  template <typename Log>
  void serve(Log&& log) {
    log("driver: the simulation starts");
    lock held(mutex_);
    while (true) {
      while (!stopped_ && signals_ == served_) work_.wait(held);
      if (stopped_) break;
      run(held);
    }
    // No other wake-up comes for threads that still wait.
    idle_.notify_all();
  }

  /// Has serve() return, as soon as the event that it is at is over. drain() then returns with how far things have come.
  void stop() {
    const entry mine(*this);
    stopped_ = true;
    work_.notify_all();
    idle_.notify_all();
  }

  /// What `use(driver)` returns. The engine stands still meanwhile, between two events.
  template <typename Use>
  auto access(Use&& use) {
    const entry mine(*this);
    return use(*driver_);
  }

  /// As access(), and then the engine goes on: for a thread that finishes a work-group.
  template <typename Use>
  auto access_and_signal(Use&& use) {
    const entry mine(*this);
    ++signals_;
    work_.notify_all();
    return use(*driver_);
  }

  /// Signals, and waits until the queue is empty, or nothing can become of it any more: then as gpu_driver::drain().
  /// Work-groups that their runner finishes later are waited for.
  template <typename Queue>
  auto drain(Queue queue) {
    entry mine(*this);
    ++signals_;
    work_.notify_all();
    // Nothing can become of the queue when the engine has run out of events after the last signal of all, not only after this one:
    // the thread that finished the last work-group outside has signalled too, and what comes of that is still to come.
    while (!driver_->is_empty(queue) && !stopped_ && (idle_after_ != signals_ || driver_->outside() != 0))
      idle_.wait(mine.held);
    return driver_->outcome_of(queue);
  }

  /// Whether the engine runs at this moment. For tests.
  bool running() {
    const entry mine(*this);
    return running_;
  }

 private:
  using lock = std::unique_lock<typename Threads::mutex>;

  /// The lock, as threads other than the engine's take it: the engine is told that one of them wants it.
  struct entry {
    explicit entry(connection& to) : held(to.mutex_, std::defer_lock) {
      to.wanting_.fetch_add(1, std::memory_order_relaxed);
      held.lock();
      to.wanting_.fetch_sub(1, std::memory_order_relaxed);
    }
    lock held;
  };

  void run(lock& held) {
    running_ = true;
    while (!stopped_) {
      const uint64_t seen = signals_;
      if (served_ != seen) {
        served_ = seen;
        driver_->signal();
      }
      const uint64_t emptied = driver_->emptied();
      const bool any = driver_->step();
      if (driver_->emptied() != emptied) idle_.notify_all();
      if (!any) {
        // A signal from here on comes when the lock is free, that is, when serve() looks again.
        idle_after_ = served_;
        break;
      }
      // Relaxed: the lock orders everything; this only keeps others from waiting long for it.
      while (wanting_.load(std::memory_order_relaxed) != 0) {
        held.unlock();
        Threads::pause();
        held.lock();
      }
    }
    running_ = false;
    idle_.notify_all();
  }

  Driver* driver_;
  typename Threads::mutex mutex_;
  typename Threads::condition work_;  ///< there is a signal, or the end
  typename Threads::condition idle_;  ///< a queue has become empty, or the engine has nothing to do
  std::atomic<uint32_t> wanting_{0};
  uint64_t signals_ = 0;     ///< that have been given
  uint64_t served_ = 0;      ///< of these, the ones that the driver has been told of
  uint64_t idle_after_ = 0;  ///< of these, the ones after which the engine has run out of events
  bool running_ = false;
  bool stopped_ = false;
};

}  // namespace heddle::driver
