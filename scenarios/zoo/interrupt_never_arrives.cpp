// A server that sleeps until its clients ring, and trusts that every ring comes. Smallest: 1 wave, 1 port, 1 call.
//
// ROCm/legacy-rocm-build #6530, gfx1151: a host thread blocks on an interrupt with no deadline, and the interrupt does not come; without
// interrupts every run passes. A doorbell is a hint: a server that may sleep for ever has to look for work now and then all the same, as the twin
// does. Rings that come late, twice or together do no harm, because the count is read before the look for work.
#include <heddle/rpc/interrupts.h>

#include <utility>

#include "one_server.h"
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

// A GPU has one signal that interrupts the host, for all its doorbells. One thread waits for it and wakes those that wait for a doorbell. It asks
// what the signal counts behind the wake-up: an interrupt that comes in between is counted, and not passed on. Smallest: 1 wave, 1
// port, 2 calls.
//
// ROCm/rocm-systems #8192, #8545 are of this family: a listener that acts when the signal's value has changed, and takes a value that it has
// not acted on for the old one. The twin is rpc::interrupts, which hw/hip_signal has.

/// A signal of the machine's own doorbells.
struct counted_interrupts {
  doorbell* count;

  uint64_t value() const { return shared_word<doorbell>(*count).load(memory_order::acquire); }
  void wait_while(uint64_t seen) const { target::wait(*count, static_cast<doorbell>(seen), no_timeout); }
  void raise() const { target::notify(*count); }
};

using passing = rpc::interrupts<target, counted_interrupts>;

void pass_on_what_came_before(const counted_interrupts& signal, doorbell& passed_on, uint32_t& ends) {
  for (uint64_t seen = 0;; seen = signal.value()) {
    signal.wait_while(seen);
    target::notify(passed_on);
    // Acquire pairs with the release in interrupts::end.
    if (shared_word<uint32_t>(ends).load(memory_order::acquire) != 0) return;
  }
}

struct interrupting_kernel {
  client_on<target> client;
  callers who;
  doorbell* bell;
  doorbell* signal;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      uint64_t answer = 0;
      auto port = client.open<echo_opcode>();
      port.send([&](rpc::packet& to, uint32_t) { to.words[0] = id; });
      if (target::is_first_lane(port.mask())) {
        // Release pairs with the acquire in interrupts::wait.
        shared_word<doorbell>(*bell).fetch_add(1, memory_order::release);
        target::notify(*signal);
      }
      port.recv([&](rpc::packet& from, uint32_t) { answer = from.words[0]; });
      HEDDLE_CHECK(answer == changed(id), "the answer is not the one to this lane's request");
    }
  }
};

/// Serves until told to stop, and sleeps for ever where it finds nothing.
struct interrupted_server {
  decltype(std::declval<port_test&>().server(0)) server;
  port_test::account account;
  passing all;
  doorbell* bell;
  uint32_t* stop;

  void operator()() {
    while (true) {
      // In front of the look for work, and acquire: work that has been rung for is found.
      const doorbell rings = shared_word<doorbell>(*bell).load(memory_order::acquire);
      const bool last = shared_word<uint32_t>(*stop).load(memory_order::acquire) != 0;
      bool found = false;
      if (auto port = server.try_open()) {
        found = true;
        port.recv_and_send([&](rpc::packet& both, uint32_t) {
          account(both.words[0]);
          both.words[0] = changed(both.words[0]);
        });
      }
      if (found) continue;
      if (last) return;
      all.wait(*bell, rings, no_timeout);
    }
  }
};

void run_passing_on(const parameters& set) {
  device on;
  port_test test(on, set);
  auto* const words = on.allocate_shared<uint32_t>(3, "signal, passed on, ends");
  const passing all(counted_interrupts{&words[0]}, words[1], words[2]);
  auto forwarding = on.spawn_host("interrupts", [=, fixed = zoo::is_fixed(set)] {
    if (fixed)
      all.pass_on();
    else
      pass_on_what_came_before({&words[0]}, words[1], words[2]);
  });
  auto serving = on.spawn_host(
      "server", interrupted_server{test.server(0), test.requests(), all, &test.bell(), &test.stop_word()});
  on.launch({.blocks = 1, .waves = set.count("waves"), .lanes = set.count("lanes")},
            interrupting_kernel{test.client(), test.who(), &test.bell(), &words[0]});
  on.synchronize();
  // Release pairs with the server's acquire.
  shared_word<uint32_t>(test.stop_word()).store(1, memory_order::release);
  all.notify(test.bell());
  serving.join();
  all.end();
  forwarding.join();
  test.check(all_calls(set));
}

scheduler::verdict passing_on_verdict(const parameters& set) {
  const scheduler::verdict of_ports = needs_fair_holders(set);
  // No wait here has a time-out: a ring that is lost is waited for, also by the twin.
  if (of_ports == scheduler::verdict::ok && set.has("doorbells") && set.text("doorbells") == "dropped")
    return scheduler::verdict::deadlock;
  return zoo::planted_unless_fixed<scheduler::verdict::deadlock>(set);
}

}  // namespace

HEDDLE_ZOO(run_passing_on, {.name = "zoo.interrupt-not-passed-on",
                            .summary = "an interrupt that comes while the last one is passed on wakes no thread",
                            .parameters = zoo::ports_of_one_server(1, 1, 1, 2),
                            .expected = passing_on_verdict});

HEDDLE_ZOO(run_trusting, {.name = "zoo.server-trusts-each-ring",
                          .summary = "a server sleeps until it is rung for, and not each call is",
                          .parameters = each_second_call_rings(),
                          .expected = trusting_verdict});

HEDDLE_ZOO(run_sleeping, {.name = "zoo.interrupt-never-arrives",
                          .summary = "a server sleeps until it is rung for, and a ring is lost",
                          .parameters = rings_are_lost_by_default(),
                          .expected = sleeping_verdict});

}  // namespace heddle::tests
