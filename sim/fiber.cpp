#include <heddle/sim/fiber.h>

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#define HEDDLE_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEDDLE_ADDRESS_SANITIZER 1
#endif
#endif
#ifdef HEDDLE_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace heddle::sim {
namespace {

namespace context = boost::context::detail;

// The kernel's default limit is 65,530 mappings a process (vm.max_map_count), and a guard page splits a mapping in two.
constexpr size_t max_guarded_stacks = 16384;

// Itanium C++ ABI, section 2.2.2: the layout that every C++ runtime on these systems shares.
struct exception_globals {
  void* caught;
  unsigned uncaught;
};

size_t page_bytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

stack_arena::stack_arena(size_t stack_bytes, size_t capacity)
    : stack_bytes_((stack_bytes + page_bytes() - 1) / page_bytes() * page_bytes()),
      stride_bytes_(stack_bytes_ + page_bytes()),
      capacity_(capacity) {
  reserved_bytes_ = stride_bytes_ * capacity_;
  void* const mapped =
      mmap(nullptr, reserved_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    std::fprintf(stderr, "heddle: cannot reserve %zu MiB of address space for stacks: %s\n", reserved_bytes_ >> 20,
                 std::strerror(errno));
    std::exit(3);
  }
  base_ = static_cast<std::byte*>(mapped);
}

stack_arena::~stack_arena() { munmap(base_, reserved_bytes_); }

stack_arena::stack stack_arena::at(size_t index) {
  std::byte* const slot = base_ + index * stride_bytes_;
#ifdef HEDDLE_ADDRESS_SANITIZER
  // The last user of the stack may have been abandoned in mid-flight, its frames still poisoned.
  ASAN_UNPOISON_MEMORY_REGION(slot + page_bytes(), stack_bytes_);
#endif
  for (; guarded_ <= index && guarded_ < max_guarded_stacks; ++guarded_)
    if (mprotect(base_ + guarded_ * stride_bytes_, page_bytes(), PROT_NONE) != 0) break;
  return {slot + page_bytes(), stack_bytes_};
}

bool stack_arena::is_guard(const void* address) const {
  if (!contains(address)) return false;
  const auto offset = static_cast<size_t>(static_cast<const std::byte*>(address) - base_);
  return offset % stride_bytes_ < page_bytes() && offset / stride_bytes_ < guarded_;
}

namespace {
// Who is being entered; a fiber that starts has no other way to learn its name.
thread_local fiber* entered = nullptr;
}  // namespace

/// What happens first on each arrival in a fiber.
struct fiber_start {
  static void arrive([[maybe_unused]] fiber& self, const context::transfer_t& from) {
    auto* const left = static_cast<fiber*>(from.data);
    left->context_ = from.fctx;
#ifdef HEDDLE_ADDRESS_SANITIZER
    __sanitizer_finish_switch_fiber(self.fake_stack_, &left->sanitizer_bottom_, &left->sanitizer_size_);
#endif
  }

  static void run(context::transfer_t from) {
    fiber& self = *entered;
    arrive(self, from);
    self.run_(self.argument_);
    std::abort();
  }
};

void fiber::reset(const stack_arena::stack& on, uint32_t colour, size_t reserved_bytes, entry run, void* argument) {
  constexpr size_t line_bytes = 64;
  constexpr uint32_t colours = 16;
  const size_t reserved_lines = (reserved_bytes + line_bytes - 1) / line_bytes;
  top_ = on.high() - (reserved_lines + colour % colours) * line_bytes;
  context_ = context::make_fcontext(top_, static_cast<size_t>(top_ - on.low), &fiber_start::run);
  caught_exceptions_ = nullptr;
  uncaught_exceptions_ = 0;
  run_ = run;
  argument_ = argument;
  stack_ = on;
  fake_stack_ = nullptr;
  sanitizer_bottom_ = on.low;
  sanitizer_size_ = on.size_bytes;
}

void fiber::switch_to(fiber& from, fiber& to) {
  // One simulation stays on one OS thread, so the address is the same before and after the jump.
  thread_local auto* const globals = reinterpret_cast<exception_globals*>(abi::__cxa_get_globals());
  from.caught_exceptions_ = globals->caught;
  from.uncaught_exceptions_ = globals->uncaught;
  globals->caught = to.caught_exceptions_;
  globals->uncaught = to.uncaught_exceptions_;
  entered = &to;
#ifdef HEDDLE_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(&from.fake_stack_, to.sanitizer_bottom_, to.sanitizer_size_);
#endif
  const context::transfer_t back = context::jump_fcontext(to.context_, &from);
  fiber_start::arrive(from, back);
}

}  // namespace heddle::sim
