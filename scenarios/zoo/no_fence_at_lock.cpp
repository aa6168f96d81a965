// A port is taken by an operation that does not acquire: its holder is not ordered after the last one. Smallest: 2 waves, 1 port.
// Where only the link is late, a check of the protocol sees it: the holder's look at the mailbox may find what the last one has left behind.
//
// What the same omission does to the mailboxes, where the payload is atomic, is zoo.lock-without-acquire.
#include "weakened.h"

namespace heddle::tests {
namespace {

void run_no_fence_at_lock(const parameters& set) { zoo::run_weakened_echo<zoo::no_fence_at_lock>(set); }

}  // namespace

HEDDLE_ZOO(run_no_fence_at_lock,
           {.name = "zoo.no-fence-at-lock",
            .summary = "a port is taken by a relaxed operation",
            .parameters = zoo::one_port(),
            .expected = zoo::where_memory_is_late<scheduler::verdict::race, zoo::late_over_the_link::both>});

}  // namespace heddle::tests
