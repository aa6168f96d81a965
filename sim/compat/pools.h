// Pools of device memory: what a program says of each, and how much of it is in use. (CUDA Runtime API, "Stream Ordered Memory Allocator".)
#pragma once

#include <heddle/sim/runtime/mapping_calls.h>

#include <stddef.h>
#include <stdint.h>

namespace heddle::compat {

/// Each device has one from the beginning; a program makes more.
struct memory_pool;

/// What calls answer, by the numbers that the errors have in both runtimes and in the driver.
enum class call_answer : int { done = 0, invalid_value = 1, no_memory = 2, invalid_device = 101, not_supported = 801 };

/// Of at most so many bytes; 0: of any number.
memory_pool* make_pool(uint32_t device, size_t most_bytes = 0);
/// False where a device has it from the beginning. What was allocated from it stays.
bool destroy_pool(memory_pool* destroyed);
memory_pool* first_pool_of(uint32_t device);
/// What the memory of the device's streams is taken from.
memory_pool* pool_of(uint32_t device);
/// False where the pool is another device's.
bool set_pool_of(uint32_t device, memory_pool* pool);
uint32_t device_of(const memory_pool* pool);

using sim::runtime::range_right;
/// How runtimes and the driver number them.
constexpr range_right right_of_flags(unsigned flags) {
  return flags == 3 ? range_right::write : flags == 1 ? range_right::read : range_right::none;
}
constexpr unsigned flags_of(range_right what) {
  return what == range_right::write ? 3 : what == range_right::read ? 1 : 0;
}
/// What the device may do with the pool's memory from now on, be it allocated already. Its own device may do all, and nothing less: AMD's runtime answers
/// as this does. (CUDA Runtime API, "cudaMemPoolSetAccess".)
call_answer check_access(const memory_pool* pool, int device, range_right what);
void let_reach(memory_pool* pool, uint32_t device, range_right what);
range_right right_of(const memory_pool* pool, uint32_t device);

/// The pool that it was allocated from; null where that is none.
memory_pool* pool_that_gave(const void* memory);
bool has_room_for(const memory_pool* pool, size_t bytes);
void note_allocated(memory_pool* from, const void* memory, size_t bytes);
/// Of any memory.
void note_released(const void* memory);
/// What is kept beyond these bytes, and is in no use, goes back.
void trim_pool(memory_pool* trimmed, size_t kept_bytes);

// -- what descriptions of the runtimes' and of the driver's types say

bool is_there(int device);
/// Of a device's memory. Host memory is in no pool.
template <typename Properties>
call_answer make_pool_of(memory_pool** pool, const Properties* how) {
  constexpr int pinned = 1, on_device = 1;
  if (pool == nullptr || how == nullptr || static_cast<int>(how->allocType) != pinned || how->location.type == 0)
    return call_answer::invalid_value;
  if (static_cast<int>(how->location.type) != on_device) return call_answer::not_supported;
  if (!is_there(how->location.id)) return call_answer::invalid_device;
  *pool = make_pool(static_cast<uint32_t>(how->location.id), how->maxSize);
  return call_answer::done;
}
/// All of them, or none.
template <typename Description>
call_answer set_access(memory_pool* pool, const Description* all, size_t count) {
  constexpr int on_device = 1;
  if (all == nullptr && count != 0) return call_answer::invalid_value;
  for (size_t n = 0; n < count; ++n) {
    if (static_cast<int>(all[n].location.type) != on_device) return call_answer::invalid_value;
    const call_answer answer = check_access(pool, all[n].location.id, right_of_flags(all[n].flags));
    if (answer != call_answer::done) return answer;
  }
  for (size_t n = 0; n < count; ++n)
    let_reach(pool, static_cast<uint32_t>(all[n].location.id), right_of_flags(all[n].flags));
  return call_answer::done;
}
template <typename Flags, typename Location>
call_answer get_access(Flags* flags, const memory_pool* pool, const Location* where) {
  if (flags == nullptr || where == nullptr) return call_answer::invalid_value;
  if (!is_there(where->id)) return call_answer::invalid_device;
  *flags = static_cast<Flags>(flags_of(right_of(pool, static_cast<uint32_t>(where->id))));
  return call_answer::done;
}
/// The first three are of type int, the others of 64 bits.
call_answer get_attribute(memory_pool* pool, int number, void* value);
/// Of what counts bytes, the most that were can be set to 0 alone.
call_answer set_attribute(memory_pool* pool, int number, const void* value);

}  // namespace heddle::compat
