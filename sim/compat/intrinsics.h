// What CUDA has beside C++ for numbers, words and lanes of a warp. (CUDA Math API; CUDA C++ Programming Guide, "Warp Match Functions",
// "Warp Reduce Functions".) What a GPU computes approximately, such as __expf(), is the C library's here.
#pragma once

#include <heddle/sim/compat/lanes.h>
#include <heddle/sim/compat/ptx/ptx.h>
#include <math.h>

#include <type_traits>

// -- words

constexpr int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
constexpr unsigned int __umulhi(unsigned int a, unsigned int b) {
  return static_cast<unsigned int>(static_cast<unsigned long long>(a) * b >> 32);
}
constexpr unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(::heddle::ptx::wide{a} * b >> 64);
}
constexpr long long __mul64hi(long long a, long long b) {
  __extension__ using wide = __int128;
  return static_cast<long long>(static_cast<wide>(a) * b >> 64);
}
constexpr int __mul24(int a, int b) {
  const auto low = [](int of) { return static_cast<int>(static_cast<unsigned int>(of) << 8) >> 8; };
  return static_cast<int>(static_cast<unsigned int>(low(a)) * static_cast<unsigned int>(low(b)));
}
constexpr unsigned int __umul24(unsigned int a, unsigned int b) { return (a & 0xffffffU) * (b & 0xffffffU); }
constexpr unsigned int __brev(unsigned int word) {
  unsigned int made = 0;
  for (int n = 0; n < 32; ++n) made |= (word >> n & 1U) << (31 - n);
  return made;
}
constexpr unsigned long long __brevll(unsigned long long word) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned int>(word))) << 32 |
         __brev(static_cast<unsigned int>(word >> 32));
}
HEDDLE_COMPAT_INLINE unsigned int __byte_perm(unsigned int a, unsigned int b, unsigned int which) {
  return ::heddle::ptx::i_prmt<::heddle::ptx::t_b32>(a, b, which & 0x7777U);
}
constexpr unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int count) {
  return static_cast<unsigned int>(((static_cast<unsigned long long>(high) << 32 | low) << (count & 31)) >> 32);
}
constexpr unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int count) {
  return static_cast<unsigned int>((static_cast<unsigned long long>(high) << 32 | low) >> (count & 31));
}
constexpr unsigned int __funnelshift_lc(unsigned int low, unsigned int high, unsigned int count) {
  return count >= 32 ? low : __funnelshift_l(low, high, count);
}
constexpr unsigned int __funnelshift_rc(unsigned int low, unsigned int high, unsigned int count) {
  return count >= 32 ? high : __funnelshift_r(low, high, count);
}
constexpr unsigned int __usad(unsigned int a, unsigned int b, unsigned int sum) {
  return (a > b ? a - b : b - a) + sum;
}
constexpr unsigned int __sad(int a, int b, unsigned int sum) {
  const auto distance = static_cast<long long>(a) - b;
  return static_cast<unsigned int>(distance < 0 ? -distance : distance) + sum;
}
constexpr int __rhadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1); }
constexpr int __hadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b) >> 1); }
constexpr unsigned int __uhadd(unsigned int a, unsigned int b) {
  return static_cast<unsigned int>((static_cast<unsigned long long>(a) + b) >> 1);
}
constexpr unsigned int __urhadd(unsigned int a, unsigned int b) {
  return static_cast<unsigned int>((static_cast<unsigned long long>(a) + b + 1) >> 1);
}
/// Four sums of bytes.
constexpr unsigned int __vadd4(unsigned int a, unsigned int b) {
  return ((a & 0x7f7f7f7fU) + (b & 0x7f7f7f7fU)) ^ ((a ^ b) & 0x80808080U);
}
/// The place of the set bit that is the `offset`th one from `base` on, upwards, or downwards where `offset` is negative; all ones where
/// there is none. (CUDA Math API, "__fns".)
constexpr unsigned int __fns(unsigned int mask, unsigned int base, int offset) {
  const int step = offset < 0 ? -1 : 1;
  int left = offset == 0 ? 1 : offset < 0 ? -offset : offset;
  for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step) {
    if ((mask >> at & 1U) != 0 && --left == 0) return static_cast<unsigned int>(at);
    if (offset == 0) break;
  }
  return 0xffffffffU;
}

// -- bits of numbers, and numbers of other types

constexpr int __float_as_int(float value) { return __builtin_bit_cast(int, value); }
constexpr unsigned int __float_as_uint(float value) { return __builtin_bit_cast(unsigned int, value); }
constexpr float __int_as_float(int bits) { return __builtin_bit_cast(float, bits); }
constexpr float __uint_as_float(unsigned int bits) { return __builtin_bit_cast(float, bits); }
constexpr long long __double_as_longlong(double value) { return __builtin_bit_cast(long long, value); }
constexpr double __longlong_as_double(long long bits) { return __builtin_bit_cast(double, bits); }
constexpr int __double2hiint(double value) { return static_cast<int>(__double_as_longlong(value) >> 32); }
constexpr int __double2loint(double value) { return static_cast<int>(__double_as_longlong(value)); }
constexpr double __hiloint2double(int high, int low) {
  return __longlong_as_double(static_cast<long long>(
      static_cast<unsigned long long>(static_cast<unsigned int>(high)) << 32 | static_cast<unsigned int>(low)));
}

namespace heddle::compat {

/// The nearest integer that the type has; of no number, 0, or the highest bit alone where one of the two has 64 bits. (PTX ISA, "cvt".)
template <typename To, typename From>
HEDDLE_COMPAT_INLINE To to_integer(From value) {
  constexpr bool is_wide = sizeof(From) == 8 || sizeof(To) == 8;
  if (value != value) return is_wide ? static_cast<To>(std::make_unsigned_t<To>{1} << (sizeof(To) * 8 - 1)) : To{0};
  if (value <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (value >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

}  // namespace heddle::compat

#define HEDDLE_TO_INTEGER(from, name, type)                             \
  HEDDLE_COMPAT_INLINE type __##from##2##name##_rn(from value) {        \
    return ::heddle::compat::to_integer<type>(::std::nearbyint(value)); \
  }                                                                     \
  HEDDLE_COMPAT_INLINE type __##from##2##name##_rz(from value) {        \
    return ::heddle::compat::to_integer<type>(::std::trunc(value));     \
  }                                                                     \
  HEDDLE_COMPAT_INLINE type __##from##2##name##_ru(from value) {        \
    return ::heddle::compat::to_integer<type>(::std::ceil(value));      \
  }                                                                     \
  HEDDLE_COMPAT_INLINE type __##from##2##name##_rd(from value) {        \
    return ::heddle::compat::to_integer<type>(::std::floor(value));     \
  }
HEDDLE_TO_INTEGER(float, int, int)
HEDDLE_TO_INTEGER(float, uint, unsigned int)
HEDDLE_TO_INTEGER(float, ll, long long)
HEDDLE_TO_INTEGER(float, ull, unsigned long long)
HEDDLE_TO_INTEGER(double, int, int)
HEDDLE_TO_INTEGER(double, uint, unsigned int)
HEDDLE_TO_INTEGER(double, ll, long long)
HEDDLE_TO_INTEGER(double, ull, unsigned long long)
#undef HEDDLE_TO_INTEGER
constexpr float __int2float_rn(int value) { return static_cast<float>(value); }
constexpr float __uint2float_rn(unsigned int value) { return static_cast<float>(value); }
constexpr float __ll2float_rn(long long value) { return static_cast<float>(value); }
constexpr float __ull2float_rn(unsigned long long value) { return static_cast<float>(value); }
constexpr double __int2double_rn(int value) { return value; }
constexpr double __uint2double_rn(unsigned int value) { return value; }
constexpr double __ll2double_rn(long long value) { return static_cast<double>(value); }
constexpr double __ull2double_rn(unsigned long long value) { return static_cast<double>(value); }
constexpr float __double2float_rn(double value) { return static_cast<float>(value); }

// -- numbers

#define HEDDLE_REAL(type, name, arguments, value) \
  HEDDLE_COMPAT_INLINE type name arguments { return value; }
HEDDLE_REAL(float, __fadd_rn, (float a, float b), a + b)
HEDDLE_REAL(float, __fsub_rn, (float a, float b), a - b)
HEDDLE_REAL(float, __fmul_rn, (float a, float b), a* b)
HEDDLE_REAL(float, __fdiv_rn, (float a, float b), a / b)
HEDDLE_REAL(float, __fmaf_rn, (float a, float b, float c), fmaf(a, b, c))
HEDDLE_REAL(float, __frcp_rn, (float a), 1.0F / a)
HEDDLE_REAL(float, __fsqrt_rn, (float a), sqrtf(a))
HEDDLE_REAL(float, __frsqrt_rn, (float a), 1.0F / sqrtf(a))
HEDDLE_REAL(double, __dadd_rn, (double a, double b), a + b)
HEDDLE_REAL(double, __dsub_rn, (double a, double b), a - b)
HEDDLE_REAL(double, __dmul_rn, (double a, double b), a* b)
HEDDLE_REAL(double, __ddiv_rn, (double a, double b), a / b)
HEDDLE_REAL(double, __fma_rn, (double a, double b, double c), fma(a, b, c))
HEDDLE_REAL(float, __fdividef, (float a, float b), a / b)
HEDDLE_REAL(float, fdividef, (float a, float b), a / b)
HEDDLE_REAL(float, rsqrtf, (float a), 1.0F / sqrtf(a))
HEDDLE_REAL(double, rsqrt, (double a), 1.0 / sqrt(a))
HEDDLE_REAL(float, rcbrtf, (float a), 1.0F / cbrtf(a))
HEDDLE_REAL(float, __saturatef, (float a), a > 0 ? (a < 1 ? a : 1.0F) : 0.0F)
HEDDLE_REAL(float, __expf, (float a), expf(a))
HEDDLE_REAL(float, __exp10f, (float a), powf(10, a))
HEDDLE_REAL(float, __logf, (float a), logf(a))
HEDDLE_REAL(float, __log2f, (float a), log2f(a))
HEDDLE_REAL(float, __log10f, (float a), log10f(a))
HEDDLE_REAL(float, __powf, (float a, float b), powf(a, b))
HEDDLE_REAL(float, __sinf, (float a), sinf(a))
HEDDLE_REAL(float, __cosf, (float a), cosf(a))
HEDDLE_REAL(float, __tanf, (float a), tanf(a))
HEDDLE_REAL(float, sinpif, (float a), sinf(a * 3.14159265358979F))
HEDDLE_REAL(float, cospif, (float a), cosf(a * 3.14159265358979F))
HEDDLE_REAL(double, sinpi, (double a), sin(a * 3.14159265358979323846))
HEDDLE_REAL(double, cospi, (double a), cos(a * 3.14159265358979323846))
#undef HEDDLE_REAL
HEDDLE_COMPAT_INLINE void __sincosf(float value, float* sine, float* cosine) {
  *sine = sinf(value);
  *cosine = cosf(value);
}

// -- memory. A hint for the caches changes nothing.

#define HEDDLE_LOAD_WITH_HINT(name)               \
  template <typename T>                           \
  HEDDLE_COMPAT_INLINE T name(const T* address) { \
    return *address;                              \
  }
#define HEDDLE_STORE_WITH_HINT(name)                                            \
  template <typename T>                                                         \
  HEDDLE_COMPAT_INLINE void name(T* address, ::std::type_identity_t<T> value) { \
    *address = value;                                                           \
  }
HEDDLE_LOAD_WITH_HINT(__ldg)
HEDDLE_LOAD_WITH_HINT(__ldcg)
HEDDLE_LOAD_WITH_HINT(__ldca)
HEDDLE_LOAD_WITH_HINT(__ldcs)
HEDDLE_LOAD_WITH_HINT(__ldlu)
HEDDLE_LOAD_WITH_HINT(__ldcv)
HEDDLE_STORE_WITH_HINT(__stwb)
HEDDLE_STORE_WITH_HINT(__stcg)
HEDDLE_STORE_WITH_HINT(__stcs)
HEDDLE_STORE_WITH_HINT(__stwt)
#undef HEDDLE_LOAD_WITH_HINT
#undef HEDDLE_STORE_WITH_HINT

HEDDLE_COMPAT_INLINE unsigned int __isShared(const void* address) {
  return ::heddle::ptx::i_isspacep<::heddle::ptx::m_shared>(reinterpret_cast<uintptr_t>(address)) ? 1 : 0;
}
HEDDLE_COMPAT_INLINE unsigned int __isClusterShared(const void* address) {
  return ::heddle::ptx::i_isspacep<::heddle::ptx::m_shared__cluster>(reinterpret_cast<uintptr_t>(address)) ? 1 : 0;
}
HEDDLE_COMPAT_INLINE unsigned int __isGlobal(const void* address) {
  return ::heddle::ptx::i_isspacep<::heddle::ptx::m_global>(reinterpret_cast<uintptr_t>(address)) ? 1 : 0;
}

// -- lanes of a warp

template <::heddle::compat::shuffled T>
HEDDLE_COMPAT_INLINE ::heddle::compat::lane_bits __match_any_sync(::heddle::compat::lane_bits mask, T value) {
  bool all = false;
  return static_cast<::heddle::compat::lane_bits>(
      ::heddle::ptx::lanes_with(mask, ::heddle::compat::to_word(value), all));
}
template <::heddle::compat::shuffled T>
HEDDLE_COMPAT_INLINE ::heddle::compat::lane_bits __match_all_sync(::heddle::compat::lane_bits mask, T value,
                                                                  int* predicate) {
  bool all = false;
  const uint64_t same = ::heddle::ptx::lanes_with(mask, ::heddle::compat::to_word(value), all);
  *predicate = all ? 1 : 0;
  return all ? static_cast<::heddle::compat::lane_bits>(same) : 0;
}

template <::heddle::compat::small_integer T>
HEDDLE_COMPAT_INLINE ::heddle::compat::lane_bits __match_any_sync(::heddle::compat::lane_bits mask, T value) {
  return __match_any_sync(mask, static_cast<int>(value));
}
template <::heddle::compat::small_integer T>
HEDDLE_COMPAT_INLINE ::heddle::compat::lane_bits __match_all_sync(::heddle::compat::lane_bits mask, T value,
                                                                  int* predicate) {
  return __match_all_sync(mask, static_cast<int>(value), predicate);
}

#define HEDDLE_REDUCE(name, type, of)                                                                            \
  HEDDLE_COMPAT_INLINE type __reduce_##name##_sync(::heddle::compat::lane_bits mask, type value) {               \
    return static_cast<type>(                                                                                    \
        ::heddle::ptx::i_redux<::heddle::ptx::of, ::heddle::ptx::m_##name>(static_cast<uint32_t>(value), mask)); \
  }
HEDDLE_REDUCE(add, unsigned int, t_u32)
HEDDLE_REDUCE(min, unsigned int, t_u32)
HEDDLE_REDUCE(max, unsigned int, t_u32)
HEDDLE_REDUCE(add, int, t_s32)
HEDDLE_REDUCE(min, int, t_s32)
HEDDLE_REDUCE(max, int, t_s32)
HEDDLE_REDUCE(and, unsigned int, t_b32)
HEDDLE_REDUCE(or, unsigned int, t_b32)
HEDDLE_REDUCE(xor, unsigned int, t_b32)
#undef HEDDLE_REDUCE

/// One of the block's barriers, for so many of its threads.
HEDDLE_COMPAT_INLINE void __barrier_sync_count(unsigned int barrier, unsigned int threads) {
  ::heddle::ptx::block_barrier<::heddle::ptx::m_sync, false>(barrier, threads);
}
HEDDLE_COMPAT_INLINE void __barrier_sync(unsigned int barrier) { __barrier_sync_count(barrier, 0); }
[[noreturn]] HEDDLE_COMPAT_INLINE void __brkpt() {
  ::heddle::sim::runtime::trap(::heddle::fault::assertion, "__brkpt()");
  __builtin_unreachable();
}
