// Two branches open a port each, and the optimiser has made one of their two closes, behind both: the lanes that have the first port wait there
// for those that wait for it.
//
// LLVM libc, llvm-project #62386 (fixed there by keeping such calls convergent). Written here as the optimiser left it; the twin closes in
// each branch. Smallest: 1 wave of 2 lanes, 1 port.
#include "../lanes/lanes.h"
#include "../ports.h"
#include "zoo.h"

#include <new>

namespace heddle::tests {
namespace {

constexpr uint16_t sunk_opcode = rpc::user_opcode(31);

struct sunk_kernel {
  rpc::client client;
  callers who;
  bool closes_in_each;

  using port = rpc::client::port;

  HEDDLE_FUNCTION static void ask(port& open, uint64_t request) {
    open.send_and_recv([request](rpc::packet& to, uint32_t) { to.words[0] = request; }, [](rpc::packet&, uint32_t) {});
  }

  HEDDLE_FUNCTION void operator()() const {
    alignas(port) unsigned char room[sizeof(port)];
    port* open = nullptr;
    if (target::lane_id() == 0) {
      open = new (room) port(client.open<sunk_opcode>());
      ask(*open, who.request(0));
      if (closes_in_each) open->~port();
    } else {
      open = new (room) port(client.open<sunk_opcode>());
      ask(*open, who.request(0));
      if (closes_in_each) open->~port();
    }
    // Where the arms come together a GPU's compiler has the lanes wait for each other.
    target::sync_lanes(3);
    if (!closes_in_each) open->~port();
  }
};

void run_sunk_close(const parameters& set) {
  device on;
  port_test test(on, set);
  test.run(
      sunk_kernel{test.client(), test.who(), zoo::is_fixed(set)},
      [](auto& port, const auto& account) {
        port.recv_and_send([&](rpc::packet& both, uint32_t) { account(both.words[0]); });
      },
      all_calls(set));
}

scheduler::verdict sunk_close_verdict(const parameters& set) {
  const bool hangs = !zoo::is_fixed(set) && set.count("ports") < 2;
  return hangs ? scheduler::verdict::deadlock : scheduler::verdict::ok;
}

std::vector<parameter> two_branches() {
  std::vector<parameter> all = zoo::with_twin({
      parameter::number("waves", 1, 1, 1, "", "waves that call"),
      parameter::number("lanes", 2, 2, 2, "", "lanes of the wave"),
      parameter::number("ports", 1, 1, rpc::max_ports, "", "ports between client and server"),
      parameter::number("servers", 2, 2, 64, "", "host threads that serve"),
      parameter::number("calls", 1, 1, 1, "", "calls that each lane makes"),
  });
  // The bug was met where a wave has one program counter; the barrier above has lanes of their own wait at the same place.
  all.push_back(
      parameter::one_of("convergence", "lockstep", {"independent", "lockstep"},
                        "whether the lanes of a wave are scheduled each on its own, or have one program counter"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_sunk_close, {.name = "zoo.sunk-close",
                            .summary = "two branches open a port each, and close it together",
                            .parameters = two_branches(),
                            .expected = sunk_close_verdict});

}  // namespace heddle::tests
