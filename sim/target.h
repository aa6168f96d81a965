// The simulated machine, as a protocol sees it: each member asks the simulation that the calling lane belongs to.
#pragma once

#include <heddle/rpc/target.h>
#include <heddle/sim/runtime/calls.h>
#include <heddle/sim/runtime/gpu_calls.h>

#include <concepts>
#include <type_traits>

// Inlined also where nothing is optimised: which lanes stand together is told by the place that calls, and a function in between
// would be one place for all.
#define HEDDLE_SIM_INLINE [[gnu::always_inline]]

namespace heddle::sim {

struct target {
  HEDDLE_SIM_INLINE static uint64_t lane_mask() { return runtime::lane_mask(); }
  HEDDLE_SIM_INLINE static uint32_t lane_id() { return runtime::lane_id(); }
  HEDDLE_SIM_INLINE static uint32_t lane_count() { return runtime::lane_count(); }
  HEDDLE_SIM_INLINE static bool is_first_lane(uint64_t mask) { return runtime::is_first_lane(mask); }
  HEDDLE_SIM_INLINE static uint32_t broadcast(uint64_t mask, uint32_t value) {
    return static_cast<uint32_t>(runtime::broadcast(mask, value));
  }
  HEDDLE_SIM_INLINE static uint64_t broadcast(uint64_t mask, uint64_t value) { return runtime::broadcast(mask, value); }
  HEDDLE_SIM_INLINE static uint64_t ballot(uint64_t mask, bool predicate) { return runtime::ballot(mask, predicate); }
  HEDDLE_SIM_INLINE static void sync_lanes(uint64_t mask) { runtime::sync_lanes(mask); }

  /// The standard's member names over one integer of 8, 16, 32 or 64 bits.
  template <typename T, scope Scope>
  class atomic_ref {
    static_assert(std::integral<T> && sizeof(T) <= 8, "integers of 8, 16, 32 or 64 bits only");
    using unsigned_word = std::make_unsigned_t<T>;

   public:
    explicit atomic_ref(T& word) : word_(&word) {}
    HEDDLE_SIM_INLINE T load(memory_order order) const {
      return static_cast<T>(runtime::load(word_, sizeof(T), order, Scope));
    }
    HEDDLE_SIM_INLINE void store(T value, memory_order order) const {
      runtime::store(word_, sizeof(T), static_cast<unsigned_word>(value), order, Scope);
    }
    HEDDLE_SIM_INLINE T exchange(T value, memory_order order) const {
      return modify(runtime::rmw_kind::exchange, value, order);
    }
    HEDDLE_SIM_INLINE T fetch_add(T value, memory_order order) const {
      return modify(runtime::rmw_kind::add, value, order);
    }
    HEDDLE_SIM_INLINE T fetch_sub(T value, memory_order order) const {
      return modify(runtime::rmw_kind::subtract, value, order);
    }
    HEDDLE_SIM_INLINE T fetch_and(T value, memory_order order) const {
      return modify(runtime::rmw_kind::bit_and, value, order);
    }
    HEDDLE_SIM_INLINE T fetch_or(T value, memory_order order) const {
      return modify(runtime::rmw_kind::bit_or, value, order);
    }
    HEDDLE_SIM_INLINE T fetch_max(T value, memory_order order) const { return modify(&greater, value, order); }
    HEDDLE_SIM_INLINE T fetch_min(T value, memory_order order) const { return modify(&smaller, value, order); }
    HEDDLE_SIM_INLINE bool compare_exchange_strong(T& expected, T desired, memory_order order) const {
      return compare_exchange(expected, desired, order, false);
    }
    HEDDLE_SIM_INLINE bool compare_exchange_weak(T& expected, T desired, memory_order order) const {
      return compare_exchange(expected, desired, order, true);
    }

   private:
    HEDDLE_SIM_INLINE T modify(runtime::rmw_kind kind, T operand, memory_order order) const {
      return static_cast<T>(
          runtime::read_modify_write(kind, word_, sizeof(T), static_cast<unsigned_word>(operand), order, Scope));
    }
    HEDDLE_SIM_INLINE T modify(runtime::modify_function next, T operand, memory_order order) const {
      return static_cast<T>(runtime::modify(next, word_, sizeof(T), static_cast<unsigned_word>(operand), order, Scope));
    }
    static uint64_t greater(uint64_t old, uint64_t operand) {
      return static_cast<T>(old) < static_cast<T>(operand) ? operand : old;
    }
    static uint64_t smaller(uint64_t old, uint64_t operand) {
      return static_cast<T>(operand) < static_cast<T>(old) ? operand : old;
    }
    HEDDLE_SIM_INLINE bool compare_exchange(T& expected, T desired, memory_order order, bool weak) const {
      uint64_t found = static_cast<unsigned_word>(expected);
      const auto wanted = static_cast<unsigned_word>(desired);
      const bool done = weak ? runtime::compare_exchange_weak(word_, sizeof(T), &found, wanted, order, Scope)
                             : runtime::compare_exchange(word_, sizeof(T), &found, wanted, order, Scope);
      expected = static_cast<T>(found);
      return done;
    }
    T* word_;
  };

  /// As heddle::rpc::peek says: no step of the program.
  template <typename T>
  HEDDLE_SIM_INLINE static T peek(const T& word) {
    return static_cast<T>(runtime::peek(&word, sizeof(T)));
  }

  template <scope Scope>
  HEDDLE_SIM_INLINE static void fence(memory_order order) {
    runtime::fence(order, Scope);
  }

  HEDDLE_SIM_INLINE static uint32_t block_id() { return runtime::block_id(); }
  HEDDLE_SIM_INLINE static uint32_t wave_id() { return runtime::wave_id(); }
  HEDDLE_SIM_INLINE static void pause() { runtime::pause(); }
  HEDDLE_SIM_INLINE static void notify(doorbell& bell) { runtime::notify(&bell); }
  HEDDLE_SIM_INLINE static void wait(doorbell& bell, doorbell seen, uint64_t timeout_ns) {
    runtime::wait(&bell, seen, timeout_ns);
  }
  HEDDLE_SIM_INLINE static void trap(fault why, const char* message) { runtime::trap(why, message); }
  HEDDLE_SIM_INLINE static bool is_device() { return runtime::is_device(); }
  HEDDLE_SIM_INLINE static void call_begins() { runtime::call_begins(); }
  HEDDLE_SIM_INLINE static void call_ends(bool answered) { runtime::call_ends(answered); }
};

}  // namespace heddle::sim

#undef HEDDLE_SIM_INLINE
