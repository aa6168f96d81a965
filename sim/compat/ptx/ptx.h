// What C++ that was made from PTX calls (tools/ptx/), of whole files and of asm statements: the instructions of the table, on the
// simulator's front end.
#pragma once

#include <heddle/sim/compat/ptx/async.h>
#include <heddle/sim/compat/ptx/bits.h>
#include <heddle/sim/compat/ptx/conversions.h>
#include <heddle/sim/compat/ptx/floats.h>
#include <heddle/sim/compat/ptx/integers.h>
#include <heddle/sim/compat/ptx/lanes.h>
#include <heddle/sim/compat/ptx/memory.h>
#include <heddle/sim/compat/ptx/module.h>
#include <heddle/sim/compat/ptx/multimem.h>
#include <heddle/sim/compat/ptx/types.h>

#include <type_traits>

namespace heddle::ptx {

/// A value that an asm statement is given, as its register. (CUDA, "Inline PTX Assembly", "Constraints".)
template <typename Word, typename T>
HEDDLE_PTX_INLINE Word asm_in(const T& from) {
  if constexpr (std::is_array_v<T> || std::is_function_v<T>)
    return static_cast<Word>(reinterpret_cast<uintptr_t>(&from));
  else if constexpr (std::is_pointer_v<T>)
    return static_cast<Word>(reinterpret_cast<uintptr_t>(from));
  else if constexpr (sizeof(T) == sizeof(Word) && std::is_trivially_copyable_v<T> && !std::is_volatile_v<T>)
    return __builtin_bit_cast(Word, from);
  else
    return static_cast<Word>(from);
}
/// What it gives.
template <typename Word, typename T>
HEDDLE_PTX_INLINE void asm_out(T& to, Word from) {
  if constexpr (std::is_pointer_v<T>)
    to = reinterpret_cast<T>(static_cast<uintptr_t>(from));
  else if constexpr (sizeof(T) == sizeof(Word) && std::is_trivially_copyable_v<T> && !std::is_volatile_v<T>)
    to = __builtin_bit_cast(T, from);
  else
    to = static_cast<std::remove_cv_t<T>>(from);
}

}  // namespace heddle::ptx

// Addresses of memory of a block, as asm has them. (CUDA C++ Programming Guide, "Address Space Conversion Functions".)
HEDDLE_PTX_INLINE size_t __cvta_generic_to_shared(const void* address) {
  return ::heddle::ptx::shared_of_generic(reinterpret_cast<uint64_t>(address));
}
HEDDLE_PTX_INLINE size_t __cvta_generic_to_global(const void* address) { return reinterpret_cast<size_t>(address); }
HEDDLE_PTX_INLINE void* __cvta_shared_to_generic(size_t address) { return ::heddle::ptx::generic_of_shared(address); }
HEDDLE_PTX_INLINE void* __cvta_global_to_generic(size_t address) { return reinterpret_cast<void*>(address); }
