// Host threads that a kernel's ring wakes, where the GPU can interrupt the host: a signal that kernels raise behind each ring of a doorbell, a
// thread that waits for it, and threads that wait for doorbells and are woken by that one.
#pragma once

#include <heddle/rpc/target.h>

#include <utility>

namespace heddle::rpc {

/// One signal for all doorbells of a program. `Target` is the host threads' own, whose wait() sleeps until a host thread rings. `Signal` is a
/// handle, copied:
///
///   uint64_t value()            what it counts; an acquire
///   void wait_while(uint64_t)   blocks while it counts that much, or returns for no reason
///   void raise()                counts one more, and wakes the thread in wait_while; a release
///
/// Kernels ring in two steps: they add to the doorbell, a release, and then raise the signal. A view: `passed_on` and `ends` are zeroed words
/// of the host's, which outlive it. Any thread may call any member; pass_on is one thread's.
template <typename Target, typename Signal>
class interrupts {
 public:
  interrupts(Signal signal, doorbell& passed_on, uint32_t& ends)
      : signal_(std::move(signal)), passed_on_(&passed_on), ends_(&ends) {}

  /// Wakes waiting threads at each interrupt, until end() is called.
  void pass_on() const {
    for (uint64_t seen = 0;;) {
      // In front of the wake-up: a raise that comes behind this look is not slept through. One that this look counts has rung its doorbell,
      // and is passed on below.
      const uint64_t now = signal_.value();
      if (now != seen) Target::notify(*passed_on_);
      seen = now;
      // Acquire pairs with the release in end(), whose raise comes behind its store.
      if (word(*ends_).load(memory_order::acquire) != 0) return;
      signal_.wait_while(seen);
    }
  }

  /// Has pass_on return.
  void end() const {
    word(*ends_).store(1, memory_order::release);
    signal_.raise();
  }

  /// As Target::wait, also for doorbells that kernels ring.
  void wait(doorbell& bell, uint32_t seen, uint64_t timeout_ns) const {
    // Acquire, and in front of the look at the doorbell: a ring that this look misses is passed on behind it, and changes this count.
    const doorbell heard = word(*passed_on_).load(memory_order::acquire);
    // Acquire pairs with the release in the kernel's ring, here and below: work that was published in front of it is found.
    if (word(bell).load(memory_order::acquire) != seen) return;
    Target::wait(*passed_on_, heard, timeout_ns);
    (void)word(bell).load(memory_order::acquire);
  }

  /// As Target::notify: a host thread's ring needs no interrupt.
  void notify(doorbell& bell) const {
    word(bell).fetch_add(1, memory_order::release);
    Target::notify(*passed_on_);
  }

 private:
  static auto word(uint32_t& of) { return typename Target::template atomic_ref<uint32_t, scope::system>(of); }

  Signal signal_;
  doorbell* passed_on_;
  uint32_t* ends_;
};

}  // namespace heddle::rpc
