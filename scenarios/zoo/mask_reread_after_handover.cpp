// A client that streams reads the mask of its lanes back from the port's header, in host memory, when it has given the packet away: header
// and packet are the server's then. Smallest: 1 wave, 1 port, 1 call of two packets.
//
// LLVM rpc.h of 2026 (from reading). No value is wrong as long as servers leave the mask alone; each access to shared data checks here
// which side owns it. The twin has kept the mask.
#include "one_server.h"

namespace heddle::tests {
namespace {

struct rereading_kernel {
  client_on<target> client;
  rpc::process<target, rpc::side::client, rpc::checking> end;
  callers who;
  bool keeps;

  HEDDLE_FUNCTION uint64_t mask_of_header(uint32_t port) const {
    const auto boxes = end.boxes();
    rpc::require<target, rpc::checking>(boxes.owns(boxes.load_inbox(port), boxes.load_outbox(port)),
                                        "a header is read by the end that does not own it");
    return end.header_of(port).mask;
  }

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      auto port = client.open<echo_opcode>();
      const uint64_t kept = port.mask();
      port.send([&](rpc::packet& to, uint32_t) { to.words[0] = id; });
      const uint64_t mask = keeps ? kept : mask_of_header(port.index());
      port.send([&](rpc::packet& to, uint32_t) { to.words[0] = mask; });
    }
  }
};

void run_reread(const parameters& set) {
  device on;
  port_test test(on, set);
  // This view locks nothing.
  const rpc::process<target, rpc::side::client, rpc::checking> end(test.memory(), nullptr, test.shape());
  test.run(
      rereading_kernel{test.client(), end, test.who(), zoo::is_fixed(set)},
      [](auto& port, const auto& account) {
        port.recv([&](rpc::packet& from, uint32_t) { account(from.words[0]); });
        port.recv([&](rpc::packet& from, uint32_t) {
          HEDDLE_CHECK(from.words[0] == port.mask(), "the mask is not that of the port");
        });
      },
      all_calls(set));
}

scheduler::verdict reread_verdict(const parameters& set) {
  if (zoo::is_fixed(set)) return needs_fair_clients(set);
  const scheduler::verdict sound = needs_fair_holders(set);
  return sound != scheduler::verdict::ok ? sound : scheduler::verdict::protocol;
}

}  // namespace

HEDDLE_ZOO(run_reread, {.name = "zoo.mask-reread-after-handover",
                        .summary = "a client reads its mask back from a header that it has given away",
                        .parameters = zoo::with_twin(port_parameters(1, 1, 1, 1)),
                        .expected = reread_verdict});

}  // namespace heddle::tests
