// The simulated machine with one thing wrong: Targets that weaken a single operation, to see whether the checks and the
// simulator find out. Each hides one member of sim::target.
#pragma once

#include <heddle/rpc/rpc.h>

namespace heddle::tests::mutants {

/// The machine as it is, through a class of its own: the twin of all that follow.
struct none : sim::target {};

/// An atomic word that is weakened where `Scope` is `Weak` only: locks are device scope, mailboxes are system scope.
template <typename T, scope Scope>
using true_ref = sim::target::atomic_ref<T, Scope>;

// -- locks: words of device scope -----------------------------------------------------------------------------------------

/// Every port seems to be free.
struct lock_is_always_free : sim::target {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    using true_ref<T, Scope>::true_ref;
    T fetch_or(T bits, memory_order order) const {
      const T before = true_ref<T, Scope>::fetch_or(bits, order);
      return Scope == scope::device ? T{0} : before;
    }
  };
};

/// Taking a lock is a look and a store, and another thread may run in between.
struct lock_is_not_atomic : sim::target {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    using true_ref<T, Scope>::true_ref;
    T fetch_or(T bits, memory_order order) const {
      if (Scope != scope::device) return true_ref<T, Scope>::fetch_or(bits, order);
      const T before = this->load(memory_order::acquire);
      this->store(before | bits, memory_order::relaxed);
      return before;
    }
  };
};

/// Giving one port back gives all of its word back.
struct unlock_clears_the_word : sim::target {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    using true_ref<T, Scope>::true_ref;
    T fetch_add(T value, memory_order order) const {
      return Scope == scope::device ? this->exchange(0, order) : true_ref<T, Scope>::fetch_add(value, order);
    }
  };
};

/// A port is never given back.
struct unlock_is_forgotten : sim::target {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    using true_ref<T, Scope>::true_ref;
    T fetch_add(T value, memory_order order) const {
      return Scope == scope::device ? this->load(memory_order::relaxed) : true_ref<T, Scope>::fetch_add(value, order);
    }
  };
};

// -- mailboxes: words of system scope -------------------------------------------------------------------------------------

/// A packet is handed over and at once taken back.
struct handover_toggles_twice : sim::target {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    using true_ref<T, Scope>::true_ref;
    void store(T value, memory_order order) const {
      true_ref<T, Scope>::store(value, order);
      if (Scope == scope::system) true_ref<T, Scope>::store(static_cast<T>(~value), order);
    }
  };
};

/// Half of the hand-overs, those to zero, never happen.
struct handover_is_lost : sim::target {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    using true_ref<T, Scope>::true_ref;
    void store(T value, memory_order order) const {
      if (Scope == scope::system && value == 0) return;
      true_ref<T, Scope>::store(value, order);
    }
  };
};

/// The other end's mailbox seems never to have been written.
struct inbox_is_stale : sim::target {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    using true_ref<T, Scope>::true_ref;
    T load(memory_order order) const {
      const T found = true_ref<T, Scope>::load(order);
      return Scope == scope::system && sizeof(T) == 4 ? T{0} : found;
    }
  };
};

/// The other end's mailbox is read upside down: this end takes what it does not own.
struct inbox_is_inverted : sim::target {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    using true_ref<T, Scope>::true_ref;
    T load(memory_order order) const {
      const T found = true_ref<T, Scope>::load(order);
      return Scope == scope::system && sizeof(T) == 4 ? static_cast<T>(~found) : found;
    }
  };
};

// -- lanes ----------------------------------------------------------------------------------------------------------------

/// Each lane keeps its own value, instead of the first lane's.
struct broadcast_keeps_own_value : sim::target {
  static uint32_t broadcast(uint64_t, uint32_t value) { return value; }
  static uint64_t broadcast(uint64_t, uint64_t value) { return value; }
};

/// A ballot counts the caller's vote only: lanes leave a loop on their own.
struct ballot_counts_own_vote : sim::target {
  static uint64_t ballot(uint64_t, bool vote) { return uint64_t{vote} << lane_id(); }
};

/// Lanes do not wait for each other: a packet is handed over before all of it is there.
struct sync_is_left_out : sim::target {
  static void sync_lanes(uint64_t) {}
};

/// Every lane believes to be the first.
struct all_lanes_are_first : sim::target {
  static bool is_first_lane(uint64_t) { return true; }
};

/// The mask names lanes that are elsewhere: those that branched off.
struct mask_names_all_lanes : sim::target {
  static uint64_t lane_mask() {
    (void)sim::target::lane_mask();
    return ~uint64_t{0} >> (64 - lane_count());
  }
};

// -- doorbell -------------------------------------------------------------------------------------------------------------

/// A ring that is lost.
struct ring_is_lost : sim::target {
  static void notify(doorbell&) {}
};

/// A server that falls asleep waits for the next ring, whatever has been rung since it looked.
struct sleep_ignores_the_past : sim::target {
  static void wait(doorbell& bell, doorbell, uint64_t timeout_ns) {
    sim::target::wait(bell, atomic_ref<doorbell, scope::system>(bell).load(memory_order::acquire), timeout_ns);
  }
};

// -- answers of one word: words of 64 bits and system scope ---------------------------------------------------------------

/// A client does not clear the place of its answer.
struct words_are_not_cleared : sim::target {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    using true_ref<T, Scope>::true_ref;
    void store(T value, memory_order order) const {
      if (sizeof(T) != sizeof(uint64_t) || value != 0) true_ref<T, Scope>::store(value, order);
    }
  };
};

/// A server's words publish nothing.
struct words_release_nothing : sim::target {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    using true_ref<T, Scope>::true_ref;
    void store(T value, memory_order order) const {
      true_ref<T, Scope>::store(value, sizeof(T) == sizeof(uint64_t) ? memory_order::relaxed : order);
    }
  };
};

}  // namespace heddle::tests::mutants
