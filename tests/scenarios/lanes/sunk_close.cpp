// Two branches open a port each, and the optimiser has made one of their two closes, behind both: whoever has the first port waits there
// for those who wait for it. (llvm-project #62386.) Smallest: 2 lanes, 1 port.
#include "../ports.h"
#include "lanes.h"

#include <new>

namespace heddle::tests::lanes {
namespace {

constexpr uint16_t sunk_opcode = rpc::user_opcode(31);

struct sunk_kernel {
  rpc::client client;
  callers who;

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
    } else {
      open = new (room) port(client.open<sunk_opcode>());
      ask(*open, who.request(0));
    }
    // Where the arms come together a GPU's compiler has the lanes wait for each other.
    target::sync_lanes(3);
    open->~port();
  }
};

void run_sunk_close(const parameters& set) {
  device on;
  port_test test(on, set);
  test.run(
      sunk_kernel{test.client(), test.who()},
      [](auto& port, const auto& account) {
        port.recv_and_send([&](rpc::packet& both, uint32_t) { account(both.words[0]); });
      },
      all_calls(set));
}

verdict verdict_of_sunk_close(const parameters& set) {
  return set.count("ports") < 2 ? verdict::deadlock : verdict::ok;
}

}  // namespace

HEDDLE_SCENARIO(run_sunk_close,
                {.name = "lanes.sunk-close",
                 .summary = "two branches open a port each, and close it together",
                 .parameters =
                     {
                         parameter::number("waves", 1, 1, 1, "", "waves that call"),
                         parameter::number("lanes", 2, 2, 2, "", "lanes of the wave"),
                         parameter::number("ports", 1, 1, rpc::max_ports, "", "ports between client and server"),
                         parameter::number("servers", 2, 2, 64, "", "host threads that serve"),
                         parameter::number("calls", 1, 1, 1, "", "calls that each lane makes"),
                     },
                 .expected = verdict_of_sunk_close});

}  // namespace heddle::tests::lanes
