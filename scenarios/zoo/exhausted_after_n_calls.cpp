// A call gives its slot back without having acknowledged the answer: the server never clears it, and it is never idle again. After one call
// for each slot every call fails. Smallest: 1 wave, 1 slot, 2 calls.
//
// hostrpc 143207c, with a warning in 81c9ed2; reproduced on the original. Calls that fail are no fault to their caller, which may try again:
// what tells is that the slots are not idle in the end.
#include "../slots.h"
#include "zoo.h"

namespace heddle::tests {
namespace {

/// The client's mailboxes: it posts requests, and acknowledges nothing.
struct never_acknowledged : rpc::bit_a_slot {
  template <typename Word>
  HEDDLE_FUNCTION static void post(const Word& word, uint32_t slot, bool value) {
    if (value) rpc::bit_a_slot::post(word, slot, value);
  }
};

template <typename Form>
struct once_only_kernel {
  rpc::basic_slot_client<target, Form, rpc::checking> client;
  callers who;
  uint32_t* made;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      uint64_t answer = 0;
      const auto called = client.invoke([&](rpc::packet& line, uint32_t) { line.words[0] = id; },
                                        [&](rpc::packet& line, uint32_t) { answer = line.words[0]; });
      if (!called) continue;
      HEDDLE_CHECK(answer == changed_by_operate(id), "the answer is not the one to this lane's request");
      target::atomic_ref<uint32_t, scope::device>(*made).fetch_add(1, memory_order::relaxed);
    }
  }
};

template <typename Form>
void run_exhausted_on(const parameters& set) {
  device on;
  const rpc::slot_layout<rpc::bit_a_slot> shape{set.count("slots"), set.count("lanes")};
  auto* const memory = on.allocate_shared<unsigned char>(shape.size_bytes(), "slots");
  auto* const client_locks = on.allocate_device<uint32_t>(shape.own_words(), "client locks");
  auto* const server_locks = on.allocate_shared<uint32_t>(shape.own_words(), "server locks");
  auto* const stop = on.allocate_shared<uint32_t>(1, "stop flag");
  auto* const made = on.allocate_device<uint32_t>(1, "calls that were made");
  const rpc::slot_server<rpc::bit_a_slot> at(memory, server_locks, shape);
  auto serving = on.spawn_host("server", [=, server = at]() mutable {
    while (true) {
      // Acquire pairs with main's release.
      const bool ends = shared_word<uint32_t>(*stop).load(memory_order::acquire) != 0;
      if (server.handle([](rpc::packet& line, uint32_t) { line.words[0] = changed_by_operate(line.words[0]); },
                        [](rpc::packet& line, uint32_t) { line.words[0] = cleared_line; }))
        continue;
      if (ends) return;
      target::pause();
    }
  });
  on.launch({.blocks = 1, .waves = set.count("waves"), .lanes = set.count("lanes")},
            once_only_kernel<Form>{
                {memory, client_locks, {shape.slots, shape.lanes}}, {set.count("lanes"), set.count("calls")}, made});
  on.synchronize();
  shared_word<uint32_t>(*stop).store(1, memory_order::release);
  serving.join();
  uint32_t calls = 0;
  on.copy(&calls, made, sizeof calls);
  HEDDLE_CHECK(calls != 0, "no call was made");
  if (!at.all_idle()) target::trap(fault::protocol, "a slot is not given back in the end");
}

void run_exhausted(const parameters& set) {
  if (zoo::is_fixed(set)) return run_exhausted_on<rpc::bit_a_slot>(set);
  run_exhausted_on<never_acknowledged>(set);
}

scheduler::verdict exhausted_verdict(const parameters& set) {
  return zoo::is_fixed(set) ? scheduler::verdict::ok : scheduler::verdict::protocol;
}

}  // namespace

HEDDLE_ZOO(run_exhausted, {.name = "zoo.exhausted-after-n-calls",
                           .summary = "a call gives its slot back and has not acknowledged the answer",
                           .parameters = zoo::with_twin({
                               parameter::number("waves", 1, 1, 65536, "", "waves that call"),
                               parameter::number("lanes", 1, 1, 64, "", "lanes of each wave"),
                               parameter::number("slots", 1, 1, rpc::max_slots, "", "slots between client and server"),
                               parameter::number("calls", 3, 1, 100000, "", "calls that each lane tries"),
                           }),
                           .expected = exhausted_verdict});

}  // namespace heddle::tests
