// Asynchronous calls: their slots are collected by later calls and, in the end, by a kernel that does nothing else.
#include "slots.h"

namespace heddle::tests {
namespace {

template <typename Form>
struct slot_async_kernel {
  rpc::slot_client<Form> client;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call)
      while (!client.invoke([&](rpc::packet& line, uint32_t) { line.words[0] = who.request(call); })) target::pause();
  }
};

/// Waits until every call has been served and its slot cleared.
template <typename Form>
struct collector {
  rpc::slot_client<Form> client;

  HEDDLE_FUNCTION void operator()() const {
    while (!client.all_idle()) {
      client.collect();
      target::pause();
    }
  }
};

struct slot_async {
  template <typename Form>
  static void run(const parameters& set) {
    device on;
    if (is_left_out<Form>(on, set)) return;
    slot_test<Form> test(on, set);
    test.run(slot_async_kernel<Form>{test.client(), test.who()}, collector<Form>{test.client()});
  }
};

void run_slot_async(const parameters& set) { run_with_mailbox<slot_async>(set); }

}  // namespace

HEDDLE_SCENARIO(run_slot_async, {.name = "slot.async",
                                 .summary = "calls through slots that nobody waits for",
                                 .parameters = slot_parameters(2, 2, 3, 4),
                                 .expected = needs_fair_slot_holders,
                                 .proofs = {"waves=2 lanes=1 slots=1 calls=1"}});

}  // namespace heddle::tests
