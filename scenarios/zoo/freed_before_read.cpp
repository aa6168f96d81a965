// The host answers with the address of a buffer, and frees it when it has answered: the device has not read it yet. Smallest: 1 wave, 1 port,
// 1 call.
//
// AMDGPU.jl 3cf154a9, 8ac70bd9: buffers of arguments and results of host calls. The twin frees when the device has said that it has read.
#include "one_server.h"

namespace heddle::tests {
namespace {

struct reading_kernel {
  client_on<target> client;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      uint64_t answer = 0;
      auto port = client.open<echo_opcode>();
      port.send([&](rpc::packet& to, uint32_t) { to.words[0] = id; });
      port.recv([&](rpc::packet& from, uint32_t) { answer = *reinterpret_cast<const uint64_t*>(from.words[0]); });
      HEDDLE_CHECK(answer == changed(id), "the answer is not the one to this lane's request");
      port.send([&](rpc::packet& to, uint32_t) { to.words[0] = id; });
    }
  }
};

void run_freed_early(const parameters& set) {
  device on;
  port_test test(on, set);
  test.run(
      reading_kernel{test.client(), test.who()},
      [&on, frees_late = zoo::is_fixed(set)](auto& port, const auto& account) {
        uint64_t* results[rpc::max_lanes] = {};
        port.recv_and_send([&](rpc::packet& both, uint32_t lane) {
          account(both.words[0]);
          results[lane] = on.allocate_shared<uint64_t>(1, "result");
          *results[lane] = changed(both.words[0]);
          both.words[0] = reinterpret_cast<uint64_t>(results[lane]);
        });
        if (!frees_late)
          for (uint64_t* const result : results) on.free(result);
        port.recv([](rpc::packet&, uint32_t) {});
        if (frees_late)
          for (uint64_t* const result : results) on.free(result);
      },
      all_calls(set));
}

scheduler::verdict freed_early_verdict(const parameters& set) {
  const scheduler::verdict sound = needs_fair_clients(set);
  return zoo::is_fixed(set) || sound != scheduler::verdict::ok ? sound : scheduler::verdict::memory;
}

}  // namespace

HEDDLE_ZOO(run_freed_early, {.name = "zoo.freed-before-read",
                             .summary = "the host frees a result as soon as it has answered",
                             .parameters = zoo::with_twin(port_parameters(1, 1, 1, 1)),
                             .expected = freed_early_verdict});

}  // namespace heddle::tests
