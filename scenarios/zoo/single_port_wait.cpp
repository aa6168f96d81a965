// One port for all waves: a wave waits for a port that is held by a wave that may never get a turn.
//
// LLVM D149598 and commit aea866c1 gave every wave a port of its own for this reason, as the twin does. Smallest: 2 waves, 1 port.
#include "../echo.h"
#include "zoo.h"

#include <algorithm>

namespace heddle::tests {
namespace {

/// In the twin one for each wave.
uint32_t ports_for(const parameters& set) {
  return zoo::is_fixed(set) ? std::max(set.count("ports"), set.count("waves")) : set.count("ports");
}

void run_single_port_wait(const parameters& set) {
  port_counts of = set;
  of.ports = ports_for(set);
  run_echo_on<target, target>(of);
}

scheduler::verdict single_port_verdict(const parameters& set) { return needs_fair_holders_of(ports_for(set), set); }

std::vector<parameter> hangs_by_default() {
  std::vector<parameter> all = zoo::with_twin(port_parameters(2, 1, 1, 1));
  // The machine's own default is kinder.
  all.push_back(parameter::one_of("progress", "hsa",
                                  {"fair", "unfair", "hsa", "obe", "hsa_obe", "lobe", "slots", "cuda"},
                                  "which waves are guaranteed a turn; each model is explained in docs/simulator.md"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_single_port_wait, {.name = "zoo.single-port-wait",
                                  .summary = "one port for all waves; its holder may never get a turn",
                                  .parameters = hangs_by_default(),
                                  .expected = single_port_verdict});

}  // namespace heddle::tests
