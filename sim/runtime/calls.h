// The entry points behind sim::target and sim::device: all that code under test calls, and nothing that it could inline.
#pragma once

#include <heddle/rpc/device_memory.h>
#include <heddle/rpc/launch.h>
#include <heddle/rpc/result.h>
#include <heddle/rpc/target.h>
#include <heddle/sim/fiber/fiber_body.h>
#include <heddle/sim/machine/rmw.h>

#include <stddef.h>
#include <stdint.h>

#include <span>

namespace heddle::sim {
struct wave;
}

namespace heddle::sim::runtime {

using sim::rmw_kind;

uint64_t lane_mask();
uint32_t lane_id();
uint32_t lane_count();
bool is_first_lane(uint64_t mask);
uint64_t broadcast(uint64_t mask, uint64_t value);
uint64_t ballot(uint64_t mask, bool predicate);
void sync_lanes(uint64_t mask);

// `size_bytes` is 4 or 8; a value of 4 bytes is in the low half.
[[gnu::hot]] uint64_t load(const void* address, uint32_t size_bytes, memory_order order, scope reach);
[[gnu::hot]] void store(void* address, uint32_t size_bytes, uint64_t value, memory_order order, scope reach);
uint64_t read_modify_write(rmw_kind kind, void* address, uint32_t size_bytes, uint64_t operand, memory_order order,
                           scope reach);
/// The orders of a compare-exchange that happens, and of one that does not, which is the read of what it found.
struct exchange_order {
  memory_order success;
  memory_order failure;

  constexpr exchange_order(memory_order one) : success(one), failure(one) {}
  constexpr exchange_order(memory_order happens, memory_order fails) : success(happens), failure(fails) {}
};
/// Whether the exchange happened; `expected` receives what was found.
bool compare_exchange(void* address, uint32_t size_bytes, uint64_t* expected, uint64_t desired, exchange_order order,
                      scope reach);
/// The same, but it may fail although it finds what is expected, where the machine is set so.
bool compare_exchange_weak(void* address, uint32_t size_bytes, uint64_t* expected, uint64_t desired,
                           exchange_order order, scope reach);
void fence(memory_order order, scope reach);
/// An sfence of the calling host thread: it orders stores, and no load waits for it.
void store_fence();
/// The newest value of a word of 1 to 8 bytes. No operation: nothing is chosen, noted or learnt.
uint64_t peek(const void* address, uint32_t size_bytes);

uint32_t block_id();
uint32_t wave_id();
[[gnu::hot]] void pause();
void notify(doorbell* bell);
void wait(doorbell* bell, doorbell seen, uint64_t timeout_ns);
void trap(fault why, const char* message);
/// The same at the beginning of that function, which has returned.
void trap_at(const void* function, fault why, const char* message);
bool is_device();
/// main() returns, or exit() is called with 0, on the calling host thread: what is to be called at the program's end is called, and the other host
/// threads end where they are. Kernels and copies go on.
void end_program();

/// A call of the lane to the other side of the link begins, and has ended; for virtual time alone. No operations.
void call_begins();
/// `answered`: it has come to something, and its time counts.
void call_ends(bool answered);

// `device` is a number below device_count(), or one that unify() has made.
uint32_t device_count();
uint32_t default_stream_of(uint32_t device);
result<uint32_t> unify(std::span<const uint32_t> devices);
device_memory memory_of(uint32_t device);
result<uint32_t> open_process(uint32_t device);
/// An error where one of the two is memory that another process than the device's has allocated.
result<void> check_copy(uint32_t device, const void* to, const void* from, size_t size_bytes);
result<device_page> page_of(uint32_t device, const void* address);
result<void*> at(uint32_t device, uint64_t address);
/// `owner` is the object whose end gives it back, if any.
[[gnu::hot]] void* allocate(size_t size_bytes, bool on_device, const char* name, uint32_t device = 0,
                            const void* owner = nullptr);
/// Null where the device has not enough memory.
void* try_allocate(size_t size_bytes, bool on_device, const char* name, uint32_t device, const void* owner,
                   bool moves = false);
/// The object is destroyed: what it has allocated is freed, unless some launch is still running.
void device_ends(const void* owner);
// Of the process of a device; other processes' memory ends the run.
void release(void* pointer, uint32_t device = 0);
void copy(void* to, const void* from, size_t size_bytes, uint32_t device = 0);
/// `stream` is a number that create_stream() of gpu_calls.h has given, or that of the default stream.
void launch(const launch_shape& shape, const fiber_body& kernel, const void* bytes, uint32_t stream = 0);
bool query(uint32_t device = 0);
void synchronize(uint32_t device = 0);
[[gnu::hot]] const wave* spawn_host(const char* name, const fiber_body& body, void* from);
[[gnu::hot]] void join(const wave* thread);

}  // namespace heddle::sim::runtime
