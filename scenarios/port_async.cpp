// Asynchronous calls: no wave waits for an answer.
#include "async.h"

namespace heddle::tests {
namespace {

void run_async(const parameters& set) { run_async_on<target, target>(set); }

}  // namespace

HEDDLE_SCENARIO(run_async, {.name = "port.async",
                            .summary = "calls that nobody waits for, all served in the end",
                            .parameters = port_parameters(2, 2, 3, 6),
                            .expected = needs_fair_holders});

}  // namespace heddle::tests
