// The next operation of a lane: published before the next lane is chosen, performed when its own lane is.
#pragma once

#include <heddle/rpc/target.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace heddle::sim {

enum class operation_kind : uint8_t {
  none,  ///< nothing visible: a lane that starts, or goes on after a collective
  load,
  store,
  read_modify_write,
  compare_exchange,
  plain_load,
  plain_store,
  volatile_load,   ///< made by the code under test, as a plain one, but strong
  volatile_store,  ///< likewise
  fence,
  pause,
  active_mask,
  broadcast,
  ballot,
  sync_lanes,
  shuffle,
  block_barrier,
  cluster_arrive,  ///< at the barrier of a cluster, which does not wait
  cluster_wait,
  clock,
  notify,
  wait,         ///< on a doorbell
  synchronize,  ///< for the device to be idle
  query,
  join,  ///< for a host thread to end
  launch,
  spawn,  ///< of a host thread
  lock_mutex,
  unlock_mutex,
  copy,         ///< that a stream is given
  drive,        ///< the driver does one thing
  wait_notice,  ///< at a condition variable, a futex, a semaphore or the like, for another thread to give notice
  give_notice,
  block_arrive,  ///< at the barrier of a block, which does not wait
};

/// "load", "plain store", ... as reports name it.
const char* to_string(operation_kind kind);

/// A bit for each order: an order is looked up in a set without a branch for each of them.
constexpr uint32_t bit_of(memory_order order) { return uint32_t{1} << static_cast<uint32_t>(order); }
constexpr bool acquires(memory_order order) {
  constexpr uint32_t all =
      bit_of(memory_order::acquire) | bit_of(memory_order::acq_rel) | bit_of(memory_order::seq_cst);
  return (all & bit_of(order)) != 0;
}
constexpr bool releases(memory_order order) {
  constexpr uint32_t all =
      bit_of(memory_order::release) | bit_of(memory_order::acq_rel) | bit_of(memory_order::seq_cst);
  return (all & bit_of(order)) != 0;
}

constexpr bool is_collective(operation_kind kind) {
  return kind == operation_kind::broadcast || kind == operation_kind::ballot || kind == operation_kind::sync_lanes ||
         kind == operation_kind::shuffle;
}

constexpr bool may_write(operation_kind kind) {
  return kind == operation_kind::store || kind == operation_kind::read_modify_write ||
         kind == operation_kind::compare_exchange || kind == operation_kind::plain_store ||
         kind == operation_kind::volatile_store || kind == operation_kind::notify;
}

/// Whether the simulator makes the write for the code under test, when the lane performs it.
constexpr bool is_atomic_write(operation_kind kind) {
  return kind == operation_kind::store || kind == operation_kind::read_modify_write ||
         kind == operation_kind::compare_exchange;
}

constexpr bool is_store(operation_kind kind) {
  return kind == operation_kind::store || kind == operation_kind::plain_store ||
         kind == operation_kind::volatile_store || kind == operation_kind::notify;
}

/// Whether a lane may wait in it for lanes of its block or cluster.
constexpr bool is_barrier(operation_kind kind) {
  return kind == operation_kind::block_barrier || kind == operation_kind::cluster_wait;
}

struct operation {
  operation_kind kind = operation_kind::none;
  memory_order order = memory_order::relaxed;
  scope reach = scope::system;
  bool without_ended = false;  ///< of a collective: lanes of the mask that have ended are not waited for
  bool aligned = false;        ///< of a block barrier: all lanes of a wave come to the same one
  uint32_t size_bytes = 0;
  const void* address = nullptr;
  uint64_t mask = 0;             ///< of a collective
  const void* place = nullptr;   ///< the return address into the code under test
  void* const* frame = nullptr;  ///< the frame whose caller the code under test is; for walking the stack
  /// Low end of what the caller's future depends on: the registers that a call preserves, then its live stack.
  const std::byte* private_state = nullptr;
};

/// The operation with its order and scope: "load acquire system", "plain store".
std::string describe(const operation& what);

class heap;
/// A place in memory for people: an allocation and an offset, or a variable of the program.
std::string describe_location(const heap& memory, const void* address);

}  // namespace heddle::sim
