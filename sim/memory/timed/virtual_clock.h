// Virtual time of one run: each thread has a clock, which its operations put forward, and which takes over the time of whatever it learns
// of: a value that it reads, a barrier, the end of a kernel. (Lamport, "Time, Clocks, and the Ordering of Events", CACM 1978, with durations.)
//
// A schedule may have a thread look for something a thousand times before it lets the other one do it; a machine would not. So a turn in
// a loop that waits takes no time: a thread that reads again what it has read, from the same place, and has changed nothing since, is
// put back to when it read that first. A thread that sees the change sees it as soon as the change could have reached it.
//
// Threads are numbers, memory is addresses; times are picoseconds.
#pragma once

#include <heddle/scheduler/random_stream.h>

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace heddle::sim {

class virtual_clock {
 public:
  /// A read, or what else has an answer.
  struct look {
    const void* place = nullptr;  ///< in the code under test
    const void* address = nullptr;
    uint64_t value = 0;       ///< that was found
    uint64_t store_step = 0;  ///< of the run, whose value it is; 0: not known, and told by the value
    uint64_t takes = 0;       ///< there and back
  };

  /// A new run. `heavy`: each time that is drawn is at least the one that is asked for, and seldom very much longer.
  void reset(bool heavy, uint64_t seed);
  /// A thread that has done nothing yet, from then on.
  void begins(uint32_t thread, uint64_t at);
  uint64_t now(uint32_t thread) const { return threads_[thread].now; }
  /// How long something takes that takes so long at least.
  uint64_t drawn(uint64_t least);

  void passes(uint32_t thread, uint64_t time);
  /// Nothing that the thread does next happens before.
  void not_before(uint32_t thread, uint64_t at);
  /// What the thread has read is not read again in vain: it goes on.
  void gets_on(uint32_t thread);
  void reads(uint32_t thread, const look& what);
  /// A read that waits for no other one that was made just before, nor they for it.
  void reads_beside(uint32_t thread, uint64_t takes);
  /// `arrives`: so long from now it is in memory. `learnt`: a thread that reads the value learns of it.
  void stores(uint32_t thread, const void* address, uint64_t value, uint64_t step, uint64_t arrives);
  /// The thread sleeps from now on, until the bell has another value than it has seen, and looks again each time that `period` is over, `forever`
  /// for never. `wakes`: so long after either it goes on. A sleep that it is in already goes on.
  void sleeps(uint32_t thread, const void* bell, uint64_t period, uint64_t wakes);
  static constexpr uint64_t forever = ~uint64_t{0};
  /// A store whose value no thread waits for.
  void stores_plainly(uint32_t thread, uint64_t arrives);
  /// A read that has stored another value in its place.
  void replaces(uint32_t thread, const look& what, uint64_t stored, uint64_t step);
  /// `drains`: not before all has arrived that the thread knows to be under way.
  void fences(uint32_t thread, uint64_t takes, bool drains);

  /// They meet: each goes on when the last one has come.
  void meet(const std::vector<uint32_t>& threads);
  /// What comes behind `first` is done by `then`.
  void follows(uint32_t first, uint32_t then);
  void gives(uint32_t thread, const void* object);
  /// `later`: after the object was given.
  void takes(uint32_t thread, const void* object, uint64_t later = 0);

 private:
  struct seen {
    const void* place = nullptr;
    const void* address = nullptr;
    uint64_t value = 0;
    uint64_t before = 0;  ///< when it was read
  };
  struct asleep {
    const void* bell = nullptr;  ///< null: it is awake
    uint64_t since = 0;
    uint64_t period = 0;
    uint64_t wakes = 0;
  };
  struct thread_time {
    uint64_t now = 0;
    uint64_t floor = 0;        ///< it is not put back behind this
    uint64_t outstanding = 0;  ///< when the last store has arrived that it knows of
    uint64_t beside = 0;       ///< when the reads began that go on beside each other
    bool reads_beside = false;
    std::vector<seen> reads;  ///< since it last got on
    asleep sleep;
  };
  struct stored {
    uint64_t value = 0;
    uint64_t step = 0;
    uint64_t at = 0;
  };

  /// When the thread will have come so far that it cannot be put back behind that.
  static uint64_t certain(const thread_time& its);
  const stored* find(const look& what) const;
  /// When a thread that sleeps has the answer of this look, which would have it at `at` if it looked all the time.
  static uint64_t woken(const asleep& sleep, const look& what, uint64_t at);
  uint64_t answered(thread_time& its, const look& what, bool gets_on);
  void remember(const void* address, const stored& made);

  static constexpr size_t reads_most = 1024;
  static constexpr size_t stores_most = 64;
  std::vector<thread_time> threads_;
  std::unordered_map<const void*, std::vector<stored>> stores_;  ///< the latest, in the order in which they were made
  std::unordered_map<const void*, uint64_t> objects_;
  scheduler::random_stream random_;
  bool heavy_ = false;
};

}  // namespace heddle::sim
