// Fire and forget: the client closes behind its send, and a kernel may end before its last requests are served.
#include "ports.h"

namespace heddle::tests {
namespace {

constexpr uint16_t async_opcode = rpc::user_opcode(3);

struct async_kernel {
  rpc::client client;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      auto port = client.open<async_opcode>();
      port.send([&](rpc::packet& to, uint32_t) { to.words[0] = who.request(call); });
    }
  }
};

void run_async(const parameters& set) {
  device on;
  port_test test(on, set);
  test.run(
      async_kernel{test.client(), test.who()},
      [](auto& port, const auto& account) { port.recv([&](rpc::packet& from, uint32_t) { account(from.words[0]); }); },
      all_calls(set));
}

}  // namespace

HEDDLE_SCENARIO(run_async, {.name = "port.async",
                            .summary = "calls that nobody waits for, all served in the end",
                            .parameters = port_parameters(2, 2, 3, 6),
                            .expected = needs_fair_holders});

}  // namespace heddle::tests
