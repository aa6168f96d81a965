// The server receives less than the client sends, and closes: what the client sends next is taken for a new request. Smallest: 1 wave, 1
// port, 1 call of two packets.
//
// LLVM rpc.h of 2026 (from reading), where the count in the doorbell then gets one ring and two answers, wraps, and never lets the server
// sleep again. Each end counts its hand-overs here, and the count travels with the packet.
#include "one_server.h"

namespace heddle::tests {
namespace {

struct two_packets_kernel {
  client_on<target> client;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      auto port = client.open<echo_opcode>();
      port.send([&](rpc::packet& to, uint32_t) { to.words[0] = id; });
      port.send([&](rpc::packet& to, uint32_t) { to.words[0] = changed(id); });
    }
  }
};

void run_mirror_desync(const parameters& set) {
  device on;
  port_test test(on, set);
  test.run(
      two_packets_kernel{test.client(), test.who()},
      [receives_both = zoo::is_fixed(set)](auto& port, const auto& account) {
        port.recv([&](rpc::packet& from, uint32_t) { account(from.words[0]); });
        if (receives_both) port.recv([&](rpc::packet&, uint32_t) {});
      },
      all_calls(set));
}

scheduler::verdict mirror_verdict(const parameters& set) {
  if (zoo::is_fixed(set)) return needs_fair_clients(set);
  const scheduler::verdict sound = needs_fair_holders(set);
  return sound != scheduler::verdict::ok ? sound : scheduler::verdict::protocol;
}

}  // namespace

HEDDLE_ZOO(run_mirror_desync, {.name = "zoo.mirror-desync",
                               .summary = "the server closes before it has received all that its client sends",
                               .parameters = zoo::with_twin(port_parameters(1, 1, 1, 1)),
                               .expected = mirror_verdict});

}  // namespace heddle::tests
