// Pools of device memory: what a program says of each, and how much of it is in use. (CUDA Runtime API, "Stream Ordered Memory Allocator".)
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace heddle::compat {

/// Each device has one from the beginning; a program makes more.
struct memory_pool;

memory_pool* make_pool(uint32_t device);
/// False where a device has it from the beginning. What was allocated from it stays.
bool destroy_pool(memory_pool* destroyed);
memory_pool* first_pool_of(uint32_t device);
/// What the memory of the device's streams is taken from.
memory_pool* pool_of(uint32_t device);
/// False where the pool is another device's.
bool set_pool_of(uint32_t device, memory_pool* pool);
uint32_t device_of(const memory_pool* pool);

/// The attribute of this number, as the runtimes number them: 1 to 3, whether memory may be used again in three ways; 4, how many bytes are kept when
/// they are given back; then bytes: 5 that are kept, 6 the most that were, 7 in use, 8 the most that were. Null: there is no such attribute.
uint64_t* attribute_of(memory_pool* pool, int number);
inline constexpr int last_pool_flag = 3;
inline constexpr int pool_threshold = 4;

/// Whether the other device reaches the pool's memory from now on, be it allocated already. (CUDA Runtime API, "cudaMemPoolSetAccess".)
void let_reach(memory_pool* pool, uint32_t device, bool may_reach);
bool reaches(const memory_pool* pool, uint32_t device);

void note_allocated(memory_pool* from, const void* memory, size_t bytes);
/// Of any memory.
void note_released(const void* memory);
/// What is kept beyond these bytes, and is in no use, goes back.
void trim_pool(memory_pool* trimmed, size_t kept_bytes);

}  // namespace heddle::compat
