#include "programs.h"

#include <heddle/sim/device.h>
#include <heddle/sim/target.h>

#include <cstring>
#include <thread>

namespace heddle::bench {
namespace {

using target = sim::target;
using flag = target::atomic_ref<uint32_t, scope::system>;

struct mailbox_memory {
  uint32_t out;
  uint32_t in;
  uint64_t payload;
};

struct mailbox_client {
  mailbox_memory* box;
  uint32_t rounds;
  void operator()() const {
    for (uint32_t round = 1; round <= rounds; ++round) {
      box->payload = round;
      flag(box->out).store(round, memory_order::release);
      while (flag(box->in).load(memory_order::acquire) != round) target::pause();
      if (box->payload != 10 * uint64_t{round}) target::trap(fault::assertion, "wrong answer");
    }
  }
};

struct mailbox_server {
  mailbox_memory* box;
  uint32_t rounds;
  void operator()() const {
    for (uint32_t round = 1; round <= rounds; ++round) {
      while (flag(box->out).load(memory_order::acquire) != round) target::pause();
      box->payload = 10 * box->payload;
      flag(box->in).store(round, memory_order::release);
    }
  }
};

struct busy_wave {
  uint64_t* words;
  uint32_t operations;
  void operator()() const {
    const target::atomic_ref<uint64_t, scope::system> word(words[uint64_t{8} * target::wave_id()]);
    for (uint32_t n = 0; n < operations; n += 2)
      word.store(word.load(memory_order::relaxed) + 1, memory_order::relaxed);
  }
};

}  // namespace

void mailbox(uint32_t rounds) {
  sim::device device;
  auto* const box = device.allocate_shared<mailbox_memory>(1, "mailbox");
  auto server = device.spawn_host("server", mailbox_server{box, rounds});
  mailbox_client{box, rounds}();
}

void mailbox_of_threads(uint32_t rounds) {
  sim::device device;
  auto* const box = device.allocate_shared<mailbox_memory>(1, "mailbox");
  // What a thread is given lies on the C++ heap, where each look at it is an access; the server has it in its frame, as it has with spawn_host().
  std::thread server([=] { mailbox_server{box, rounds}(); });
  mailbox_client{box, rounds}();
  server.join();
}

void fills(size_t filled_bytes, uint32_t times) {
  sim::device device;
  auto* const bytes = device.allocate_device<unsigned char>(most_filled_bytes, "bytes");
  device.launch({.waves = 1}, [=] {
    for (uint32_t n = 1; n <= times; ++n) std::memset(bytes, static_cast<int>(n), filled_bytes);
  });
  device.synchronize();
}

void busy_waves(uint32_t waves, uint32_t operations) {
  sim::device device;
  auto* const words = device.allocate_shared<uint64_t>(8 * uint64_t{waves}, "words");
  device.launch({.waves = waves}, busy_wave{words, operations});
  device.synchronize();
}

}  // namespace heddle::bench
