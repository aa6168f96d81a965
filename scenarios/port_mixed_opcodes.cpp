// Lanes of one wave ask for different things: several opcodes under way at a time, synchronous and not.
#include "ports.h"

namespace heddle::tests {
namespace {

constexpr uint16_t add_opcode = rpc::user_opcode(5);
constexpr uint16_t negate_opcode = rpc::user_opcode(6);
constexpr uint16_t tell_opcode = rpc::user_opcode(7);

struct mixed_kernel {
  rpc::client client;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      const auto ask = [&](rpc::packet& to, uint32_t) {
        to.words[0] = id;
        to.words[1] = id + 5;
      };
      uint64_t answer = 0;
      const auto hear = [&](rpc::packet& from, uint32_t) { answer = from.words[0]; };
      switch ((who.number() + call) % 3) {
        case 0: {
          auto port = client.open<add_opcode>();
          port.send_and_recv(ask, hear);
          HEDDLE_CHECK(answer == 2 * id + 5, "add was answered with something else");
          break;
        }
        case 1: {
          auto port = client.open<negate_opcode>();
          port.send_and_recv(ask, hear);
          HEDDLE_CHECK(answer == ~id, "negate was answered with something else");
          break;
        }
        default: {
          auto port = client.open<tell_opcode>();
          port.send(ask);
          break;
        }
      }
    }
  }
};

void run_mixed(const parameters& set) {
  device on;
  port_test test(on, set);
  test.run(
      mixed_kernel{test.client(), test.who()},
      [](auto& port, const auto& account) {
        const uint16_t opcode = port.opcode();
        HEDDLE_CHECK(opcode == add_opcode || opcode == negate_opcode || opcode == tell_opcode,
                     "an opcode that nobody sent");
        port.recv([&](rpc::packet& from, uint32_t) { account(from.words[0]); });
        if (opcode == tell_opcode) return;
        port.send([&](rpc::packet& to, uint32_t) {
          to.words[0] = opcode == add_opcode ? to.words[0] + to.words[1] : ~to.words[0];
        });
      },
      all_calls(set));
}

}  // namespace

HEDDLE_SCENARIO(run_mixed, {.name = "port.mixed-opcodes",
                            .summary = "lanes of one wave ask for different things at a time",
                            .parameters = port_parameters(2, 3, 3, 4),
                            .expected = needs_fair_holders});

}  // namespace heddle::tests
