// Both ends of LLVM's rpc.h, as that header has them: the client as clang compiles it for a GPU, the server as a host thread has it.
#include <heddle/tools/scenario.h>

#include <stddef.h>
#include <stdint.h>

#include <new>
#include <vector>

#define LLVM_RPC_HEADER
#define LLVM_RPC_HEADER_OF_A_GPU
#include "llvm_client.h"

// The same header once more. A compiler for x86 has no builtins with scopes.
#undef RPC_TARGET_IS_GPU
#undef LLVM_LIBC_SHARED_RPC_H
#undef LLVM_LIBC_SHARED_RPC_UTIL_H
#undef THERE_IS___scoped_atomic_load_n
#undef THERE_IS___scoped_atomic_thread_fence
#undef __scoped_atomic_load_n
#undef __scoped_atomic_store_n
#undef __scoped_atomic_fetch_or
#undef __scoped_atomic_fetch_and
#undef __scoped_atomic_thread_fence
#define rpc rpc_host
#include "rpc.h"
#undef rpc

namespace {

constexpr uint32_t echo = 1;
constexpr uint32_t note = 2;  // it has no answer

struct kernel {
  rpc_gpu::Client* client;
  uint32_t calls;
  uint32_t notes;

  void operator()() const {
    const uint64_t me = heddle::target::wave_id() * uint64_t{64} + heddle::target::lane_id();
    for (uint32_t n = 0; n < notes; ++n) {
      auto port = client->open<note>();
      port.send([&](rpc_gpu::Buffer* to, uint32_t) { to->data[0] = me; });
      port.close();
    }
    for (uint32_t n = 0; n < calls; ++n) {
      const uint64_t question = me * 1000 + n;
      uint64_t answer = 0;
      auto port = client->open<echo>();
      port.send_and_recv([&](rpc_gpu::Buffer* to, uint32_t) { to->data[0] = question; },
                         [&](rpc_gpu::Buffer* from, uint32_t) { answer = from->data[0]; });
      port.close();
      HEDDLE_CHECK(answer == question + 1, "the answer is not the one to this lane's question");
    }
  }
};

void run(const heddle::parameters& set) {
  constexpr uint32_t lanes = HEDDLE_COMPAT_WAVE_LANES;
  const uint32_t ports = set.count("ports");
  heddle::device device;
  const uint64_t bytes = rpc_host::Server::allocation_size(lanes, ports);
  auto* const buffer = device.allocate_shared<uint64_t>(bytes / sizeof(uint64_t) + 1, "rpc buffer");
  auto* const client = new (device.allocate_shared<rpc_gpu::Client>(1, "client")) rpc_gpu::Client(ports, buffer);
  auto* const server = new (device.allocate_shared<rpc_host::Server>(1, "server")) rpc_host::Server(ports, buffer);
  auto* const stop = device.allocate_shared<uint32_t>(1, "stop flag");
  auto* const noted = device.allocate_shared<uint32_t>(1, "noted");
  const auto serve = [=] {
    for (bool last = false, idle = false; !last || !idle;) {
      last = __atomic_load_n(stop, __ATOMIC_ACQUIRE) != 0;
      idle = true;
      while (auto port = server->try_open(lanes)) {
        HEDDLE_CHECK(port->get_opcode() == echo || port->get_opcode() == note, "an opcode that no lane has sent");
        if (port->get_opcode() == note)
          port->recv([=](rpc_host::Buffer*, uint32_t) { __atomic_fetch_add(noted, 1, __ATOMIC_RELAXED); });
        else
          port->recv_and_send([](rpc_host::Buffer* packet, uint32_t) { packet->data[0] += 1; });
        port->close();
        idle = false;
      }
      if (idle) heddle::target::pause();
    }
  };
  std::vector<decltype(device.spawn_host("server", serve))> servers;
  for (uint32_t n = 0; n < set.count("servers"); ++n) servers.push_back(device.spawn_host("server", serve));
  device.launch({.waves = set.count("waves"), .lanes = set.count("lanes")},
                kernel{client, set.count("calls"), set.count("notes")});
  device.synchronize();
  __atomic_store_n(stop, 1, __ATOMIC_RELEASE);
  for (auto& each : servers) each.join();
  HEDDLE_CHECK(*noted == set.count("waves") * set.count("lanes") * set.count("notes"), "a note is lost, or came twice");
}

using heddle::parameter;

HEDDLE_SCENARIO(run,
                {.name = "llvm-ends",
                 .summary = "calls through both ends of LLVM's rpc.h",
                 .parameters = {parameter::number("waves", 2, 1, 64, "", "waves that call"),
                                parameter::number("lanes", 1, 1, HEDDLE_COMPAT_WAVE_LANES, "", "lanes of each"),
                                parameter::number("ports", 1, 1, 4096, "", "ports"),
                                parameter::number("calls", 1, 0, 1000, "", "calls of each wave"),
                                parameter::number("notes", 0, 0, 1000, "", "sends without an answer, before these"),
                                parameter::number("servers", 1, 1, 4, "", "server threads")}});

}  // namespace
