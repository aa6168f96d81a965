// A handler that waits for another call: the server serves wave 0 by waiting for wave 1's call, and wave 1 waits for the only
// port, which wave 0 holds.
//
// The general form of a handler that waits for the device (zoo: AMDGPU.jl #537, hostrpc ab40c52). Smallest: 2 waves, 1 port.
#include "../ports.h"

namespace heddle::tests {
namespace {

constexpr uint16_t waiting_opcode = rpc::user_opcode(21);
constexpr uint16_t releasing_opcode = rpc::user_opcode(22);

struct crossed_kernel {
  rpc::client client;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    const uint64_t id = who.request(0);
    const auto ask = [&](rpc::packet& to, uint32_t) { to.words[0] = id; };
    const auto hear = [](rpc::packet&, uint32_t) {};
    if (target::wave_id() == 0) {
      auto port = client.open<waiting_opcode>();
      port.send_and_recv(ask, hear);
    } else {
      auto port = client.open<releasing_opcode>();
      port.send_and_recv(ask, hear);
    }
  }
};

void run_crossed_calls(const parameters& set) {
  device on;
  port_test test(on, set);
  auto* const released = on.allocate_shared<uint32_t>(1, "released flag");
  test.run(
      crossed_kernel{test.client(), test.who()},
      [released](auto& port, const auto& account) {
        const shared_word<uint32_t> flag(*released);
        port.recv_and_send([&](rpc::packet& both, uint32_t) {
          account(both.words[0]);
          if (port.opcode() == releasing_opcode) flag.store(1, memory_order::release);
          // Acquire pairs with the release of the handler of the other call.
          else
            while (flag.load(memory_order::acquire) == 0) target::pause();
        });
      },
      set.count("waves"));
}

scheduler::verdict crossed_verdict(const parameters& set) {
  // With a port and a server for each call the two no longer depend on each other.
  const bool apart = set.count("ports") >= 2 && set.count("servers") >= 2;
  if (!apart) return scheduler::verdict::deadlock;
  return needs_fair_holders(set);
}

}  // namespace

HEDDLE_SCENARIO(run_crossed_calls,
                {.name = "zoo.crossed-calls",
                 .summary = "a handler waits for a call whose wave waits for the port of the first",
                 .parameters =
                     {
                         parameter::number("waves", 2, 2, 2, "", "waves that call: one that waits, one that releases"),
                         parameter::number("lanes", 1, 1, 1, "", "lanes of each wave"),
                         parameter::number("ports", 1, 1, rpc::max_ports, "", "ports between client and server"),
                         parameter::number("servers", 1, 1, 64, "", "host threads that serve"),
                         parameter::number("calls", 1, 1, 1, "", "calls that each lane makes"),
                     },
                 .expected = crossed_verdict});

}  // namespace heddle::tests
