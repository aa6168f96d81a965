// A server that finds nothing says that it sleeps, looks once more, and sleeps until it is rung for. A wave posts, and rings where the server says
// that it sleeps. Each stores a word and then loads the other's: without a full fence between the two on both sides, both loads may find what was
// there before, and the server sleeps on what was posted. Smallest: 1 wave, 1 call.
//
// io_uring, IORING_SQ_NEED_WAKEUP: axboe/liburing #541, #542 (neither the library nor the kernel had its fence), tokio-rs/io-uring #281, libuv
// #4921. The twin has both fences.
#include "../ports.h"
#include "zoo.h"

namespace heddle::tests {
namespace {

struct sleeper_words {
  uint32_t posted;
  uint32_t served;
  uint32_t asleep;
  doorbell rings;
};

template <bool Fixed>
HEDDLE_FUNCTION void fence_if_fixed() {
  // Pairs with the same fence of the other side: of two loads behind such fences, one finds what the other side has stored in front of its own.
  if constexpr (Fixed) target::template fence<scope::system>(memory_order::seq_cst);
}

template <bool Fixed>
struct sleeper_kernel {
  sleeper_words* words;
  uint32_t calls;

  HEDDLE_FUNCTION void operator()() const {
    if (target::lane_id() != 0) return;
    for (uint32_t call = 1; call <= calls; ++call) {
      // Release pairs with the acquire in sleeping_server::is_posted.
      shared_word<uint32_t>(words->posted).store(call, memory_order::release);
      fence_if_fixed<Fixed>();
      if (shared_word<uint32_t>(words->asleep).load(memory_order::relaxed) != 0) {
        shared_word<doorbell>(words->rings).fetch_add(1, memory_order::release);
        target::notify(words->rings);
      }
      // Acquire pairs with the release of the answer.
      while (shared_word<uint32_t>(words->served).load(memory_order::acquire) != call) target::pause();
    }
  }
};

template <bool Fixed>
struct sleeping_server {
  sleeper_words* words;
  uint32_t calls;

  bool is_posted(uint32_t call) const {
    // Acquire pairs with the release of the post.
    return shared_word<uint32_t>(words->posted).load(memory_order::acquire) == call;
  }
  void sleep_until_posted(uint32_t call) const {
    while (!is_posted(call)) {
      // Acquire: a ring that is counted here is not slept through.
      const doorbell rings = shared_word<doorbell>(words->rings).load(memory_order::acquire);
      shared_word<uint32_t>(words->asleep).store(1, memory_order::relaxed);
      fence_if_fixed<Fixed>();
      if (!is_posted(call)) target::wait(words->rings, rings, no_timeout);
      shared_word<uint32_t>(words->asleep).store(0, memory_order::relaxed);
    }
  }
  void operator()() const {
    for (uint32_t call = 1; call <= calls; ++call) {
      sleep_until_posted(call);
      // Release pairs with the acquire of the wave.
      shared_word<uint32_t>(words->served).store(call, memory_order::release);
    }
  }
};

template <bool Fixed>
void run_sleeper(const parameters& set) {
  device on;
  const uint32_t calls = set.count("calls");
  auto* const words = on.allocate_shared<sleeper_words>(1, "words");
  auto server = on.spawn_host("server", sleeping_server<Fixed>{words, calls});
  on.launch({.blocks = 1, .waves = 1, .lanes = 1}, sleeper_kernel<Fixed>{words, calls});
  on.synchronize();
  server.join();
}

void run_either_sleeper(const parameters& set) {
  if (zoo::is_fixed(set))
    run_sleeper<true>(set);
  else
    run_sleeper<false>(set);
}

scheduler::verdict sleeper_verdict(const parameters& set) {
  const scheduler::verdict sound = needs_all_turns(set);
  // Where each access is in memory at once, one of the two loads is the later one.
  const bool is_weak = !set.has("fidelity") || set.text("fidelity") != "interleaving";
  return zoo::is_fixed(set) || !is_weak || sound != scheduler::verdict::ok ? sound : scheduler::verdict::deadlock;
}

}  // namespace

HEDDLE_ZOO(run_either_sleeper,
           {.name = "zoo.sleeps-behind-its-look",
            .summary = "a server says that it sleeps and looks once more, and neither side has a full fence",
            .parameters = zoo::with_twin({parameter::number("calls", 1, 1, 1000, "", "calls of the wave")}),
            .expected = sleeper_verdict});

}  // namespace heddle::tests
