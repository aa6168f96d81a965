// Every lane's value comes back changed through a slot; with enough slots, and with too few.
#include "slots.h"

namespace heddle::tests {
namespace {

template <typename Form>
struct slot_echo_kernel {
  rpc::slot_client<Form> client;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      uint64_t answer = 0;
      // Whoever has no slot does something else; here there is nothing else to do.
      while (!client.invoke([&](rpc::packet& line, uint32_t) { line.words[0] = id; },
                            [&](rpc::packet& line, uint32_t) { answer = line.words[0]; }))
        target::pause();
      HEDDLE_CHECK(answer == changed_by_operate(id), "the answer is not the one to this lane's request");
    }
  }
};

struct nothing_more {
  HEDDLE_FUNCTION void operator()() const {}
};

struct slot_echo {
  template <typename Form>
  static void run(const parameters& set) {
    device on;
    slot_test<Form> test(on, set);
    test.run(slot_echo_kernel<Form>{test.client(), test.who()}, nothing_more{});
  }
};

void run_slot_echo(const parameters& set) { run_with_mailbox<slot_echo>(set); }
void run_slot_contended(const parameters& set) { run_with_mailbox<slot_echo>(set); }

}  // namespace

HEDDLE_SCENARIO(run_slot_echo, {.name = "slot.echo",
                                .summary = "every lane's value comes back changed through a slot",
                                .parameters = slot_parameters(2, 2, 4, 3),
                                .expected = needs_fair_slot_holders});

HEDDLE_SCENARIO(run_slot_contended, {.name = "slot.contended",
                                     .summary = "more waves than slots: who finds none tries again",
                                     .parameters = slot_parameters(3, 2, 2, 3),
                                     .expected = needs_fair_slot_holders});

}  // namespace heddle::tests
