#include <heddle/sim/machine/detour.h>

namespace heddle::sim {

#if defined(__x86_64__)

static_assert(offsetof(returned_registers, rbp) == 11 * sizeof(uint64_t));

// Returned to, and never called. What it pushes becomes a frame as any other: the caller's frame pointer, and the address to return to behind it.
asm(R"(
.pushsection .text
.hidden heddle_detour
.globl heddle_detour
.type heddle_detour, @function
heddle_detour:
  push %rax
  push %rbp
  mov %rsp, %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  push %rax
  push %rdx
  sub $32, %rsp
  movups %xmm1, 16(%rsp)
  movups %xmm0, (%rsp)
  mov %rsp, %rdi
  and $-16, %rsp
  call heddle_take_detour
  lea -88(%rbp), %rsp
  movups (%rsp), %xmm0
  movups 16(%rsp), %xmm1
  add $32, %rsp
  pop %rdx
  pop %rax
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
.size heddle_detour, . - heddle_detour
.popsection
)");

extern "C" const char heddle_detour[];

bool has_detours() { return true; }
const void* detour_address() { return heddle_detour; }

#else

bool has_detours() { return false; }
const void* detour_address() { return nullptr; }

#endif

}  // namespace heddle::sim
