// A machine that is watched: its visible operations may be put off, are recorded, and its waits can be ended.
//
// rpc/rpc.h selects it for a build with HEDDLE_OBSERVED. Protocols notice nothing: it is a Target like any other.
#pragma once

#include <heddle/hw/observed/actor.h>
#include <heddle/rpc/target.h>

namespace heddle::observed {

/// Machine is the Target of a real machine; what is not named here is its own.
///
/// Where nothing is asked for, an operation costs one look at the view. Fences are put off and not recorded: they touch no word.
template <typename Machine>
struct basic_target : Machine {
  using watched_machine = Machine;

  template <typename T, scope Scope>
  class atomic_ref {
   public:
    HEDDLE_FUNCTION explicit atomic_ref(T& referenced) : word_(referenced) {}

    HEDDLE_FUNCTION T load(memory_order order) const {
      return actor<Machine>().watches() ? load_watched(order) : ref().load(order);
    }

    HEDDLE_FUNCTION void store(T value, memory_order order) const {
      if (actor<Machine>().watches()) return store_watched(value, order);
      ref().store(value, order);
    }

    HEDDLE_FUNCTION T exchange(T value, memory_order order) const {
      return actor<Machine>().watches() ? modify_watched<modification::exchange>(value, order)
                                        : ref().exchange(value, order);
    }
    HEDDLE_FUNCTION T fetch_or(T bits, memory_order order) const {
      return actor<Machine>().watches() ? modify_watched<modification::bit_or>(bits, order)
                                        : ref().fetch_or(bits, order);
    }
    HEDDLE_FUNCTION T fetch_and(T bits, memory_order order) const {
      return actor<Machine>().watches() ? modify_watched<modification::bit_and>(bits, order)
                                        : ref().fetch_and(bits, order);
    }
    HEDDLE_FUNCTION T fetch_add(T amount, memory_order order) const {
      return actor<Machine>().watches() ? modify_watched<modification::add>(amount, order)
                                        : ref().fetch_add(amount, order);
    }
    HEDDLE_FUNCTION T fetch_sub(T amount, memory_order order) const {
      return actor<Machine>().watches() ? modify_watched<modification::add>(T{0} - amount, order)
                                        : ref().fetch_sub(amount, order);
    }
    /// Watched as the compare-exchanges that make it.
    HEDDLE_FUNCTION T fetch_max(T value, memory_order order) const {
      T old = load(memory_order::relaxed);
      while (!compare_exchange_weak(old, old < value ? value : old, order)) {
      }
      return old;
    }
    HEDDLE_FUNCTION T fetch_min(T value, memory_order order) const {
      T old = load(memory_order::relaxed);
      while (!compare_exchange_weak(old, value < old ? value : old, order)) {
      }
      return old;
    }
    HEDDLE_FUNCTION bool compare_exchange_strong(T& expected, T desired, memory_order order) const {
      return actor<Machine>().watches() ? exchange_watched<true>(expected, desired, order)
                                        : ref().compare_exchange_strong(expected, desired, order);
    }
    HEDDLE_FUNCTION bool compare_exchange_weak(T& expected, T desired, memory_order order) const {
      return actor<Machine>().watches() ? exchange_watched<false>(expected, desired, order)
                                        : ref().compare_exchange_weak(expected, desired, order);
    }

   private:
    using true_ref = typename Machine::template atomic_ref<T, Scope>;
    HEDDLE_FUNCTION true_ref ref() const { return true_ref(word_); }

    HEDDLE_FUNCTION event note(operation kind, memory_order order, T before, T after) const {
      return note_of(&word_, {kind, order, Scope, sizeof(T)}, before, after);
    }

    HEDDLE_OUT_OF_LINE T load_watched(memory_order order) const {
      const actor<Machine> self;
      self.before_operation();
      const T value = ref().load(order);
      self.found(note(operation::load, order, value, value));
      return value;
    }

    HEDDLE_OUT_OF_LINE void store_watched(T value, memory_order order) const {
      const actor<Machine> self;
      self.before_operation();
      // The clock is read before a store and behind a load: an actor that sees the value is then never the earlier.
      const event made = note(operation::store, order, 0, value);
      ref().store(value, order);
      self.changed(made);
    }

    enum class modification : uint8_t { exchange, bit_or, bit_and, add };

    template <modification Kind>
    HEDDLE_OUT_OF_LINE T modify_watched(T operand, memory_order order) const {
      const actor<Machine> self;
      self.before_operation();
      if constexpr (Kind == modification::exchange) {
        const T old = ref().exchange(operand, order);
        return noted(self, order, old, operand);
      } else if constexpr (Kind == modification::bit_or) {
        const T old = ref().fetch_or(operand, order);
        return noted(self, order, old, old | operand);
      } else if constexpr (Kind == modification::bit_and) {
        const T old = ref().fetch_and(operand, order);
        return noted(self, order, old, old & operand);
      } else {
        const T old = ref().fetch_add(operand, order);
        return noted(self, order, old, old + operand);
      }
    }

    /// `expected` becomes what the word held, whether the exchange was made or not: it was equal then.
    template <bool Strong>
    HEDDLE_OUT_OF_LINE bool exchange_watched(T& expected, T desired, memory_order order) const {
      const actor<Machine> self;
      self.before_operation();
      bool exchanged = false;
      if constexpr (Strong)
        exchanged = ref().compare_exchange_strong(expected, desired, order);
      else
        exchanged = ref().compare_exchange_weak(expected, desired, order);
      (void)noted(self, order, expected, exchanged ? desired : expected);
      return exchanged;
    }

    /// Gives `before` back.
    HEDDLE_FUNCTION T noted(const actor<Machine>& self, memory_order order, T before, T after) const {
      const event made = note(operation::modify, order, before, after);
      if (before != after)
        self.changed(made);
      else
        self.found(made);
      return before;
    }

    T& word_;
  };

  template <scope Scope>
  HEDDLE_FUNCTION static void fence(memory_order order) {
    const actor<Machine> self;
    if (self.watches()) self.before_operation();
    Machine::template fence<Scope>(order);
  }

  /// Leaves the wait for good when the watchdog has said stop: a host thread unwinds, a lane of a kernel ends.
  HEDDLE_FUNCTION static void pause() {
    if (actor<Machine>().is_stopped()) leave();
    Machine::pause();
  }

  /// An actor that was stopped in the middle of a call gives its port back as it unwinds, which the other end may take for a
  /// broken protocol: behind a stop nothing is a finding.
  HEDDLE_FUNCTION static void trap(fault reason, const char* message) {
    if (!actor<Machine>().is_stopped()) Machine::trap(reason, message);
    leave();
  }

  HEDDLE_FUNCTION static void notify(doorbell& bell) {
    const actor<Machine> self;
    if (!self.watches()) return Machine::notify(bell);
    self.before_operation();
    const event made = note_of(&bell, {operation::notify, memory_order::release, scope::system, sizeof bell}, 0, 0);
    Machine::notify(bell);
    self.changed(made);
  }

  /// Sleeps in slices, so that it can be stopped; between them it goes back to sleep unless the bell has rung.
  HEDDLE_FUNCTION static void wait(doorbell& bell, uint32_t seen, uint64_t timeout_ns) {
    if (Machine::is_device()) return Machine::wait(bell, seen, timeout_ns);
    constexpr uint64_t slice_ns = 20'000'000;
    const actor<Machine> self;
    self.does(activity::sleeps);
    for (uint64_t slept_ns = 0; slept_ns < timeout_ns; slept_ns += slice_ns) {
      if (self.is_stopped()) leave();
      const uint64_t left_ns = timeout_ns - slept_ns;
      Machine::wait(bell, seen, left_ns < slice_ns ? left_ns : slice_ns);
      // Acquire: as Machine::wait, whose own look may have come before the ring.
      if (atomic_ref<doorbell, scope::system>(bell).load(memory_order::acquire) != seen) break;
    }
    self.does(activity::running);
  }

 private:
  HEDDLE_FUNCTION static event note_of(const void* address, operation_sort sort, uint64_t before, uint64_t after) {
    return {clock(), reinterpret_cast<uint64_t>(address), before, after, 0, 0, sort.packed(), 0};
  }
};

}  // namespace heddle::observed

#undef HEDDLE_OUT_OF_LINE
