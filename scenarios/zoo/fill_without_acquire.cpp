// A send finds by a relaxed load that the packet has come back, and fills it without a fence in between: it may write before the peer's last
// read.
//
// LLVM libc, shared/rpc.h, until 2023: only the receive had the fence, as only it reads. Smallest: 1 wave, 1 port, 1 call of two sends.
#include "hand_over.h"

namespace heddle::tests {
namespace {

void run_fill_without_acquire(const parameters& set) {
  if (zoo::is_fixed(set)) return zoo::run_sends_twice<target, target>(set);
  zoo::run_sends_twice<zoo::no_acquire_after_wait, target>(set);
}

}  // namespace

HEDDLE_ZOO(run_fill_without_acquire,
           {.name = "zoo.fill-without-acquire",
            .summary = "a packet that came back is filled after a relaxed load that saw it come",
            .parameters = zoo::with_twin(port_parameters(1, 1, 1, 1)),
            .expected = zoo::where_memory_is_late<scheduler::verdict::race, zoo::late_over_the_link::nothing,
                                                  needs_fair_clients>});

}  // namespace heddle::tests
