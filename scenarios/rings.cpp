// Servers that sleep, and clients that ring behind each n-th call: over ports, over slots, and a service. Rings may be lost, late or together
// (`doorbells`): each server looks again when the time of its sleep is over.
#include "echo.h"
#include "services.h"
#include "slots.h"

namespace heddle::tests {
namespace {

constexpr uint64_t sleep_ns = 1'000'000;

std::vector<parameter> with_rings(std::vector<parameter> all) {
  all.push_back(
      parameter::number("rings", 2, 0, 1'000'000, "", "a client rings behind each call of so many; 0: behind none"));
  all.push_back(parameter::one_of("coalesced", "no", {"no", "yes"},
                                  "a client does not ring while none of its calls was answered since its last ring"));
  return all;
}

rpc::ringing rings_of(const parameters& set) { return {set.count("rings"), set.text("coalesced") == "yes"}; }

void run_port_rings(const parameters& set) {
  run_echo_on<target, target>(set, {.sleeps = true, .timeout_ns = sleep_ns, .rings = rings_of(set)});
}

template <typename Form>
struct rung_slot_kernel {
  rpc::slot_client<Form> client;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      uint64_t answer = 0;
      while (!client.invoke([&](rpc::packet& line, uint32_t) { line.words[0] = id; },
                            [&](rpc::packet& line, uint32_t) { answer = line.words[0]; }))
        target::pause();
      HEDDLE_CHECK(answer == changed_by_operate(id), "the answer is not the one to this lane's request");
    }
  }
};

struct nothing_after {
  HEDDLE_FUNCTION void operator()() const {}
};

struct slot_rings {
  template <typename Form>
  static void run(const parameters& set) {
    device on;
    if (is_left_out<Form>(on, set)) return;
    slot_test<Form> test(on, set, {.sleeps = true, .timeout_ns = sleep_ns, .rings = rings_of(set)});
    test.run(rung_slot_kernel<Form>{test.client(), test.who()}, nothing_after{});
  }
};

void run_slot_rings(const parameters& set) { run_with_mailbox<slot_rings>(set); }

struct rung_service_kernel {
  rpc::service_client host;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      const auto given = host.call<uint64_t(uint64_t)>(account_call, id);
      HEDDLE_CHECK(given.ok() && given.result == changed(id), "the answer is not the one to this lane's request");
    }
  }
};

struct accounted {
  request_account account;
  uint64_t operator()(uint64_t id) const {
    account.count(id);
    return changed(id);
  }
};

void run_service_rings(const parameters& set) {
  device on;
  const request_account account = make_account(on, set);
  {
    rpc::service_shape shape = shape_of(set);
    shape.rings = rings_of(set);
    shape.sleep_ns = sleep_ns;
    rpc::service host(on, shape);
    name_ports_of(host);
    host.add<uint64_t(uint64_t)>(account_call, accounted{account}).value();
    host.start();
    on.launch({.waves = set.count("waves"), .lanes = set.count("lanes")},
              rung_service_kernel{host.client(), {set.count("lanes"), set.count("calls")}});
    on.synchronize();
  }
  for (uint64_t id = 0; id < account.requests; ++id)
    HEDDLE_CHECK(account.count_of(id) == 1, "not every request was handled");
}

}  // namespace

HEDDLE_SCENARIO(run_port_rings, {.name = "port.rings",
                                 .summary = "servers of ports sleep, and clients ring behind each n-th call",
                                 .parameters = with_rings(port_parameters(3, 2, 6, 3)),
                                 .expected = needs_fair_holders,
                                 .proofs = {"waves=2 lanes=1 ports=2 calls=1"}});

HEDDLE_SCENARIO(run_slot_rings, {.name = "slot.rings",
                                 .summary = "servers of slots sleep, and clients ring behind each n-th call",
                                 .parameters = with_rings(slot_parameters(3, 2, 6, 3)),
                                 .expected = needs_fair_slot_holders});

HEDDLE_SCENARIO(run_service_rings, {.name = "service.rings",
                                    .summary = "threads of a service sleep, and kernels ring behind each n-th call",
                                    .parameters = with_rings(service_parameters(2, 2, 4, 2)),
                                    .expected = needs_fair_holders});

}  // namespace heddle::tests
