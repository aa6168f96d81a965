// Calls that hand the packet over and back without data of the server's: where what the client writes next must come behind what the
// server read last.
#pragma once

#include "weakened.h"

namespace heddle::tests::zoo {

inline constexpr uint16_t twice_opcode = rpc::user_opcode(32);

/// Two sends through one port: for the second the server gives the packet back.
template <typename Machine>
struct sends_twice_kernel {
  rpc::basic_client<Machine, rpc::unchecked> client;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      auto port = client.template open<twice_opcode>();
      port.send([&](rpc::packet& to, uint32_t) { to.words[0] = who.request(call); });
      port.send([&](rpc::packet& to, uint32_t) { to.words[0] = ~uint64_t{who.request(call)}; });
    }
  }
};

/// Without the protocol's own checks, whose stamp would be what is found: each end reads it as soon as it has the packet.
template <typename ClientMachine, typename ServerMachine>
void run_sends_twice(const parameters& set) {
  device on;
  port_test test(on, set);
  test.run<ServerMachine, rpc::unchecked>(
      sends_twice_kernel<ClientMachine>{test.client<ClientMachine, rpc::unchecked>(), test.who()},
      [](auto& port, const auto& account) {
        uint64_t first[rpc::max_lanes] = {};
        port.recv([&](rpc::packet& from, uint32_t lane) { first[lane] = from.words[0]; });
        port.recv([&](rpc::packet& from, uint32_t lane) {
          HEDDLE_CHECK(from.words[0] == ~first[lane], "the two packets of a call do not belong together");
          account(first[lane]);
        });
      },
      all_calls(set));
}

}  // namespace heddle::tests::zoo
