// What a signal handler knows of the place that it has interrupted, and how that goes on elsewhere.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>

namespace heddle::sim {

/// The interrupted registers that matter.
struct registers {
  uintptr_t pc = 0;
  uintptr_t sp = 0;
  uintptr_t frame = 0;
  bool by_store = false;
};

#if defined(__x86_64__)
inline registers registers_of(const ucontext_t& context) {
  const auto& all = context.uc_mcontext.gregs;
  constexpr greg_t is_write = 2;  // in the error code of a page fault
  return {.pc = static_cast<uintptr_t>(all[REG_RIP]),
          .sp = static_cast<uintptr_t>(all[REG_RSP]),
          .frame = static_cast<uintptr_t>(all[REG_RBP]),
          .by_store = (all[REG_ERR] & is_write) != 0};
}

/// The processor's flags.
inline uint64_t flags_of(const ucontext_t& context) {
  return static_cast<uint64_t>(context.uc_mcontext.gregs[REG_EFL]);
}

/// Has the interrupted thread go on at another place in its code.
inline void go_on_at(ucontext_t& context, uintptr_t pc) {
  context.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(pc);
}

/// Has the interrupted thread go on in `function`, on another stack.
inline void go_on_at(ucontext_t& context, void (*function)(), std::byte* stack_top) {
  auto& all = context.uc_mcontext.gregs;
  constexpr greg_t direction = 0x400;
  all[REG_RIP] = static_cast<greg_t>(reinterpret_cast<uintptr_t>(function));
  // As behind a call.
  all[REG_RSP] = static_cast<greg_t>(reinterpret_cast<uintptr_t>(stack_top) - sizeof(void*));
  all[REG_RBP] = 0;
  all[REG_EFL] &= ~direction;
}

/// Whether the process stood in a system call: before it, where the kernel makes it again, or behind it.
inline bool in_system_call(uintptr_t pc) {
  const auto is_call = [](uintptr_t at) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(at);
    return bytes[0] == 0x0f && bytes[1] == 0x05;
  };
  return is_call(pc) || is_call(pc - 2);
}
inline constexpr bool can_go_on = true;
#elif defined(__aarch64__)
inline uint64_t flags_of(const ucontext_t& context) { return context.uc_mcontext.pstate; }
inline void go_on_at(ucontext_t& context, uintptr_t pc) { context.uc_mcontext.pc = pc; }
inline registers registers_of(const ucontext_t& context) {
  constexpr int frame = 29;
  return {.pc = context.uc_mcontext.pc, .sp = context.uc_mcontext.sp, .frame = context.uc_mcontext.regs[frame]};
}
inline void go_on_at(ucontext_t& context, void (*function)(), std::byte* stack_top) {
  constexpr int frame = 29, link = 30;
  context.uc_mcontext.pc = reinterpret_cast<uintptr_t>(function);
  context.uc_mcontext.sp = reinterpret_cast<uintptr_t>(stack_top);
  context.uc_mcontext.regs[frame] = context.uc_mcontext.regs[link] = 0;
}
inline bool in_system_call(uintptr_t pc) {
  constexpr uint32_t call = 0xd4000001;
  const auto* const at = reinterpret_cast<const uint32_t*>(pc);
  return at[0] == call || at[-1] == call;
}
inline constexpr bool can_go_on = true;
#else
inline uint64_t flags_of(const ucontext_t&) { return 0; }
inline void go_on_at(ucontext_t&, uintptr_t) {}
inline registers registers_of(const ucontext_t&) { return {}; }
inline void go_on_at(ucontext_t&, void (*)(), std::byte*) {}
inline bool in_system_call(uintptr_t) { return false; }
inline constexpr bool can_go_on = false;
#endif

/// Whether the address is one that x86-64 has.
inline bool is_canonical(uint64_t address) {
  const uint64_t above = address >> 47;
  return above == 0 || above == 0x1ffff;
}

}  // namespace heddle::sim
