// Accesses as the simulator hears of them, and the moves that make them.
//
// Code made from PTX is compiled without instrumentation: an access is announced here, once, as the PTX has it. Inline PTX stands in
// instrumented code, whose compiler must not announce the same access again: so the access itself is a move that it does not see.
#pragma once

#include <heddle/sim/compat/ptx/types.h>

#include <stddef.h>
#include <stdint.h>

// The front end's (sim/runtime/instrumentation.cpp), under other names: compilers know these as built in.
namespace heddle::ptx {
#define HEDDLE_PTX_ANNOUNCES(size, name)                                         \
  void announces_read##size(void* address) __asm__("__tsan_" name "read" #size); \
  void announces_write##size(void* address) __asm__("__tsan_" name "write" #size)
HEDDLE_PTX_ANNOUNCES(1, "");
HEDDLE_PTX_ANNOUNCES(2, "unaligned_");
HEDDLE_PTX_ANNOUNCES(4, "unaligned_");
HEDDLE_PTX_ANNOUNCES(8, "unaligned_");
HEDDLE_PTX_ANNOUNCES(16, "unaligned_");
#undef HEDDLE_PTX_ANNOUNCES
#define HEDDLE_PTX_VOLATILE(size)                                                              \
  void announces_volatile_read##size(void* address) __asm__("heddle_gpu_volatile_read" #size); \
  void announces_volatile_write##size(void* address) __asm__("heddle_gpu_volatile_write" #size)
HEDDLE_PTX_VOLATILE(1);
HEDDLE_PTX_VOLATILE(2);
HEDDLE_PTX_VOLATILE(4);
HEDDLE_PTX_VOLATILE(8);
#undef HEDDLE_PTX_VOLATILE
}  // namespace heddle::ptx

namespace heddle::ptx {

// The access itself, which the compiler does not announce.

template <typename Word>
HEDDLE_PTX_INLINE Word raw_load(const void* address) {
  Word value;
#if defined(__x86_64__)
  if constexpr (sizeof(Word) == 1)
    asm volatile("movb %1, %0" : "=q"(value) : "m"(*static_cast<const Word*>(address)) : "memory");
  else if constexpr (sizeof(Word) == 2)
    asm volatile("movw %1, %0" : "=r"(value) : "m"(*static_cast<const Word*>(address)) : "memory");
  else if constexpr (sizeof(Word) == 4)
    asm volatile("movl %1, %0" : "=r"(value) : "m"(*static_cast<const Word*>(address)) : "memory");
  else
    asm volatile("movq %1, %0" : "=r"(value) : "m"(*static_cast<const Word*>(address)) : "memory");
#else
  value = *static_cast<const volatile Word*>(address);
#endif
  return value;
}
template <typename Word>
HEDDLE_PTX_INLINE void raw_store(void* address, Word value) {
#if defined(__x86_64__)
  if constexpr (sizeof(Word) == 1)
    asm volatile("movb %1, %0" : "=m"(*static_cast<Word*>(address)) : "q"(value) : "memory");
  else if constexpr (sizeof(Word) == 2)
    asm volatile("movw %1, %0" : "=m"(*static_cast<Word*>(address)) : "r"(value) : "memory");
  else if constexpr (sizeof(Word) == 4)
    asm volatile("movl %1, %0" : "=m"(*static_cast<Word*>(address)) : "r"(value) : "memory");
  else
    asm volatile("movq %1, %0" : "=m"(*static_cast<Word*>(address)) : "r"(value) : "memory");
#else
  *static_cast<volatile Word*>(address) = value;
#endif
}
template <>
HEDDLE_PTX_INLINE wide raw_load<wide>(const void* address) {
  const auto* const halves = static_cast<const uint64_t*>(address);
  return static_cast<wide>(raw_load<uint64_t>(halves + 1)) << 64 | raw_load<uint64_t>(halves);
}
template <>
HEDDLE_PTX_INLINE void raw_store<wide>(void* address, wide value) {
  auto* const halves = static_cast<uint64_t*>(address);
  raw_store(halves, static_cast<uint64_t>(value));
  raw_store(halves + 1, static_cast<uint64_t>(value >> 64));
}

template <size_t Bytes>
HEDDLE_PTX_INLINE void announce_read(void* address) {
  if constexpr (Bytes == 1) announces_read1(address);
  if constexpr (Bytes == 2) announces_read2(address);
  if constexpr (Bytes == 4) announces_read4(address);
  if constexpr (Bytes == 8) announces_read8(address);
  if constexpr (Bytes == 16) announces_read16(address);
  static_assert(Bytes <= 16 && (Bytes & (Bytes - 1)) == 0);
}
template <size_t Bytes>
HEDDLE_PTX_INLINE void announce_write(void* address) {
  if constexpr (Bytes == 1) announces_write1(address);
  if constexpr (Bytes == 2) announces_write2(address);
  if constexpr (Bytes == 4) announces_write4(address);
  if constexpr (Bytes == 8) announces_write8(address);
  if constexpr (Bytes == 16) announces_write16(address);
}
template <size_t Bytes>
HEDDLE_PTX_INLINE void announce_volatile_read(void* address) {
  if constexpr (Bytes == 1) announces_volatile_read1(address);
  if constexpr (Bytes == 2) announces_volatile_read2(address);
  if constexpr (Bytes == 4) announces_volatile_read4(address);
  if constexpr (Bytes == 8) announces_volatile_read8(address);
}
template <size_t Bytes>
HEDDLE_PTX_INLINE void announce_volatile_write(void* address) {
  if constexpr (Bytes == 1) announces_volatile_write1(address);
  if constexpr (Bytes == 2) announces_volatile_write2(address);
  if constexpr (Bytes == 4) announces_volatile_write4(address);
  if constexpr (Bytes == 8) announces_volatile_write8(address);
}

}  // namespace heddle::ptx
