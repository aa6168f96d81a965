// wronglock: one thread adds to a number under one lock and looks whether it was added; the others add to it under another.
#include "sctbench.h"

namespace heddle::tests {
namespace {

struct wronglock_program : sctbench::nothing_more {
  bool one_lock = false;
  uint32_t* memory = nullptr;

  void operator()(uint32_t thread) const {
    const sctbench::shared_int data(memory);
    const sctbench::mutex data_lock(memory + 1), other_lock(memory + (one_lock ? 1 : 2));
    if (thread == 0) {
      data_lock.lock();
      const int32_t before = data.read();
      data.write(data.read() + 1);
      HEDDLE_CHECK(data.read() == before + 1, "somebody else has written under another lock");
      data_lock.unlock();
    } else {
      other_lock.lock();
      data.write(data.read() + 1);
      other_lock.unlock();
    }
  }
};

void run_wronglock(const parameters& set) {
  wronglock_program program;
  program.one_lock = sctbench::is_fixed(set);
  sctbench::run_threads(1 + set.count("others"), false, 3, program);
}

}  // namespace

HEDDLE_SCENARIO(run_wronglock,
                {.name = "sctbench.wronglock",
                 .summary = "SCTBench's wronglock: a number that is guarded by one lock here and by another there",
                 .parameters = sctbench::with_common({parameter::number(
                     "others", 7, 1, 1000, "", "threads that take the wrong lock; one takes the right one")}),
                 .expected = sctbench::verdict_of});

}  // namespace heddle::tests
