// The count of open ports, by which the server knows whether it may sleep, is lowered by the client when it closes, and not by the server
// when it has served. A client that waits for no answer has closed before the server comes: the count is 0, and the server sleeps on what
// it has to do. Smallest: 1 wave, 1 port, 2 calls.
//
// LLVM #188067, #190814, #191226, on MI60 and MI100; the mechanism is from reading. In the twin the server lowers it.
#include "one_server.h"

namespace heddle::tests {
namespace {

using open_ports_word = target::atomic_ref<uint32_t, scope::system>;

/// Asynchronous calls.
struct counting_kernel {
  client_on<target> client;
  callers who;
  uint32_t* open_ports;
  doorbell* bell;
  bool lowers;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      uint64_t mask = 0;
      {
        auto port = client.open<echo_opcode>();
        mask = port.mask();
        if (target::is_first_lane(mask)) {
          // Relaxed: the ring releases it.
          open_ports_word(*open_ports).fetch_add(1, memory_order::relaxed);
          target::notify(*bell);
        }
        port.send([&](rpc::packet& to, uint32_t) { to.words[0] = id; });
      }
      if (lowers && target::is_first_lane(mask)) open_ports_word(*open_ports).fetch_sub(1, memory_order::relaxed);
    }
  }
};

void run_counted_by_client(const parameters& set) {
  device on;
  port_test test(on, set);
  auto* const open_ports = on.allocate_shared<uint32_t>(1, "open ports");
  const bool fixed = zoo::is_fixed(set);
  auto serving = on.spawn_host("server", [=, server = test.server(0), account = test.requests(), bell = &test.bell(),
                                          stop = &test.stop_word()]() mutable {
    while (true) {
      // Acquire pairs with the release of notify: a ring that is counted here has its port counted below.
      const doorbell rings = shared_word<doorbell>(*bell).load(memory_order::acquire);
      const bool last = shared_word<uint32_t>(*stop).load(memory_order::acquire) != 0;
      if (!last && open_ports_word(*open_ports).load(memory_order::relaxed) == 0) {
        target::wait(*bell, rings, no_timeout);
        continue;
      }
      bool found = false;
      if (auto port = server.try_open()) {
        found = true;
        port.recv([&](rpc::packet& from, uint32_t) { account(from.words[0]); });
      }
      if (found && fixed) open_ports_word(*open_ports).fetch_sub(1, memory_order::relaxed);
      if (found) continue;
      if (last) return;
      target::pause();
    }
  });
  on.launch({.blocks = 1, .waves = set.count("waves"), .lanes = set.count("lanes")},
            counting_kernel{test.client(), test.who(), open_ports, &test.bell(), !fixed});
  on.synchronize();
  // Release pairs with the server's acquire.
  shared_word<uint32_t>(test.stop_word()).store(1, memory_order::release);
  target::notify(test.bell());
  serving.join();
  test.check(all_calls(set));
}

scheduler::verdict counted_by_client_verdict(const parameters& set) {
  const scheduler::verdict sound = needs_fair_holders(set);
  // A client waits for a port that the server has not given back only when there are fewer ports than calls.
  const bool waits = all_calls(set) > set.count("ports");
  return zoo::is_fixed(set) || sound != scheduler::verdict::ok || !waits ? sound : scheduler::verdict::deadlock;
}

}  // namespace

HEDDLE_ZOO(run_counted_by_client, {.name = "zoo.doorbell-counted-by-client",
                                   .summary = "a client lowers the count of open ports before it is served",
                                   .parameters = zoo::ports_of_one_server(1, 1, 1, 2),
                                   .expected = counted_by_client_verdict});

}  // namespace heddle::tests
