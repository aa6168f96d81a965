// What every entry from code under test into the simulator has in common.
#pragma once

#include <heddle/scheduler/own_work.h>
#include <heddle/scheduler/verdict.h>
#include <heddle/sim/machine/lane.h>
#include <heddle/sim/run/execution.h>
#include <heddle/sim/run/published.h>
#include <heddle/sim/runtime/calls.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace heddle::sim::runtime {

/// Clears what the simulator has left on the lane's stack, below all that is alive: where a function that is called later does not write
/// all of its frame, that would become part of the lane's state.
[[gnu::always_inline]] inline void clear_dead_stack() {
#if defined(__x86_64__) && !defined(HEDDLE_ADDRESS_SANITIZER)
  constexpr size_t cleared_bytes = 3072;
  asm volatile(
      "lea -%c[bytes](%%rsp), %%rdi\n\t"
      "xor %%eax, %%eax\n\t"
      "mov %[words], %%ecx\n\t"
      "rep stosq"
      :
      : [bytes] "i"(cleared_bytes), [words] "i"(cleared_bytes / 8)
      : "rdi", "rax", "rcx", "memory", "cc");
#endif
}

/// Does nothing but be called: so the linker takes new and delete out of the library, which are weak (new_delete.cpp).
void use_new_and_delete();

/// Looks away while heddle's own objects work for code under test.
const scheduler::onlooker& looks_on_at_lanes();

/// Marks that the simulator has been entered, and by which lane: until it is left, whatever the simulator calls is not
/// observed, even inline functions whose instrumented copy the linker kept.
class entered {
 public:
  explicit entered(lane& self) : self_(self) { execution::current = nullptr; }
  ~entered() {
    execution::current = &self_;
    if (self_.is_explored) [[unlikely]]
      clear_dead_stack();
  }
  entered(const entered&) = delete;
  entered& operator=(const entered&) = delete;

 private:
  lane& self_;
};

/// Marks a call whose arguments are nowhere but in its own frame: what it will do is not told by its pending operation. They, and where it
/// stands, must say all of it.
class hidden_operands {
 public:
  explicit hidden_operands(lane& self, uint64_t first = 0, uint64_t second = 0, uint64_t third = 0) : self_(self) {
    self.hides_operands = true;
    self.call = {first, second, third};
  }
  ~hidden_operands() { self_.hides_operands = false; }
  hidden_operands(const hidden_operands&) = delete;
  hidden_operands& operator=(const hidden_operands&) = delete;

 private:
  lane& self_;
};

/// Where the caller of an entry point stands in the code under test; to be taken in the entry point itself.
struct caller {
  const void* place;               ///< the return address
  void* const* frame;              ///< of the entry point
  const std::byte* private_state;  ///< low end of what the caller's future depends on
};

// An entry point saves all registers that a call preserves right below its frame pointer (System V ABI for x86-64: rbx and r12
// to r15; the caller's rbp is at the frame pointer), so that they and the stack above are the whole private state of the lane.
// Elsewhere more may be saved: bytes too many only make two states look different that are not.
#define HEDDLE_CALLER                                                                                                 \
  (__builtin_unwind_init(),                                                                                           \
   ::heddle::sim::runtime::caller{__builtin_return_address(0), static_cast<void* const*>(__builtin_frame_address(0)), \
                                  static_cast<const std::byte*>(__builtin_frame_address(0)) - 5 * sizeof(void*)})

[[gnu::always_inline]] inline operation make_operation(operation_kind kind, const void* address, size_t size_bytes,
                                                       const caller& from) {
  operation made;
  made.kind = kind;
  made.address = address;
  made.size_bytes = static_cast<uint32_t>(size_bytes);
  made.place = from.place;
  made.frame = from.frame;
  made.private_state = from.private_state;
  return made;
}

/// What an access touches, and how: of a plain one, as by default.
struct access {
  const void* address;
  size_t size_bytes;
  memory_order order = memory_order::relaxed;
  scope reach = scope::system;

  /// Where a store goes.
  [[gnu::always_inline]] void* to() const { return const_cast<void*>(address); }
  [[gnu::always_inline]] uint32_t bytes() const { return static_cast<uint32_t>(size_bytes); }
};

/// Makes this access what the lane does next, member by member where it stays: a copy of a whole operation would wait for the
/// members that were written last.
[[gnu::always_inline]] inline void publish_access(execution& here, lane& self, operation_kind kind, const access& what,
                                                  const caller& from) {
  here.finish_plain_store(self, from.frame);
  operation& next = self.pending;
  next.kind = kind;
  next.order = what.order;
  next.reach = what.reach;
  next.size_bytes = what.bytes();
  next.address = what.address;
  next.place = from.place;
  next.frame = from.frame;
  next.private_state = from.private_state;
  if (here.core().looks_at_each) [[unlikely]]
    look_at_published(here, self);
}

/// The same for what touches no memory.
[[gnu::always_inline]] inline void publish(execution& here, lane& self, operation_kind kind, const caller& from) {
  publish_access(here, self, kind, {nullptr, 0}, from);
  self.pending.mask = 0;
  self.pending.without_ended = false;
}

/// Waits for the lane's turn to make the access that it has published and that has been checked, with this answer.
[[gnu::always_inline]] inline void take_checked_turn(execution& here, lane& self, bool for_pages) {
  const bool frees = here.yield_and_watch_frees(self);
  here.let_arrive(self);
  if (for_pages) [[unlikely]]
    return here.wait_for_pages(self);
  // While others ran the memory may have gone.
  if (frees) [[unlikely]]
    here.check_access(self);
}

/// Waits for the lane's turn to make the plain access that it has published, which must be in bounds.
[[gnu::always_inline]] inline void take_turn(execution& here, lane& self, bool may_switch = true) {
  const bool for_pages = here.check_access(self);
  if (!may_switch && !for_pages && !here.must_yield(self)) return;
  take_checked_turn(here, self, for_pages);
}

/// The same for an atomic access, which must be aligned to its size too.
[[gnu::always_inline]] inline void take_atomic_turn(execution& here, lane& self) {
  take_checked_turn(here, self, here.check_atomic_access(self));
}

/// The lane has found `value`; its loop waits until the memory is no longer `watched_for`.
[[gnu::always_inline]] inline void read_done(execution& here, lane& self, const caller& from, const access& what,
                                             uint64_t value, uint64_t watched_for) {
  here.read(self, what.address, what.bytes(), value, watched_for);
  if (self.may_spin()) [[unlikely]]
    here.look_for_spin(self, from.private_state);
}

[[gnu::always_inline]] inline void read_done(execution& here, lane& self, const caller& from, const access& what,
                                             uint64_t value) {
  read_done(here, self, from, what, value, value);
}

/// An address as an argument of a call that hides its operands.
inline uint64_t as_operand(const void* address) { return reinterpret_cast<uintptr_t>(address); }

/// The lane that the simulator must hear of: null outside of runs, inside the simulator, and for a lane's own stack.
[[gnu::always_inline]] inline lane* observed(const void* address) {
  lane* const self = execution::current;
  return self == nullptr || self->is_private(address) ? nullptr : self;
}

/// The same for an atomic access. A host thread that goes on looking at an atomic in its own frame waits for another that knows of it.
[[gnu::always_inline]] inline lane* observed_atomic(const void* address) {
  lane* const self = execution::current;
  if (self == nullptr) return nullptr;
  if (self->is_private(address)) [[unlikely]] {
    constexpr uint32_t many = 64;
    if (!self->is_host() || ++self->expects.atomics < many) return nullptr;
    heddle::sim::frame_sharing::expect(*self, address, __builtin_frame_address(0));
  }
  return self;
}

/// Marks what follows as one more operation of a call whose first one touched `first`: a wave with one program counter has not left it.
class same_call {
 public:
  explicit same_call(const void* first) : self_(observed(first)) {
    if (self_ != nullptr) self_->in_same_call = true;
  }
  ~same_call() {
    if (self_ != nullptr) self_->in_same_call = false;
  }
  same_call(const same_call&) = delete;
  same_call& operator=(const same_call&) = delete;

 private:
  lane* self_;
};

// The lane that calls an entry point.

/// Aborts outside of a run, where `what` has no meaning.
inline lane& caller_lane(const char* what) {
  if (execution::current == nullptr) {
    std::fprintf(stderr, "heddle: sim::%s is called outside of a simulated run\n", what);
    std::abort();
  }
  return *execution::current;
}

/// The calling lane, which must be one of a kernel: ends the run where it is host code.
lane& device_lane(const char* what, const caller& from);

// How an entry point ends the run at a call that the simulator cannot carry out.

/// Ends the run where the lane has come in.
[[noreturn]] inline void refuse(lane& self, scheduler::verdict verdict, const std::string& why, const caller& from) {
  const entered inside(self);
  execution& here = *execution::instance;
  here.finish_plain_store(self, from.frame);
  self.pending = make_operation(operation_kind::none, nullptr, 0, from);
  here.core().end(self, verdict, why);
}

}  // namespace heddle::sim::runtime
