// A port is given back by an operation that does not release: the next holder is not ordered after the last one, and uses an old outbox
// or header.
//
// LLVM libc, shared/rpc.h, until July 2023: the lock was cleared by a relaxed operation, with no fence of its own before it. Smallest: 2
// waves, 1 port, 2 calls.
#include "weakened.h"

namespace heddle::tests {
namespace {

void run_unlock_without_release(const parameters& set) { zoo::run_weakened_echo<zoo::no_fence_at_unlock>(set); }

}  // namespace

HEDDLE_ZOO(run_unlock_without_release, {.name = "zoo.unlock-without-release",
                                        .summary = "a port is given back by a relaxed operation",
                                        .parameters = zoo::one_port(),
                                        .expected = zoo::where_memory_is_late<scheduler::verdict::race>});

}  // namespace heddle::tests
