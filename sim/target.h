// The simulated machine, as a protocol sees it: each member asks the simulation that the calling lane belongs to.
#pragma once

#include <heddle/rpc/target.h>
#include <heddle/sim/runtime/calls.h>

namespace heddle::sim {

struct target {
  static uint64_t lane_mask() { return runtime::lane_mask(); }
  static uint32_t lane_id() { return runtime::lane_id(); }
  static uint32_t lane_count() { return runtime::lane_count(); }
  static bool is_first_lane(uint64_t mask) { return runtime::is_first_lane(mask); }
  static uint32_t broadcast(uint64_t mask, uint32_t value) {
    return static_cast<uint32_t>(runtime::broadcast(mask, value));
  }
  static uint64_t broadcast(uint64_t mask, uint64_t value) { return runtime::broadcast(mask, value); }
  static uint64_t ballot(uint64_t mask, bool predicate) { return runtime::ballot(mask, predicate); }
  static void sync_lanes(uint64_t mask) { runtime::sync_lanes(mask); }

  /// The standard's member names over one word of 32 or 64 bits.
  template <typename T, scope Scope>
  class atomic_ref {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "words of 32 or 64 bits only");

   public:
    explicit atomic_ref(T& word) : word_(&word) {}
    T load(memory_order order) const { return static_cast<T>(runtime::load(word_, sizeof(T), order, Scope)); }
    void store(T value, memory_order order) const { runtime::store(word_, sizeof(T), value, order, Scope); }
    T exchange(T value, memory_order order) const { return modify(runtime::rmw_kind::exchange, value, order); }
    T fetch_add(T value, memory_order order) const { return modify(runtime::rmw_kind::add, value, order); }
    T fetch_sub(T value, memory_order order) const { return modify(runtime::rmw_kind::subtract, value, order); }
    T fetch_and(T value, memory_order order) const { return modify(runtime::rmw_kind::bit_and, value, order); }
    T fetch_or(T value, memory_order order) const { return modify(runtime::rmw_kind::bit_or, value, order); }
    bool compare_exchange_strong(T& expected, T desired, memory_order order) const {
      uint64_t found = expected;
      const bool done = runtime::compare_exchange(word_, sizeof(T), &found, desired, order, Scope);
      expected = static_cast<T>(found);
      return done;
    }
    bool compare_exchange_weak(T& expected, T desired, memory_order order) const {
      return compare_exchange_strong(expected, desired, order);
    }

   private:
    T modify(runtime::rmw_kind kind, T operand, memory_order order) const {
      return static_cast<T>(runtime::read_modify_write(kind, word_, sizeof(T), operand, order, Scope));
    }
    T* word_;
  };

  template <scope Scope>
  static void fence(memory_order order) {
    runtime::fence(order, Scope);
  }

  static uint32_t block_id() { return runtime::block_id(); }
  static uint32_t wave_id() { return runtime::wave_id(); }
  static void pause() { runtime::pause(); }
  static void notify(doorbell& bell) { runtime::notify(&bell); }
  static void wait(doorbell& bell, doorbell seen, uint64_t timeout_ns) { runtime::wait(&bell, seen, timeout_ns); }
  static void trap(fault why, const char* message) { runtime::trap(why, message); }
  static bool is_device() { return runtime::is_device(); }
};

}  // namespace heddle::sim
