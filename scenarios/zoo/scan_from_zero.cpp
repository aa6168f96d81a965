// The server begins every search at port 0 and serves one port in each. A wave that keeps port 0 busy keeps the server from all others.
//
// LLVM offload, RPC.cpp; CLR, devrpc.cpp. The twin begins behind the port that it served last. Smallest: 2 waves, 2 ports.
#include "../echo.h"
#include "zoo.h"

#include <heddle/tools/requests.h>

namespace heddle::tests {
namespace {

constexpr uint16_t scanned_opcode = rpc::user_opcode(35);

struct scanned_kernel {
  rpc::client client;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      uint64_t answer = 0;
      auto port = client.open<scanned_opcode>();
      port.send([&](rpc::packet& to, uint32_t) { to.words[0] = id; });
      // The server can find it from now on.
      request_made(id);
      port.recv([&](rpc::packet& from, uint32_t) { answer = from.words[0]; });
      HEDDLE_CHECK(answer == changed(id), "the answer is not the one to this lane's request");
    }
  }
};

/// A server thread, which serves until it is stopped.
struct scanning_server {
  unsigned char* memory;
  uint32_t* locks;
  rpc::layout shape;
  uint32_t* stop;
  bool goes_on;  ///< where the last search ended

  void operator()() const {
    rpc::server server(memory, locks, shape, 0);
    for (;;) {
      // Acquire pairs with the release of the main thread. Read before the look for work: what was sent before is then found.
      const bool ends = shared_word<uint32_t>(*stop).load(memory_order::acquire) != 0;
      rpc::server from_zero(memory, locks, shape, 0);
      if (serve(goes_on ? server : from_zero)) continue;
      if (ends) return;
      target::pause();
    }
  }
  static bool serve(rpc::server& at) {
    auto port = at.try_open();
    if (!port) return false;
    port.recv_and_send([](rpc::packet& both, uint32_t) {
      request_served(both.words[0]);
      both.words[0] = changed(both.words[0]);
    });
    return true;
  }
};

void run_scanned(const parameters& set) {
  device on;
  const rpc::layout shape{set.count("ports"), 1};
  auto* const memory = on.allocate_shared<unsigned char>(shape.size_bytes(), "ports");
  auto* const client_locks = on.allocate_device<uint32_t>(shape.own_words(), "client locks");
  auto* const server_locks = on.allocate_shared<uint32_t>(shape.own_words(), "server locks");
  auto* const stop = on.allocate_shared<uint32_t>(1, "stop flag");
  auto serving = on.spawn_host("server", scanning_server{memory, server_locks, shape, stop, zoo::is_fixed(set)});
  on.launch({.blocks = 1, .waves = set.count("waves"), .lanes = 1},
            scanned_kernel{rpc::client(memory, client_locks, shape), {1, set.count("calls")}});
  on.synchronize();
  shared_word<uint32_t>(*stop).store(1, memory_order::release);
  serving.join();
}

// A port for each wave: no wave waits for a port, and all wait for the server.
scheduler::verdict scanned_verdict(const parameters& set) {
  const bool counted = set.has("starvation") && set.count("starvation") != 0;
  return counted && !zoo::is_fixed(set) ? scheduler::verdict::starvation : scheduler::verdict::ok;
}

std::vector<parameter> scanned_parameters() {
  std::vector<parameter> all = zoo::with_twin({
      parameter::number("waves", 2, 2, 2, "", "waves that call"),
      parameter::number("ports", 2, 2, rpc::max_ports, "", "ports between client and server"),
      parameter::number("calls", 20, 1, 1000, "", "calls of each wave"),
  });
  // Memory is one: a request that others do not see yet is not passed over.
  all.push_back(parameter::one_of("fidelity", "interleaving", {"interleaving"},
                                  "how memory behaves: every access takes effect at once"));
  all.push_back(
      parameter::number("starvation", 8, 0, 1000000, "",
                        "how often a request that waits may be passed over before that is a verdict; 0: as often "
                        "as it comes"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_scanned, {.name = "zoo.scan-from-zero",
                         .summary = "a server that begins each search at port 0 serves no other one while that is busy",
                         .parameters = scanned_parameters(),
                         .expected = scanned_verdict});

}  // namespace heddle::tests
