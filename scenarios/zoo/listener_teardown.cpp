// Two ways in which the end of a listener goes wrong. Smallest: 1 host thread beside the listener; 2 of them.
//
// CLR: listener-teardown (9a9d10a10, 8942939fa), the lock of the listener is held while its end is waited for, and the listener takes it
// once more before it ends. The repair (4761ecbb1, 62559a6e5; rocm-systems #6155; from reading) drops it, and looks whether the listener is
// idle when it no longer has it: listener-teardown-window, a thread that starts to use the listener in between uses a deleted one. The
// twins let go of the lock before they wait, and decide and forget the listener under the lock.
#include "../ports.h"
#include "zoo.h"

#include <mutex>
#include <new>

namespace heddle::tests {
namespace {

using scheduler::verdict;

// -- the lock is held across the end ---------------------------------------------------------------------------------------------

void run_held_teardown(const parameters& set) {
  device on;
  static std::mutex mutex;
  auto* const words = on.allocate_shared<uint32_t>(2, "stop, passes");
  {
    auto listener = on.spawn_host("listener", [=] {
      while (true) {
        // Acquire pairs with the release of the stop.
        const bool last = shared_word<uint32_t>(words[0]).load(memory_order::acquire) != 0;
        {
          const std::lock_guard<std::mutex> held(mutex);
          ++words[1];
        }
        if (last) return;
        target::pause();
      }
    });
    std::unique_lock<std::mutex> held(mutex);
    shared_word<uint32_t>(words[0]).store(1, memory_order::release);
    if (zoo::is_fixed(set)) held.unlock();
    listener.join();
  }
  HEDDLE_CHECK(words[1] != 0, "the listener has not looked");
}

verdict held_teardown_verdict(const parameters& set) { return zoo::is_fixed(set) ? verdict::ok : verdict::deadlock; }

// -- a look, and then the deletion -------------------------------------------------------------------------------------------------

/// What a listener needs, in memory of the device, which is watched.
struct listener_state {
  uint32_t users;
  uint32_t events;
};

/// The one listener of the process, made for the first thread that needs it and deleted behind the last.
struct listener_owner {
  std::mutex mutex;
  listener_state* state = nullptr;

  listener_state* use(device& on) {
    const std::lock_guard<std::mutex> held(mutex);
    if (state == nullptr) state = on.allocate_shared<listener_state>(1, "listener");
    shared_word<uint32_t>(state->users).fetch_add(1, memory_order::relaxed);
    return state;
  }
  /// The listener if no thread uses it any more, for the caller to delete.
  listener_state* leave(listener_state* mine, bool looks_under_lock) {
    std::unique_lock<std::mutex> held(mutex);
    const bool was_last = shared_word<uint32_t>(mine->users).fetch_sub(1, memory_order::relaxed) == 1;
    if (!was_last) return nullptr;
    // Threads that come from here on get the same one.
    if (!looks_under_lock) {
      held.unlock();
      held.lock();
    }
    state = nullptr;
    return mine;
  }
};

void run_teardown_window(const parameters& set) {
  device on;
  // In memory that begins anew with each run.
  auto* const owner = new (on.allocate_shared<listener_owner>(1, "owner of the listener")) listener_owner;
  const auto user = [&on, owner, fixed = zoo::is_fixed(set), times = set.count("times")] {
    for (uint32_t n = 0; n < times; ++n) {
      listener_state* const mine = owner->use(on);
      shared_word<uint32_t>(mine->events).fetch_add(1, memory_order::relaxed);
      on.free(owner->leave(mine, fixed));
    }
  };
  auto first = on.spawn_host("queue", user);
  auto second = on.spawn_host("queue", user);
  first.join();
  second.join();
}

verdict teardown_window_verdict(const parameters& set) { return zoo::is_fixed(set) ? verdict::ok : verdict::memory; }

}  // namespace

HEDDLE_ZOO(run_held_teardown, {.name = "zoo.listener-teardown",
                               .summary = "the end of a listener is waited for with the lock that it needs to end",
                               .parameters = zoo::with_twin({}),
                               .expected = held_teardown_verdict});

HEDDLE_ZOO(run_teardown_window, {.name = "zoo.listener-teardown-window",
                                 .summary = "a listener is deleted that has come into use since it was idle",
                                 .parameters = zoo::with_twin({
                                     parameter::number("times", 2, 1, 1000, "", "times that each thread uses it"),
                                 }),
                                 .expected = teardown_window_verdict});

}  // namespace heddle::tests
