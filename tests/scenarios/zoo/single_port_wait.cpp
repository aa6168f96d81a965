// One port for all waves: a wave waits for a port that is held by a wave that may never get a turn.
//
// LLVM D149598 and commit aea866c1 gave every wave a port of its own for this reason. Smallest: 2 waves, 1 port.
#include "../echo.h"

namespace heddle::tests {
namespace {

void run_single_port_wait(const parameters& set) { run_echo(set); }

std::vector<parameter> hangs_by_default() {
  std::vector<parameter> all = port_parameters(2, 1, 1, 1);
  // The machine's own default is kinder.
  all.push_back(parameter::one_of("progress", "hsa",
                                  {"fair", "unfair", "hsa", "obe", "hsa_obe", "lobe", "slots", "cuda"},
                                  "which waves are guaranteed a turn; each model is explained in docs/simulator.md"));
  return all;
}

}  // namespace

HEDDLE_SCENARIO(run_single_port_wait, {.name = "zoo.single-port-wait",
                                       .summary = "one port for all waves; its holder may never get a turn",
                                       .parameters = hangs_by_default(),
                                       .expected = needs_fair_holders});

}  // namespace heddle::tests
