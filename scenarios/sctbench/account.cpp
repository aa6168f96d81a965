// account: one thread pays in, one takes out, and one checks the balance when both are done, by a formula with a wrong sign. The bug is
// seen when it comes last.
#include "sctbench.h"

namespace heddle::tests {
namespace {

struct account_program : sctbench::nothing_more {
  bool right_formula = false;
  uint32_t* memory = nullptr;

  void operator()(uint32_t thread) const {
    constexpr int32_t at_first = 1, paid_in = 2, taken_out = 4;
    const sctbench::mutex lock(memory);
    // What is changed, so that memory that is zero is an account with what there is at first.
    const sctbench::shared_int change(memory + 1), deposited(memory + 2), withdrawn(memory + 3);
    lock.lock();
    switch (thread) {
      case 0:
        if (deposited.read() != 0 && withdrawn.read() != 0) {
          const int32_t wanted = (right_formula ? at_first + paid_in : at_first - paid_in) - taken_out;
          HEDDLE_CHECK(at_first + change.read() == wanted, "the balance is not what the formula says");
        }
        break;
      case 1:
        change.write(change.read() + paid_in);
        deposited.write(1);
        break;
      default:
        change.write(change.read() - taken_out);
        withdrawn.write(1);
    }
    lock.unlock();
  }
};

void run_account(const parameters& set) {
  account_program program;
  program.right_formula = sctbench::is_fixed(set);
  sctbench::run_threads(3, false, 4, program);
}

}  // namespace

HEDDLE_SCENARIO(run_account, {.name = "sctbench.account",
                              .summary = "SCTBench's account: who checks a balance comes last, and has a wrong formula",
                              .parameters = sctbench::with_common({}),
                              .expected = sctbench::verdict_of});

}  // namespace heddle::tests
