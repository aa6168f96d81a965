// Programs of SCTBench, the benchmark by which schedulers of concurrency tests are compared: how many schedules each needs to find the bug is
// published for other tools, and measured for the strategies here in docs/strategies.md.
//
// Restated for host threads: the main thread starts them one after another, as in the originals, which matters: threads that start early have
// ended before the last one begins, as often as not. A mutex is a test-and-set lock whose waiters sleep. Each access to what threads share is
// one operation, as in the original under a tool that interposes them all, and sequentially consistent, as those tools have it; so are the
// accesses of the one lock-free program among them. There is one memory by default (fidelity=interleaving).
//
// Source: Thomson, Donaldson, Betts, "Concurrency testing using controlled schedulers: an empirical study", TOPC 2 (2016), and its
// programs, mc-imperial/sctbench.
#pragma once

#include <heddle/tools/scenario.h>

#include <vector>

namespace heddle::tests::sctbench {

/// What threads share.
class shared_int {
 public:
  int32_t read() const { return static_cast<int32_t>(word(*at_).load(memory_order::seq_cst)); }
  void write(int32_t value) const { word(*at_).store(static_cast<uint32_t>(value), memory_order::seq_cst); }
  explicit shared_int(uint32_t* at) : at_(at) {}

 private:
  using word = target::atomic_ref<uint32_t, scope::system>;
  uint32_t* at_;
};

class mutex {
 public:
  explicit mutex(uint32_t* at) : at_(at) {}
  void lock() const {
    // Acquire pairs with the release of the last unlock.
    while (word(*at_).exchange(1, memory_order::acquire) != 0) target::pause();
  }
  void unlock() const { word(*at_).store(0, memory_order::release); }

 private:
  using word = target::atomic_ref<uint32_t, scope::system>;
  uint32_t* at_;
};

/// One thread of a program, whose operator() takes the thread's number.
template <typename Program>
struct thread_of {
  Program program;
  uint32_t number;
  void operator()() const { program(number); }
};

/// Runs program(0) to program(threads - 1) on a thread each, started in this order; or the last one on the main thread, when the others have
/// been started. `program.memory` becomes that many words, zero at first.
template <typename Program>
void run_threads(uint32_t threads, bool last_by_main, uint32_t words, Program program) {
  device on;
  program.memory = on.allocate_shared<uint32_t>(words, "shared");
  std::vector<decltype(on.spawn_host("thread", thread_of<Program>{program, 0}))> started;
  const uint32_t started_threads = last_by_main ? threads - 1 : threads;
  for (uint32_t number = 0; number < started_threads; ++number)
    started.push_back(on.spawn_host("thread", thread_of<Program>{program, number}));
  if (last_by_main) program(threads - 1);
  for (auto& each : started) each.join();
  program.joined();
}

/// What a program does when all threads have ended.
struct nothing_more {
  void joined() const {}
};

inline bool is_fixed(const parameters& set) { return set.text("fixed") == "yes"; }

inline scheduler::verdict verdict_of(const parameters& set) {
  return is_fixed(set) ? scheduler::verdict::ok : scheduler::verdict::assertion;
}

/// With what all programs have.
inline std::vector<parameter> with_common(std::vector<parameter> all) {
  all.push_back(parameter::one_of("fixed", "no", {"no", "yes"}, "without the bug"));
  all.push_back(parameter::one_of("fidelity", "interleaving", {"interleaving", "link", "scoped"},
                                  "how memory behaves: scoped and weak, late across the link alone, or every access at "
                                  "once"));
  return all;
}

}  // namespace heddle::tests::sctbench
