// A function is called with a mutex held that it takes itself, or that others need meanwhile. Smallest: 1 host thread; 2 of them and 2
// waves.
//
// LLVM #219012: lock-held-across-callback, a handler registers a callback, and the registry is locked while handlers run. From reading
// LLVM offload's RPC.cpp: lock-held-across-callback-slow, the mutex of all devices is held while a handler runs, until its call has ended, so
// that one slow call stops all devices. The twins call with no mutex held; a handler does what there is to do, and comes back later.
#include "../ports.h"
#include <heddle/tools/requests.h>

#include "zoo.h"

#include <mutex>
#include <new>

namespace heddle::tests {
namespace {

using scheduler::verdict;

// -- a handler that registers ------------------------------------------------------------------------------------------------------

/// Which opcodes have a handler.
struct callback_registry {
  std::mutex mutex;
  uint32_t known = 0;

  void add(uint32_t opcode) {
    const std::lock_guard<std::mutex> held(mutex);
    known |= uint32_t{1} << opcode;
  }
  bool knows(uint32_t opcode) {
    const std::lock_guard<std::mutex> held(mutex);
    return (known >> opcode & 1) != 0;
  }
  /// Calls the handler of the opcode, if there is one.
  template <typename Handler>
  void call(uint32_t opcode, const Handler& handler, bool locked) {
    if (!locked) {
      if (knows(opcode)) handler();
      return;
    }
    const std::lock_guard<std::mutex> held(mutex);
    if ((known >> opcode & 1) != 0) handler();
  }
};

struct asking_kernel {
  uint32_t* request;
  uint32_t* answer;

  HEDDLE_FUNCTION void operator()() const {
    shared_word<uint32_t>(*request).store(1, memory_order::release);
    // Acquire pairs with the server's release.
    while (shared_word<uint32_t>(*answer).load(memory_order::acquire) == 0) target::pause();
  }
};

void run_locked_callback(const parameters& set) {
  device on;
  auto* const words = on.allocate_shared<uint32_t>(2, "request, answer");
  // In memory that begins anew with each run.
  auto* const registry = new (on.allocate_shared<callback_registry>(1, "registry")) callback_registry;
  registry->add(0);
  auto serving = on.spawn_host("server", [=, locked = !zoo::is_fixed(set)] {
    // Acquire pairs with the kernel's release.
    while (shared_word<uint32_t>(words[0]).load(memory_order::acquire) == 0) target::pause();
    registry->call(0, [=] { registry->add(1); }, locked);
    shared_word<uint32_t>(words[1]).store(1, memory_order::release);
  });
  on.launch({.blocks = 1, .waves = 1, .lanes = 1}, asking_kernel{&words[0], &words[1]});
  on.synchronize();
  serving.join();
  HEDDLE_CHECK(registry->knows(1), "the handler was not called");
}

verdict locked_callback_verdict(const parameters& set) { return zoo::is_fixed(set) ? verdict::ok : verdict::deadlock; }

// -- a slow handler ----------------------------------------------------------------------------------------------------------------

HEDDLE_FUNCTION constexpr uint64_t request_id(uint32_t device, uint32_t left) { return uint64_t{device} << 32 | left; }

/// Two devices, a wave each, whose requests are bits of a word; each has a word for its answer. The first makes a call of many hand-overs.
struct two_devices_kernel {
  uint32_t* requests;
  uint32_t* answers;
  uint32_t parts;  ///< of the first's call

  HEDDLE_FUNCTION void operator()() const {
    const uint32_t me = target::wave_id();
    const uint32_t bit = uint32_t{1} << me;
    for (uint32_t left = me == 0 ? parts : 1; left != 0; --left) {
      shared_word<uint32_t>(*requests).fetch_or(bit, memory_order::release);
      request_made(request_id(me, left));
      // Acquire pairs with the server's release.
      while (shared_word<uint32_t>(answers[me]).load(memory_order::acquire) != left) target::pause();
    }
  }
};

/// The calls that one host thread serves.
struct calls_of_devices {
  uint32_t* requests;
  uint32_t* answers;
  uint32_t left[2];

  /// Answers a hand-over of the device, if one is there.
  bool answer(uint32_t of) {
    const uint32_t bit = uint32_t{1} << of;
    // Acquire pairs with the kernel's release.
    if ((shared_word<uint32_t>(*requests).load(memory_order::acquire) & bit) == 0) return false;
    shared_word<uint32_t>(*requests).fetch_and(~bit, memory_order::relaxed);
    request_served(request_id(of, left[of]));
    shared_word<uint32_t>(answers[of]).store(left[of], memory_order::release);
    --left[of];
    return true;
  }
  /// The same, and goes on until the call has ended.
  bool answer_all(uint32_t of) {
    if (!answer(of)) return false;
    while (left[of] != 0)
      if (!answer(of)) target::pause();
    return true;
  }
};

void run_slow_callback(const parameters& set) {
  device on;
  if (is_left_out<words_of_both_sides>(on, set)) return;
  auto* const words = on.allocate_shared<uint32_t>(3, "requests, answers");
  auto* const registry = new (on.allocate_shared<callback_registry>(1, "registry")) callback_registry;
  registry->add(0);
  const bool locked = !zoo::is_fixed(set);
  const uint32_t parts = set.count("parts");
  auto serving = on.spawn_host("server", [=] {
    calls_of_devices calls{&words[0], &words[1], {parts, 1}};
    while (calls.left[0] + calls.left[1] != 0) {
      bool found = false;
      for (uint32_t n = 0; n < 2; ++n)
        registry->call(0, [&] { found |= locked ? calls.answer_all(n) : calls.answer(n); }, locked);
      if (!found) target::pause();
    }
  });
  on.launch({.blocks = 1, .waves = 2, .lanes = 1}, two_devices_kernel{&words[0], &words[1], parts});
  on.synchronize();
  serving.join();
}

verdict slow_callback_verdict(const parameters& set) { return zoo::is_fixed(set) ? verdict::ok : verdict::starvation; }

std::vector<parameter> slow_callback_parameters() {
  std::vector<parameter> all = zoo::with_twin({
      parameter::number("parts", 64, 64, 10000, "", "hand-overs of the slow call"),
  });
  // Under the others a call may never be made, which is no fault of the server's.
  all.push_back(parameter::one_of("progress", "fair", {"fair", "obe", "hsa_obe", "lobe", "slots", "cuda"},
                                  "which waves are guaranteed a turn; each model is explained in docs/simulator.md"));
  all.push_back(
      parameter::number("starvation", 32, 16, 60, "",
                        "how often a lane that waits may be passed over before that is a verdict; 0: as often "
                        "as it comes"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_locked_callback, {.name = "zoo.lock-held-across-callback",
                                 .summary = "a handler takes the mutex that is held while it runs",
                                 .parameters = zoo::with_twin({}),
                                 .expected = locked_callback_verdict});

HEDDLE_ZOO(run_slow_callback, {.name = "zoo.lock-held-across-callback-slow",
                               .summary = "a mutex is held while a handler runs, and a slow one stops all devices",
                               .parameters = slow_callback_parameters(),
                               .expected = slow_callback_verdict});

}  // namespace heddle::tests
