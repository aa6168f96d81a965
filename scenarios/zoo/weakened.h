// Machines with one thing too weak, and the verdict that a protocol on them should get.
//
// Each hides one member of the machine that the build selects. The port protocol and its kernels are as they ship.
#pragma once

#include "../echo.h"
#include "zoo.h"

namespace heddle::tests::zoo {

template <typename T, scope Scope>
using true_ref = target::atomic_ref<T, Scope>;

// -- mailboxes: the words of system scope ------------------------------------------------------------------------------------

/// What goes wrong over the link may be noticed by the protocol or by the scenario first, as the schedule has it. Either way it is
/// reported as the scenario would.
struct noticed_by_either : target {
  HEDDLE_FUNCTION static void trap(fault, const char* message) { target::trap(fault::assertion, message); }
};

/// A hand-over does not carry what was written before it.
struct no_release_before_toggle : noticed_by_either {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    HEDDLE_FUNCTION explicit atomic_ref(T& word) : true_ref<T, Scope>(word) {}
    HEDDLE_FUNCTION void store(T value, memory_order order) const {
      true_ref<T, Scope>::store(value, Scope == scope::system ? memory_order::relaxed : order);
    }
  };
};

/// An end that reads a hand-over does not see what came with it.
struct no_acquire_after_wait : noticed_by_either {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    HEDDLE_FUNCTION explicit atomic_ref(T& word) : true_ref<T, Scope>(word) {}
    HEDDLE_FUNCTION T load(memory_order order) const {
      return true_ref<T, Scope>::load(Scope == scope::system ? memory_order::relaxed : order);
    }
  };
  template <scope Scope, typename T>
  HEDDLE_FUNCTION static void acquire_seen(T&) {}
};

/// Mailboxes order as they should, but only among those of one side of the link.
struct device_scope_mailbox : noticed_by_either {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope == scope::system ? scope::device : Scope> {
    using weaker = true_ref<T, Scope == scope::system ? scope::device : Scope>;
    HEDDLE_FUNCTION explicit atomic_ref(T& word) : weaker(word) {}
  };
  template <scope Scope, typename T>
  HEDDLE_FUNCTION static void acquire_seen(T&) {
    target::template fence<scope::device>(memory_order::acquire);
  }
};

/// The first lane looks at the mailbox without acquiring, and the fence comes with the barrier of the lanes. That is early enough
/// for the packets, and too late for the header: the first lane has written it by then.
struct header_without_acquire : no_acquire_after_wait {
  HEDDLE_FUNCTION static void sync_lanes(uint64_t mask) {
    target::template fence<scope::system>(memory_order::acquire);
    target::sync_lanes(mask);
  }
};

/// The word that hands over is stored like any other variable.
struct plain_mailbox_store : noticed_by_either {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    HEDDLE_FUNCTION explicit atomic_ref(T& word) : true_ref<T, Scope>(word), plain_(word) {}
    HEDDLE_FUNCTION void store(T value, memory_order order) const {
      if (Scope == scope::system)
        plain_ = value;
      else
        true_ref<T, Scope>::store(value, order);
    }

   private:
    T& plain_;
  };
};

// -- locks: the words of device scope ----------------------------------------------------------------------------------------

/// Giving a port back does not release what was done with it.
struct no_fence_at_unlock : target {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    HEDDLE_FUNCTION explicit atomic_ref(T& word) : true_ref<T, Scope>(word) {}
    HEDDLE_FUNCTION T fetch_add(T change, memory_order order) const {
      return true_ref<T, Scope>::fetch_add(change, Scope == scope::device ? memory_order::relaxed : order);
    }
  };
};

/// Taking a port does not acquire what the last holder did with it.
struct no_fence_at_lock : noticed_by_either {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    HEDDLE_FUNCTION explicit atomic_ref(T& word) : true_ref<T, Scope>(word) {}
    HEDDLE_FUNCTION T fetch_or(T bits, memory_order) const {
      return true_ref<T, Scope>::fetch_or(bits, memory_order::relaxed);
    }
  };
};

// -- what a scenario on one of them says of itself ---------------------------------------------------------------------------

/// Calls that bring every lane's value back, on the weaker machine or, as the twin, on the one as it is.
template <typename Machine>
void run_weakened_echo(const parameters& set) {
  if (is_fixed(set)) return run_echo(set);
  run_echo_on<Machine, Machine>(set);
}

/// What has to be late for a bug to show where only the link is.
enum class late_over_the_link : uint8_t {
  nothing,  ///< it does not show: the bug is between lanes of one side, or of one access
  stores,   ///< those of the device, which leave it in any order
  loads,    ///< those of the device, which return what memory held before
  either,
  both,  ///< a load that is late, of a store that is
};

/// A bug of memory orders is reported as what it is where memory is scoped. Late delivery over the link finds no races; there the wrong
/// answers are seen. Where every access takes effect at once nothing is wrong. On hardware there is no such setting, and the bug is
/// there.
///
/// `Sound` is what is expected where the bug does not show.
template <scheduler::verdict Planted, late_over_the_link Shows = late_over_the_link::nothing,
          scheduler::verdict (*Sound)(const parameters&) = needs_fair_holders>
scheduler::verdict where_memory_is_late(const parameters& set) {
  if (is_fixed(set)) return Sound(set);
  if (!set.has("fidelity") || set.text("fidelity") == "scoped") return Planted;
  if (link_is_crossed(set)) {
    const bool stores = Shows == late_over_the_link::stores || Shows == late_over_the_link::either;
    const bool loads = Shows == late_over_the_link::loads || Shows == late_over_the_link::either;
    if (stores && set.text("link.pool") == "on") return scheduler::verdict::assertion;
    if (Shows == late_over_the_link::both && set.text("link.pool") == "on" && set.count("late") != 0)
      return scheduler::verdict::assertion;
    if (loads && set.count("late") != 0) return scheduler::verdict::assertion;
  }
  return Sound(set);
}

/// Two waves and one port, for which they take turns: a lock needs two holders.
inline std::vector<parameter> one_port() {
  return with_twin({
      parameter::number("waves", 2, 2, 65536, "", "waves that call"),
      parameter::number("lanes", 1, 1, 64, "", "lanes of each wave"),
      parameter::number("ports", 1, 1, 1, "", "ports between client and server"),
      parameter::number("servers", 1, 1, 64, "", "host threads that serve"),
      parameter::number("calls", 2, 1, 100000, "", "calls that each lane makes"),
  });
}

}  // namespace heddle::tests::zoo
