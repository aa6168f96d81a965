// A stream of per-lane buffers whose loop each lane ends for itself, when its own buffer is sent. The lanes of the shorter buffers go on to the
// next operation, while the others still send.
//
// LLVM libc D150992 (29d3da3b); hostrpc e69b7ad, dcdb18f, d5edc3c. The next operation is a vote of the wave, and the lanes stand at different
// collectives; or, with then=waits, a wait for the end of the stream, and both wait for each other. Smallest: 1 wave of 2 lanes, of 8 and 200
// bytes.
#include "../ports.h"
#include "zoo.h"

namespace heddle::tests {
namespace {

constexpr uint16_t uneven_opcode = rpc::user_opcode(34);
constexpr uint64_t short_bytes = 8;
constexpr uint64_t long_bytes = 200;

struct uneven_kernel {
  rpc::client client;
  uint32_t* received;  ///< streams that the host has taken
  uint32_t lanes;
  bool together;
  bool waits;

  HEDDLE_FUNCTION void operator()() const {
    const uint64_t mask = ~uint64_t{0} >> (64 - lanes);
    unsigned char bytes[long_bytes] = {};
    // All lanes come to the call together.
    target::sync_lanes(mask);
    auto port = client.open<uneven_opcode>();
    stream(port, bytes, target::lane_id() == 0 ? short_bytes : long_bytes);
    if (waits) {
      // Acquire pairs with the release of the host.
      while (shared_word<uint32_t>(*received).load(memory_order::acquire) == 0) target::pause();
    }
    (void)target::ballot(port.mask(), true);
  }

  /// send_n, but for the end of the loop.
  HEDDLE_FUNCTION void stream(rpc::client::port& port, const void* data, uint64_t size_bytes) const {
    uint64_t sent = 0;
    bool more = true;
    while (more) {
      port.send([&](rpc::packet& to, uint32_t) {
        if (sent == 0) to.words[0] = size_bytes;
        rpc::detail::write_piece(to, data, rpc::detail::piece::of(sent, size_bytes));
      });
      ++sent;
      more = sent < rpc::detail::packets_for(size_bytes);
      // The bug is to leave this out.
      if (together) more = target::ballot(port.mask(), more) != 0;
    }
  }
};

struct lane_buffers {
  unsigned char (*bytes)[long_bytes];
  void* operator()(uint32_t lane, uint64_t) const { return bytes[lane]; }
};

void run_uneven(const parameters& set) {
  device on;
  const rpc::layout shape{set.count("ports"), set.count("lanes")};
  auto* const memory = on.allocate_shared<unsigned char>(shape.size_bytes(), "ports");
  auto* const client_locks = on.allocate_device<uint32_t>(shape.own_words(), "client locks");
  auto* const server_locks = on.allocate_shared<uint32_t>(shape.own_words(), "server locks");
  auto* const received = on.allocate_shared<uint32_t>(1, "streams received");
  auto* const stop = on.allocate_shared<uint32_t>(1, "stop flag");
  auto serving = on.spawn_host("server", [server = rpc::server(memory, server_locks, shape), received, stop]() mutable {
    unsigned char bytes[rpc::max_lanes][long_bytes];
    for (;;) {
      const bool ends = shared_word<uint32_t>(*stop).load(memory_order::acquire) != 0;
      if (auto port = server.try_open()) {
        port.recv_n(lane_buffers{bytes}, long_bytes);
        // Release pairs with the acquire of a lane that waits.
        shared_word<uint32_t>(*received).fetch_add(1, memory_order::release);
        continue;
      }
      if (ends) return;
      target::pause();
    }
  });
  on.launch({.blocks = 1, .waves = 1, .lanes = set.count("lanes")},
            uneven_kernel{rpc::client(memory, client_locks, shape), received, set.count("lanes"), zoo::is_fixed(set),
                          set.text("then") == "waits"});
  on.synchronize();
  // Release pairs with the acquire of the server.
  shared_word<uint32_t>(*stop).store(1, memory_order::release);
  serving.join();
}

scheduler::verdict uneven_verdict(const parameters& set) {
  if (zoo::is_fixed(set)) return scheduler::verdict::ok;
  // One program counter: the lanes that still send name lanes in their mask that are not there.
  const bool in_lockstep = set.has("convergence") && set.text("convergence") == "lockstep";
  return set.text("then") == "waits" && !in_lockstep ? scheduler::verdict::deadlock : scheduler::verdict::mask;
}

}  // namespace

HEDDLE_ZOO(run_uneven, {.name = "zoo.divergent-trip-count",
                        .summary = "each lane ends the loop of a stream for itself",
                        .parameters = zoo::with_twin({
                            parameter::number("lanes", 2, 2, 32, "", "lanes of the wave; the first has less to send"),
                            parameter::number("ports", 2, 1, rpc::max_ports, "", "ports between client and server"),
                            parameter::one_of("then", "votes", {"votes", "waits"},
                                              "what follows the stream: a vote of the wave, or a wait for its end"),
                        }),
                        .expected = uneven_verdict});

}  // namespace heddle::tests
