// The thread that launches is the one that serves, when the launch has returned. Where launches return when the kernel has ended, it never
// serves, and the kernel never ends. Smallest: 1 wave, 1 port, 1 call.
//
// LLVM #111210, #112988 (the threads read in part): kernels launched with synchronous launches, as debuggers and profilers ask for. The
// twin serves from a thread of its own. Only the simulated machine launches in either way (`launches`).
#include "one_server.h"

namespace heddle::tests {
namespace {

using scheduler::verdict;

template <typename Ends>
void serve_until(const Ends& ends, server_on<target> server, port_test::account account) {
  while (true) {
    // Read before the look for work: what was sent before is then found.
    const bool last = ends();
    if (auto port = server.try_open()) {
      port.recv_and_send([&](rpc::packet& both, uint32_t) {
        account(both.words[0]);
        both.words[0] = changed(both.words[0]);
      });
      continue;
    }
    if (last) return;
    target::pause();
  }
}

void run_waiting_server(const parameters& set) {
  device on;
  port_test test(on, set);
  const echo_kernel<target> kernel{test.client(), test.who()};
  const launch_shape shape{.blocks = 1, .waves = set.count("waves"), .lanes = set.count("lanes")};
  if (!zoo::is_fixed(set)) {
    on.launch(shape, kernel);
    serve_until([&] { return on.query(); }, test.server(0), test.requests());
  } else {
    auto serving =
        on.spawn_host("server", [server = test.server(0), account = test.requests(), stop = &test.stop_word()] {
          // Acquire pairs with main's release.
          serve_until([=] { return shared_word<uint32_t>(*stop).load(memory_order::acquire) != 0; }, server, account);
        });
    on.launch(shape, kernel);
    on.synchronize();
    shared_word<uint32_t>(test.stop_word()).store(1, memory_order::release);
    serving.join();
  }
  on.synchronize();
  test.check(all_calls(set));
}

verdict waiting_server_verdict(const parameters& set) {
  const verdict sound = needs_fair_holders(set);
  if (zoo::is_fixed(set) || sound != verdict::ok || set.text("launches") == "async") return sound;
  return verdict::deadlock;
}

std::vector<parameter> blocking_launches() {
  std::vector<parameter> all = zoo::ports_of_one_server(1, 1, 1, 1);
  // The machine's own default is kinder.
  all.push_back(parameter::one_of("launches", "blocking", {"async", "blocking"},
                                  "whether a launch returns at once, or when the kernel has ended"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_waiting_server, {.name = "zoo.server-is-the-waiter",
                                .summary = "the thread that serves is the one that waits in the launch",
                                .parameters = blocking_launches(),
                                .expected = waiting_server_verdict});

}  // namespace heddle::tests
