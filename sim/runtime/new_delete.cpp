// new, delete and throw of the whole program: what lanes allocate in a search lies where it does in every run.
#include <cxxabi.h>
#include <dlfcn.h>
#include <heddle/sim/run/execution.h>
#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/runtime/program_memory.h>
#include <heddle/sim/runtime/waiting_calls.h>
#include <heddle/sim/space/lane_heap.h>
#include <unwind.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

namespace heddle::sim::runtime {
void use_new_and_delete() {}
}  // namespace heddle::sim::runtime

// Weak, so that a program's own take their place; then states of programs that allocate are told apart that need not be.

#if !defined(HEDDLE_ADDRESS_SANITIZER) && !defined(__SANITIZE_THREAD__)
namespace {

using heddle::sim::execution;
using heddle::sim::lane;
using heddle::sim::lane_heap;
using heddle::sim::runtime::caller;

/// While it lives, no lane calls the C library: in programs where a kernel's malloc() and free() go to its host (sim/compat/), new and
/// delete are still the simulator's, which its own entry points use too.
class by_no_lane {
 public:
  // The compiler knows malloc() as a function that reads no variable of the program.
  by_no_lane() : self_(std::exchange(execution::current, nullptr)) { asm volatile("" ::: "memory"); }
  ~by_no_lane() {
    asm volatile("" ::: "memory");
    execution::current = self_;
  }
  by_no_lane(const by_no_lane&) = delete;
  by_no_lane& operator=(const by_no_lane&) = delete;
  lane* self() const { return self_; }

 private:
  lane* self_;
};

void* from_c_library(size_t size_bytes, size_t alignment) {
  const by_no_lane calls;
  void* const memory = alignment <= alignof(std::max_align_t)
                           ? std::malloc(size_bytes)
                           : std::aligned_alloc(alignment, (size_bytes + alignment - 1) / alignment * alignment);
  // What was there before may differ from process to process, and a program that reads it, too.
  constexpr size_t most_filled = 4096;
  lane* const self = calls.self();
  if (memory == nullptr || self == nullptr) return memory;
  const size_t filled_bytes = std::min(size_bytes, most_filled);
  std::memset(memory, execution::instance->machine().fill, filled_bytes);
  self->last_new = {static_cast<const std::byte*>(memory), static_cast<uint32_t>(filled_bytes)};
  return memory;
}

// Outside of a search, what a library allocates in a run may be its own, to be kept for later runs.
bool is_of_run(const void* place) {
  const auto& core = execution::instance->core();
  return core.notes != nullptr || core.map.is_in_image(place);
}

void* allocate_in(lane_heap& heap, lane& self, size_t size_bytes, size_t alignment, const caller& from) {
  void* const memory = heap.allocate(self.id, size_bytes, alignment);
  if (memory != nullptr && execution::instance->core().map.heap.program() == &heap) {
    using heddle::sim::operation_kind;
    heap.note(memory, calls_of(self, heddle::sim::runtime::make_operation(operation_kind::none, nullptr, 0, from)));
  }
  return memory;
}

/// Null when there is no memory.
void* allocate_once(size_t size_bytes, size_t alignment, const caller& from) {
  if (lane* const self = execution::current; self != nullptr)
    if (lane_heap* const own = execution::instance->lanes_allocate_in(); own != nullptr && is_of_run(from.place)) {
      const heddle::sim::runtime::entered inside(*self);
      if (void* const memory = allocate_in(*own, *self, size_bytes, alignment, from)) return memory;
    }
  return from_c_library(std::max<size_t>(size_bytes, 1), alignment);
}

void* allocate(size_t size_bytes, size_t alignment, const caller& from) {
  for (;;) {
    void* const memory = allocate_once(size_bytes, alignment, from);
    if (memory != nullptr) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void* allocate_or_null(size_t size_bytes, size_t alignment, const caller& from) noexcept {
  try {
    return allocate(size_bytes, alignment, from);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

bool release_to_lane(void* memory, const caller& from) {
  lane* const self = execution::current;
  const lane_heap* const own = execution::instance == nullptr ? nullptr : execution::instance->lanes_allocate_in();
  if (self == nullptr || own == nullptr) return lane_heap::release(memory, own);
  // What the heap does to its memory is no step of the program.
  const heddle::sim::runtime::entered inside(*self);
  execution& here = *execution::instance;
  if (here.core().map.heap.program() != own || !own->contains(memory)) return lane_heap::release(memory, own);
  using heddle::sim::operation_kind;
  here.finish_plain_store(*self, from.frame);
  self->pending = heddle::sim::runtime::make_operation(operation_kind::none, nullptr, 0, from);
  here.memory().release_in_program(*self, memory);
  return true;
}

bool release_known(void* memory, const caller& from) {
  if (lane* const self = execution::current; self != nullptr) {
    if (self->own_object.first == memory) self->forget_own_object();
    if (self->last_new.first == memory) self->last_new = {};
  }
  return release_to_lane(memory, from);
}

void release(void* memory, const caller& from) {
  if (memory == nullptr || release_known(memory, from)) return;
  const by_no_lane calls;
  std::free(memory);
}

}  // namespace

namespace heddle::sim::runtime {
void* allocate_in_program(size_t size_bytes, size_t alignment) {
  lane* const self = execution::current;
  if (self == nullptr) return nullptr;
  lane_heap* const own = execution::instance->lanes_allocate_in();
  if (own == nullptr) return nullptr;
  const caller from = HEDDLE_CALLER;
  const entered inside(*self);
  return allocate_in(*own, *self, size_bytes, alignment, from);
}
bool release_in_program(void* memory) { return memory != nullptr && release_known(memory, HEDDLE_CALLER); }
size_t bytes_in_program(const void* memory) { return lane_heap::bytes_at(memory); }
bool memory_begins_anew() {
  return execution::instance != nullptr && execution::instance->lanes_allocate_in() != nullptr;
}
}  // namespace heddle::sim::runtime

#define HEDDLE_WEAK __attribute__((weak))
constexpr size_t usual = alignof(std::max_align_t);
HEDDLE_WEAK void* operator new(size_t size_bytes) { return allocate(size_bytes, usual, HEDDLE_CALLER); }
HEDDLE_WEAK void* operator new[](size_t size_bytes) { return allocate(size_bytes, usual, HEDDLE_CALLER); }
HEDDLE_WEAK void* operator new(size_t size_bytes, const std::nothrow_t&) noexcept {
  return allocate_or_null(size_bytes, usual, HEDDLE_CALLER);
}
HEDDLE_WEAK void* operator new[](size_t size_bytes, const std::nothrow_t&) noexcept {
  return allocate_or_null(size_bytes, usual, HEDDLE_CALLER);
}
HEDDLE_WEAK void* operator new(size_t size_bytes, std::align_val_t align) {
  return allocate(size_bytes, static_cast<size_t>(align), HEDDLE_CALLER);
}
HEDDLE_WEAK void* operator new[](size_t size_bytes, std::align_val_t align) {
  return allocate(size_bytes, static_cast<size_t>(align), HEDDLE_CALLER);
}
HEDDLE_WEAK void* operator new(size_t size_bytes, std::align_val_t align, const std::nothrow_t&) noexcept {
  return allocate_or_null(size_bytes, static_cast<size_t>(align), HEDDLE_CALLER);
}
HEDDLE_WEAK void* operator new[](size_t size_bytes, std::align_val_t align, const std::nothrow_t&) noexcept {
  return allocate_or_null(size_bytes, static_cast<size_t>(align), HEDDLE_CALLER);
}
HEDDLE_WEAK void operator delete(void* memory) noexcept { release(memory, HEDDLE_CALLER); }
HEDDLE_WEAK void operator delete[](void* memory) noexcept { release(memory, HEDDLE_CALLER); }
HEDDLE_WEAK void operator delete(void* memory, size_t) noexcept { release(memory, HEDDLE_CALLER); }
HEDDLE_WEAK void operator delete[](void* memory, size_t) noexcept { release(memory, HEDDLE_CALLER); }
HEDDLE_WEAK void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory, HEDDLE_CALLER); }
HEDDLE_WEAK void operator delete[](void* memory, const std::nothrow_t&) noexcept { release(memory, HEDDLE_CALLER); }
HEDDLE_WEAK void operator delete(void* memory, std::align_val_t) noexcept { release(memory, HEDDLE_CALLER); }
HEDDLE_WEAK void operator delete[](void* memory, std::align_val_t) noexcept { release(memory, HEDDLE_CALLER); }
HEDDLE_WEAK void operator delete(void* memory, size_t, std::align_val_t) noexcept { release(memory, HEDDLE_CALLER); }
HEDDLE_WEAK void operator delete[](void* memory, size_t, std::align_val_t) noexcept { release(memory, HEDDLE_CALLER); }
HEDDLE_WEAK void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  release(memory, HEDDLE_CALLER);
}
HEDDLE_WEAK void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  release(memory, HEDDLE_CALLER);
}

// Exceptions, for which the C++ library calls malloc() (Itanium C++ ABI: Exception Handling, 2.4.2). What stands in front of the object that
// is thrown, zero at first, takes so many bytes in libstdc++ and in libc++abi; a dependent exception is no longer than that.
namespace {
constexpr size_t exception_header_bytes = 128;
void* allocate_exception(size_t size_bytes, const caller& from) noexcept {
  static_assert(sizeof(void*) == 8, "the header was counted for pointers of 8 bytes");
  void* const memory = allocate_once(exception_header_bytes + size_bytes, usual, from);
  if (memory == nullptr) std::terminate();
  std::memset(memory, 0, exception_header_bytes);
  return static_cast<std::byte*>(memory) + exception_header_bytes;
}
void free_exception(void* thrown, const caller& from) noexcept {
  release(static_cast<std::byte*>(thrown) - exception_header_bytes, from);
}

// What libstdc++ counts of references to an exception stands at the beginning of its header (libsupc++/unwind-cxx.h); null where another
// library has thrown it.
struct counted_exception {
  static constexpr uint64_t of_gnu =
      0x474E5543432B2B00;  // "GNUCC++\0"; with 1 in the last byte it stands for another one
  // Of what stands for another one, in front of its last member, by which it is thrown: the other members, the first of which says for which.
  static constexpr size_t members_bytes = 80;
  explicit counted_exception(void* thrown)
      : references(reinterpret_cast<int*>(static_cast<std::byte*>(thrown) - exception_header_bytes)) {}
  explicit counted_exception(_Unwind_Exception* unwound) {
    if (unwound->exception_class == of_gnu) *this = counted_exception(static_cast<void*>(unwound + 1));
    if (unwound->exception_class != of_gnu + 1) return;
    void* primary = nullptr;
    std::memcpy(&primary, reinterpret_cast<std::byte*>(unwound) - members_bytes, sizeof primary);
    *this = counted_exception(primary);
  }
  int* references = nullptr;
};

/// Before a lane drops its reference, where no instrumentation sees it. The one that drops the last reference destroys the exception, behind all
/// that the others have done with it. Which one that is, is up to their turns; the holder of the only reference needs none.
void before_drop(const counted_exception& of, const caller& from) {
  lane* const self = execution::current;
  if (self == nullptr || of.references == nullptr) return;
  namespace runtime = heddle::sim::runtime;
  const runtime::hidden_operands hidden(*self, runtime::as_operand(of.references));
  const runtime::entered inside(*self);
  execution::instance->finish_plain_store(*self, from.frame);
  if (*of.references == 1) return runtime::acquire_from(*self, of.references);
  runtime::give_object(*self, 1,
                       runtime::make_operation(heddle::sim::operation_kind::give_notice, of.references, 1, from), [&] {
                         // One that is not the last learns nothing of what the others have done.
                         if (*of.references == 1)
                           runtime::acquire_from(*self, of.references);
                         else
                           runtime::release_to(*self, of.references);
                         return 0;
                       });
}
}  // namespace
extern "C" {
HEDDLE_WEAK void* __cxa_allocate_exception(size_t size_bytes) noexcept {
  return allocate_exception(size_bytes, HEDDLE_CALLER);
}
HEDDLE_WEAK void __cxa_free_exception(void* thrown) noexcept { free_exception(thrown, HEDDLE_CALLER); }
HEDDLE_WEAK abi::__cxa_dependent_exception* __cxa_allocate_dependent_exception() noexcept {
  return reinterpret_cast<abi::__cxa_dependent_exception*>(
      static_cast<std::byte*>(allocate_exception(0, HEDDLE_CALLER)) - exception_header_bytes);
}
HEDDLE_WEAK void __cxa_free_dependent_exception(abi::__cxa_dependent_exception* dependent) noexcept {
  release(dependent, HEDDLE_CALLER);
}
// At the end of the last catch of what was thrown. (Itanium C++ ABI: Exception Handling, 1.3.)
HEDDLE_WEAK void _Unwind_DeleteException(_Unwind_Exception* unwound) {
  before_drop(counted_exception(unwound), HEDDLE_CALLER);
  if (unwound->exception_cleanup != nullptr) unwound->exception_cleanup(_URC_FOREIGN_EXCEPTION_CAUGHT, unwound);
}
// std::__exception_ptr::exception_ptr::_M_release()
HEDDLE_WEAK void _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv(void** pointer) {
  using function = void (*)(void**);
  static constinit function in_library = nullptr;
  if (in_library == nullptr)
    in_library = reinterpret_cast<function>(dlsym(RTLD_NEXT, "_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv"));
  before_drop(counted_exception(*pointer), HEDDLE_CALLER);
  in_library(pointer);
}
}
#else
namespace heddle::sim::runtime {
void* allocate_in_program(size_t, size_t) { return nullptr; }
bool release_in_program(void*) { return false; }
size_t bytes_in_program(const void*) { return 0; }
bool memory_begins_anew() { return false; }
}  // namespace heddle::sim::runtime
#endif
