// reorder_n: n - 1 threads write two words one after the other, and one thread must never see the one without the other. Only the first
// writer can be seen half-way: all others must not have come to their second word either.
#include "sctbench.h"

namespace heddle::tests {
namespace {

struct reorder_program : sctbench::nothing_more {
  bool locked = false;
  uint32_t checker = 0;  ///< the last that is started
  uint32_t* memory = nullptr;

  void operator()(uint32_t thread) const {
    const sctbench::shared_int a(memory), b(memory + 1);
    const sctbench::mutex both(memory + 2);
    if (locked) both.lock();
    if (thread == checker) {
      const bool nothing = a.read() == 0 && b.read() == 0;
      if (!nothing) HEDDLE_CHECK(a.read() == 1 && b.read() == -1, "one word is written and the other is not");
    } else {
      a.write(1);
      b.write(-1);
    }
    if (locked) both.unlock();
  }
};

void run_reorder(const parameters& set) {
  reorder_program program;
  program.locked = sctbench::is_fixed(set);
  program.checker = set.count("n") - 1;
  sctbench::run_threads(set.count("n"), false, 3, program);
}

}  // namespace

HEDDLE_SCENARIO(
    run_reorder,
    {.name = "sctbench.reorder",
     .summary = "SCTBench's reorder_n: n - 1 threads write two words, and one sees the first without the second",
     .parameters = sctbench::with_common({parameter::number("n", 3, 2, 1000, "", "threads")}),
     .expected = sctbench::verdict_of});

}  // namespace heddle::tests
