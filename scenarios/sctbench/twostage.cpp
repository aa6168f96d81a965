// twostage_n: n - 1 threads write one word under one lock, and then another, one greater, under another lock. A thread that reads between the two
// stages sees two values that do not belong together.
#include "sctbench.h"

namespace heddle::tests {
namespace {

struct twostage_program : sctbench::nothing_more {
  bool in_one_stage = false;
  uint32_t reader = 0;  ///< the last that is started
  uint32_t* memory = nullptr;

  void write(sctbench::shared_int first, sctbench::shared_int second) const {
    const sctbench::mutex first_lock(memory + 2), second_lock(memory + 3);
    first_lock.lock();
    first.write(1);
    if (!in_one_stage) first_lock.unlock();
    second_lock.lock();
    second.write(first.read() + 1);
    second_lock.unlock();
    if (in_one_stage) first_lock.unlock();
  }
  void compare(sctbench::shared_int first, sctbench::shared_int second) const {
    const sctbench::mutex first_lock(memory + 2), second_lock(memory + 3);
    first_lock.lock();
    if (first.read() == 0) return first_lock.unlock();
    const int32_t seen_first = first.read();
    first_lock.unlock();
    second_lock.lock();
    const int32_t seen_second = second.read();
    second_lock.unlock();
    HEDDLE_CHECK(seen_second == seen_first + 1, "the second stage has not come after the first");
  }
  void operator()(uint32_t thread) const {
    const sctbench::shared_int first(memory), second(memory + 1);
    if (thread == reader)
      compare(first, second);
    else
      write(first, second);
  }
};

void run_twostage(const parameters& set) {
  twostage_program program;
  program.in_one_stage = sctbench::is_fixed(set);
  program.reader = set.count("n") - 1;
  sctbench::run_threads(set.count("n"), false, 4, program);
}

}  // namespace

HEDDLE_SCENARIO(run_twostage,
                {.name = "sctbench.twostage",
                 .summary = "SCTBench's twostage_n: n - 1 threads write in two stages, and one looks between them",
                 .parameters = sctbench::with_common({parameter::number("n", 3, 2, 1000, "", "threads")}),
                 .expected = sctbench::verdict_of});

}  // namespace heddle::tests
