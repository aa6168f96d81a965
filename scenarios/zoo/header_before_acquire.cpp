// The next call's header is written before the fence that orders it after the last one's reader: the first lane looks at the mailbox
// without acquiring, and writes.
//
// LLVM libc, shared/rpc.h, as of 2026: open() loads the mailboxes relaxed, and its only fence is of device scope and comes earlier.
// Smallest: 1 wave, 1 port, and 2 calls, because what is overwritten too early is the header of the call before.
#include "../async.h"
#include "weakened.h"

namespace heddle::tests {
namespace {

// Asynchronous calls: with an answer in between, the answer's acquire would cover for the header.
void run_header_before_acquire(const parameters& set) {
  if (zoo::is_fixed(set)) return run_async_on<target, target>(set);
  run_async_on<zoo::header_without_acquire, target>(set);
}

}  // namespace

HEDDLE_ZOO(run_header_before_acquire,
           {.name = "zoo.header-before-acquire",
            .summary = "the next call's header is written before the fence that orders it after the last one's reader",
            .parameters = zoo::with_twin(port_parameters(1, 1, 1, 2)),
            .expected = zoo::where_memory_is_late<scheduler::verdict::race>});

}  // namespace heddle::tests
