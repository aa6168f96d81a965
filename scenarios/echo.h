// A call that brings every lane's value back changed: the shape of most scenarios over ports.
#pragma once

#include "ports.h"

namespace heddle::tests {

inline constexpr uint16_t echo_opcode = rpc::user_opcode(1);

HEDDLE_FUNCTION constexpr uint64_t changed(uint64_t value) { return value * 3 + 1; }

template <typename Machine>
struct echo_kernel {
  client_on<Machine> client;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      uint64_t answer = 0;
      auto port = client.template open<echo_opcode>();
      port.send_and_recv([&](rpc::packet& to, uint32_t) { to.words[0] = id; },
                         [&](rpc::packet& from, uint32_t) { answer = from.words[0]; });
      HEDDLE_CHECK(answer == changed(id), "the answer is not the one to this lane's request");
    }
  }
};

template <typename ClientMachine, typename ServerMachine>
void run_echo_on(const port_counts& of, idle_server idle = {}) {
  device on;
  port_test test(on, of);
  test.run<ServerMachine>(
      echo_kernel<ClientMachine>{test.client<ClientMachine>(idle.sleeps ? idle.rings : rpc::ringing(false)),
                                 test.who()},
      [](auto& port, const auto& account) {
        HEDDLE_CHECK(port.opcode() == echo_opcode, "the opcode is not the one that the client opened");
        port.recv_and_send([&](rpc::packet& both, uint32_t) {
          account(both.words[0]);
          both.words[0] = changed(both.words[0]);
        });
      },
      of.requests(), idle);
}

inline void run_echo(const parameters& set) { run_echo_on<target, target>(set); }

}  // namespace heddle::tests
