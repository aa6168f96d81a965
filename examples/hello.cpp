// A kernel that prints through a port. The same file is built for the simulator, for host threads, for CUDA and for HIP:
//   build/examples/hello_sim fuzz --schedules 1     build/examples/hello_host     hello_cuda     hello_hip
#include <heddle/tools/scenario.h>

#include <cstdio>

namespace rpc = heddle::rpc;
using heddle::target;

constexpr uint16_t print_opcode = rpc::user_opcode(0);

struct hello_kernel {  // copied to the device; runs once per lane
  rpc::client client;

  HEDDLE_FUNCTION void operator()() const {
    const char text[] = "hello from a wave";
    auto port = client.open<print_opcode>();  // one port for all lanes that stand here together
    port.send([](rpc::packet& to, uint32_t lane) { to.words[0] = lane; });
    port.send_n(text, sizeof text);  // the port closes here, without waiting for an answer
  }
};

void hello(const heddle::parameters& set) {
  heddle::device device;
  const rpc::layout shape{.ports = 4, .lanes = 32};
  void* const ports = device.allocate_shared<char>(shape.size_bytes(), "ports");
  auto* const client_locks = device.allocate_device<uint32_t>(shape.own_words(), "client locks");
  auto* const server_locks = device.allocate_shared<uint32_t>(shape.own_words(), "server locks");
  auto* const stop = device.allocate_shared<uint32_t>(1, "stop flag");
  using flag = target::atomic_ref<uint32_t, heddle::scope::system>;

  auto server = device.spawn_host("server", [=, server = rpc::server(ports, server_locks, shape)]() mutable {
    for (bool last = false;;) {
      if (auto port = server.try_open()) {
        uint64_t lanes[rpc::max_lanes];
        char lines[rpc::max_lanes][64];
        port.recv([&](rpc::packet& from, uint32_t lane) { lanes[lane] = from.words[0]; });
        port.recv_n([&](uint32_t lane, uint64_t) { return lines[lane]; }, sizeof lines[0]);
        for (uint32_t lane = 0; lane < rpc::max_lanes; ++lane)
          if ((port.mask() >> lane & 1) != 0) std::printf("%s, lane %d\n", lines[lane], static_cast<int>(lanes[lane]));
      } else if (last) {
        return;
      } else {
        last = flag(*stop).load(heddle::memory_order::acquire) != 0;  // then one more look
        if (!last) target::pause();
      }
    }
  });
  device.launch({.waves = set.count("waves"), .lanes = 4}, hello_kernel{rpc::client(ports, client_locks, shape)});
  device.synchronize();
  flag(*stop).store(1, heddle::memory_order::release);
}

HEDDLE_SCENARIO(hello, {.name = "hello",
                        .summary = "a kernel that prints through a port",
                        .parameters = {heddle::parameter::number("waves", 2, 1, 64, "", "waves that print")}});
