// Your own protocol under heddle: a mailbox of two flags between one wave and the host, in ordinary C++ with std::atomic. There
// is a bug in it that hangs one run in many; `build/examples/own_protocol fuzz` finds it and says what waits for what.
//
// Built by: add_executable(own_protocol own_protocol.cpp)
//           target_link_libraries(own_protocol PRIVATE heddle::main)
#include <heddle/tools/scenario.h>

#include <atomic>

namespace {

struct mailbox {
  std::atomic<uint32_t> full;  // device to host: there is a request in data
  std::atomic<uint32_t> done;  // host to device: there is an answer in data
  uint64_t data;
};

// The device's side.
uint64_t call(mailbox& box, uint64_t request) {
  box.data = request;
  box.full.store(1, std::memory_order_release);
  while (box.done.load(std::memory_order_acquire) == 0) {
  }
  box.done.store(0, std::memory_order_relaxed);
  return box.data;
}

// The host's side.
void serve_one(mailbox& box, bool in_order) {
  while (box.full.load(std::memory_order_acquire) == 0) {
  }
  if (in_order) box.full.store(0, std::memory_order_relaxed);
  box.data = box.data * 2;
  box.done.store(1, std::memory_order_release);
  // The bug: by now the device may have sent its next request, and this erases it. (NCCL's proxy did the same with the size of a
  // finished step, NCCL #2389.)
  if (!in_order) box.full.store(0, std::memory_order_relaxed);
}

// ---------------------------------------------------------------------------------------------------------------------------------
// The test: what runs where, and what must come out.

struct caller {
  mailbox* box;
  uint32_t calls;
  void operator()() const {
    for (uint64_t n = 0; n < calls; ++n) HEDDLE_CHECK(call(*box, n) == 2 * n, "a call got a wrong answer");
  }
};

void run(const heddle::parameters& set) {
  heddle::device device;
  auto* const box = device.allocate_shared<mailbox>(1, "mailbox");
  const uint32_t calls = set.count("calls");
  const bool in_order = set.text("fixed") == "yes";
  auto host = device.spawn_host("host", [=] {
    for (uint32_t n = 0; n < calls; ++n) serve_one(*box, in_order);
  });
  device.launch({.waves = 1, .lanes = 1}, caller{box, calls});
  device.synchronize();
}

HEDDLE_SCENARIO(run, {.name = "own-protocol",
                      .summary = "a mailbox of two flags, cleared too late",
                      .parameters = {heddle::parameter::number("calls", 3, 1, 1000, "", "calls of the device"),
                                     heddle::parameter::one_of("fixed", "no", {"no", "yes"}, "without the bug")}});

}  // namespace
