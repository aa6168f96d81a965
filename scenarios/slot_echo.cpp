// Calls over slots: with an answer, and collected later.
#include "slots.h"

namespace heddle::tests {

// Every lane's value comes back changed through a slot; with enough slots, and with too few.
namespace {

template <typename Form>
struct slot_echo_kernel {
  rpc::slot_client<Form> client;
  callers who;
  bool until_idle;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      uint64_t answer = 0;
      const auto fill = [&](rpc::packet& line, uint32_t) { line.words[0] = id; };
      const auto use = [&](rpc::packet& line, uint32_t) { answer = line.words[0]; };
      // A wave without a slot does something else; here there is nothing else to do.
      while (!(until_idle ? client.invoke_until_idle(fill, use) : client.invoke(fill, use))) target::pause();
      HEDDLE_CHECK(answer == changed_by_operate(id), "the answer is not the one to this lane's request");
    }
  }
};

std::vector<parameter> echo_parameters(int64_t waves, int64_t lanes, int64_t slots, int64_t calls) {
  std::vector<parameter> all = slot_parameters(waves, lanes, slots, calls);
  all.push_back(parameter::one_of("ending", "early", {"early", "idle"},
                                  "a call gives its slot back with the answer, or when the server has cleared it"));
  return all;
}

struct nothing_more {
  HEDDLE_FUNCTION void operator()() const {}
};

struct slot_echo {
  template <typename Form>
  static void run(const parameters& set) {
    device on;
    if (is_left_out<Form>(on, set)) return;
    slot_test<Form> test(on, set);
    test.run(slot_echo_kernel<Form>{test.client(), test.who(), set.text("ending") == "idle"}, nothing_more{});
  }
};

void run_slot_echo(const parameters& set) { run_with_mailbox<slot_echo>(set); }
void run_slot_contended(const parameters& set) { run_with_mailbox<slot_echo>(set); }

}  // namespace

HEDDLE_SCENARIO(run_slot_echo, {.name = "slot.echo",
                                .summary = "every lane's value comes back changed through a slot",
                                .parameters = echo_parameters(2, 2, 4, 3),
                                .expected = needs_fair_slot_holders,
                                .proofs = {"waves=2 lanes=1 slots=1 calls=1"}});

HEDDLE_SCENARIO(run_slot_contended, {.name = "slot.contended",
                                     .summary = "more waves than slots: a wave that finds none tries again",
                                     .parameters = echo_parameters(3, 2, 2, 3),
                                     .expected = needs_fair_slot_holders});

// Asynchronous calls: their slots are collected by later calls and, in the end, by a kernel that does nothing else.
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
                                 .summary = "calls through slots without a wait for the answer",
                                 .parameters = slot_parameters(2, 2, 3, 4),
                                 .expected = needs_fair_slot_holders,
                                 .proofs = {"waves=2 lanes=1 slots=1 calls=1"}});

}  // namespace heddle::tests
