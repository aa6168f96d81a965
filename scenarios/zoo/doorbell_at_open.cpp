// The bell rings when a port is opened, and the packet is handed over when it has been filled. The server wakes, finds nothing, and polls
// for as long as that lasts. Smallest: 1 wave, 1 port, 1 call, a fill that is slow.
//
// LLVM rpc.h of 2026 rings at open (from reading). The twin rings behind the hand-over: a server that hears the ring finds the packet at once.
#include "one_server.h"

namespace heddle::tests {
namespace {

struct slow_kernel {
  client_on<target> client;
  callers who;
  doorbell* bell;
  uint32_t* work;  ///< a word for each wave, on the device
  uint32_t turns;
  bool rings_early;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      auto port = client.open<echo_opcode>();
      const bool is_first = target::is_first_lane(port.mask());
      if (is_first && rings_early) target::notify(*bell);
      for (uint32_t turn = 0; turn < turns; ++turn)
        if (is_first)
          target::atomic_ref<uint32_t, scope::device>(work[target::wave_id()]).fetch_add(1, memory_order::relaxed);
      port.send([&](rpc::packet& to, uint32_t) { to.words[0] = id; });
      if (is_first && !rings_early) target::notify(*bell);
      port.recv([&](rpc::packet&, uint32_t) {});
    }
  }
};

void run_bell_at_open(const parameters& set) {
  device on;
  port_test test(on, set);
  const uint32_t waves = set.count("waves");
  auto* const work = on.allocate_device<uint32_t>(size_t{waves} * set.count("lanes"), "work");
  auto serving = on.spawn_host("server", [server = test.server(0), account = test.requests(), bell = &test.bell(),
                                          stop = &test.stop_word(), bound = set.count("passes")]() mutable {
    doorbell served = 0;
    uint32_t empty_passes = 0;
    while (true) {
      const doorbell rings = shared_word<doorbell>(*bell).load(memory_order::acquire);
      if (shared_word<uint32_t>(*stop).load(memory_order::acquire) != 0) return;
      if (rings == served) {
        target::wait(*bell, rings, no_timeout);
        continue;
      }
      // As many calls as have been rung for: there is something to do, or there will be.
      if (auto port = server.try_open()) {
        port.recv_and_send([&](rpc::packet& both, uint32_t) { account(both.words[0]); });
        ++served;
        empty_passes = 0;
      } else {
        ++empty_passes;
        HEDDLE_CHECK(empty_passes <= bound, "a server that was woken polls in vain");
      }
    }
  });
  on.launch({.blocks = 1, .waves = waves, .lanes = set.count("lanes")},
            slow_kernel{test.client(), test.who(), &test.bell(), work, set.count("turns"), !zoo::is_fixed(set)});
  on.synchronize();
  // Release pairs with the server's acquire.
  shared_word<uint32_t>(test.stop_word()).store(1, memory_order::release);
  target::notify(test.bell());
  serving.join();
}

std::vector<parameter> slow_fill() {
  std::vector<parameter> all = zoo::ports_of_one_server(1, 1, 1, 1);
  all.push_back(parameter::number("turns", 64, 1, 1000000, "", "steps that a fill takes"));
  all.push_back(parameter::number("passes", 8, 1, 1000000, "", "passes in vain after which the server complains"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_bell_at_open, {.name = "zoo.doorbell-at-open",
                              .summary = "the bell rings at open, and the server polls until the packet is filled",
                              .parameters = slow_fill(),
                              .expected = zoo::planted_unless_fixed<scheduler::verdict::assertion>});

}  // namespace heddle::tests
