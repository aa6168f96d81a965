// Handlers of host calls that copy, through a queue that another copy holds, while the kernel that calls them runs.
#include "echo.h"

namespace heddle::tests {
namespace {

using scheduler::verdict;

/// Asks the host for an element of its table, which is then on the device.
struct fetching_kernel {
  client_on<target> client;
  callers who;
  uint64_t* fetched;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      auto port = client.template open<echo_opcode>();
      port.send_and_recv([&](rpc::packet& to, uint32_t) { to.words[0] = id; }, [](rpc::packet&, uint32_t) {});
      // The answer has come behind the copy.
      HEDDLE_CHECK(shared_word<uint64_t>(fetched[id]).load(memory_order::relaxed) == changed(id),
                   "an element is not on the device when the host says so");
    }
  }
};

/// The handler copies through a stream, in which another copy comes first, and waits for that stream.
void run_handler_that_copies(const parameters& set) {
  device on;
  port_test test(on, set);
  const uint64_t requests = all_calls(set);
  auto* const table = on.allocate_shared<uint64_t>(requests, "table of the host");
  auto* const fetched = on.allocate_device<uint64_t>(requests, "elements on the device");
  auto* const bulk = on.allocate_shared<uint64_t>(set.count("words"), "bulk of the host");
  auto* const bulk_there = on.allocate_device<uint64_t>(set.count("words"), "bulk on the device");
  for (uint64_t n = 0; n < requests; ++n) table[n] = changed(n);
  const device::stream kernels = on.create_stream();
  const device::stream copies = set.text("queue") == "own" ? on.create_stream() : kernels;
  on.copy(bulk_there, bulk, set.count("words") * sizeof(uint64_t), copies);
  test.run(
      fetching_kernel{test.client(), test.who(), fetched},
      [&on, table, fetched, copies](auto& port, const auto& account) {
        port.recv([&](rpc::packet& from, uint32_t) {
          account(from.words[0]);
          on.copy(fetched + from.words[0], table + from.words[0], sizeof(uint64_t), copies);
        });
        on.synchronize(copies);
        port.send([](rpc::packet&, uint32_t) {});
      },
      requests, {}, kernels);
}

verdict handler_that_copies_verdict(const parameters& set) {
  const verdict sound = needs_fair_holders(set);
  // Where calls into the driver need a lock, the thread that waits for the kernel has it.
  const bool is_locked = set.has("driver") && set.text("driver") == "context";
  return sound == verdict::ok && (is_locked || set.text("queue") == "kernel") ? verdict::deadlock : sound;
}

std::vector<parameter> handler_that_copies_parameters() {
  std::vector<parameter> all = port_parameters(2, 1, 2, 2);
  all.push_back(parameter::number("words", 3, 1, 100000, "", "words of the copy that holds the queue"));
  all.push_back(
      parameter::one_of("queue", "own", {"own", "kernel"},
                        "the stream that a handler copies through: its own, or that of the kernel that waits for it"));
  return all;
}

}  // namespace

HEDDLE_SCENARIO(run_handler_that_copies,
                {.name = "driver.copy-in-handler",
                 .summary = "handlers copy through a queue that a copy holds, while the kernel runs",
                 .parameters = handler_that_copies_parameters(),
                 .expected = handler_that_copies_verdict});

}  // namespace heddle::tests
