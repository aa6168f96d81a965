// Fire and forget: the client closes behind its send, and a kernel may end before its last requests are served.
#pragma once

#include "ports.h"

namespace heddle::tests {

inline constexpr uint16_t async_opcode = rpc::user_opcode(3);

template <typename Machine>
struct async_kernel {
  client_on<Machine> client;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      auto port = client.template open<async_opcode>();
      port.send([&](rpc::packet& to, uint32_t) { to.words[0] = who.request(call); });
    }
  }
};

template <typename ClientMachine, typename ServerMachine>
void run_async_on(const parameters& set) {
  device on;
  port_test test(on, set);
  test.run<ServerMachine>(
      async_kernel<ClientMachine>{test.client<ClientMachine>(), test.who()},
      [](auto& port, const auto& account) { port.recv([&](rpc::packet& from, uint32_t) { account(from.words[0]); }); },
      all_calls(set));
}

}  // namespace heddle::tests
