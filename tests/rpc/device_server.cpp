// A server that is not a host thread but a wave of the device: half of the waves call, the other half serve them.
#include <heddle/tools/scenario.h>

namespace heddle::tests {
namespace {

constexpr uint16_t call_opcode = rpc::user_opcode(1);

using word = target::atomic_ref<uint32_t, scope::system>;

struct calling_and_serving_kernel {
  rpc::client client;
  rpc::server server;
  uint32_t* unfinished;  ///< lanes that still call
  uint32_t* handled;
  uint32_t waves;
  uint32_t lanes;
  uint32_t calls;

  void operator()() const {
    if (target::wave_id() < waves / 2)
      call();
    else
      serve();
  }

  void call() const {
    for (uint32_t n = 0; n < calls; ++n) {
      const uint64_t id = (target::wave_id() * lanes + target::lane_id()) * calls + n;
      uint64_t answer = 0;
      {
        auto port = client.open<call_opcode>();
        port.send_and_recv([&](rpc::packet& to, uint32_t) { to.words[0] = id; },
                           [&](rpc::packet& from, uint32_t) { answer = from.words[0]; });
      }
      HEDDLE_CHECK(answer == id + 1, "the answer is not the one to this lane's request");
    }
    word(*unfinished).fetch_sub(1, memory_order::release);
  }

  void serve() const {
    rpc::server at = server;
    const uint64_t all = ~uint64_t{0} >> (64 - lanes);
    for (;;) {
      // One lane looks for all: they must go on together, or some would wait for lanes that have ended.
      const bool last = target::broadcast(all, word(*unfinished).load(memory_order::acquire)) == 0;
      const bool served = serve_one(at, all);
      if (target::ballot(all, served) != 0) continue;
      if (last) return;
      target::pause();
    }
  }

  bool serve_one(rpc::server& at, uint64_t all) const {
    auto port = at.try_open(all);
    if (!port) return false;
    port.recv_and_send([&](rpc::packet& both, uint32_t) {
      ++both.words[0];
      word(*handled).fetch_add(1, memory_order::relaxed);
    });
    return true;
  }
};

void run_device_server(const parameters& set) {
  device on;
  const uint32_t callers = set.count("waves") / 2 * set.count("lanes");
  const rpc::layout shape{set.count("ports"), set.count("lanes")};
  auto* const memory = on.allocate_shared<unsigned char>(shape.size_bytes(), "ports");
  auto* const client_locks = on.allocate_device<uint32_t>(shape.own_words(), "client locks");
  auto* const server_locks = on.allocate_device<uint32_t>(shape.own_words(), "server locks");
  auto* const words = on.allocate_shared<uint32_t>(2, "unfinished and handled");
  word(words[0]).store(callers, memory_order::release);
  const rpc::server server(memory, server_locks, shape);
  on.launch({.waves = set.count("waves"), .lanes = set.count("lanes")},
            calling_and_serving_kernel{rpc::client(memory, client_locks, shape), server, &words[0], &words[1],
                                       set.count("waves"), set.count("lanes"), set.count("calls")});
  on.synchronize();
  HEDDLE_CHECK(word(words[1]).load(memory_order::relaxed) == callers * set.count("calls"),
               "requests are not handled once each");
}

}  // namespace

HEDDLE_SCENARIO(run_device_server, {.name = "device.server",
                                    .summary = "waves that serve waves",
                                    .parameters = {
                                        parameter::number("waves", 4, 2, 64, "",
                                                          "waves, of which the first half calls and the rest serve"),
                                        parameter::number("lanes", 1, 1, 64, "", "lanes of each wave"),
                                        parameter::number("ports", 2, 1, 64, "", "ports between client and server"),
                                        parameter::number("calls", 2, 1, 64, "", "calls that each lane makes"),
                                    }});

}  // namespace heddle::tests
