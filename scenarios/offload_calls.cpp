// Reverse offload: lanes have the host run functions for them, through one mailbox or a ring, in memory that the host maps or copies.
#include "offloads.h"

#include <memory>

namespace heddle::tests {
namespace {

void run_offload_single(const parameters& set) { run_offload_on<rpc::single_mailbox, false>(set); }
void run_offload_copied(const parameters& set) { run_offload_on<rpc::single_mailbox, true>(set); }

void run_offload_ring(const parameters& set) {
  if (set.text("memory") == "copied")
    run_offload_on<rpc::offload_ring, true>(set);
  else
    run_offload_on<rpc::offload_ring, false>(set);
}
void run_offload_contended(const parameters& set) { run_offload_ring(set); }

/// Kernels of several devices ask at the same time, each through entries of its own; one server has them all, and is told which device asks.
template <bool Copied>
void run_offload_devices_on(const parameters& set) {
  std::vector<std::unique_ptr<device>> devices;
  std::vector<std::unique_ptr<offload_test<Copied>>> tests;
  using server_type = decltype(std::declval<offload_test<Copied>>().template server<rpc::offload_ring>());
  rpc::offload_devices<server_type> all;
  for (uint32_t n = 0; n < set.count("over") && n < device::count(); ++n) {
    devices.push_back(std::move(device::open(n).value()));
    tests.push_back(std::make_unique<offload_test<Copied>>(*devices.back(), set));
    HEDDLE_CHECK(all.add(tests.back()->template server<rpc::offload_ring>()) == n, "a device has another number");
  }
  std::vector<decltype(devices.front()->spawn_host("server", [] {}))> servers;
  for (uint32_t n = 0; n < set.count("servers"); ++n)
    servers.push_back(devices.front()->spawn_host("server", [mine = all, &tests]() mutable {
      while (true) {
        // Read before the look for work: what was posted before the flag was set is then found.
        const bool ends = shared_word<uint32_t>(tests.front()->stop_word()).load(memory_order::acquire) != 0;
        if (mine.handle([&](uint32_t asks, uint64_t function, rpc::offload_line& line, uint32_t lane) {
              offloaded_functions<server_type>{mine[asks], tests[asks]->handled(), tests[asks]->requests()}(function,
                                                                                                            line, lane);
            }))
          continue;
        if (ends) return;
        target::pause();
      }
    }));
  for (const auto& each : tests) each->launch(each->template client<rpc::offload_ring>());
  for (const auto& each : devices) each->synchronize();
  // Release pairs with the acquire in the servers' loops.
  shared_word<uint32_t>(tests.front()->stop_word()).store(1, memory_order::release);
  for (auto& server : servers) server.join();
  for (const auto& each : tests) each->check(each->template server<rpc::offload_ring>());
}

void run_offload_devices(const parameters& set) {
  if (set.text("memory") == "copied")
    run_offload_devices_on<true>(set);
  else
    run_offload_devices_on<false>(set);
}

std::vector<parameter> offload_devices_parameters() {
  std::vector<parameter> all = offload_parameters(2, 1, 2);
  all.push_back(entries_parameter("4"));
  all.push_back(parameter::one_of("memory", "mapped", {"mapped", "copied"},
                                  "how the host reaches the entries: at their address, or by copies"));
  all.push_back(parameter::number("over", 2, 1, 16, "", "devices that ask, where there are as many"));
  // The machine's own default is one.
  all.push_back(parameter::number("driver.devices", 2, 1, 16, "", "how many GPUs the machine has"));
  return all;
}

std::vector<parameter> ring_parameters(int64_t waves, int64_t lanes, const char* entries, int64_t calls,
                                       int64_t first = 0) {
  std::vector<parameter> all = offload_parameters(waves, lanes, calls);
  all.push_back(entries_parameter(entries));
  all.push_back(parameter::one_of("memory", "mapped", {"mapped", "copied"},
                                  "how the host reaches the entries: at their address, or by copies"));
  all.push_back(parameter::number("first", first, 0, UINT32_MAX, "", "ticket of the first call"));
  return all;
}

}  // namespace

HEDDLE_SCENARIO(run_offload_single, {.name = "offload.single",
                                     .summary = "lanes have the host run functions, through one mailbox for all",
                                     .parameters = offload_parameters(2, 2, 4),
                                     .expected = needs_fair_requesters,
                                     .proofs = {"waves=2 lanes=1 calls=1"}});

HEDDLE_SCENARIO(run_offload_copied, {.name = "offload.copied",
                                     .summary = "the same, where the host copies the mailbox to look at it",
                                     .parameters = offload_parameters(2, 2, 4),
                                     .expected = needs_fair_requesters});

HEDDLE_SCENARIO(run_offload_ring, {.name = "offload.ring",
                                   .summary = "lanes have the host run functions, through a ring of entries",
                                   .parameters = ring_parameters(2, 2, "4", 4),
                                   .expected = needs_fair_ring,
                                   .proofs = {"waves=2 lanes=1 calls=1 entries=2"}});

HEDDLE_SCENARIO(run_offload_devices, {.name = "offload.devices",
                                      .summary = "kernels of several devices ask one server, which is told which asks",
                                      .parameters = offload_devices_parameters(),
                                      .expected = needs_fair_ring});

HEDDLE_SCENARIO(run_offload_contended, {.name = "offload.contended",
                                        .summary = "more waves than entries, and a counter that wraps on the way",
                                        .parameters = ring_parameters(3, 2, "2", 3, int64_t{UINT32_MAX} - 3),
                                        .expected = needs_fair_ring});

}  // namespace heddle::tests
