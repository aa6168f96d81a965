// One call and its answer over ports, by one lane at a time and without waiting for the answer.
#include "async.h"
#include "echo.h"

namespace heddle::tests {

// Every lane's value comes back changed; with enough ports, and with too few.
namespace {

void run_contended(const parameters& set) { run_echo(set); }

}  // namespace

HEDDLE_SCENARIO(run_echo, {.name = "port.echo",
                           .summary = "every lane's value comes back changed",
                           .parameters = port_parameters(3, 2, 3, 4),
                           .expected = needs_fair_holders,
                           .proofs = {"waves=2 lanes=1 ports=1 calls=1", "waves=2 lanes=1 ports=2 calls=1"}});

HEDDLE_SCENARIO(run_contended, {.name = "port.contended",
                                .summary = "more waves than ports: who opens waits for who closes",
                                .parameters = port_parameters(4, 2, 2, 3),
                                .expected = needs_fair_holders});

// Asynchronous calls: no wave waits for an answer.
namespace {

void run_async(const parameters& set) { run_async_on<target, target>(set); }

}  // namespace

HEDDLE_SCENARIO(run_async, {.name = "port.async",
                            .summary = "calls without a wait for the answer, all served in the end",
                            .parameters = port_parameters(2, 2, 3, 6),
                            .expected = needs_fair_holders});

}  // namespace heddle::tests
