// A listener looks for work only when the count of rings has changed; on a time-out it goes on waiting. One ring that is lost, and its
// packet waits for ever. Smallest: 1 wave, 1 packet, 1 call.
//
// rocm-systems #8192, #8545. The twin looks after every time-out.
#include "../hostcalls.h"
#include "weakened.h"

namespace heddle::tests {
namespace {

using scheduler::verdict;

void run_lost_doorbell(const parameters& set) {
  run_hostcalls_on<target, rpc::counted_tag>(set, {.sleeps = true, .trusts_rings = !zoo::is_fixed(set)});
}

scheduler::verdict_set lost_doorbell_verdict(const parameters& set) {
  const scheduler::verdict_set sound = needs_fair_packet_holders(set);
  if (sound != verdict::ok || zoo::is_fixed(set) || set.text("doorbells") != "dropped") return sound;
  return verdict::deadlock;
}

std::vector<parameter> lost_doorbell_parameters() {
  std::vector<parameter> all = zoo::with_twin(hostcall_parameters(2, 1, 2, 1, 1));
  // The machine's own default is kinder.
  all.push_back(parameter::one_of("doorbells", "dropped",
                                  {"delivered", "delayed", "dropped", "duplicated", "coalesced"},
                                  "what may happen to each ring"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_lost_doorbell,
           {.name = "zoo.lost-doorbell",
            .summary = "a listener looks for work only when the bell has been rung, and a ring is lost",
            .parameters = lost_doorbell_parameters(),
            .expected = lost_doorbell_verdict});

}  // namespace heddle::tests
