// Lock bits of ports with one memory order too weak. Smallest: 2 waves, 1 port; 2 calls where it is the release.
#include "weakened.h"

namespace heddle::tests {
namespace {

// A port is taken by an operation that does not acquire: its holder is not ordered after the last one. What the same omission does to the
// mailboxes, where the payload is atomic, is zoo.lock-without-acquire. Where only the link is late it does not show: what the last holder has
// left comes with the state itself, and no mailbox is looked at.
void run_no_fence_at_lock(const parameters& set) { zoo::run_weakened_echo<zoo::no_fence_at_lock>(set); }

// A port is given back by an operation that does not release: the next holder is not ordered after the last one, and uses an old outbox
// or header. LLVM libc, shared/rpc.h, until July 2023: the lock was cleared by a relaxed operation, with no fence of its own before it.
void run_unlock_without_release(const parameters& set) { zoo::run_weakened_echo<zoo::no_fence_at_unlock>(set); }

}  // namespace

HEDDLE_ZOO(run_no_fence_at_lock, {.name = "zoo.no-fence-at-lock",
                                  .summary = "a port is taken by a relaxed operation",
                                  .parameters = zoo::one_port(),
                                  .expected = zoo::where_memory_is_late<scheduler::verdict::race>});

HEDDLE_ZOO(run_unlock_without_release, {.name = "zoo.unlock-without-release",
                                        .summary = "a port is given back by a relaxed operation",
                                        .parameters = zoo::one_port(),
                                        .expected = zoo::where_memory_is_late<scheduler::verdict::race>});

}  // namespace heddle::tests
