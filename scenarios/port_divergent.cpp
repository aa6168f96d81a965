// Lanes of one wave that call in different arms, and by different opcodes.
#include "ports.h"

namespace heddle::tests {

// Some lanes of a wave call and others do not, another set each time; two branches call from two places.
namespace {

constexpr uint16_t divergent_opcode = rpc::user_opcode(4);

enum class part : uint8_t { none, left, right };

HEDDLE_FUNCTION constexpr part part_of(uint32_t number, uint32_t call) {
  constexpr part turns[] = {part::left, part::none, part::right, part::left, part::right};
  return turns[(number * 2 + call) % 5];
}

struct divergent_kernel {
  rpc::client client;
  callers who;

  HEDDLE_FUNCTION uint64_t ask(uint64_t question) const {
    uint64_t answer = 0;
    auto port = client.open<divergent_opcode>();
    port.send_and_recv([&](rpc::packet& to, uint32_t) { to.words[0] = question; },
                       [&](rpc::packet& from, uint32_t) { answer = from.words[0]; });
    return answer;
  }

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      const part mine = part_of(who.number(), call);
      if (mine == part::left) {
        HEDDLE_CHECK(ask(id) == id + 1, "the left branch got the answer to another call");
      } else if (mine == part::right) {
        HEDDLE_CHECK(ask(id) == id + 1, "the right branch got the answer to another call");
      }
    }
  }
};

void run_divergent(const parameters& set) {
  device on;
  port_test test(on, set);
  uint64_t expected = 0;
  for (uint32_t number = 0; number < set.count("waves") * set.count("lanes"); ++number)
    for (uint32_t call = 0; call < set.count("calls"); ++call)
      if (part_of(number, call) != part::none) ++expected;
  test.run(
      divergent_kernel{test.client(), test.who()},
      [](auto& port, const auto& account) {
        port.recv_and_send([&](rpc::packet& both, uint32_t) {
          account(both.words[0]);
          ++both.words[0];
        });
      },
      expected);
}

}  // namespace

HEDDLE_SCENARIO(run_divergent, {.name = "port.divergent",
                                .summary = "some lanes call and others do not, from two branches",
                                .parameters = port_parameters(2, 4, 3, 4),
                                .expected = needs_fair_holders});

// Lanes of one wave ask for different things: several opcodes under way at a time, synchronous and not.
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
                     "an opcode that was never sent");
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
