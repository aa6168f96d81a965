// A port's lock with one memory order too weak: the next holder is not ordered after the last one. Smallest: 2 waves, 1 port.
#include "weakened.h"

namespace heddle::tests {
namespace {

using scheduler::verdict;

void run_no_fence_at_unlock(const parameters& set) { zoo::run_weakened_echo<zoo::no_fence_at_unlock>(set); }
void run_no_fence_at_lock(const parameters& set) { zoo::run_weakened_echo<zoo::no_fence_at_lock>(set); }

}  // namespace

HEDDLE_ZOO(run_no_fence_at_unlock, {.name = "zoo.no-fence-at-unlock",
                                    .summary = "a port is given back by a relaxed operation",
                                    .parameters = zoo::one_port(),
                                    .expected = zoo::where_memory_is_late<verdict::race>});

HEDDLE_ZOO(run_no_fence_at_lock, {.name = "zoo.no-fence-at-lock",
                                  .summary = "a port is taken by a relaxed operation",
                                  .parameters = zoo::one_port(),
                                  .expected = zoo::where_memory_is_late<verdict::race>});

}  // namespace heddle::tests
