// The server gives a packet back, behind a receive that another one follows or at its close, by a store that does not release: its reads of
// the packet may come after the hand-over, and the client overwrites what it reads.
//
// LLVM libc, shared/rpc.h, until 2023: that toggle had no fence of its own, as nothing was written before it. Smallest: 1 wave, 1 port, 1
// call of two sends.
#include "hand_over.h"

namespace heddle::tests {
namespace {

void run_handover_without_release(const parameters& set) {
  if (zoo::is_fixed(set)) return zoo::run_sends_twice<target, target>(set);
  zoo::run_sends_twice<target, zoo::no_release_before_toggle>(set);
}

}  // namespace

HEDDLE_ZOO(run_handover_without_release,
           {.name = "zoo.handover-without-release",
            .summary = "a packet that was only read is given back by a relaxed store",
            .parameters = zoo::with_twin(port_parameters(1, 1, 1, 1)),
            .expected = zoo::where_memory_is_late<scheduler::verdict::race, zoo::late_over_the_link::nothing,
                                                  needs_fair_clients>});

}  // namespace heddle::tests
