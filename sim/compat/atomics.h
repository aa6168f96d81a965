// atomicAdd() and its family, as CUDA and HIP have it: relaxed; of device scope, or of the scope that the name ends with.
// (CUDA C++ Programming Guide, "Atomic Functions".) A type that the GPU has no such operation for is a compile error here too.
#pragma once

#include <heddle/sim/compat/launch.h>
#include <heddle/sim/compat/vectors.h>
#include <heddle/sim/compat/words.h>

#include <type_traits>

namespace heddle::compat {

template <typename T, typename... Others>
concept any_of = (std::is_same_v<T, Others> || ...);
template <typename T>
concept word32 = any_of<T, int, unsigned int>;
/// On Linux `unsigned long` is as wide as `unsigned long long`.
template <typename T>
concept word64 = any_of<T, unsigned long, unsigned long long>;
template <typename T>
concept integer = word32<T> || word64<T> || any_of<T, long, long long>;
template <typename T>
using as_is = std::type_identity_t<T>;

}  // namespace heddle::compat

#define HEDDLE_ATOMICS(suffix, reach)                                                                                  \
  template <typename T>                                                                                                \
    requires ::heddle::compat::word32<T> || ::heddle::compat::word64<T>                                                \
  HEDDLE_COMPAT_INLINE T atomicAdd##suffix(T* address, ::heddle::compat::as_is<T> value) {                             \
    return ::heddle::compat::modify(::heddle::sim::runtime::rmw_kind::add, address, value,                             \
                                    ::heddle::memory_order::relaxed, ::heddle::scope::reach);                          \
  }                                                                                                                    \
  template <typename T>                                                                                                \
    requires ::heddle::compat::any_of<T, float, double>                                                                \
  HEDDLE_COMPAT_INLINE T atomicAdd##suffix(T* address, ::heddle::compat::as_is<T> value) {                             \
    return ::heddle::compat::modify<::heddle::compat::plus>(address, value, ::heddle::memory_order::relaxed,           \
                                                            ::heddle::scope::reach);                                   \
  }                                                                                                                    \
  template <typename T>                                                                                                \
    requires ::heddle::compat::word32<T>                                                                               \
  HEDDLE_COMPAT_INLINE T atomicSub##suffix(T* address, ::heddle::compat::as_is<T> value) {                             \
    return ::heddle::compat::modify(::heddle::sim::runtime::rmw_kind::subtract, address, value,                        \
                                    ::heddle::memory_order::relaxed, ::heddle::scope::reach);                          \
  }                                                                                                                    \
  template <typename T>                                                                                                \
    requires ::heddle::compat::word32<T> || ::heddle::compat::word64<T> || ::heddle::compat::any_of<T, float>          \
  HEDDLE_COMPAT_INLINE T atomicExch##suffix(T* address, ::heddle::compat::as_is<T> value) {                            \
    return ::heddle::compat::modify(::heddle::sim::runtime::rmw_kind::exchange, address, value,                        \
                                    ::heddle::memory_order::relaxed, ::heddle::scope::reach);                          \
  }                                                                                                                    \
  template <typename T>                                                                                                \
    requires ::heddle::compat::integer<T>                                                                              \
  HEDDLE_COMPAT_INLINE T atomicMin##suffix(T* address, ::heddle::compat::as_is<T> value) {                             \
    return ::heddle::compat::modify<::heddle::compat::smaller>(address, value, ::heddle::memory_order::relaxed,        \
                                                               ::heddle::scope::reach);                                \
  }                                                                                                                    \
  template <typename T>                                                                                                \
    requires ::heddle::compat::integer<T>                                                                              \
  HEDDLE_COMPAT_INLINE T atomicMax##suffix(T* address, ::heddle::compat::as_is<T> value) {                             \
    return ::heddle::compat::modify<::heddle::compat::greater>(address, value, ::heddle::memory_order::relaxed,        \
                                                               ::heddle::scope::reach);                                \
  }                                                                                                                    \
  HEDDLE_COMPAT_INLINE unsigned int atomicInc##suffix(unsigned int* address, unsigned int value) {                     \
    return ::heddle::compat::modify<::heddle::compat::increment_up_to>(                                                \
        address, value, ::heddle::memory_order::relaxed, ::heddle::scope::reach);                                      \
  }                                                                                                                    \
  HEDDLE_COMPAT_INLINE unsigned int atomicDec##suffix(unsigned int* address, unsigned int value) {                     \
    return ::heddle::compat::modify<::heddle::compat::decrement_from>(address, value, ::heddle::memory_order::relaxed, \
                                                                      ::heddle::scope::reach);                         \
  }                                                                                                                    \
  template <typename T>                                                                                                \
    requires ::heddle::compat::word32<T> || ::heddle::compat::word64<T> || ::heddle::compat::any_of<T, unsigned short> \
  HEDDLE_COMPAT_INLINE T atomicCAS##suffix(T* address, ::heddle::compat::as_is<T> compare,                             \
                                           ::heddle::compat::as_is<T> value) {                                         \
    return ::heddle::compat::compare_and_swap(address, compare, value, ::heddle::memory_order::relaxed,                \
                                              ::heddle::scope::reach);                                                 \
  }                                                                                                                    \
  HEDDLE_ATOMIC_BITS(And##suffix, bit_and, reach)                                                                      \
  HEDDLE_ATOMIC_BITS(Or##suffix, bit_or, reach)                                                                        \
  HEDDLE_ATOMIC_BITS(Xor##suffix, bit_xor, reach)

#define HEDDLE_ATOMIC_BITS(name, kind, reach)                                                 \
  template <typename T>                                                                       \
    requires ::heddle::compat::word32<T> || ::heddle::compat::word64<T>                       \
  HEDDLE_COMPAT_INLINE T atomic##name(T* address, ::heddle::compat::as_is<T> value) {         \
    return ::heddle::compat::modify(::heddle::sim::runtime::rmw_kind::kind, address, value,   \
                                    ::heddle::memory_order::relaxed, ::heddle::scope::reach); \
  }

HEDDLE_ATOMICS(, device)
HEDDLE_ATOMICS(_block, block)
HEDDLE_ATOMICS(_system, system)

// Each number by itself. (CUDA C++ Programming Guide, "atomicAdd()".)
#define HEDDLE_VECTOR_ATOMICS(suffix)                                                          \
  HEDDLE_COMPAT_INLINE float2 atomicAdd##suffix(float2* address, float2 value) {               \
    return {atomicAdd##suffix(&address->x, value.x), atomicAdd##suffix(&address->y, value.y)}; \
  }                                                                                            \
  HEDDLE_COMPAT_INLINE float4 atomicAdd##suffix(float4* address, float4 value) {               \
    return {atomicAdd##suffix(&address->x, value.x), atomicAdd##suffix(&address->y, value.y),  \
            atomicAdd##suffix(&address->z, value.z), atomicAdd##suffix(&address->w, value.w)}; \
  }
HEDDLE_VECTOR_ATOMICS()
HEDDLE_VECTOR_ATOMICS(_block)
HEDDLE_VECTOR_ATOMICS(_system)

#undef HEDDLE_ATOMICS
#undef HEDDLE_VECTOR_ATOMICS
#undef HEDDLE_ATOMIC_BITS
