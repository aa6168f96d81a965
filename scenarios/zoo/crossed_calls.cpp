// Handlers that wait for each other's calls: the server serves one wave by waiting for the call of the other, which waits for the
// only port, which the first one holds.
//
// The general form of a handler that waits for the device (zoo: AMDGPU.jl #537, hostrpc ab40c52). Smallest: 2 waves, 1 port.
#include "../ports.h"
#include "zoo.h"

#include <algorithm>

namespace heddle::tests {
namespace {

constexpr uint16_t meet_opcode = rpc::user_opcode(21);

struct crossed_kernel {
  rpc::client client;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    auto port = client.open<meet_opcode>();
    port.send_and_recv([&](rpc::packet& to, uint32_t) { to.words[0] = who.request(0); }, [](rpc::packet&, uint32_t) {});
  }
};

/// A port and a server for each call in the twin: the handlers meet.
port_counts with_room(const parameters& set) {
  port_counts of = set;
  if (!zoo::is_fixed(set)) return of;
  of.ports = std::max(of.ports, of.waves);
  of.servers = std::max(of.servers, of.waves);
  return of;
}

void run_crossed_calls(const parameters& set) {
  device on;
  port_test test(on, with_room(set));
  auto* const arrived = on.allocate_shared<uint32_t>(2, "arrived flags");
  test.run(
      crossed_kernel{test.client(), test.who()},
      [arrived](auto& port, const auto& account) {
        port.recv_and_send([&](rpc::packet& both, uint32_t) {
          const uint64_t caller = both.words[0];
          account(caller);
          // Release pairs with the acquire below, in the handler of the other call.
          shared_word<uint32_t>(arrived[caller]).store(1, memory_order::release);
          while (shared_word<uint32_t>(arrived[1 - caller]).load(memory_order::acquire) == 0) target::pause();
        });
      },
      set.count("waves"));
}

scheduler::verdict crossed_verdict(const parameters& set) {
  const port_counts of = with_room(set);
  // With a port and a server for each call the handlers meet, if both waves get a turn.
  const bool apart = of.ports >= 2 && of.servers >= 2;
  if (!apart) return scheduler::verdict::deadlock;
  const bool fair = !set.has("progress") || set.text("progress") == "fair";
  return fair ? scheduler::verdict::ok : scheduler::verdict::progress;
}

}  // namespace

HEDDLE_ZOO(run_crossed_calls,
           {.name = "zoo.crossed-calls",
            .summary = "a handler waits for the call of a wave that waits for its port",
            .parameters =
                {
                    parameter::number("waves", 2, 2, 2, "", "waves that call, and wait for each other"),
                    parameter::number("lanes", 1, 1, 1, "", "lanes of each wave"),
                    parameter::number("ports", 1, 1, rpc::max_ports, "", "ports between client and server"),
                    parameter::number("servers", 1, 1, 64, "", "host threads that serve"),
                    parameter::number("calls", 1, 1, 1, "", "calls that each lane makes"),
                    zoo::fixed(),
                },
            .expected = crossed_verdict});

}  // namespace heddle::tests
