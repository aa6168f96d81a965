// Every lane's value comes back changed through a packet; with enough packets, and with too few.
#include "hostcalls.h"

namespace heddle::tests {
namespace {

void run_hostcall_echo(const parameters& set) { run_hostcalls(set); }
void run_hostcall_contended(const parameters& set) { run_hostcalls(set); }

}  // namespace

HEDDLE_SCENARIO(run_hostcall_echo, {.name = "hostcall.echo",
                                    .summary = "every lane's value comes back changed in a packet",
                                    .parameters = hostcall_parameters(2, 2, 4, 1, 3),
                                    .expected = needs_fair_packet_holders,
                                    .proofs = {"waves=2 lanes=1 packets=1 calls=1"}});

HEDDLE_SCENARIO(run_hostcall_contended, {.name = "hostcall.contended",
                                         .summary = "more waves than packets, and two host threads that serve",
                                         .parameters = hostcall_parameters(3, 2, 2, 2, 3),
                                         .expected = needs_fair_packet_holders});

}  // namespace heddle::tests
