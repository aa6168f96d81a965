// The client takes a slot's lock by an operation that does not acquire, and then looks at the slot's mailboxes: what it sees of them may be older
// than the lock. It takes a slot that is in use for an idle one, and posts into it.
//
// hostrpc 890ff39, whose message says of the fences around the lock: "sad they didn't show up under testing". Smallest: 2 waves, 1 slot,
// asynchronous calls. The payload is atomic here, so that what is seen is what becomes of the mailboxes; where it is not, there is a race
// besides (zoo.no-fence-at-lock).
#include "weakened.h"

namespace heddle::tests {
namespace {

using scheduler::verdict;
using side_word = target::atomic_ref<uint32_t, scope::device>;

/// A slot: the client's mailbox and the server's, and what is asked for. Both 0: it is idle. (hostrpc README, "State machine".)
struct lone_slot {
  uint32_t of_client;
  uint32_t of_server;
  uint32_t request;
};

struct posting_client_kernel {
  lone_slot* slot;
  uint32_t* lock;
  callers who;
  memory_order at_lock;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call)
      while (!post(who.request(call))) target::pause();
  }

  HEDDLE_FUNCTION bool post(uint32_t request) const {
    // Acquire, where it is one, pairs with the release below: the last holder posted before it.
    if (side_word(*lock).exchange(1, at_lock) != 0) return false;
    // Relaxed: only the holder of the lock posts; and the server is waited for, not trusted.
    const uint32_t mine = shared_word<uint32_t>(slot->of_client).load(memory_order::relaxed);
    const uint32_t theirs = shared_word<uint32_t>(slot->of_server).load(memory_order::acquire);
    const bool idle = mine == 0 && theirs == 0;
    if (idle) {
      shared_word<uint32_t>(slot->request).store(request, memory_order::relaxed);
      flip(1);
    } else if (mine == 1 && theirs == 1) {
      // No wave waits for the answer: the next wave that comes by lets the server clear the slot.
      flip(0);
    }
    side_word(*lock).store(0, memory_order::release);
    return idle;
  }

  /// Release pairs with the acquire of the server.
  HEDDLE_FUNCTION void flip(uint32_t to) const {
    const uint32_t before = shared_word<uint32_t>(slot->of_client).exchange(to, memory_order::release);
    if (before == to) target::trap(fault::protocol, "a slot is posted by a wave that takes it for what it was before");
  }
};

struct lone_server {
  lone_slot* slot;
  uint32_t* handled;
  uint32_t* stop;
  uint32_t requests;

  void operator()() const {
    uint32_t mine = 0;
    for (;;) {
      const bool ends = shared_word<uint32_t>(*stop).load(memory_order::acquire) != 0;
      const uint32_t theirs = shared_word<uint32_t>(slot->of_client).load(memory_order::acquire);
      if (theirs != mine) {
        if (theirs == 1) count(shared_word<uint32_t>(slot->request).load(memory_order::relaxed));
        mine = theirs;
        shared_word<uint32_t>(slot->of_server).store(mine, memory_order::release);
        continue;
      }
      if (ends) return;
      target::pause();
    }
  }
  void count(uint32_t request) const {
    if (++handled[request] != 1) target::trap(fault::protocol, "a request is handled twice");
  }
};

void run_lone_slot(const parameters& set) {
  device on;
  const uint32_t requests = set.count("waves") * set.count("calls");
  auto* const slot = on.allocate_shared<lone_slot>(1, "slot");
  auto* const lock = on.allocate_device<uint32_t>(1, "slot lock");
  auto* const handled = on.allocate_shared<uint32_t>(requests, "handled requests");
  auto* const stop = on.allocate_shared<uint32_t>(1, "stop flag");
  auto serving = on.spawn_host("server", lone_server{slot, handled, stop, requests});
  on.launch(
      {.blocks = 1, .waves = set.count("waves"), .lanes = 1},
      posting_client_kernel{
          slot, lock, {1, set.count("calls")}, zoo::is_fixed(set) ? memory_order::acquire : memory_order::relaxed});
  on.synchronize();
  // Release pairs with the acquire of the server.
  shared_word<uint32_t>(*stop).store(1, memory_order::release);
  serving.join();
  for (uint32_t request = 0; request < requests; ++request)
    if (handled[request] != 1) target::trap(fault::protocol, "a request was not handled");
}

verdict lone_slot_verdict(const parameters& set) {
  const bool late = !set.has("fidelity") || set.text("fidelity") == "scoped";
  return late && !zoo::is_fixed(set) && (!set.has("late") || set.count("late") != 0) ? verdict::protocol : verdict::ok;
}

std::vector<parameter> lone_slot_parameters() {
  std::vector<parameter> all = zoo::with_twin({
      parameter::number("waves", 2, 2, 64, "", "waves that call"),
      parameter::number("calls", 2, 1, 1000, "", "calls of each"),
  });
  // Under the others the holder of the lock may never have a turn again, which is another hang.
  all.push_back(parameter::one_of("progress", "fair", {"fair", "obe", "hsa_obe", "lobe", "slots", "cuda"},
                                  "which waves are guaranteed a turn; each model is explained in docs/simulator.md"));
  return all;
}

}  // namespace

HEDDLE_ZOO(run_lone_slot, {.name = "zoo.lock-without-acquire",
                           .summary = "mailboxes are looked at behind a lock that was taken relaxed",
                           .parameters = lone_slot_parameters(),
                           .expected = lone_slot_verdict});

}  // namespace heddle::tests
