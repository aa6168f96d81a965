// Doorbells of ports that ring too early, are counted by the wrong end, or have no mailbox.
#include "one_server.h"

namespace heddle::tests {

// The bell rings when a port is opened, and the packet is handed over when it has been filled. The server wakes, finds nothing, and polls
// for as long as that lasts. Smallest: 1 wave, 1 port, 1 call, a fill that is slow.
//
// LLVM rpc.h of 2026 rings at open (from reading). The twin rings behind the hand-over: a server that hears the ring finds the packet at once.
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

// The count of open ports, by which the server knows whether it may sleep, is lowered by the client when it closes, and not by the server
// when it has served. A client that waits for no answer has closed before the server comes: the count is 0, and the server sleeps on what
// it has to do. Smallest: 1 wave, 1 port, 2 calls.
//
// LLVM #188067, #190814, #191226, on MI60 and MI100; the mechanism is from reading. In the twin the server lowers it.
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
  if (is_left_out<words_of_both_sides>(on, set)) return;
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

// A doorbell as HSA's signals: a count, and for the kinds that interrupt the host, a mailbox to which each ring stores an event. Two faults
// of ringing one that has no mailbox. Smallest: 1 wave, 1 port, 1 call.
//
// LLVM #214037. null-mailbox: the ring stores to address 0. null-mailbox-uncounted: the guard that mended it had the count inside too, so
// that a server that only polls is never told; here of two devices, one whose doorbell interrupts and one whose does not, the second is
// passed over for as long as the first has work.
namespace {

using scheduler::verdict;

enum class ringing : uint8_t { guarded, unguarded, all_guarded };

struct hsa_doorbell {
  uint64_t count;
  uint64_t* mailbox;  ///< none where no thread is interrupted
  uint64_t event;
};

using hsa_word = target::atomic_ref<uint64_t, scope::system>;

HEDDLE_FUNCTION inline void ring_hsa(hsa_doorbell& bell, ringing how) {
  if (how == ringing::all_guarded && bell.mailbox == nullptr) return;
  // Release pairs with the acquire of the poll of the count: what was sent before is found.
  hsa_word(bell.count).fetch_add(1, memory_order::release);
  if (how == ringing::unguarded || bell.mailbox != nullptr)
    hsa_word(*bell.mailbox).store(bell.event, memory_order::release);
}

// -- a store to address 0 --------------------------------------------------------------------------------------------------------

struct ringing_kernel {
  client_on<target> client;
  callers who;
  hsa_doorbell* bell;
  ringing how;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      uint64_t answer = 0;
      auto port = client.open<echo_opcode>();
      port.send([&](rpc::packet& to, uint32_t) { to.words[0] = id; });
      if (target::is_first_lane(port.mask())) ring_hsa(*bell, how);
      port.recv([&](rpc::packet& from, uint32_t) { answer = from.words[0]; });
      HEDDLE_CHECK(answer == changed(id), "the answer is not the one to this lane's request");
    }
  }
};

void run_null_mailbox(const parameters& set) {
  device on;
  port_test test(on, set);
  auto* const bell = on.allocate_shared<hsa_doorbell>(1, "doorbell");
  auto serving = on.spawn_host(
      "server", [=, server = test.server(0), account = test.requests(), stop = &test.stop_word()]() mutable {
        uint64_t seen = 0;
        while (true) {
          const bool last = shared_word<uint32_t>(*stop).load(memory_order::acquire) != 0;
          const uint64_t rings = hsa_word(bell->count).load(memory_order::acquire);
          if (!last && rings == seen) {
            target::pause();
            continue;
          }
          seen = rings;
          bool found = false;
          do {
            auto port = server.try_open();
            found = static_cast<bool>(port);
            if (found)
              port.recv_and_send([&](rpc::packet& both, uint32_t) {
                account(both.words[0]);
                both.words[0] = changed(both.words[0]);
              });
          } while (found);
          if (last) return;
        }
      });
  on.launch(
      {.blocks = 1, .waves = set.count("waves"), .lanes = set.count("lanes")},
      ringing_kernel{test.client(), test.who(), bell, zoo::is_fixed(set) ? ringing::guarded : ringing::unguarded});
  on.synchronize();
  // Release pairs with the server's acquire.
  shared_word<uint32_t>(test.stop_word()).store(1, memory_order::release);
  serving.join();
  test.check(all_calls(set));
}

// -- a count that is not kept ----------------------------------------------------------------------------------------------------

/// Two callers whose requests and answers are bits of two words. The first goes on until the second has been answered.
struct devices_kernel {
  hsa_doorbell* bells;
  uint32_t* requests;
  uint32_t* answers;
  uint32_t* second_is_done;
  ringing how;

  HEDDLE_FUNCTION void call(uint32_t me) const {
    const uint32_t bit = uint32_t{1} << me;
    shared_word<uint32_t>(*requests).fetch_or(bit, memory_order::release);
    ring_hsa(bells[me], how);
    // Acquire pairs with the server's release.
    while ((shared_word<uint32_t>(*answers).load(memory_order::acquire) & bit) == 0) target::pause();
    shared_word<uint32_t>(*answers).fetch_and(~bit, memory_order::release);
  }
  HEDDLE_FUNCTION void operator()() const {
    const uint32_t me = target::wave_id();
    do {
      call(me);
    } while (me == 0 && shared_word<uint32_t>(*second_is_done).load(memory_order::acquire) == 0);
    if (me == 1) shared_word<uint32_t>(*second_is_done).store(1, memory_order::release);
  }
};

void run_uncounted(const parameters& set) {
  device on;
  if (is_left_out<words_of_both_sides>(on, set)) return;
  auto* const bells = on.allocate_shared<hsa_doorbell>(2, "doorbells");
  auto* const words = on.allocate_shared<uint32_t>(4, "requests, answers, done, stop");
  bells[0].mailbox = on.allocate_shared<uint64_t>(1, "mailbox");
  auto serving = on.spawn_host("server", [=] {
    uint64_t seen[2] = {};
    // Acquire pairs with main's release.
    while (shared_word<uint32_t>(words[3]).load(memory_order::acquire) == 0) {
      bool found = false;
      for (uint32_t n = 0; n < 2; ++n) {
        const uint64_t rings = hsa_word(bells[n].count).load(memory_order::acquire);
        if (rings == seen[n]) continue;
        seen[n] = rings;
        found = true;
        const uint32_t bit = uint32_t{1} << n;
        if ((shared_word<uint32_t>(words[0]).fetch_and(~bit, memory_order::acquire) & bit) != 0)
          shared_word<uint32_t>(words[1]).fetch_or(bit, memory_order::release);
      }
      if (!found) target::pause();
    }
  });
  on.launch({.blocks = 1, .waves = 2, .lanes = 1},
            devices_kernel{bells, &words[0], &words[1], &words[2],
                           zoo::is_fixed(set) ? ringing::guarded : ringing::all_guarded});
  on.synchronize();
  shared_word<uint32_t>(words[3]).store(1, memory_order::release);
  serving.join();
}

verdict uncounted_verdict(const parameters& set) { return zoo::is_fixed(set) ? verdict::ok : verdict::starvation; }

std::vector<parameter> uncounted_parameters() {
  std::vector<parameter> all = zoo::with_twin({});
  // Under the others the wave that has the server may never have a turn again, which is another hang.
  all.push_back(parameter::one_of("progress", "fair", {"fair", "obe", "hsa_obe", "lobe", "slots", "cuda"},
                                  "which waves are guaranteed a turn; each model is explained in docs/simulator.md"));
  all.push_back(
      // A scheduler that favours a lane passes another over a few dozen times on its own.
      parameter::number("starvation", 100, 64, 200, "",
                        "how often a lane that waits may be passed over before that is a verdict; 0: as often "
                        "as it comes"));
  // The first goes on for as long as a schedule leaves the second out.
  all.push_back(parameter::number("budget", 4000, 100, int64_t{1} << 40, "steps",
                                  "steps before only guaranteed waves run; as many again and the run is inconclusive"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_null_mailbox, {.name = "zoo.null-mailbox",
                              .summary = "a ring stores to the mailbox of a doorbell that has none",
                              .parameters = zoo::ports_of_one_server(1, 1, 1, 1),
                              .expected = zoo::planted_unless_fixed<verdict::memory>});

HEDDLE_ZOO(run_uncounted, {.name = "zoo.null-mailbox-uncounted",
                           .summary = "a doorbell without a mailbox does not count, and what polls it is not told",
                           .parameters = uncounted_parameters(),
                           .expected = uncounted_verdict});

}  // namespace heddle::tests
