// The entry points that -fsanitize=thread calls, implemented for the simulator instead of for ThreadSanitizer.
//
// The compiler inserts a call before each plain access and in place of each atomic operation. Names and signatures are those of
// compiler-rt's tsan_interface.h and tsan_interface_atomic.h; g++ 12 and clang 19 use different subsets.
#include <heddle/sim/base/compiled_program.h>
#include <heddle/sim/runtime/atomic_accesses.h>
#include <heddle/sim/runtime/plain_accesses.h>

namespace {

using heddle::memory_order;
using heddle::scope;
using heddle::sim::operation_kind;
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

// Most plain accesses are to the lane's own stack, which no other lane sees: the entry points look at that first, with nothing saved
// yet, and only then call these. What the entry point itself keeps on the stack is the same each time.
#define HEDDLE_IF_OBSERVED(address) if (runtime::observed(address) != nullptr) [[unlikely]]
#define HEDDLE_HOOK __builtin_return_address(0), static_cast<void* const*>(__builtin_frame_address(0))

[[gnu::noinline, gnu::hot]] void visible_read(const void* address, size_t size_bytes, const void* place,
                                              void* const* frame) {
  runtime::caller from = HEDDLE_CALLER;
  from.place = place;
  from.frame = frame;
  runtime::plain_read_of(heddle::sim::execution::current, address, size_bytes, from);
}

[[gnu::noinline, gnu::hot]] void visible_write(void* address, size_t size_bytes, const void* place,
                                               void* const* frame) {
  runtime::caller from = HEDDLE_CALLER;
  from.place = place;
  from.frame = frame;
  runtime::plain_write_of(heddle::sim::execution::current, address, size_bytes, from);
}

[[gnu::noinline, gnu::hot]] void visible_read_write(void* address, size_t size_bytes, const void* place,
                                                    void* const* frame) {
  runtime::caller from = HEDDLE_CALLER;
  from.place = place;
  from.frame = frame;
  runtime::plain_read_write(address, size_bytes, from);
}

/// Of an address that its type has aligned: a GPU ends the kernel, the host's processor makes the access.
[[gnu::noinline, gnu::cold]] void misaligned(const void* address, size_t size_bytes, bool stores, const void* place,
                                             void* const* frame) {
  heddle::sim::lane& self = *heddle::sim::execution::current;
  if (self.is_host()) return;
  runtime::caller from = HEDDLE_CALLER;
  from.place = place;
  from.frame = frame;
  const runtime::entered inside(self);
  const std::string size = std::to_string(size_bytes);
  std::string where;
  auto& core = heddle::sim::execution::instance->core();
  core.aside(self, [&] { where = describe_location(core.map.heap, address); });
  self.pending = runtime::make_operation(stores ? operation_kind::plain_store : operation_kind::plain_load, address,
                                         size_bytes, from);
  runtime::refuse(self, heddle::scheduler::verdict::memory,
                  std::string(stores ? "plain store" : "plain load") + " of " + size + " bytes at " + where +
                      ": misaligned, a kernel needs an address that is a multiple of " + size,
                  from);
}
#define HEDDLE_IF_MISALIGNED(address, size, stores)                    \
  if (reinterpret_cast<uintptr_t>(address) % (size) != 0) [[unlikely]] \
    misaligned(address, size, stores, HEDDLE_HOOK);

using heddle::sim::volatile_accesses;

/// What an access to something volatile is, where the source is of this kind (settings::volatiles).
operation_kind kind_of_volatile(operation_kind strong, operation_kind plain, volatile_accesses of_source) {
  const volatile_accesses wanted = heddle::sim::execution::instance->machine().volatiles;
  return (wanted == volatile_accesses::source ? of_source : wanted) == volatile_accesses::relaxed ? strong : plain;
}

// Accesses to what is declared volatile, which -fsanitize=thread only tells apart when asked to (cmake/under_test.cmake). Programs for
// GPUs wait on such variables: they are strong there (PTX ISA, "ld.volatile": as ld.relaxed of system scope). In C++ they are plain. The code
// under test still makes the access itself.
[[gnu::noinline]] void volatile_read(const void* address, size_t size_bytes, const void* place, void* const* frame,
                                     volatile_accesses of_source) {
  runtime::caller from = HEDDLE_CALLER;
  from.place = place;
  from.frame = frame;
  runtime::plain_read(address, size_bytes, from,
                      kind_of_volatile(operation_kind::volatile_load, operation_kind::plain_load, of_source));
}

[[gnu::noinline]] void volatile_write(void* address, size_t size_bytes, const void* place, void* const* frame,
                                      volatile_accesses of_source) {
  runtime::caller from = HEDDLE_CALLER;
  from.place = place;
  from.frame = frame;
  runtime::plain_write(address, size_bytes, from,
                       kind_of_volatile(operation_kind::volatile_store, operation_kind::plain_store, of_source));
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the compiler chose the names

// Called by each compiled file before main().
void __tsan_init() { heddle::sim::is_any_code_instrumented = true; }
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_ignore_thread_begin() {}
void __tsan_ignore_thread_end() {}

// -- plain accesses ----------------------------------------------------------------------------------------------------------------

#define HEDDLE_PLAIN_READ(name, size) \
  void name(void* address) { HEDDLE_IF_OBSERVED(address) visible_read(address, size, HEDDLE_HOOK); }
#define HEDDLE_PLAIN_WRITE(name, size) \
  void name(void* address) { HEDDLE_IF_OBSERVED(address) visible_write(address, size, HEDDLE_HOOK); }
// One statement that reads and writes.
#define HEDDLE_PLAIN_READ_WRITE(name, size) \
  void name(void* address) { HEDDLE_IF_OBSERVED(address) visible_read_write(address, size, HEDDLE_HOOK); }

// The same of those whose type says that they are aligned.
#define HEDDLE_ALIGNED(size)                     \
  void __tsan_read##size(void* address) {        \
    HEDDLE_IF_OBSERVED(address) {                \
      HEDDLE_IF_MISALIGNED(address, size, false) \
      visible_read(address, size, HEDDLE_HOOK);  \
    }                                            \
  }                                              \
  void __tsan_write##size(void* address) {       \
    HEDDLE_IF_OBSERVED(address) {                \
      HEDDLE_IF_MISALIGNED(address, size, true)  \
      visible_write(address, size, HEDDLE_HOOK); \
    }                                            \
  }                                              \
  HEDDLE_PLAIN_READ_WRITE(__tsan_read_write##size, size)

#define HEDDLE_PLAIN(prefix, size)                       \
  HEDDLE_PLAIN_READ(__tsan_##prefix##read##size, size)   \
  HEDDLE_PLAIN_WRITE(__tsan_##prefix##write##size, size) \
  HEDDLE_PLAIN_READ_WRITE(__tsan_##prefix##read_write##size, size)

#define HEDDLE_VOLATILE_READ(name, size, source) \
  void name(void* address) { HEDDLE_IF_OBSERVED(address) volatile_read(address, size, HEDDLE_HOOK, source); }
#define HEDDLE_VOLATILE_WRITE(name, size, source) \
  void name(void* address) { HEDDLE_IF_OBSERVED(address) volatile_write(address, size, HEDDLE_HOOK, source); }
// Sources for GPUs call the second pair (compat/launch.h).
#define HEDDLE_VOLATILE(size)                                                            \
  HEDDLE_VOLATILE_READ(__tsan_volatile_read##size, size, volatile_accesses::plain)       \
  HEDDLE_VOLATILE_WRITE(__tsan_volatile_write##size, size, volatile_accesses::plain)     \
  HEDDLE_VOLATILE_READ(heddle_gpu_volatile_read##size, size, volatile_accesses::relaxed) \
  HEDDLE_VOLATILE_WRITE(heddle_gpu_volatile_write##size, size, volatile_accesses::relaxed)

HEDDLE_VOLATILE(1)
HEDDLE_VOLATILE(2)
HEDDLE_VOLATILE(4)
HEDDLE_VOLATILE(8)
// No machine makes these in one piece.
HEDDLE_PLAIN_READ(__tsan_volatile_read16, 16)
HEDDLE_PLAIN_WRITE(__tsan_volatile_write16, 16)
HEDDLE_PLAIN_READ(__tsan_unaligned_volatile_read2, 2)
HEDDLE_PLAIN_READ(__tsan_unaligned_volatile_read4, 4)
HEDDLE_PLAIN_READ(__tsan_unaligned_volatile_read8, 8)
HEDDLE_PLAIN_READ(__tsan_unaligned_volatile_read16, 16)
HEDDLE_PLAIN_WRITE(__tsan_unaligned_volatile_write2, 2)
HEDDLE_PLAIN_WRITE(__tsan_unaligned_volatile_write4, 4)
HEDDLE_PLAIN_WRITE(__tsan_unaligned_volatile_write8, 8)
HEDDLE_PLAIN_WRITE(__tsan_unaligned_volatile_write16, 16)

HEDDLE_PLAIN(, 1)
HEDDLE_ALIGNED(2)
HEDDLE_ALIGNED(4)
HEDDLE_ALIGNED(8)
HEDDLE_ALIGNED(16)
HEDDLE_PLAIN(unaligned_, 2)
HEDDLE_PLAIN(unaligned_, 4)
HEDDLE_PLAIN(unaligned_, 8)
HEDDLE_PLAIN(unaligned_, 16)

void __tsan_vptr_update(void** address, void*) {
  HEDDLE_IF_OBSERVED(address) visible_write(address, sizeof *address, HEDDLE_HOOK);
}
void __tsan_vptr_read(void** address) {
  HEDDLE_IF_OBSERVED(address) visible_read(address, sizeof *address, HEDDLE_HOOK);
}

// Copies of whole objects, which the code under test makes itself after this returns. g++ announces the write of `*to = *from`
// first and then the read, so that the write is still to come when the lane comes back for the read.
void __tsan_read_range(void* address, unsigned long size_bytes) {
  const runtime::caller from = HEDDLE_CALLER;
  runtime::object_read(address, size_bytes, from);
}
void __tsan_write_range(void* address, unsigned long size_bytes) {
  const runtime::caller from = HEDDLE_CALLER;
  runtime::object_write(address, size_bytes, from);
}

// -- atomic operations -------------------------------------------------------------------------------------------------------------

/// Of the arguments `address` and `order`.
#define HEDDLE_ACCESS(bits) (runtime::access{const_cast<const uint##bits##_t*>(address), (bits) / 8, from_abi(order)})

#define HEDDLE_ATOMIC_RMW(bits, name, kind)                                                                          \
  uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t* address, uint##bits##_t operand, int order) { \
    return static_cast<uint##bits##_t>(runtime::atomic_rmw(kind, HEDDLE_ACCESS(bits), operand, HEDDLE_CALLER));      \
  }

#define HEDDLE_ATOMIC(bits)                                                                                            \
  uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t* address, int order) {                       \
    return static_cast<uint##bits##_t>(runtime::atomic_load(HEDDLE_ACCESS(bits), HEDDLE_CALLER));                      \
  }                                                                                                                    \
  void __tsan_atomic##bits##_store(volatile uint##bits##_t* address, uint##bits##_t value, int order) {                \
    runtime::atomic_store(HEDDLE_ACCESS(bits), value, HEDDLE_CALLER);                                                  \
  }                                                                                                                    \
  HEDDLE_ATOMIC_RMW(bits, exchange, rmw_kind::exchange)                                                                \
  HEDDLE_ATOMIC_RMW(bits, fetch_add, rmw_kind::add)                                                                    \
  HEDDLE_ATOMIC_RMW(bits, fetch_sub, rmw_kind::subtract)                                                               \
  HEDDLE_ATOMIC_RMW(bits, fetch_and, rmw_kind::bit_and)                                                                \
  HEDDLE_ATOMIC_RMW(bits, fetch_or, rmw_kind::bit_or)                                                                  \
  HEDDLE_ATOMIC_RMW(bits, fetch_xor, rmw_kind::bit_xor)                                                                \
  HEDDLE_ATOMIC_RMW(bits, fetch_nand, rmw_kind::nand)                                                                  \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile uint##bits##_t* address, uint##bits##_t* expected,        \
                                                    uint##bits##_t desired, int order, int failure) {                  \
    uint64_t found = *expected;                                                                                        \
    const bool done =                                                                                                  \
        runtime::atomic_compare_exchange(HEDDLE_ACCESS(bits), found, desired, HEDDLE_CALLER, {from_abi(failure)});     \
    *expected = static_cast<uint##bits##_t>(found);                                                                    \
    return done ? 1 : 0;                                                                                               \
  }                                                                                                                    \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile uint##bits##_t* address, uint##bits##_t* expected,          \
                                                  uint##bits##_t desired, int order, int failure) {                    \
    uint64_t found = *expected;                                                                                        \
    const bool done = runtime::atomic_compare_exchange(HEDDLE_ACCESS(bits), found, desired, HEDDLE_CALLER,             \
                                                       {from_abi(failure), true});                                     \
    *expected = static_cast<uint##bits##_t>(found);                                                                    \
    return done ? 1 : 0;                                                                                               \
  }                                                                                                                    \
  uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(volatile uint##bits##_t* address, uint##bits##_t expected, \
                                                            uint##bits##_t desired, int order, int failure) {          \
    uint64_t found = expected;                                                                                         \
    runtime::atomic_compare_exchange(HEDDLE_ACCESS(bits), found, desired, HEDDLE_CALLER, {from_abi(failure)});         \
    return static_cast<uint##bits##_t>(found);                                                                         \
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
