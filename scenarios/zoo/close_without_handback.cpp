// The server gives the packet back when it closes only if its last operation was a receive. A port whose opcode the server does not know is closed
// without one: it stays the server's, is found ready again, and is opened and closed for ever. Smallest: 1 wave, 1 port, 1 call.
//
// LLVM rpc.h of 2023 (the effect is from reading). The twin gives back whatever it owns, as ports do here.
#include "one_server.h"

namespace heddle::tests {
namespace {

inline constexpr uint16_t opcode_of_nobody = rpc::user_opcode(2);

/// The first call is one that the server does not know. None waits for an answer.
struct unknown_kernel {
  client_on<target> client;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      const auto fill = [&](rpc::packet& to, uint32_t) { to.words[0] = id; };
      if (call == 0) {
        auto port = client.open<opcode_of_nobody>();
        port.send(fill);
      } else {
        auto port = client.open<echo_opcode>();
        port.send(fill);
      }
    }
  }
};

/// One pass over the ports by a server whose close may keep the packet. Returns whether there was one to open.
struct keeping_server {
  rpc::process<target, rpc::side::server, rpc::checking> end;
  port_test::account account;
  bool gives_back_unread;

  bool serve() const {
    const auto boxes = end.boxes();
    bool found = false;
    for (uint32_t port = 0; port < end.port_count(); ++port) {
      if (!boxes.owns(boxes.load_inbox(port), boxes.load_outbox(port)) || !end.locks().try_lock(port)) continue;
      found = true;
      boxes.acquire(port);
      const bool received = end.header_of(port).opcode == echo_opcode;
      if (received)
        for (uint64_t left = end.header_of(port).mask; left != 0; left &= left - 1)
          account(end.packet_of(port, zoo::lowest_bit(left)).words[0]);
      if (received || gives_back_unread) boxes.hand_over(port, boxes.load_outbox(port));
      end.locks().unlock(port);
    }
    return found;
  }
};

void run_keeping(const parameters& set) {
  device on;
  port_test test(on, set);
  const keeping_server server{{test.memory(), test.server_locks(), test.shape()}, test.requests(), zoo::is_fixed(set)};
  auto serving = on.spawn_host("server", [server, stop = &test.stop_word()] {
    while (true) {
      const bool last = shared_word<uint32_t>(*stop).load(memory_order::acquire) != 0;
      if (server.serve()) continue;
      if (last) return;
      target::pause();
    }
  });
  on.launch({.blocks = 1, .waves = set.count("waves"), .lanes = set.count("lanes")},
            unknown_kernel{test.client(), test.who()});
  on.synchronize();
  // Release pairs with the server's acquire.
  shared_word<uint32_t>(test.stop_word()).store(1, memory_order::release);
  serving.join();
  test.check(all_calls(set) - uint64_t{set.count("waves")} * set.count("lanes"));
}

std::vector<parameter> little_budget() {
  std::vector<parameter> all = zoo::ports_of_one_server(1, 1, 1, 2);
  all.push_back(parameter::number("budget", 4000, 100, int64_t{1} << 40, "steps",
                                  "steps before only guaranteed waves run; as many again and the run is inconclusive"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_keeping, {.name = "zoo.close-without-handback",
                         .summary = "a port that was not read is not given back, and is opened again for ever",
                         .parameters = little_budget(),
                         .expected = zoo::planted_unless_fixed<scheduler::verdict::livelock>});

}  // namespace heddle::tests
