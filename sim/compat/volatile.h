// Accesses to what is declared volatile, in a source for GPUs: they are told apart from those of other C++, where they are plain.
#pragma once

// The compiler calls the names of ThreadSanitizer: here these stand for the simulator's (runtime/instrumentation.cpp).
#define HEDDLE_COMPAT_VOLATILE(size)                                             \
  __asm__(".set __tsan_volatile_read" #size ", heddle_gpu_volatile_read" #size); \
  __asm__(".set __tsan_volatile_write" #size ", heddle_gpu_volatile_write" #size)
HEDDLE_COMPAT_VOLATILE(1);
HEDDLE_COMPAT_VOLATILE(2);
HEDDLE_COMPAT_VOLATILE(4);
HEDDLE_COMPAT_VOLATILE(8);
#undef HEDDLE_COMPAT_VOLATILE
