// Machines with one thing too weak, and the verdict that a protocol on them should get.
//
// Each hides one member of the machine that the build selects. The port protocol and its kernels are as they ship.
#pragma once

#include "../ports.h"

namespace heddle::tests::zoo {

template <typename T, scope Scope>
using true_ref = target::atomic_ref<T, Scope>;

// -- mailboxes: the words of system scope ------------------------------------------------------------------------------------

/// A hand-over does not carry what was written before it.
struct no_release_before_toggle : target {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    using true_ref<T, Scope>::true_ref;
    HEDDLE_FUNCTION void store(T value, memory_order order) const {
      true_ref<T, Scope>::store(value, Scope == scope::system ? memory_order::relaxed : order);
    }
  };
};

/// Whoever sees a hand-over does not see what came with it.
struct no_acquire_after_wait : target {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    using true_ref<T, Scope>::true_ref;
    HEDDLE_FUNCTION T load(memory_order order) const {
      return true_ref<T, Scope>::load(Scope == scope::system ? memory_order::relaxed : order);
    }
  };
};

/// Mailboxes order as they should, but only among those of one side of the link.
struct device_scope_mailbox : target {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope == scope::system ? scope::device : Scope> {
    using weaker = true_ref<T, Scope == scope::system ? scope::device : Scope>;
    using weaker::weaker;
  };
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
struct plain_mailbox_store : target {
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

/// Who gives a port back does not release what was done with it.
struct no_fence_at_unlock : target {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    using true_ref<T, Scope>::true_ref;
    HEDDLE_FUNCTION T fetch_and(T bits, memory_order) const {
      return true_ref<T, Scope>::fetch_and(bits, memory_order::relaxed);
    }
  };
};

/// Who takes a port does not acquire what the last holder did with it.
struct no_fence_at_lock : target {
  template <typename T, scope Scope>
  struct atomic_ref : true_ref<T, Scope> {
    using true_ref<T, Scope>::true_ref;
    HEDDLE_FUNCTION T fetch_or(T bits, memory_order) const {
      return true_ref<T, Scope>::fetch_or(bits, memory_order::relaxed);
    }
  };
};

// -- what a scenario on one of them says of itself ---------------------------------------------------------------------------

/// The twin is the same program on the machine as it is.
inline parameter fixed() { return parameter::one_of("fixed", "no", {"no", "yes"}, "without the bug"); }

inline bool is_fixed(const parameters& set) { return set.text("fixed") == "yes"; }

/// A bug of memory orders is reported as what it is where memory is scoped. Where every access takes effect at once nothing is
/// wrong, and late delivery over the link reports no races. On hardware there is no such setting, and the bug is there.
template <scheduler::verdict Planted>
scheduler::verdict where_memory_is_scoped(const parameters& set) {
  const bool hidden = set.has("fidelity") && set.text("fidelity") != "scoped";
  return is_fixed(set) || hidden ? needs_fair_holders(set) : Planted;
}

inline std::vector<parameter> with_twin(std::vector<parameter> all) {
  all.push_back(fixed());
  return all;
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
