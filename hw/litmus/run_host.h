// Rows whose threads all are the host's, on its processors: batches of instances, one OS thread for each thread of the row.
#pragma once

#include <heddle/hw/litmus/row.h>

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace heddle::machine_litmus {

/// How much of a row is to be run: until either is reached.
struct amount {
  uint64_t instances;
  double seconds;
};

/// What was run. `tally` has a number of instances for each key of the row's key_layout.
struct counted {
  uint64_t instances = 0;
  double seconds = 0;
  std::vector<uint64_t> tally;
  std::string skipped;  ///< why the row was not run; empty
};

inline void relax() { __builtin_ia32_pause(); }

/// Processors that this process may use.
inline std::vector<int> processors() {
  cpu_set_t set;
  std::vector<int> found;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int n = 0; n < CPU_SETSIZE; ++n)
      if (CPU_ISSET(n, &set)) found.push_back(n);
  return found;
}

/// The calling thread, on one processor alone. Without the right to it the thread runs where the system puts it, which is no error: the
/// rows are as true, and seen less often.
inline void run_on(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  (void)sched_setaffinity(0, sizeof set, &set);
}

/// All threads of a row at one point of their code. Waits without giving up its processor at first, so that all leave at the same time.
class spin_barrier {
 public:
  explicit spin_barrier(uint32_t threads) : threads_(threads) {}

  void arrive_and_wait() {
    const uint32_t round = round_.load(std::memory_order_relaxed);
    // acq_rel: the last to arrive has all that the others did before; its release below passes that on.
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    constexpr uint32_t spins = 2000;
    // Pairs with the release of the last to arrive.
    for (uint32_t n = 0; round_.load(std::memory_order_acquire) == round; ++n)
      n < spins ? relax() : static_cast<void>(sched_yield());
  }

 private:
  const uint32_t threads_;
  alignas(64) std::atomic<uint32_t> arrived_{0};
  alignas(64) std::atomic<uint32_t> round_{0};
};

/// Waits until all threads of a row are on their processors at once, as a barrier cannot on a machine that has other work: the thread that comes
/// first there may be put away before the last arrives.
class meeting {
 public:
  using clock = std::chrono::steady_clock;

  /// `number` of the batch. Gives up after some milliseconds, for all: then they run one after the other.
  void wait(uint32_t threads, uint32_t self, uint64_t number) {
    constexpr std::chrono::milliseconds longest(4);
    constexpr std::chrono::microseconds stay(500);
    const auto began = clock::now();
    for (auto now = began; now - began < longest; now = clock::now()) {
      at_[self].here.store(number, std::memory_order_relaxed);
      for (const auto came = now; now - came < stay; now = clock::now()) {
        bool all = true;
        for (uint32_t n = 0; n < threads; ++n) {
          if (at_[n].left.load(std::memory_order_relaxed) == number) return;
          all = all && at_[n].here.load(std::memory_order_relaxed) == number;
        }
        if (all) return;
        relax();
      }
      at_[self].here.store(0, std::memory_order_relaxed);
      sched_yield();
    }
    at_[self].left.store(number, std::memory_order_relaxed);
  }

 private:
  struct alignas(64) place {
    std::atomic<uint64_t> here{0};
    std::atomic<uint64_t> left{0};
  };
  place at_[threads_max];
};

/// Where the threads of a batch are: they keep beside each other, as far as they run at all.
class pace {
 public:
  void begin(uint32_t threads) {
    threads_ = threads;
    for (place& each : at_) each.instance.store(0, std::memory_order_relaxed);
  }

  /// Waits a little for those that are behind; false when one does not come, so that waiting is of no use.
  bool step(uint32_t thread, uint32_t instance) {
    constexpr uint32_t spins = 100;
    at_[thread].instance.store(instance, std::memory_order_relaxed);
    for (uint32_t n = 0; n < threads_; ++n)
      for (uint32_t spun = 0; at_[n].instance.load(std::memory_order_relaxed) < instance; ++spun) {
        if (spun == spins) return false;
        relax();
      }
    return true;
  }

 private:
  struct alignas(64) place {
    std::atomic<uint32_t> instance{0};
  };
  place at_[threads_max];
  uint32_t threads_ = 0;
};

/// One thread's body for all instances of a batch, in their order. `between(instance)` is called before each.
template <typename Between>
void run_instances(const row_thread& which, const batch& of, uint8_t* results, Between between) {
  run_host_body(which.body, [&](auto body) {
    for (uint32_t n = 0; n < of.instances; ++n) {
      between(n);
      results[n] = body(of.word(which.locations[0], n), of.word(which.locations[1], n), of.word(which.locations[2], n));
    }
  });
}

class host_runner {
 public:
  explicit host_runner(uint64_t seed) : seed_(seed), processors_(processors()), words_(locations_max * room) {
    for (std::vector<uint8_t>& each : results_) each.resize(instances_max);
  }

  std::string name() const { return std::to_string(processors_.size()) + " processors"; }
  static std::string driver() { return {}; }

  counted run(const row& which, const amount& wanted) {
    counted made;
    if (which.host_threads() != which.threads) {
      made.skipped = "has threads of a device";
      return made;
    }
    const key_layout keys(which);
    made.tally.resize(keys.keys());
    std::fill(words_.begin(), words_.end(), 0);
    crew all(which, wanted, keys);
    std::vector<std::vector<uint64_t>> tallies(which.threads, std::vector<uint64_t>(keys.keys()));
    const auto began = clock::now();
    {
      std::vector<std::jthread> threads;
      for (uint32_t n = 0; n < which.threads; ++n)
        threads.emplace_back([this, &all, &tallies, n] { work(all, n, tallies[n]); });
    }
    made.seconds = std::chrono::duration<double>(clock::now() - began).count();
    for (const std::vector<uint64_t>& one : tallies)
      for (size_t key = 0; key < one.size(); ++key) made.tally[key] += one[key];
    for (const uint64_t each : made.tally) made.instances += each;
    return made;
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr uint32_t instances_max = 1 << 17;
  static constexpr uint32_t room = 1 << 18;  ///< words of one location

  /// What the threads of a row have in common.
  struct crew {
    crew(const row& running, const amount& how_much, const key_layout& layout)
        : which(running), wanted(how_much), keys(layout), barrier(running.threads) {}
    const row& which;
    const amount& wanted;
    const key_layout& keys;
    spin_barrier barrier;
    meeting together;
    pace beside;
    clock::time_point began = clock::now();
    std::atomic<bool> enough{false};
  };

  /// Batch `number` of a row: each thread draws the same.
  batch draw(const row& which, uint64_t number, uint32_t* roles, uint32_t& every) {
    random_numbers chance(seed_ + number);
    batch made = {};
    made.instances = instances_max >> chance.below(4);
    place_locations(made, which.locations, words_.data(), room, chance);
    for (uint32_t n = 0; n < which.threads; ++n) {
      made.results[n] = results_[n].data();
      roles[n] = n;
    }
    // Which thread plays which: another processor, and another one first at the barrier.
    for (uint32_t n = which.threads - 1; n > 0; --n) std::swap(roles[n], roles[chance.below(n + 1)]);
    constexpr uint32_t paces[] = {0, 16, 64, 256};
    every = which.threads <= processors_.size() ? paces[chance.below(4)] : 0;
    return made;
  }

  void work(crew& all, uint32_t self, std::vector<uint64_t>& tally) {
    if (!processors_.empty()) run_on(processors_[self % processors_.size()]);
    uint64_t done = 0;
    for (uint64_t number = 0;; ++number) {
      uint32_t roles[threads_max];
      uint32_t every = 0;
      const batch made = draw(all.which, number, roles, every);
      if (self == 0) {
        all.beside.begin(all.which.threads);
        if (std::chrono::duration<double>(clock::now() - all.began).count() > all.wanted.seconds)
          all.enough.store(true, std::memory_order_relaxed);
      }
      all.barrier.arrive_and_wait();
      if (all.enough.load(std::memory_order_relaxed)) return;
      if (all.which.threads > 1 && all.which.threads <= processors_.size())
        all.together.wait(all.which.threads, self, number + 1);
      play(all, made, roles[self], every);
      all.barrier.arrive_and_wait();
      const uint32_t share = made.instances / all.which.threads;
      const uint32_t first = self * share;
      const uint32_t end = self + 1 == all.which.threads ? made.instances : first + share;
      count(all, made, first, end, tally);
      // What one thread looks at, another may clear.
      if (all.which.asked != 0) all.barrier.arrive_and_wait();
      clear(all.which, made, first, end);
      done += made.instances;
      if (done >= all.wanted.instances) return;
    }
  }

  static void play(crew& all, const batch& made, uint32_t role, uint32_t every) {
    const row_thread& which = all.which.thread[role];
    if (every == 0) {
      run_instances(which, made, made.results[role], [](uint32_t) {});
      return;
    }
    bool together = true;
    run_instances(which, made, made.results[role], [&](uint32_t n) {
      if (n % every == 0 && together) together = all.beside.step(role, n);
    });
  }

  /// Looks at instances.
  static void count(const crew& all, const batch& made, uint32_t first, uint32_t end, std::vector<uint64_t>& tally) {
    const row& which = all.which;
    for (uint32_t n = first; n < end; ++n) {
      uint64_t key = 0;
      for (uint32_t thread = 0; thread < which.threads; ++thread)
        key |= uint64_t{made.results[thread][n]} << all.keys.thread_shift[thread];
      for (uint32_t location = 0; location < which.locations; ++location)
        if ((which.asked >> location & 1) != 0)
          key |= uint64_t{*made.word(location, n) & value_mask} << all.keys.location_shift[location];
      ++tally[key];
    }
  }

  /// Leaves the words zero for the next batch; places, not instances: in order of memory.
  static void clear(const row& which, const batch& made, uint32_t first, uint32_t end) {
    for (uint32_t location = 0; location < which.locations; ++location) {
      const placed_location& at = made.location[location];
      if (at.stride == 1)
        std::fill(at.words + first, at.words + end, 0);
      else
        for (uint32_t n = first; n < end; ++n) at.words[uint64_t{n} * at.stride] = 0;
    }
  }

  uint64_t seed_;
  std::vector<int> processors_;
  std::vector<uint32_t> words_;
  std::vector<uint8_t> results_[threads_max];
};

}  // namespace heddle::machine_litmus
