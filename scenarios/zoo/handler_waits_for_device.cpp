// A handler of host calls calls into the driver, and that waits: handler-waits-for-device, for the device to be idle, while the kernel waits
// for the handler; handler-waits-for-device-context, for the lock of the context, which the main thread holds while it waits for the kernel.
// Smallest: 1 wave, 1 port, 1 call.
//
// AMDGPU.jl #537; hostrpc ab40c52, bf9848e; torchcomms #2334, #2470; nvbench #136; yaksa #228; NCCL d199bff4; UCCL #220: allocating, freeing,
// creating a stream, setting memory, loading a module on first use. The twins have what the handler needs ready before the launch. Only
// the simulated machine's driver waits or not as one likes (`driver`).
#include "one_server.h"

namespace heddle::tests {
namespace {

using scheduler::verdict;

void run_handler_that_allocates(const parameters& set) {
  device on;
  port_test test(on, set);
  const uint32_t lanes = set.count("lanes");
  auto* const ready = on.allocate_shared<uint64_t>(lanes, "buffer made before");
  test.run(
      echo_kernel<target>{test.client(), test.who()},
      [&on, lanes, ready, allocates = !zoo::is_fixed(set)](auto& port, const auto& account) {
        uint64_t* const buffer = allocates ? on.allocate_shared<uint64_t>(lanes, "buffer of a handler") : ready;
        port.recv_and_send([&](rpc::packet& both, uint32_t lane) {
          account(both.words[0]);
          buffer[lane] = changed(both.words[0]);
          both.words[0] = buffer[lane];
        });
        if (allocates) on.free(buffer);
      },
      all_calls(set));
}

void run_handler_that_takes_the_context(const parameters& set) { run_handler_that_allocates(set); }

verdict waiting_handler_verdict(const parameters& set) {
  const verdict sound = needs_fair_holders(set);
  return zoo::is_fixed(set) || sound != verdict::ok || set.text("driver") == "free" ? sound : verdict::deadlock;
}

std::vector<parameter> driver_that(const char* waits) {
  std::vector<parameter> all = zoo::ports_of_one_server(1, 1, 1, 1);
  // The machine's own default is kinder.
  all.push_back(parameter::one_of("driver", waits, {"free", "idle", "context"},
                                  "what host calls of the driver wait for: nothing, an idle device, or one lock, which "
                                  "synchronize keeps"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_handler_that_allocates, {.name = "zoo.handler-waits-for-device",
                                        .summary = "a handler allocates, which waits until the device is idle",
                                        .parameters = driver_that("idle"),
                                        .expected = waiting_handler_verdict});

HEDDLE_ZOO(run_handler_that_takes_the_context,
           {.name = "zoo.handler-waits-for-device-context",
            .summary = "a handler allocates, and the context is locked by who waits for the kernel",
            .parameters = driver_that("context"),
            .expected = waiting_handler_verdict});

}  // namespace heddle::tests
