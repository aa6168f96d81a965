// A server that sleeps until its clients ring, and trusts that every ring comes. Smallest: 1 wave, 1 port, 1 call.
//
// ROCm/legacy-rocm-build #6530, gfx1151: a host thread blocks on an interrupt with no deadline, and the interrupt does not come; without
// interrupts every run passes. A doorbell is a hint: a server that may sleep for ever has to look for work now and then all the same, as the twin
// does. Rings that come late, twice or together do no harm, because the count is read before the look for work.
#include "../echo.h"
#include "weakened.h"

namespace heddle::tests {
namespace {

constexpr uint64_t timeout_ns = 1'000'000;

void run_sleeping(const parameters& set) {
  run_echo_on<target, target>(set, {.sleeps = true, .timeout_ns = zoo::is_fixed(set) ? timeout_ns : no_timeout});
}

scheduler::verdict sleeping_verdict(const parameters& set) {
  const scheduler::verdict of_ports = needs_fair_holders(set);
  if (of_ports != scheduler::verdict::ok || zoo::is_fixed(set) || set.text("doorbells") != "dropped") return of_ports;
  return scheduler::verdict::deadlock;
}

std::vector<parameter> rings_are_lost_by_default() {
  std::vector<parameter> all = zoo::with_twin(port_parameters(2, 1, 2, 1));
  // The machine's own default is kinder.
  all.push_back(parameter::one_of("doorbells", "dropped",
                                  {"delivered", "delayed", "dropped", "duplicated", "coalesced"},
                                  "what may happen to each ring"));
  return all;
}

// The same server, and clients that ring behind each second call, or not while a ring is unanswered: no ring is lost, and what was not rung for
// waits for ever all the same. Moderated interrupts have a time (Linux: ethtool's rx-usecs beside rx-frames; virtio's event index a second look).
// Smallest: 1 wave, 1 port, 1 call; coalesced: 2 waves, 2 ports, 1 call.
void run_trusting(const parameters& set) {
  const bool coalesces = set.text("coalesced") == "yes";
  run_echo_on<target, target>(set, {.sleeps = true,
                                    .timeout_ns = zoo::is_fixed(set) ? timeout_ns : no_timeout,
                                    .rings = {set.count("rings"), coalesces}});
}

scheduler::verdict_set trusting_verdict(const parameters& set) {
  const scheduler::verdict of_ports = needs_fair_holders(set);
  if (of_ports != scheduler::verdict::ok || zoo::is_fixed(set)) return of_ports;
  return scheduler::verdict::deadlock;
}

std::vector<parameter> each_second_call_rings() {
  std::vector<parameter> all = zoo::with_twin(port_parameters(2, 1, 2, 1));
  all.push_back(parameter::number("rings", 2, 0, 1'000'000, "", "a client rings behind each call of so many"));
  all.push_back(parameter::one_of("coalesced", "no", {"no", "yes"}, "and not while a ring is unanswered"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_trusting, {.name = "zoo.server-trusts-each-ring",
                          .summary = "a server sleeps until it is rung for, and not each call is",
                          .parameters = each_second_call_rings(),
                          .expected = trusting_verdict});

HEDDLE_ZOO(run_sleeping, {.name = "zoo.interrupt-never-arrives",
                          .summary = "a server sleeps until it is rung for, and a ring is lost",
                          .parameters = rings_are_lost_by_default(),
                          .expected = sleeping_verdict});

}  // namespace heddle::tests
