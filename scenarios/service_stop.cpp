// A host that stops while kernels call it: each call is answered, or its lane is told that it was not; no call is half done.
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

}  // namespace heddle::tests
