// Some lanes of a wave call and others do not, another set each time; two branches call from two places.
#include "ports.h"

namespace heddle::tests {
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
        HEDDLE_CHECK(ask(id) == id + 1, "the left branch got somebody else's answer");
      } else if (mine == part::right) {
        HEDDLE_CHECK(ask(id) == id + 1, "the right branch got somebody else's answer");
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

}  // namespace heddle::tests
