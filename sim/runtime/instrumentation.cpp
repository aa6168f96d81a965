// The entry points that -fsanitize=thread calls, implemented for the simulator instead of for ThreadSanitizer.
//
// The compiler inserts a call before each plain access and in place of each atomic operation. Names and signatures are those of
// compiler-rt's tsan_interface.h and tsan_interface_atomic.h; g++ 12 and clang 19 use different subsets.
#include <heddle/sim/runtime/entry.h>

namespace {

using heddle::memory_order;
using heddle::scope;
namespace runtime = heddle::sim::runtime;
using runtime::rmw_kind;

// The ABI's orders: relaxed, consume, acquire, release, acq_rel, seq_cst, in this order from 0. Consume is treated as acquire, as
// every compiler does.
memory_order from_abi(int order) {
  switch (order) {
    case 0:
      return memory_order::relaxed;
    case 1:
    case 2:
      return memory_order::acquire;
    case 3:
      return memory_order::release;
    case 4:
      return memory_order::acq_rel;
    default:
      return memory_order::seq_cst;
  }
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the compiler chose the names

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_ignore_thread_begin() {}
void __tsan_ignore_thread_end() {}

// -- plain accesses ----------------------------------------------------------------------------------------------------------------

#define HEDDLE_PLAIN(size)                                                                                              \
  void __tsan_read##size(void* address) { runtime::plain_read(address, size, HEDDLE_CALLER); }                          \
  void __tsan_write##size(void* address) { runtime::plain_write(address, size, HEDDLE_CALLER); }                        \
  void __tsan_volatile_read##size(void* address) { runtime::plain_read(address, size, HEDDLE_CALLER); }                 \
  void __tsan_volatile_write##size(void* address) { runtime::plain_write(address, size, HEDDLE_CALLER); }               \
  /* One statement that reads and writes. */                                                                            \
  void __tsan_read_write##size(void* address) {                                                                         \
    runtime::plain_read(address, size, HEDDLE_CALLER);                                                                  \
    runtime::plain_write(address, size, HEDDLE_CALLER);                                                                 \
  }

#define HEDDLE_UNALIGNED(size)                                                                                          \
  void __tsan_unaligned_read##size(void* address) { runtime::plain_read(address, size, HEDDLE_CALLER); }                \
  void __tsan_unaligned_write##size(void* address) { runtime::plain_write(address, size, HEDDLE_CALLER); }              \
  void __tsan_unaligned_volatile_read##size(void* address) { runtime::plain_read(address, size, HEDDLE_CALLER); }       \
  void __tsan_unaligned_volatile_write##size(void* address) { runtime::plain_write(address, size, HEDDLE_CALLER); }     \
  void __tsan_unaligned_read_write##size(void* address) {                                                               \
    runtime::plain_read(address, size, HEDDLE_CALLER);                                                                  \
    runtime::plain_write(address, size, HEDDLE_CALLER);                                                                 \
  }

HEDDLE_PLAIN(1)
HEDDLE_PLAIN(2)
HEDDLE_PLAIN(4)
HEDDLE_PLAIN(8)
HEDDLE_PLAIN(16)
HEDDLE_UNALIGNED(2)
HEDDLE_UNALIGNED(4)
HEDDLE_UNALIGNED(8)
HEDDLE_UNALIGNED(16)

void __tsan_vptr_update(void** address, void*) { runtime::plain_write(address, sizeof *address, HEDDLE_CALLER); }
void __tsan_vptr_read(void** address) { runtime::plain_read(address, sizeof *address, HEDDLE_CALLER); }

// Copies of whole objects. The code under test makes the write itself after this returns, so that its effect is looked at in
// parts that a store in progress can hold.
void __tsan_read_range(void* address, unsigned long size_bytes) {
  runtime::plain_read(address, size_bytes, HEDDLE_CALLER);
}
void __tsan_write_range(void* address, unsigned long size_bytes) {
  const runtime::caller from = HEDDLE_CALLER;
  runtime::object_write(address, size_bytes, from);
}

// -- atomic operations -------------------------------------------------------------------------------------------------------------

#define HEDDLE_ATOMIC_RMW(bits, name, kind)                                                                             \
  uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t* address, uint##bits##_t operand, int order) {    \
    return static_cast<uint##bits##_t>(runtime::atomic_rmw(kind, const_cast<uint##bits##_t*>(address), (bits) / 8,      \
                                                           operand, from_abi(order), scope::system, HEDDLE_CALLER));    \
  }

#define HEDDLE_ATOMIC(bits)                                                                                             \
  uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t* address, int order) {                        \
    return static_cast<uint##bits##_t>(runtime::atomic_load(const_cast<const uint##bits##_t*>(address), (bits) / 8,     \
                                                            from_abi(order), scope::system, HEDDLE_CALLER));            \
  }                                                                                                                     \
  void __tsan_atomic##bits##_store(volatile uint##bits##_t* address, uint##bits##_t value, int order) {                 \
    runtime::atomic_store(const_cast<uint##bits##_t*>(address), (bits) / 8, value, from_abi(order), scope::system,      \
                          HEDDLE_CALLER);                                                                               \
  }                                                                                                                     \
  HEDDLE_ATOMIC_RMW(bits, exchange, rmw_kind::exchange)                                                                 \
  HEDDLE_ATOMIC_RMW(bits, fetch_add, rmw_kind::add)                                                                     \
  HEDDLE_ATOMIC_RMW(bits, fetch_sub, rmw_kind::subtract)                                                                \
  HEDDLE_ATOMIC_RMW(bits, fetch_and, rmw_kind::bit_and)                                                                 \
  HEDDLE_ATOMIC_RMW(bits, fetch_or, rmw_kind::bit_or)                                                                   \
  HEDDLE_ATOMIC_RMW(bits, fetch_xor, rmw_kind::bit_xor)                                                                 \
  HEDDLE_ATOMIC_RMW(bits, fetch_nand, rmw_kind::nand)                                                                   \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile uint##bits##_t* address, uint##bits##_t* expected,         \
                                                    uint##bits##_t desired, int order, int) {                           \
    uint64_t found = *expected;                                                                                         \
    const bool done =                                                                                                   \
        runtime::atomic_compare_exchange(const_cast<uint##bits##_t*>(address), (bits) / 8, found, desired,              \
                                         from_abi(order), scope::system, HEDDLE_CALLER);                                \
    *expected = static_cast<uint##bits##_t>(found);                                                                     \
    return done ? 1 : 0;                                                                                                \
  }                                                                                                                     \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile uint##bits##_t* address, uint##bits##_t* expected,           \
                                                  uint##bits##_t desired, int order, int) {                             \
    uint64_t found = *expected;                                                                                         \
    const bool done =                                                                                                   \
        runtime::atomic_compare_exchange(const_cast<uint##bits##_t*>(address), (bits) / 8, found, desired,              \
                                         from_abi(order), scope::system, HEDDLE_CALLER);                                \
    *expected = static_cast<uint##bits##_t>(found);                                                                     \
    return done ? 1 : 0;                                                                                                \
  }                                                                                                                     \
  uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(volatile uint##bits##_t* address, uint##bits##_t expected,  \
                                                            uint##bits##_t desired, int order, int) {                   \
    uint64_t found = expected;                                                                                          \
    runtime::atomic_compare_exchange(const_cast<uint##bits##_t*>(address), (bits) / 8, found, desired, from_abi(order), \
                                     scope::system, HEDDLE_CALLER);                                                     \
    return static_cast<uint##bits##_t>(found);                                                                          \
  }

HEDDLE_ATOMIC(8)
HEDDLE_ATOMIC(16)
HEDDLE_ATOMIC(32)
HEDDLE_ATOMIC(64)

void __tsan_atomic_thread_fence(int order) { runtime::fence(from_abi(order), scope::system, HEDDLE_CALLER); }
// A fence against signal handlers of the same thread: no other lane can see it.
void __tsan_atomic_signal_fence(int) {}

// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
