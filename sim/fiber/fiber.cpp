#include <heddle/sim/base/address_space.h>
#include <heddle/sim/fiber/fiber.h>

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#ifdef HEDDLE_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>

// A run that ends early abandons its lanes, and with them what they own: such leaks are no errors. What AddressSanitizer finds in code under
// test ends the run as an abort does.
extern "C" const char* __asan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "detect_leaks=0:abort_on_error=1";
}
#endif

namespace heddle::sim {
namespace {

// The kernel's default limit is 65,530 mappings a process (vm.max_map_count), and a guard page splits a mapping in two.
constexpr size_t max_guarded_stacks = 16384;
// Of all arenas: each OS thread that makes runs has its own. Only a count: nothing else is read because of it.
std::atomic<size_t> guarded_stacks = 0;

size_t page_bytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

constexpr size_t line_bytes = 64;

/// Whether anything but zero lies in whole lines of a stack, whatever frames they belong to.
#if defined(__GNUC__)
__attribute__((no_sanitize("address")))
#endif
bool is_touched(const std::byte* from, const std::byte* to) {
  using words [[gnu::vector_size(16), gnu::may_alias]] = uint64_t;
  words any[4] = {};
  for (; from < to; from += line_bytes)
    for (size_t n = 0; n < 4; ++n) any[n] |= reinterpret_cast<const words*>(from)[n];
  const words all = (any[0] | any[1]) | (any[2] | any[3]);
  return (all[0] | all[1]) != 0;
}

}  // namespace

stack_arena::stack_arena(size_t stack_bytes, size_t capacity)
    : stack_bytes_((stack_bytes + page_bytes() - 1) / page_bytes() * page_bytes()),
      stride_bytes_(stack_bytes_ + page_bytes()),
      capacity_(capacity) {
  // Fewer where the address space is limited, and one at least.
  capacity_ = std::max(share_of_address_space(stride_bytes_ * capacity_, 32) / stride_bytes_, size_t{1});
  void* mapped = MAP_FAILED;
  for (;; capacity_ /= 2) {
    reserved_bytes_ = stride_bytes_ * capacity_;
    mapped = mmap(nullptr, reserved_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped != MAP_FAILED) break;
    if (capacity_ == 1) no_address_space(reserved_bytes_, "a stack");
  }
  base_ = static_cast<std::byte*>(mapped);
}

stack_arena::~stack_arena() {
#ifdef HEDDLE_ADDRESS_SANITIZER
  // What is mapped here next has no variables that were left.
  __asan_unpoison_memory_region(base_, used_bytes_.size() * stride_bytes_);
#endif
  guarded_stacks.fetch_sub(guarded_, std::memory_order_relaxed);
  munmap(base_, reserved_bytes_);
}

void stack_arena::guard_up_to(size_t index) {
  for (; guarded_ <= index; ++guarded_) {
    if (guarded_stacks.fetch_add(1, std::memory_order_relaxed) < max_guarded_stacks &&
        mprotect(base_ + guarded_ * stride_bytes_, guard_bytes(), PROT_NONE) == 0)
      continue;
    guarded_stacks.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
}

// What a run leaves there would be what the next one finds in its variables before they are set, and a schedule would not be the same twice.
void stack_arena::clear(std::byte* low, uint32_t& used_bytes) const {
  std::byte* const high = low + stack_bytes_;
  while (used_bytes < stack_bytes_) {
    const std::byte* const end = high - used_bytes;
    const std::byte* const begin = end - std::min(untouched_bytes, static_cast<size_t>(end - low));
    if (!is_touched(begin, end)) break;
    const std::byte* touched = begin;
    while (!is_touched(touched, touched + line_bytes)) touched += line_bytes;
    used_bytes = static_cast<uint32_t>(high - touched);
  }
  std::memset(high - used_bytes, 0, used_bytes);
}

bool stack_arena::is_guard(const void* address) const {
  if (!contains(address)) return false;
  const auto offset = static_cast<size_t>(static_cast<const std::byte*>(address) - base_);
  return offset % stride_bytes_ < guard_bytes() && offset / stride_bytes_ < guarded_;
}

exceptions_in_flight& exceptions_in_flight::of_this_thread() {
  static constinit thread_local exceptions_in_flight* known = nullptr;
  if (known == nullptr) [[unlikely]]
    known = reinterpret_cast<exceptions_in_flight*>(abi::__cxa_get_globals());
  return *known;
}

void fiber::start(boost::context::detail::transfer_t from) {
#if defined(__x86_64__)
  // This frame has no caller: unwinding the stack ends here, and an exception that is not caught ends in std::terminate.
  asm volatile(".cfi_undefined rip");
#elif defined(__aarch64__)
  asm volatile(".cfi_undefined x30");
#endif
  fiber& self = *static_cast<fiber*>(from.data)->entering_;
  arrive(self, from);
  self.run_(self.argument_);
  std::abort();
}

void fiber::reset(const stack_arena::stack& on, uint32_t colour, size_t reserved_bytes, entry run, void* argument) {
  constexpr uint32_t colours = 16;
  const size_t reserved_lines = (reserved_bytes + line_bytes - 1) / line_bytes;
  top_ = on.high() - (reserved_lines + colour % colours) * line_bytes;
  context_ = boost::context::detail::make_fcontext(top_, static_cast<size_t>(top_ - on.low), &fiber::start);
  exceptions_ = {};
  run_ = run;
  argument_ = argument;
  stack_ = on;
  fake_stack_ = nullptr;
  sanitizer_bottom_ = on.low;
  sanitizer_size_ = on.size_bytes;
}

}  // namespace heddle::sim
