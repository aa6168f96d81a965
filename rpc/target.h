// What a protocol may ask of the machine that it runs on.
//
// A protocol is a template over a Target: a stateless type whose static members are all that the protocol may use. The
// simulator, host threads, CUDA, HIP and clang alone each provide one (sim/target.h, hw/*/target.h); this file knows none of them.
#pragma once

#include <stdint.h>

// Protocol code is compiled for both sides of the link by nvcc and hipcc, and as ordinary C++ by any other compiler.
// A source that the simulator takes for one of theirs (sim/compat/) has no such compiler.
#if (defined(__CUDACC__) || defined(__HIPCC__)) && !defined(HEDDLE_COMPAT_WAVE_LANES)
#define HEDDLE_FUNCTION __host__ __device__
#else
#define HEDDLE_FUNCTION
#endif

// In front of a template that is compiled for both sides and calls what its user passes: whether that may run on a
// device is known only where the template is used, and nvcc would reject what it cannot know.
#if defined(__CUDACC__) && !defined(HEDDLE_COMPAT_WAVE_LANES)
#define HEDDLE_CALLS_BACK _Pragma("nv_exec_check_disable")
#else
#define HEDDLE_CALLS_BACK
#endif

namespace heddle {

/// The standard's concepts of these names. A compiler for a GPU alone may come without the standard library.
template <typename A, typename B>
concept same_as = __is_same(A, B);
template <typename From, typename To>
concept convertible_to = requires(From (&value)(), void (&take)(To)) { take(value()); };

/// Which actors must observe an atomic operation or a fence. `cluster` means the blocks of one cluster, and one block where a launch has none.
/// `device` means all actors of one agent: all waves of one GPU, or all threads of the host. Only `system` reaches the other side of the link.
/// (PTX ISA, section "Scope"; AMDGPU memory model.)
enum class scope : uint8_t { wave, block, cluster, device, system };

/// The standard's memory orders, under the standard's names, for targets on which <atomic> is not available.
enum class memory_order : uint8_t { relaxed, acquire, release, acq_rel, seq_cst };

/// Why a target is asked to stop: a check of the program under test failed, or a protocol saw its own invariant broken.
enum class fault : uint8_t { assertion, protocol };

/// A deadline for `wait` that never passes.
inline constexpr uint64_t no_timeout = ~uint64_t{0};

/// A word in shared memory that counts rings. A waiter remembers the count, looks for work, and sleeps only while the
/// count is still the one that it remembers; no ring is lost between looking and sleeping.
using doorbell = uint32_t;

namespace detail {

template <typename Target>
concept has_lanes = requires(uint64_t mask, uint32_t word, uint64_t wide, bool flag) {
  { Target::lane_mask() } -> same_as<uint64_t>;
  { Target::lane_id() } -> same_as<uint32_t>;
  { Target::lane_count() } -> same_as<uint32_t>;
  { Target::is_first_lane(mask) } -> same_as<bool>;
  { Target::broadcast(mask, word) } -> same_as<uint32_t>;
  { Target::broadcast(mask, wide) } -> same_as<uint64_t>;
  { Target::ballot(mask, flag) } -> same_as<uint64_t>;
  { Target::sync_lanes(mask) } -> same_as<void>;
};

template <typename Target, scope Scope>
concept has_memory = requires(uint32_t& word, memory_order order) {
  { typename Target::template atomic_ref<uint32_t, Scope>(word).load(order) } -> same_as<uint32_t>;
  { typename Target::template atomic_ref<uint32_t, Scope>(word).store(word, order) } -> same_as<void>;
  { typename Target::template atomic_ref<uint32_t, Scope>(word).exchange(word, order) } -> same_as<uint32_t>;
  { typename Target::template atomic_ref<uint32_t, Scope>(word).fetch_or(word, order) } -> same_as<uint32_t>;
  { typename Target::template atomic_ref<uint32_t, Scope>(word).fetch_and(word, order) } -> same_as<uint32_t>;
  { typename Target::template atomic_ref<uint32_t, Scope>(word).fetch_add(word, order) } -> same_as<uint32_t>;
  {
    typename Target::template atomic_ref<uint32_t, Scope>(word).compare_exchange_strong(word, word, order)
  } -> same_as<bool>;
  { Target::template fence<Scope>(order) } -> same_as<void>;
};

template <typename Target>
concept has_waiting = requires(doorbell& bell, uint32_t seen, uint64_t timeout_ns, const char* message) {
  { Target::block_id() } -> same_as<uint32_t>;
  { Target::wave_id() } -> same_as<uint32_t>;
  { Target::pause() } -> same_as<void>;
  { Target::notify(bell) } -> same_as<void>;
  { Target::wait(bell, seen, timeout_ns) } -> same_as<void>;
  { Target::trap(fault::assertion, message) } -> same_as<void>;
  { Target::is_device() } -> same_as<bool>;
};

}  // namespace detail

/// A machine, as a protocol sees it. All members are static.
///
/// Lanes
///   lane_mask()              the lanes that stand here together, this one included; taken once per call and passed down
///   lane_id(), lane_count()  this lane's index in its wave, and the width of the wave (1 to 64)
///   is_first_lane(mask)      whether the caller acts for the mask: its lowest lane, or the one thread that runs them all
///   broadcast(mask, x)       x of the first lane of the mask, in every lane of the mask
///   ballot(mask, p)          one bit per lane of the mask for which p holds
///   sync_lanes(mask)         waits for the lanes of the mask and orders their memory accesses
/// Memory
///   atomic_ref<T, scope>     T is an integer of 8 to 64 bits, of which a protocol needs those of 32 and 64; the standard's member names
///                            and orders, and fetch_max and fetch_min
///   fence<scope>(order)
/// Position: block_id() within the grid and wave_id() within the device; hints for where a scan starts, nothing more
/// Waiting
///   pause()                  inside a loop that waits for memory to change; the loop must contain an atomic load
///   notify(doorbell)         adds a ring and wakes the threads that sleep on it
///   wait(doorbell, seen, timeout_ns)  host only; returns when the count differs from `seen`, after the time-out, or for no
///                            reason at all
/// Calls, which a machine may have, where it tells how long they take
///   call_begins()            a call of this lane to the other side begins
///   call_ends(answered)      it has ended; `answered`: it has come to something
/// Hints, which a machine may have whose caches see each other's stores
///   bring(line), bring_to_write(line)   the caller reads, or stores to, the line that this points to next
/// trap(fault, message)       ends the run with this message where the machine can end it
/// is_device()                true in a lane of a wave whose lanes run side by side, false where one thread runs them all
///
/// Masks are 64 bits wide on every machine: a wave of 64 lanes exists, and 1 << 63 must be a lane.
template <typename Target>
concept target_machine = detail::has_lanes<Target> && detail::has_waiting<Target> &&
                         detail::has_memory<Target, scope::wave> && detail::has_memory<Target, scope::block> &&
                         detail::has_memory<Target, scope::device> && detail::has_memory<Target, scope::system>;

/// Tells a machine that has these members where a call begins and where it ends. Calls within a call are part of it.
template <typename Target>
HEDDLE_FUNCTION inline void call_begins() {
  if constexpr (requires { Target::call_begins(); }) Target::call_begins();
}
template <typename Target>
HEDDLE_FUNCTION inline void call_ends([[maybe_unused]] bool answered = true) {
  if constexpr (requires { Target::call_ends(answered); }) Target::call_ends(answered);
}

/// Calls `function(lane)` for each lane of `mask` that the caller acts for: itself on a device, all of them where one
/// thread runs the wave. One body of protocol code so serves both ends.
HEDDLE_CALLS_BACK
template <typename Target, typename Function>
HEDDLE_FUNCTION inline void for_each_lane(uint64_t mask, Function&& function) {
  if (Target::is_device()) {
    function(Target::lane_id());
    return;
  }
  for (uint32_t lane = 0; mask != 0; ++lane, mask >>= 1)
    if ((mask & 1) != 0) function(lane);
}

}  // namespace heddle
