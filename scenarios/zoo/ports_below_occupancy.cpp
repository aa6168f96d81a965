// There is a cap on ports, and it is below the number of waves that the device holds. When all of them are in a call, the next waits for a
// port of a wave that may never get a turn.
//
// LLVM libc, shared/rpc.h: a cap of 4096 ports where an H200 holds 8,448 waves and an MI300X 9,728; raised in 2026. Smallest: one wave more
// than ports.
#include "../echo.h"
#include "zoo.h"

#include <algorithm>

namespace heddle::tests {
namespace {

/// As many as there may be calls at a time; the bug is the cap.
uint32_t capped_ports(const parameters& set) {
  const uint32_t wanted = set.count("waves") * set.count("lanes");
  return zoo::is_fixed(set) ? wanted : std::min(wanted, set.count("ports"));
}

void run_capped_ports(const parameters& set) {
  port_counts of = set;
  of.ports = capped_ports(set);
  run_echo_on<target, target>(of);
}

scheduler::verdict capped_ports_verdict(const parameters& set) { return needs_fair_holders_of(capped_ports(set), set); }

std::vector<parameter> more_waves_than_ports() {
  std::vector<parameter> all = zoo::with_twin({
      parameter::number("waves", 3, 1, 256, "", "waves that call"),
      parameter::number("lanes", 1, 1, 64, "", "lanes of each wave"),
      parameter::number("ports", 2, 1, rpc::max_ports, "", "the cap on ports"),
      parameter::number("servers", 1, 1, 64, "", "host threads that serve"),
      parameter::number("calls", 1, 1, 100000, "", "calls that each lane makes"),
  });
  // The machine's own default is kinder.
  all.push_back(parameter::one_of("progress", "hsa",
                                  {"fair", "unfair", "hsa", "obe", "hsa_obe", "lobe", "slots", "cuda"},
                                  "which waves are guaranteed a turn; each model is explained in docs/simulator.md"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_capped_ports, {.name = "zoo.ports-below-occupancy",
                              .summary = "there are fewer ports than waves that may be in a call",
                              .parameters = more_waves_than_ports(),
                              .expected = capped_ports_verdict});

}  // namespace heddle::tests
