// A kernel that stays on the device and serves threads of the host, which call it through slots. The same file is built for the simulator, for
// host threads, for CUDA and for HIP:
//   build/examples/device_server_sim fuzz     build/examples/device_server_host     device_server_cuda     device_server_hip
#include <heddle/tools/scenario.h>

#include <vector>

namespace rpc = heddle::rpc;
using heddle::target;
using flag = target::atomic_ref<uint32_t, heddle::scope::system>;
// A mailbox is a word a slot: nothing but loads and stores crosses the link.
using form = rpc::word_a_slot;

/// Answers with a square until it is told to end.
struct squaring_kernel {
  rpc::slot_server<form> server;
  uint32_t* stop;

  HEDDLE_FUNCTION void operator()() const {
    rpc::slot_server<form> serving = server;
    for (;;) {
      // Read before the look for work: what was asked before is then still answered.
      const bool ends = flag(*stop).load(heddle::memory_order::acquire) != 0;
      if (serving.handle([](rpc::packet& line, uint32_t) { line.words[0] *= line.words[0]; },
                         [](rpc::packet&, uint32_t) {}))
        continue;
      if (ends) return;
      target::pause();
    }
  }
};

void device_server(const heddle::parameters& set) {
  heddle::device device;
  const rpc::slot_layout<form> shape{4, 1};
  void* const slots = device.allocate_shared<char>(shape.size_bytes(), "slots");
  auto* const client_locks = device.allocate_shared<uint32_t>(shape.own_words(), "client locks");
  auto* const server_locks = device.allocate_device<uint32_t>(shape.own_words(), "server locks");
  auto* const words = device.allocate_shared<uint32_t>(2, "stop flag and threads that are done");
  uint32_t* const done = &words[1];
  const uint32_t threads = set.count("threads");

  device.launch({.waves = set.count("waves"), .lanes = 1},
                squaring_kernel{rpc::slot_server<form>(slots, server_locks, shape), &words[0]});
  std::vector<decltype(device.spawn_host("caller", [] {}))> callers;
  for (uint32_t n = 0; n < threads; ++n)
    callers.push_back(device.spawn_host("caller", [=, client = rpc::slot_client<form>(slots, client_locks, shape)] {
      for (uint64_t call = 0; call < 5; ++call) {
        const uint64_t asked = uint64_t{10} * n + call;
        uint64_t square = 0;
        // False when no slot is idle now.
        while (!client.invoke([&](rpc::packet& line, uint32_t) { line.words[0] = asked; },
                              [&](rpc::packet& line, uint32_t) { square = line.words[0]; }))
          target::pause();
        HEDDLE_CHECK(square == asked * asked, "the device squares otherwise");
      }
      flag(*done).fetch_add(1, heddle::memory_order::release);
    }));
  // A GPU need not start a kernel whose host never asks for it.
  while (flag(*done).load(heddle::memory_order::acquire) != threads) {
    device.query();
    target::pause();
  }
  for (auto& caller : callers) caller.join();
  flag(words[0]).store(1, heddle::memory_order::release);
  device.synchronize();
}

HEDDLE_SCENARIO(device_server,
                {.name = "device-server",
                 .summary = "a kernel that stays on the device and serves threads of the host",
                 .parameters = {heddle::parameter::number("waves", 2, 1, 64, "", "waves that serve"),
                                heddle::parameter::number("threads", 3, 1, 64, "", "threads that call")}});
