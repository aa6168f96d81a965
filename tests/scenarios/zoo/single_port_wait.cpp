// One port for all waves: a wave waits for a port that is held by a wave that may never get a turn.
//
// LLVM D149598 and commit aea866c1 gave every wave a port of its own for this reason. Smallest: 2 waves, 1 port.
#include "../ports.h"

namespace heddle::tests {
namespace {

constexpr uint16_t wait_opcode = rpc::user_opcode(20);

struct single_port_kernel {
  rpc::client client;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      uint64_t answer = 0;
      auto port = client.open<wait_opcode>();
      port.send_and_recv([&](rpc::packet& to, uint32_t) { to.words[0] = id; },
                         [&](rpc::packet& from, uint32_t) { answer = from.words[0]; });
      HEDDLE_CHECK(answer == id + 1, "the answer is not the one to this lane's request");
    }
  }
};

void run_single_port_wait(const parameters& set) {
  device on;
  port_test test(on, set);
  test.run(
      single_port_kernel{test.client(), test.who()},
      [](auto& port, const auto& account) {
        port.recv_and_send([&](rpc::packet& both, uint32_t) {
          account(both.words[0]);
          ++both.words[0];
        });
      },
      all_calls(set));
}

std::vector<parameter> hangs_by_default() {
  std::vector<parameter> all = port_parameters(2, 1, 1, 1);
  // The machine's own default is kinder.
  all.push_back(
      parameter::one_of("progress", "hsa", {"fair", "unfair", "hsa", "obe"},
                        "which waves are guaranteed a turn: all, none, the lowest, or those that have stepped"));
  return all;
}

}  // namespace

HEDDLE_SCENARIO(run_single_port_wait, {.name = "zoo.single-port-wait",
                                       .summary = "one port for all waves; its holder may never get a turn",
                                       .parameters = hangs_by_default(),
                                       .expected = needs_fair_holders});

}  // namespace heddle::tests
