// A host that stops while kernels call it, also without end: each call is answered, or its lane is told that it was not; no call is
// half done. And a host whose handlers throw: no lane takes its own request for an answer, and none waits for ever.
#include "services.h"

namespace heddle::tests {
namespace {

struct stopped_kernel {
  rpc::service_client host;
  callers who;
  uint32_t* answered;  ///< by request; in shared memory

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      const auto given = host.call<uint64_t(uint64_t)>(account_call, id);
      // A port that has ended says nothing of the others: a later call may be answered all the same.
      HEDDLE_CHECK(given.ok() || given.answer.status == rpc::service_status::ended, "a call fails for another reason");
      if (!given.ok()) continue;
      HEDDLE_CHECK(given.result == ~id, "the answer is not the one to this lane's request");
      // Relaxed: read when the launch has ended.
      shared_word<uint32_t>(answered[id]).store(1, memory_order::relaxed);
    }
  }
};

struct complement {
  request_account account;
  uint64_t operator()(uint64_t id) const {
    account.count(id);
    return ~id;
  }
};

void run_service_stop(const parameters& set) {
  device on;
  const request_account account = make_account(on, set);
  auto* const answered = on.allocate_shared<uint32_t>(account.requests, "answered requests");
  {
    rpc::service host(on, shape_of(set));
    name_ports_of(host);
    host.add<uint64_t(uint64_t)>(account_call, complement{account}).value();
    host.start();
    on.launch({.waves = set.count("waves"), .lanes = set.count("lanes")},
              stopped_kernel{host.client(), {set.count("lanes"), set.count("calls")}, answered});
    for (uint32_t n = 0; n < set.count("after"); ++n) target::pause();
    host.stop();
    on.synchronize();
  }
  for (uint64_t id = 0; id < account.requests; ++id)
    HEDDLE_CHECK(account.count_of(id) == shared_word<uint32_t>(answered[id]).load(memory_order::relaxed),
                 "a request was carried out and not answered, or answered and not carried out");
}

// -- stop-under-load ------------------------------------------------------------------------------------------------------------

/// Calls until it is told that the host has ended, as the manual says that a kernel may learn of a stop.
struct tireless_kernel {
  rpc::service_client host;
  callers who;
  uint32_t* answered;  ///< by lane, odd or even; in shared memory

  HEDDLE_FUNCTION void operator()() const {
    const uint64_t number = who.number();
    uint32_t odd = 0;
    // A call without end is not counted: that would make each of them another state of the run.
    const bool has_end = who.calls != 0;
    for (uint32_t left = who.calls; !has_end || left != 0; left -= has_end ? 1 : 0) {
      const auto given = host.call<uint64_t(uint64_t)>(account_call, number);
      if (!given.ok()) {
        HEDDLE_CHECK(given.answer.status == rpc::service_status::ended, "a call fails for another reason");
        break;
      }
      HEDDLE_CHECK(given.result == ~number, "the answer is not the one to this lane's request");
      odd ^= 1;
    }
    // Relaxed: read when the launch has ended.
    shared_word<uint32_t>(answered[number]).store(odd, memory_order::relaxed);
  }
};

void run_stop_under_load(const parameters& set) {
  device on;
  const uint32_t callers_all = set.count("waves") * set.count("lanes");
  auto* const handled = on.allocate_shared<uint32_t>(callers_all, "handled, odd or even");
  auto* const answered = on.allocate_shared<uint32_t>(callers_all, "answered, odd or even");
  {
    rpc::service_shape shape = shape_of(set);
    // What is counted, and what rings, never comes back to the state that it was in: no proof would end.
    shape.counts = false;
    shape.rings = false;
    rpc::service host(on, shape);
    name_ports_of(host);
    host.add<uint64_t(uint64_t)>(account_call,
                                 [handled, callers_all](uint64_t number) {
                                   HEDDLE_CHECK(number < callers_all, "a request has a number that no lane has");
                                   const shared_word<uint32_t> word(handled[number]);
                                   // Of one lane, whose calls come one after the other.
                                   word.store(word.load(memory_order::relaxed) ^ 1, memory_order::relaxed);
                                   return ~number;
                                 })
        .value();
    host.start();
    on.launch({.waves = set.count("waves"), .lanes = set.count("lanes")},
              tireless_kernel{host.client(), {set.count("lanes"), set.count("calls")}, answered});
    // Steps, and no pause: one that waits for nothing has its turn when no other thread has anything to do, which never comes here.
    for (uint32_t n = 0; n < set.count("after"); ++n)
      (void)shared_word<uint32_t>(*answered).load(memory_order::relaxed);
    host.stop();
    on.synchronize();
  }
  for (uint32_t number = 0; number < callers_all; ++number)
    HEDDLE_CHECK(shared_word<uint32_t>(handled[number]).load(memory_order::relaxed) ==
                     shared_word<uint32_t>(answered[number]).load(memory_order::relaxed),
                 "a request was carried out and not answered, or answered and not carried out");
}

// -- throwing-handler -----------------------------------------------------------------------------------------------------------

inline constexpr uint16_t throwing_opcode = rpc::user_opcode(2);
inline constexpr uint16_t unheard_of_opcode = rpc::user_opcode(3);
inline constexpr uint64_t throwing_call = 2;

/// Asks in turn for a handler that throws before it answers, a host function that throws, and an opcode without handler.
struct disappointed_kernel {
  rpc::service_client host;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      no_answer<throwing_opcode>(id);
      no_answer<unheard_of_opcode>(id);
      const auto thrown = host.call<uint64_t(uint64_t)>(throwing_call, id);
      HEDDLE_CHECK(thrown.answer.status == rpc::service_status::failed && thrown.result == 0,
                   "a function that throws gives an answer");
      const auto given = host.call<uint64_t(uint64_t)>(account_call, id);
      HEDDLE_CHECK(given.ok() && given.result == ~id, "the host does not go on behind a handler that has thrown");
    }
  }

  template <uint16_t Opcode>
  HEDDLE_FUNCTION void no_answer(uint64_t id) const {
    auto port = host.ports().open<Opcode>();
    port.send([&](rpc::packet& to, uint32_t) { to.words[0] = id; });
    port.recv([](rpc::packet&, uint32_t) { HEDDLE_CHECK(false, "a request comes back as its own answer"); });
    HEDDLE_CHECK(port.ended() && port.unanswered(), "a lane is not told that there is no answer");
  }
};

void run_throwing_handler(const parameters& set) {
  device on;
  const request_account account = make_account(on, set);
  {
    rpc::service host(on, shape_of(set), {.on_throw = [](const std::string&) {}});
    name_ports_of(host);
    host.add<uint64_t(uint64_t)>(account_call, complement{account}).value();
    host.add<uint64_t(uint64_t)>(throwing_call, [](uint64_t id) -> uint64_t { throw id; }).value();
    host.on(throwing_opcode,
            [](rpc::service::port& opened) {
              opened.recv([](rpc::packet&, uint32_t) {});
              throw rpc::opcode::nothing;
            })
        .value();
    host.start();
    on.launch({.waves = set.count("waves"), .lanes = set.count("lanes")},
              disappointed_kernel{host.client(), {set.count("lanes"), set.count("calls")}});
    on.synchronize();
    host.stop();
    host.join();
    HEDDLE_CHECK(host.counts().thrown != 0 && host.counts().unhandled != 0, "what has no answer is not counted");
  }
  for (uint64_t id = 0; id < account.requests; ++id)
    HEDDLE_CHECK(account.count_of(id) == 1, "not every request was handled");
}

/// A wave that waits for a port, for an answer, or for a holder of either is told in the end; only a wave without turns never hears it.
scheduler::verdict needs_turns(const parameters& set) {
  return set.has("progress") && set.text("progress") == "unfair" ? scheduler::verdict::progress
                                                                 : scheduler::verdict::ok;
}

std::vector<parameter> stop_parameters() {
  std::vector<parameter> all = port_parameters(2, 2, 4, 3);
  all.push_back(parameter::number("after", 2, 0, 1000000, "", "turns that the host waits before it stops"));
  return all;
}

}  // namespace

HEDDLE_SCENARIO(run_service_stop, {.name = "service.stop",
                                   .summary = "a host that stops while kernels call it",
                                   .parameters = stop_parameters(),
                                   .expected = needs_turns});

std::vector<parameter> load_parameters() {
  std::vector<parameter> all = stop_parameters();
  for (parameter& each : all)
    if (each.key == "calls")
      each = parameter::number("calls", 0, 0, 100000, "", "calls that each lane makes; 0: until the host has ended");
  return all;
}

HEDDLE_SCENARIO(run_stop_under_load, {.name = "service.stop-under-load",
                                      .summary = "a host that stops while kernels call it without end",
                                      .parameters = load_parameters(),
                                      .expected = needs_turns});

HEDDLE_SCENARIO(run_throwing_handler, {.name = "service.throwing-handler",
                                       .summary = "handlers and host functions that throw, and opcodes without handler",
                                       .parameters = port_parameters(2, 2, 4, 1),
                                       .expected = needs_fair_holders});

}  // namespace heddle::tests
