// Numbers of entries are compared, and not their difference: when they pass 2^31 their sign changes and no producer ever finds room again.
// Smallest: 1 wave, 1 lane, 1 entry, 2 calls, and a first number close below 2^31.
//
// NCCL 2.8.3-1 (920dbe5b) compared step numbers so.
#include "small_fifo.h"

namespace heddle::tests {
namespace {

struct compares_numbers : rpc::lap_parity {
  HEDDLE_FUNCTION static bool has_room(uint32_t end, uint32_t tail, uint32_t entries) {
    return static_cast<int32_t>(end) <= static_cast<int32_t>(tail + entries);
  }
};

template <typename Form>
void run_numbers(const parameters& set) {
  device on;
  fifo_test<Form> test(on, set, set.count("calls"));
  zoo::run_flushing(test, set, test.producer(), test.consumer());
}

void run_flag_wrap(const parameters& set) {
  if (zoo::is_fixed(set)) return run_numbers<rpc::lap_parity>(set);
  run_numbers<compares_numbers>(set);
}

// In lockstep lanes push together: where that is an even number of entries from an even one on, no wave asks about the odd number next to 2^31.
scheduler::verdict flag_wrap_verdict(const parameters& set) {
  const bool together = set.has("convergence") && set.text("convergence") == "lockstep" && set.count("lanes") > 1;
  const bool in_pairs = set.count("lanes") % 2 == 0 && set.number("first") % 2 == 0;
  if (together && in_pairs && set.count("entries") < set.count("lanes") + 2) return scheduler::verdict::ok;
  return zoo::hangs_unless_fixed(set);
}

}  // namespace

HEDDLE_ZOO(run_flag_wrap, {.name = "zoo.flag-wrap-at-2-31",
                           .summary = "numbers of entries are compared, and their sign changes",
                           .parameters = zoo::small_fifo(2147483646),
                           .expected = flag_wrap_verdict});

}  // namespace heddle::tests
