// A handler of host calls that frees memory while the kernel that has used it runs. A real runtime may wait then until the device is
// idle, which it never is; the simulated machine's driver waits or not as one likes (`driver`).
#include "echo.h"

namespace heddle::tests {
namespace {

using scheduler::verdict;

/// Reads a buffer of its own for each call, and has the host free it.
struct freeing_kernel {
  client_on<target> client;
  callers who;
  uint64_t* const* buffers;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      HEDDLE_CHECK(shared_word<uint64_t>(*buffers[id]).load(memory_order::relaxed) == 0, "memory is not zeroed");
      auto port = client.template open<echo_opcode>();
      port.send_and_recv([&](rpc::packet& to, uint32_t) { to.words[0] = id; }, [](rpc::packet&, uint32_t) {});
    }
  }
};

void run_handler_that_frees(const parameters& set) {
  device on;
  port_test test(on, set);
  const uint64_t requests = all_calls(set);
  auto* const buffers = on.allocate_shared<uint64_t*>(requests, "buffers");
  for (uint64_t n = 0; n < requests; ++n) buffers[n] = on.allocate_device<uint64_t>(1, "buffer");
  test.run(
      freeing_kernel{test.client(), test.who(), buffers},
      [&on, buffers](auto& port, const auto& account) {
        port.recv_and_send([&](rpc::packet& both, uint32_t) {
          account(both.words[0]);
          on.free(buffers[both.words[0]]);
        });
      },
      requests);
}

verdict handler_that_frees_verdict(const parameters& set) {
  const verdict sound = needs_fair_holders(set);
  return sound != verdict::ok || set.text("driver") == "free" ? sound : verdict::deadlock;
}

}  // namespace

HEDDLE_SCENARIO(run_handler_that_frees, {.name = "driver.free-in-handler",
                                         .summary = "handlers free memory while the kernel that has used it runs",
                                         .parameters = port_parameters(2, 1, 2, 2),
                                         .expected = handler_that_frees_verdict});
}  // namespace heddle::tests
