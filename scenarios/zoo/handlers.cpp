// What a server does wrong with a call that it has in hand.
#include "one_server.h"

namespace heddle::tests {

// The server gives the packet back when it closes only if its last operation was a receive. A port whose opcode the server does not know is closed
// without one: it stays the server's, is found ready again, and is opened and closed for ever. Smallest: 1 wave, 1 port, 1 call.
//
// LLVM rpc.h of 2023 (the effect is from reading). The twin gives back whatever it owns, as ports do here.
namespace {

inline constexpr uint16_t opcode_of_nobody = rpc::user_opcode(2);

/// The first call is one that the server does not know. None waits for an answer.
struct unknown_kernel {
  client_on<target> client;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      const auto fill = [&](rpc::packet& to, uint32_t) { to.words[0] = id; };
      if (call == 0) {
        auto port = client.open<opcode_of_nobody>();
        port.send(fill);
      } else {
        auto port = client.open<echo_opcode>();
        port.send(fill);
      }
    }
  }
};

/// One pass over the ports by a server whose close may keep the packet. Returns whether there was one to open.
struct keeping_server {
  rpc::process<target, rpc::side::server, rpc::checking> end;
  port_test::account account;
  bool gives_back_unread;

  bool serve() const {
    const auto boxes = end.boxes();
    bool found = false;
    for (uint32_t port = 0; port < end.port_count(); ++port) {
      if (!boxes.owns(boxes.load_inbox(port), boxes.load_outbox(port))) continue;
      const rpc::own_state was = end.states().try_lock(port);
      if (was.is_held()) continue;
      found = true;
      boxes.acquire(port);
      const bool received = end.header_of(port).opcode == echo_opcode;
      if (received)
        for (uint64_t left = end.header_of(port).mask; left != 0; left &= left - 1)
          account(end.packet_of(port, zoo::lowest_bit(left)).words[0]);
      const bool gives_back = received || gives_back_unread;
      if (gives_back) boxes.hand_over(port, was.outbox());
      end.states().unlock(port, was, {gives_back ? ~was.outbox() : was.outbox(), false});
    }
    return found;
  }
};

void run_keeping(const parameters& set) {
  device on;
  port_test test(on, set);
  const keeping_server server{{test.memory(), test.server_locks(), test.shape()}, test.requests(), zoo::is_fixed(set)};
  auto serving = on.spawn_host("server", [server, stop = &test.stop_word()] {
    while (true) {
      const bool last = shared_word<uint32_t>(*stop).load(memory_order::acquire) != 0;
      if (server.serve()) continue;
      if (last) return;
      target::pause();
    }
  });
  on.launch({.blocks = 1, .waves = set.count("waves"), .lanes = set.count("lanes")},
            unknown_kernel{test.client(), test.who()});
  on.synchronize();
  // Release pairs with the server's acquire.
  shared_word<uint32_t>(test.stop_word()).store(1, memory_order::release);
  serving.join();
  test.check(all_calls(set) - uint64_t{set.count("waves")} * set.count("lanes"));
}

std::vector<parameter> little_budget() {
  std::vector<parameter> all = zoo::ports_of_one_server(1, 1, 1, 2);
  all.push_back(parameter::number("budget", 4000, 100, int64_t{1} << 40, "steps",
                                  "steps before only guaranteed waves run; as many again and the run is inconclusive"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_keeping, {.name = "zoo.close-without-handback",
                         .summary = "a port that was not read is not given back, and is opened again for ever",
                         .parameters = little_budget(),
                         .expected = zoo::planted_unless_fixed<scheduler::verdict::livelock>});

// The host answers with the address of a buffer, and frees it when it has answered: the device has not read it yet. Smallest: 1 wave, 1 port,
// 1 call.
//
// AMDGPU.jl 3cf154a9, 8ac70bd9: buffers of arguments and results of host calls. The twin frees when the device has said that it has read.
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

// A handler of host calls calls into the driver, and that waits: handler-waits-for-device, for the device to be idle, while the kernel waits
// for the handler; handler-waits-for-device-context, for the lock of the context, which the main thread holds while it waits for the kernel.
// Smallest: 1 wave, 1 port, 1 call.
//
// AMDGPU.jl #537; hostrpc ab40c52, bf9848e; torchcomms #2334, #2470; nvbench #136; yaksa #228; NCCL d199bff4; UCCL #220: allocating, freeing,
// creating a stream, setting memory, loading a module on first use. The twins have what the handler needs ready before the launch. Only
// the simulated machine's driver waits or not as one likes (`driver`).
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
            .summary = "a handler allocates, and the context is locked by the thread that waits for the kernel",
            .parameters = driver_that("context"),
            .expected = waiting_handler_verdict});

// A client that streams reads the mask of its lanes back from the port's header, in host memory, when it has given the packet away: header
// and packet are the server's then. Smallest: 1 wave, 1 port, 1 call of two packets.
//
// LLVM rpc.h of 2026 (from reading). No value is wrong as long as servers leave the mask alone; each access to shared data checks here
// which side owns it. The twin has kept the mask.
namespace {

struct rereading_kernel {
  client_on<target> client;
  rpc::process<target, rpc::side::client, rpc::checking> end;
  callers who;
  bool keeps;

  HEDDLE_FUNCTION uint64_t mask_of_header(uint32_t port) const {
    const auto boxes = end.boxes();
    rpc::require<target, rpc::checking>(boxes.owns(boxes.load_inbox(port), boxes.load_outbox(port)),
                                        "a header is read by the end that does not own it");
    return end.header_of(port).mask;
  }

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      auto port = client.open<echo_opcode>();
      const uint64_t kept = port.mask();
      port.send([&](rpc::packet& to, uint32_t) { to.words[0] = id; });
      const uint64_t mask = keeps ? kept : mask_of_header(port.index());
      port.send([&](rpc::packet& to, uint32_t) { to.words[0] = mask; });
    }
  }
};

void run_reread(const parameters& set) {
  device on;
  port_test test(on, set);
  // This view locks nothing.
  const rpc::process<target, rpc::side::client, rpc::checking> end(test.memory(), nullptr, test.shape());
  test.run(
      rereading_kernel{test.client(), end, test.who(), zoo::is_fixed(set)},
      [](auto& port, const auto& account) {
        port.recv([&](rpc::packet& from, uint32_t) { account(from.words[0]); });
        port.recv([&](rpc::packet& from, uint32_t) {
          HEDDLE_CHECK(from.words[0] == port.mask(), "the mask is not that of the port");
        });
      },
      all_calls(set));
}

scheduler::verdict reread_verdict(const parameters& set) {
  if (zoo::is_fixed(set)) return needs_fair_clients(set);
  const scheduler::verdict sound = needs_fair_holders(set);
  return sound != scheduler::verdict::ok ? sound : scheduler::verdict::protocol;
}

}  // namespace

HEDDLE_ZOO(run_reread, {.name = "zoo.mask-reread-after-handover",
                        .summary = "a client reads its mask back from a header that it has given away",
                        .parameters = zoo::with_twin(port_parameters(1, 1, 1, 1)),
                        .expected = reread_verdict});

// The server receives less than the client sends, and closes: what the client sends next is taken for a new request. Smallest: 1 wave, 1
// port, 1 call of two packets.
//
// LLVM rpc.h of 2026 (from reading), where the count in the doorbell then gets one ring and two answers, wraps, and never lets the server
// sleep again. Each end counts its hand-overs here, and the count travels with the packet.
namespace {

struct two_packets_kernel {
  client_on<target> client;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint64_t id = who.request(call);
      auto port = client.open<echo_opcode>();
      port.send([&](rpc::packet& to, uint32_t) { to.words[0] = id; });
      port.send([&](rpc::packet& to, uint32_t) { to.words[0] = changed(id); });
    }
  }
};

void run_mirror_desync(const parameters& set) {
  device on;
  port_test test(on, set);
  test.run(
      two_packets_kernel{test.client(), test.who()},
      [receives_both = zoo::is_fixed(set)](auto& port, const auto& account) {
        port.recv([&](rpc::packet& from, uint32_t) { account(from.words[0]); });
        if (receives_both) port.recv([&](rpc::packet&, uint32_t) {});
      },
      all_calls(set));
}

scheduler::verdict mirror_verdict(const parameters& set) {
  if (zoo::is_fixed(set)) return needs_fair_clients(set);
  const scheduler::verdict sound = needs_fair_holders(set);
  return sound != scheduler::verdict::ok ? sound : scheduler::verdict::protocol;
}

}  // namespace

HEDDLE_ZOO(run_mirror_desync, {.name = "zoo.mirror-desync",
                               .summary = "the server closes before it has received all that its client sends",
                               .parameters = zoo::with_twin(port_parameters(1, 1, 1, 1)),
                               .expected = mirror_verdict});

}  // namespace heddle::tests
