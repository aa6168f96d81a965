// Numbers of 16 bits as <cuda_fp16.h> and <cuda_bf16.h> have them, and HIP's headers of the like: computed as float, and rounded once.
// (CUDA Math API, "Half Precision Intrinsics", "Bfloat16 Precision Intrinsics".)
#pragma once

#include <heddle/sim/compat/ptx/floats.h>
#include <heddle/sim/compat/vectors.h>
#include <heddle/sim/compat/words.h>

#include <type_traits>

namespace heddle::compat {

/// 16 bits of which so many are the exponent's and the mantissa's.
template <uint32_t Exponent, uint32_t Mantissa>
struct alignas(2) half_raw {
  unsigned short x;
};
template <uint32_t Exponent, uint32_t Mantissa>
struct alignas(4) half2_raw {
  unsigned short x, y;
};

template <uint32_t Exponent, uint32_t Mantissa>
struct alignas(2) half_number {
  using raw = half_raw<Exponent, Mantissa>;
  using raw_pair = half2_raw<Exponent, Mantissa>;

  half_number() = default;
  constexpr half_number(raw from) : bits_(from.x) {}
  template <typename T>
    requires std::is_arithmetic_v<T>
  HEDDLE_PTX_INLINE half_number(T from) : bits_(ptx::to_half<Exponent, Mantissa>(static_cast<long double>(from))) {}
  template <uint32_t OtherExponent, uint32_t OtherMantissa>
    requires(OtherExponent != Exponent)
  HEDDLE_PTX_INLINE explicit half_number(half_number<OtherExponent, OtherMantissa> from)
      : half_number(static_cast<float>(from)) {}
  HEDDLE_PTX_INLINE operator float() const { return ptx::from_half<Exponent, Mantissa>(bits_); }
  constexpr operator raw() const { return {bits_}; }
  static constexpr half_number of_bits(unsigned short bits) { return half_number(raw{bits}); }
  constexpr unsigned short bits() const { return bits_; }

  HEDDLE_PTX_INLINE constexpr half_number operator-() const {
    return of_bits(static_cast<unsigned short>(bits_ ^ 0x8000));
  }
  HEDDLE_PTX_INLINE half_number& operator+=(half_number other) { return *this = *this + other; }
  HEDDLE_PTX_INLINE half_number& operator-=(half_number other) { return *this = *this - other; }
  HEDDLE_PTX_INLINE half_number& operator*=(half_number other) { return *this = *this * other; }
  HEDDLE_PTX_INLINE half_number& operator/=(half_number other) { return *this = *this / other; }
#define HEDDLE_HALF_OPERATOR(sign)                                                   \
  HEDDLE_PTX_INLINE friend half_number operator sign(half_number a, half_number b) { \
    return half_number(static_cast<float>(a) sign static_cast<float>(b));            \
  }
  HEDDLE_HALF_OPERATOR(+)
  HEDDLE_HALF_OPERATOR(-)
  HEDDLE_HALF_OPERATOR(*)
  HEDDLE_HALF_OPERATOR(/)
#undef HEDDLE_HALF_OPERATOR
#define HEDDLE_HALF_COMPARISON(sign)                                          \
  HEDDLE_PTX_INLINE friend bool operator sign(half_number a, half_number b) { \
    return static_cast<float>(a) sign static_cast<float>(b);                  \
  }
  HEDDLE_HALF_COMPARISON(==)
  HEDDLE_HALF_COMPARISON(!=)
  HEDDLE_HALF_COMPARISON(<)
  HEDDLE_HALF_COMPARISON(>)
  HEDDLE_HALF_COMPARISON(<=)
  HEDDLE_HALF_COMPARISON(>=)
#undef HEDDLE_HALF_COMPARISON

 private:
  unsigned short bits_;
};

/// Two of them, which are one word.
template <typename Half>
struct alignas(4) half_pair {
  Half x, y;

  half_pair() = default;
  constexpr half_pair(Half first, Half second) : x(first), y(second) {}
  constexpr half_pair(const typename Half::raw_pair& from) : x(Half::of_bits(from.x)), y(Half::of_bits(from.y)) {}
  constexpr operator typename Half::raw_pair() const { return {x.bits(), y.bits()}; }
#define HEDDLE_PAIR_OPERATOR(sign) \
  HEDDLE_PTX_INLINE friend half_pair operator sign(half_pair a, half_pair b) { return {a.x sign b.x, a.y sign b.y}; }
  HEDDLE_PAIR_OPERATOR(+)
  HEDDLE_PAIR_OPERATOR(-)
  HEDDLE_PAIR_OPERATOR(*)
  HEDDLE_PAIR_OPERATOR(/)
#undef HEDDLE_PAIR_OPERATOR
  HEDDLE_PTX_INLINE half_pair& operator+=(half_pair other) { return *this = *this + other; }
  HEDDLE_PTX_INLINE half_pair& operator-=(half_pair other) { return *this = *this - other; }
  HEDDLE_PTX_INLINE half_pair& operator*=(half_pair other) { return *this = *this * other; }
  HEDDLE_PTX_INLINE friend bool operator==(half_pair a, half_pair b) { return a.x == b.x && a.y == b.y; }
};

/// The greatest of both, or the least; no number where one is none. Zero is greater than minus zero, of which the sign is all that differs.
template <bool Greatest, typename Half>
HEDDLE_PTX_INLINE Half outer(Half a, Half b) {
  if (a != a || b != b) return Half::of_bits(0x7fff);
  if (a == b) return Half::of_bits(static_cast<unsigned short>(Greatest ? a.bits() & b.bits() : a.bits() | b.bits()));
  return (a < b) == Greatest ? b : a;
}
/// From 0 to 1; what is no number is 0.
template <typename Half>
HEDDLE_PTX_INLINE Half saturated(Half from) {
  return from > Half(0) ? outer<false>(from, Half(1)) : Half(0);
}

}  // namespace heddle::compat

using __half = heddle::compat::half_number<5, 10>;
using __half_raw = __half::raw;
using __half2 = heddle::compat::half_pair<__half>;
using __half2_raw = __half::raw_pair;
using half = __half;
using half2 = __half2;
using nv_half = __half;
using nv_half2 = __half2;
using __nv_half = __half;
using __nv_half2 = __half2;
using __nv_half_raw = __half_raw;
using __nv_half2_raw = __half2_raw;
using __nv_bfloat16 = heddle::compat::half_number<8, 7>;
using __nv_bfloat16_raw = __nv_bfloat16::raw;
using __nv_bfloat162 = heddle::compat::half_pair<__nv_bfloat16>;
using __nv_bfloat162_raw = __nv_bfloat16::raw_pair;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;
using __hip_bfloat16 = __nv_bfloat16;
using __hip_bfloat162 = __nv_bfloat162;
using hip_bfloat16 = __nv_bfloat16;

// -- conversions

#define HEDDLE_HALF_CONVERSIONS(type, type2, name, name2)                                                           \
  HEDDLE_PTX_INLINE float __##name##2float(type from) { return static_cast<float>(from); }                          \
  HEDDLE_PTX_INLINE type __float2##name(float from) { return type(from); }                                          \
  HEDDLE_PTX_INLINE type __float2##name##_rn(float from) { return type(from); }                                     \
  HEDDLE_PTX_INLINE type __float2##name##_rz(float from) {                                                          \
    return type::of_bits(::heddle::ptx::real_word<HEDDLE_HALF_PTX_##type, ::heddle::ptx::m_rz>(from));              \
  }                                                                                                                 \
  HEDDLE_PTX_INLINE type __double2##name(double from) { return type(from); }                                        \
  HEDDLE_PTX_INLINE int __##name##2int_rn(type from) { return static_cast<int>(nearbyintf(from)); }                 \
  HEDDLE_PTX_INLINE int __##name##2int_rz(type from) { return static_cast<int>(static_cast<float>(from)); }         \
  HEDDLE_PTX_INLINE type __int2##name##_rn(int from) { return type(from); }                                         \
  HEDDLE_PTX_INLINE type __uint2##name##_rn(unsigned int from) { return type(from); }                               \
  HEDDLE_PTX_INLINE unsigned short __##name##_as_ushort(type from) { return from.bits(); }                          \
  HEDDLE_PTX_INLINE short __##name##_as_short(type from) { return static_cast<short>(from.bits()); }                \
  HEDDLE_PTX_INLINE type __ushort_as_##name(unsigned short from) { return type::of_bits(from); }                    \
  HEDDLE_PTX_INLINE type __short_as_##name(short from) { return type::of_bits(static_cast<unsigned short>(from)); } \
  HEDDLE_PTX_INLINE type2 __float2##name2##_rn(float from) { return {type(from), type(from)}; }                     \
  HEDDLE_PTX_INLINE type2 __floats2##name2##_rn(float x, float y) { return {type(x), type(y)}; }                    \
  HEDDLE_PTX_INLINE type2 __float22##name2##_rn(float2 from) { return {type(from.x), type(from.y)}; }               \
  HEDDLE_PTX_INLINE float2 __##name2##2float2(type2 from) { return {from.x, from.y}; }                              \
  HEDDLE_PTX_INLINE type2 __##name##2##name2(type from) { return {from, from}; }
#define HEDDLE_HALF_PTX___half ::heddle::ptx::t_f16
#define HEDDLE_HALF_PTX___nv_bfloat16 ::heddle::ptx::t_bf16
HEDDLE_HALF_CONVERSIONS(__half, __half2, half, half2)
HEDDLE_HALF_CONVERSIONS(__nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162)
#undef HEDDLE_HALF_CONVERSIONS
// What a half can be near to is a float without rounding.
#define HEDDLE_HALF_OF_INTEGER(mode, modifier)                                                               \
  HEDDLE_PTX_INLINE __half __int2half_##mode(int from) {                                                     \
    const float near = static_cast<float>(from);                                                             \
    return __half::of_bits(::heddle::ptx::real_word<HEDDLE_HALF_PTX___half, ::heddle::ptx::modifier>(near)); \
  }                                                                                                          \
  HEDDLE_PTX_INLINE __half __uint2half_##mode(unsigned int from) {                                           \
    const float near = static_cast<float>(from);                                                             \
    return __half::of_bits(::heddle::ptx::real_word<HEDDLE_HALF_PTX___half, ::heddle::ptx::modifier>(near)); \
  }
HEDDLE_HALF_OF_INTEGER(rz, m_rz)
HEDDLE_HALF_OF_INTEGER(rd, m_rm)
HEDDLE_HALF_OF_INTEGER(ru, m_rp)
#undef HEDDLE_HALF_OF_INTEGER

// -- arithmetic

#define HEDDLE_HALF_OF_BOTH(type2, name, one) \
  HEDDLE_PTX_INLINE type2 name(type2 a, type2 b) { return {one(a.x, b.x), one(a.y, b.y)}; }
#define HEDDLE_HALF_ARITHMETIC(type, type2, halves, plural, both)                                                     \
  HEDDLE_PTX_INLINE type2 make_##both(type x, type y) { return {x, y}; }                                              \
  HEDDLE_PTX_INLINE type2 __##plural##2##both(type x, type y) { return {x, y}; }                                      \
  HEDDLE_PTX_INLINE type __low2##halves(type2 from) { return from.x; }                                                \
  HEDDLE_PTX_INLINE type __high2##halves(type2 from) { return from.y; }                                               \
  HEDDLE_PTX_INLINE float __low2float(type2 from) { return from.x; }                                                  \
  HEDDLE_PTX_INLINE float __high2float(type2 from) { return from.y; }                                                 \
  HEDDLE_PTX_INLINE type __hadd(type a, type b) { return a + b; }                                                     \
  HEDDLE_PTX_INLINE type __hsub(type a, type b) { return a - b; }                                                     \
  HEDDLE_PTX_INLINE type __hmul(type a, type b) { return a * b; }                                                     \
  HEDDLE_PTX_INLINE type __hdiv(type a, type b) { return a / b; }                                                     \
  HEDDLE_PTX_INLINE type __hneg(type a) { return -a; }                                                                \
  HEDDLE_PTX_INLINE type __habs(type a) { return type::of_bits(a.bits() & 0x7fff); }                                  \
  HEDDLE_PTX_INLINE type __hfma(type a, type b, type c) {                                                             \
    return type(fmal(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)));                           \
  }                                                                                                                   \
  HEDDLE_PTX_INLINE type __hmax_nan(type a, type b) { return ::heddle::compat::outer<true>(a, b); }                   \
  HEDDLE_PTX_INLINE type __hmin_nan(type a, type b) { return ::heddle::compat::outer<false>(a, b); }                  \
  HEDDLE_PTX_INLINE type __hmax(type a, type b) { return a != a ? __hmax_nan(b, b) : b != b ? a : __hmax_nan(a, b); } \
  HEDDLE_PTX_INLINE type __hmin(type a, type b) { return a != a ? __hmin_nan(b, b) : b != b ? a : __hmin_nan(a, b); } \
  HEDDLE_PTX_INLINE type __hfma_relu(type a, type b, type c) { return __hmax_nan(__hfma(a, b, c), type(0)); }         \
  HEDDLE_PTX_INLINE type __hfma_sat(type a, type b, type c) { return ::heddle::compat::saturated(__hfma(a, b, c)); }  \
  HEDDLE_PTX_INLINE type __hadd_sat(type a, type b) { return ::heddle::compat::saturated(a + b); }                    \
  HEDDLE_PTX_INLINE type __hsub_sat(type a, type b) { return ::heddle::compat::saturated(a - b); }                    \
  HEDDLE_PTX_INLINE type __hmul_sat(type a, type b) { return ::heddle::compat::saturated(a * b); }                    \
  HEDDLE_PTX_INLINE bool __heq(type a, type b) { return a == b; }                                                     \
  HEDDLE_PTX_INLINE bool __hne(type a, type b) { return a < b || a > b; }                                             \
  HEDDLE_PTX_INLINE bool __hlt(type a, type b) { return a < b; }                                                      \
  HEDDLE_PTX_INLINE bool __hle(type a, type b) { return a <= b; }                                                     \
  HEDDLE_PTX_INLINE bool __hgt(type a, type b) { return a > b; }                                                      \
  HEDDLE_PTX_INLINE bool __hge(type a, type b) { return a >= b; }                                                     \
  HEDDLE_PTX_INLINE bool __hisnan(type a) { return a != a; }                                                          \
  HEDDLE_PTX_INLINE type hsqrt(type a) { return type(sqrtf(a)); }                                                     \
  HEDDLE_PTX_INLINE type hexp(type a) { return type(expf(a)); }                                                       \
  HEDDLE_PTX_INLINE type hlog(type a) { return type(logf(a)); }                                                       \
  HEDDLE_PTX_INLINE type hrcp(type a) { return type(1.0F / static_cast<float>(a)); }                                  \
  HEDDLE_PTX_INLINE type hrsqrt(type a) { return type(1.0F / sqrtf(a)); }                                             \
  HEDDLE_PTX_INLINE type2 __hadd2(type2 a, type2 b) { return a + b; }                                                 \
  HEDDLE_PTX_INLINE type2 __hsub2(type2 a, type2 b) { return a - b; }                                                 \
  HEDDLE_PTX_INLINE type2 __hmul2(type2 a, type2 b) { return a * b; }                                                 \
  HEDDLE_PTX_INLINE type2 __h2div(type2 a, type2 b) { return a / b; }                                                 \
  HEDDLE_PTX_INLINE type2 __hneg2(type2 a) { return {__hneg(a.x), __hneg(a.y)}; }                                     \
  HEDDLE_PTX_INLINE type2 __habs2(type2 a) { return {__habs(a.x), __habs(a.y)}; }                                     \
  HEDDLE_PTX_INLINE type2 h2sqrt(type2 a) { return {hsqrt(a.x), hsqrt(a.y)}; }                                        \
  HEDDLE_PTX_INLINE type2 h2rsqrt(type2 a) { return {hrsqrt(a.x), hrsqrt(a.y)}; }                                     \
  HEDDLE_PTX_INLINE type2 h2rcp(type2 a) { return {hrcp(a.x), hrcp(a.y)}; }                                           \
  HEDDLE_PTX_INLINE type2 h2exp(type2 a) { return {hexp(a.x), hexp(a.y)}; }                                           \
  HEDDLE_PTX_INLINE type2 h2log(type2 a) { return {hlog(a.x), hlog(a.y)}; }                                           \
  HEDDLE_PTX_INLINE type2 __hfma2(type2 a, type2 b, type2 c) {                                                        \
    return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};                                                            \
  }                                                                                                                   \
  HEDDLE_HALF_OF_BOTH(type2, __hmax2, __hmax)                                                                         \
  HEDDLE_HALF_OF_BOTH(type2, __hmin2, __hmin)                                                                         \
  HEDDLE_HALF_OF_BOTH(type2, __hmax2_nan, __hmax_nan)                                                                 \
  HEDDLE_HALF_OF_BOTH(type2, __hmin2_nan, __hmin_nan)                                                                 \
  HEDDLE_HALF_OF_BOTH(type2, __hadd2_sat, __hadd_sat)                                                                 \
  HEDDLE_HALF_OF_BOTH(type2, __hsub2_sat, __hsub_sat)                                                                 \
  HEDDLE_HALF_OF_BOTH(type2, __hmul2_sat, __hmul_sat)                                                                 \
  HEDDLE_PTX_INLINE type2 __hfma2_relu(type2 a, type2 b, type2 c) {                                                   \
    return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)};                                                  \
  }                                                                                                                   \
  HEDDLE_PTX_INLINE type2 __hfma2_sat(type2 a, type2 b, type2 c) {                                                    \
    return {__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)};                                                    \
  }                                                                                                                   \
  HEDDLE_PTX_INLINE type2 __lows2##both(type2 a, type2 b) { return {a.x, b.x}; }                                      \
  HEDDLE_PTX_INLINE type2 __highs2##both(type2 a, type2 b) { return {a.y, b.y}; }
HEDDLE_HALF_ARITHMETIC(__half, __half2, half, halves, half2)
HEDDLE_HALF_ARITHMETIC(__nv_bfloat16, __nv_bfloat162, bfloat16, halves, bfloat162)
#undef HEDDLE_HALF_ARITHMETIC
#undef HEDDLE_HALF_OF_BOTH

// -- comparisons: of a NaN false, and true with a `u` in the name; of a pair 1 or 0 for each, and with a `b` whether both hold

#define HEDDLE_HALF_COMPARISON(type, type2, name)                                                               \
  HEDDLE_PTX_INLINE bool __h##name##u(type a, type b) { return __hisnan(a) || __hisnan(b) || __h##name(a, b); } \
  HEDDLE_PTX_INLINE type2 __h##name##2(type2 a, type2 b) {                                                      \
    return {type(__h##name(a.x, b.x) ? 1.0F : 0.0F), type(__h##name(a.y, b.y) ? 1.0F : 0.0F)};                  \
  }                                                                                                             \
  HEDDLE_PTX_INLINE type2 __h##name##u2(type2 a, type2 b) {                                                     \
    return {type(__h##name##u(a.x, b.x) ? 1.0F : 0.0F), type(__h##name##u(a.y, b.y) ? 1.0F : 0.0F)};            \
  }                                                                                                             \
  HEDDLE_PTX_INLINE bool __hb##name##2(type2 a, type2 b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); } \
  HEDDLE_PTX_INLINE bool __hb##name##u2(type2 a, type2 b) { return __h##name##u(a.x, b.x) && __h##name##u(a.y, b.y); }
#define HEDDLE_HALF_COMPARISONS(type, type2) \
  HEDDLE_HALF_COMPARISON(type, type2, eq)    \
  HEDDLE_HALF_COMPARISON(type, type2, ne)    \
  HEDDLE_HALF_COMPARISON(type, type2, lt)    \
  HEDDLE_HALF_COMPARISON(type, type2, le)    \
  HEDDLE_HALF_COMPARISON(type, type2, gt)    \
  HEDDLE_HALF_COMPARISON(type, type2, ge)
HEDDLE_HALF_COMPARISONS(__half, __half2)
HEDDLE_HALF_COMPARISONS(__nv_bfloat16, __nv_bfloat162)
#undef HEDDLE_HALF_COMPARISONS
#undef HEDDLE_HALF_COMPARISON

// Relaxed, of device scope or of that in the name; a pair is one operation.
#define HEDDLE_HALF_ATOMICS(suffix, reach)                                                                   \
  template <typename T>                                                                                      \
    requires(std::is_same_v<T, __half> || std::is_same_v<T, __half2> || std::is_same_v<T, __nv_bfloat16> ||  \
             std::is_same_v<T, __nv_bfloat162>)                                                              \
  HEDDLE_PTX_INLINE T atomicAdd##suffix(T* address, std::type_identity_t<T> value) {                         \
    return ::heddle::compat::modify<::heddle::compat::plus>(address, value, ::heddle::memory_order::relaxed, \
                                                            ::heddle::scope::reach);                         \
  }
HEDDLE_HALF_ATOMICS(, device)
HEDDLE_HALF_ATOMICS(_block, block)
HEDDLE_HALF_ATOMICS(_system, system)
#undef HEDDLE_HALF_ATOMICS
