// A test that passes because it tests nothing: it counts a call as done before it makes it, and looks at the answer of those that succeeded.
// None does. Smallest: 1 wave, 1 slot, 1 call.
//
// hostrpc's x64_x64_stress; reproduced on the original. What tells is an account of each request beside what the test says. The calls here
// fail because the test's clients have looked for a slot among none; the twin gives them some, tries again, and counts what was done.
#include "../slots.h"
#include "zoo.h"

namespace heddle::tests {
namespace {

/// A call is tried so often, by a wave that tries again.
struct stress_kernel {
  rpc::slot_client<rpc::bit_a_slot> client;
  callers who;
  uint32_t* done;
  bool counts_what_was_done;

  HEDDLE_FUNCTION bool call(uint64_t id) const {
    uint64_t answer = 0;
    const auto called = client.invoke([&](rpc::packet& line, uint32_t) { line.words[0] = id; },
                                      [&](rpc::packet& line, uint32_t) { answer = line.words[0]; });
    if (called) HEDDLE_CHECK(answer == changed_by_operate(id), "the answer is not the one to this lane's request");
    return called.made;
  }
  HEDDLE_FUNCTION void operator()() const {
    const target::atomic_ref<uint32_t, scope::device> count(*done);
    for (uint32_t n = 0; n < who.calls; ++n) {
      const uint64_t id = who.request(n);
      if (counts_what_was_done) {
        while (!call(id)) target::pause();
        count.fetch_add(1, memory_order::relaxed);
      } else {
        count.fetch_add(1, memory_order::relaxed);
        call(id);
      }
    }
  }
};

void run_stress(const parameters& set) {
  device on;
  const bool fixed = zoo::is_fixed(set);
  const rpc::slot_layout<rpc::bit_a_slot> shape{set.count("slots"), set.count("lanes")};
  auto* const memory = on.allocate_shared<unsigned char>(shape.size_bytes(), "slots");
  auto* const client_locks = on.allocate_device<uint32_t>(shape.own_words(), "client locks");
  auto* const server_locks = on.allocate_shared<uint32_t>(shape.own_words(), "server locks");
  auto* const stop = on.allocate_shared<uint32_t>(1, "stop flag");
  auto* const done = on.allocate_device<uint32_t>(1, "calls done");
  const uint64_t requests = all_calls(set);
  auto* const handled = on.allocate_shared<uint32_t>(requests, "handled requests");
  // The set-up leaves all slots locked: no call ever finds one.
  if (!fixed) {
    // The lowest of each slot's four bits.
    const std::vector<uint32_t> held(shape.last_own_index(), uint32_t{0x11111111});
    on.copy(client_locks, held.data(), held.size() * sizeof(uint32_t));
  }
  auto serving =
      on.spawn_host("server", [=, server = rpc::slot_server<rpc::bit_a_slot>(memory, server_locks, shape)]() mutable {
        while (true) {
          // Acquire pairs with main's release.
          const bool ends = shared_word<uint32_t>(*stop).load(memory_order::acquire) != 0;
          if (server.handle(
                  [=](rpc::packet& line, uint32_t) {
                    shared_word<uint32_t>(handled[line.words[0]]).fetch_add(1, memory_order::relaxed);
                    line.words[0] = changed_by_operate(line.words[0]);
                  },
                  [](rpc::packet&, uint32_t) {}))
            continue;
          if (ends) return;
          target::pause();
        }
      });
  on.launch({.blocks = 1, .waves = set.count("waves"), .lanes = set.count("lanes")},
            stress_kernel{{memory, client_locks, shape}, {set.count("lanes"), set.count("calls")}, done, fixed});
  on.synchronize();
  shared_word<uint32_t>(*stop).store(1, memory_order::release);
  serving.join();
  uint32_t counted = 0;
  on.copy(&counted, done, sizeof counted);
  HEDDLE_CHECK(counted == requests, "the test says that it has failed");
  // What the test does not ask.
  for (uint64_t id = 0; id < requests; ++id)
    if (shared_word<uint32_t>(handled[id]).load(memory_order::relaxed) != 1)
      target::trap(fault::protocol, "a request that counts as done was never handled");
}

scheduler::verdict_set stress_verdict(const parameters& set) {
  return zoo::is_fixed(set) ? needs_fair_slot_holders(set) : scheduler::verdict::protocol;
}

}  // namespace

HEDDLE_ZOO(run_stress, {.name = "zoo.vacuous-stress",
                        .summary = "a test counts calls before it makes them, and all of them fail",
                        .parameters = zoo::with_twin({
                            parameter::number("waves", 1, 1, 65536, "", "waves that call"),
                            parameter::number("lanes", 1, 1, 64, "", "lanes of each wave"),
                            parameter::number("slots", 1, 1, rpc::max_slots, "", "slots between client and server"),
                            parameter::number("servers", 1, 1, 1, "", "host threads that serve"),
                            parameter::number("calls", 2, 1, 100000, "", "calls that each lane makes"),
                        }),
                        .expected = stress_verdict});

}  // namespace heddle::tests
