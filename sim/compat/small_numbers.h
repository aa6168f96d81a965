// Numbers of 8, 6 and 4 bits as <cuda_fp8.h>, <cuda_fp6.h> and <cuda_fp4.h> have them, and HIP's header of the like: rounded once.
// (CUDA Math API, "FP8 Intrinsics", "FP6 Intrinsics", "FP4 Intrinsics".)
#pragma once

#include <heddle/sim/compat/halves.h>
#include <heddle/sim/compat/intrinsics.h>

#include <type_traits>

/// As <cuda_runtime.h> has it.
enum cudaRoundMode { cudaRoundNearest, cudaRoundZero, cudaRoundPosInf, cudaRoundMinInf };

namespace heddle::compat {

/// What a sign and so many bits of exponent and mantissa stand for. Of 8 bits there is a NaN, and an infinity where two are the mantissa's; of
/// less there is neither.
template <uint32_t Exponent, uint32_t Mantissa>
struct small_format {
  static constexpr int bias = (1 << (Exponent - 1)) - 1;
  static constexpr uint32_t magnitudes = (1U << (Exponent + Mantissa)) - 1;
  static constexpr uint32_t sign = magnitudes + 1;
  static constexpr bool has_nan = Exponent + Mantissa == 7;
  static constexpr bool has_infinity = has_nan && Mantissa == 2;
  static constexpr uint32_t infinity = ((1U << Exponent) - 1) << Mantissa;
  static constexpr uint32_t largest = has_infinity ? infinity - 1 : has_nan ? magnitudes - 1 : magnitudes;
};

template <uint32_t Exponent, uint32_t Mantissa>
HEDDLE_PTX_INLINE float from_small(unsigned char from) {
  using format = small_format<Exponent, Mantissa>;
  const uint32_t magnitude = from & format::magnitudes;
  const uint32_t exponent = magnitude >> Mantissa;
  const uint32_t mantissa = magnitude & ((1U << Mantissa) - 1);
  const float sign = (from & format::sign) != 0 ? -1.0F : 1.0F;
  if (format::has_infinity && magnitude == format::infinity) return sign * __builtin_inff();
  if (magnitude > format::largest) return sign * __builtin_nanf("");
  const int scale = (exponent == 0 ? 1 : static_cast<int>(exponent)) - format::bias - static_cast<int>(Mantissa);
  return sign * ldexpf(static_cast<float>(exponent == 0 ? mantissa : mantissa | 1U << Mantissa), scale);
}

HEDDLE_PTX_INLINE double rounded(double magnitude, bool is_negative, cudaRoundMode how) {
  if (how == cudaRoundNearest) return nearbyint(magnitude);
  return how == (is_negative ? cudaRoundMinInf : cudaRoundPosInf) ? ceil(magnitude) : floor(magnitude);
}
/// `saturates`: what is too large becomes the largest number. That always holds of formats without a NaN, where what is no number does too.
template <uint32_t Exponent, uint32_t Mantissa>
HEDDLE_PTX_INLINE unsigned char to_small(double from, bool saturates, cudaRoundMode how = cudaRoundNearest) {
  using format = small_format<Exponent, Mantissa>;
  const bool is_negative = __builtin_signbit(from);
  const uint32_t sign = is_negative ? format::sign : 0;
  if (from != from) return static_cast<unsigned char>(format::has_nan ? sign | format::magnitudes : format::largest);
  const double magnitude = fabs(from);
  if (magnitude == 0) return static_cast<unsigned char>(sign);
  uint64_t bits = format::largest + 1;
  if (!__builtin_isinf(magnitude)) {
    int exponent = 0;
    frexp(magnitude, &exponent);
    const int least = exponent - 1 < 1 - format::bias ? 1 - format::bias : exponent - 1;
    const double units = rounded(ldexp(magnitude, static_cast<int>(Mantissa) - least), is_negative, how);
    constexpr uint64_t hidden = uint64_t{1} << Mantissa;
    const auto all = static_cast<uint64_t>(units);
    bits = all < hidden ? all : all - hidden + (static_cast<uint64_t>(least + format::bias) << Mantissa);
  }
  if (bits > format::largest) {
    const uint32_t beyond = format::has_infinity ? format::infinity : format::magnitudes;
    bits = saturates || !format::has_nan ? format::largest : beyond;
  }
  return static_cast<unsigned char>(sign | bits);
}

template <uint32_t Exponent, uint32_t Mantissa>
struct small_number {
  unsigned char __x;

  small_number() = default;
  template <typename T>
    requires std::is_convertible_v<T, float>
  HEDDLE_PTX_INLINE explicit small_number(T from)
      : __x(to_small<Exponent, Mantissa>(static_cast<double>(from), true)) {}
  HEDDLE_PTX_INLINE explicit operator float() const { return from_small<Exponent, Mantissa>(__x); }
  HEDDLE_PTX_INLINE explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }
  HEDDLE_PTX_INLINE explicit operator __half() const { return __half(static_cast<float>(*this)); }
  HEDDLE_PTX_INLINE explicit operator __nv_bfloat16() const { return __nv_bfloat16(static_cast<float>(*this)); }
  HEDDLE_PTX_INLINE explicit operator bool() const { return (__x & small_format<Exponent, Mantissa>::magnitudes) != 0; }
  /// Towards zero.
  template <typename T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  HEDDLE_PTX_INLINE explicit operator T() const {
    return to_integer<T>(truncf(static_cast<float>(*this)));
  }
};

/// Two or four in a word, the first one lowest, each in as many bits as it has, or as fit.
template <typename Word, typename Number, unsigned Count>
struct small_vector {
  Word __x;

  small_vector() = default;
#define HEDDLE_SMALL_OF_TWO(type)                    \
  HEDDLE_PTX_INLINE explicit small_vector(type from) \
    requires(Count == 2)                             \
      : __x(packed(from.x, from.y)) {}
  HEDDLE_SMALL_OF_TWO(float2)
  HEDDLE_SMALL_OF_TWO(double2)
  HEDDLE_SMALL_OF_TWO(__half2)
  HEDDLE_SMALL_OF_TWO(__nv_bfloat162)
#undef HEDDLE_SMALL_OF_TWO
#define HEDDLE_SMALL_OF_FOUR(type)                   \
  HEDDLE_PTX_INLINE explicit small_vector(type from) \
    requires(Count == 4)                             \
      : __x(packed(from.x, from.y, from.z, from.w)) {}
  HEDDLE_SMALL_OF_FOUR(float4)
  HEDDLE_SMALL_OF_FOUR(double4)
#undef HEDDLE_SMALL_OF_FOUR
#define HEDDLE_SMALL_OF_PAIRS(type)                   \
  HEDDLE_PTX_INLINE small_vector(type low, type high) \
    requires(Count == 4)                              \
      : __x(packed(low.x, low.y, high.x, high.y)) {}
  HEDDLE_SMALL_OF_PAIRS(__half2)
  HEDDLE_SMALL_OF_PAIRS(__nv_bfloat162)
#undef HEDDLE_SMALL_OF_PAIRS
  HEDDLE_PTX_INLINE explicit operator float2() const
    requires(Count == 2)
  {
    return {at(0), at(1)};
  }
  HEDDLE_PTX_INLINE explicit operator __half2() const
    requires(Count == 2)
  {
    return {__half(at(0)), __half(at(1))};
  }
  HEDDLE_PTX_INLINE explicit operator float4() const
    requires(Count == 4)
  {
    return {at(0), at(1), at(2), at(3)};
  }

 private:
  static constexpr unsigned width = sizeof(Word) * 8 / Count;
  template <typename... T>
  HEDDLE_PTX_INLINE static Word packed(T... values) {
    uint32_t made = 0;
    unsigned place = 0;
    ((made |= static_cast<uint32_t>(Number(values).__x) << place, place += width), ...);
    return static_cast<Word>(made);
  }
  HEDDLE_PTX_INLINE float at(unsigned n) const {
    Number one;
    one.__x = static_cast<unsigned char>((__x >> (n * width)) & ((1U << width) - 1));
    return static_cast<float>(one);
  }
};

}  // namespace heddle::compat

enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };
enum __nv_fp6_interpretation_t { __NV_E2M3, __NV_E3M2 };
enum __nv_fp4_interpretation_t { __NV_E2M1 };
using __nv_fp8_storage_t = unsigned char;
using __nv_fp8x2_storage_t = unsigned short;
using __nv_fp8x4_storage_t = unsigned int;
using __nv_fp6_storage_t = unsigned char;
using __nv_fp6x2_storage_t = unsigned short;
using __nv_fp6x4_storage_t = unsigned int;
using __nv_fp4_storage_t = unsigned char;
using __nv_fp4x2_storage_t = unsigned char;
using __nv_fp4x4_storage_t = unsigned short;
#define HEDDLE_SMALL_NUMBERS(bits, name, exponent, mantissa)                                                       \
  using __nv_##bits##_##name = heddle::compat::small_number<exponent, mantissa>;                                   \
  using __nv_##bits##x2_##name = heddle::compat::small_vector<__nv_##bits##x2_storage_t, __nv_##bits##_##name, 2>; \
  using __nv_##bits##x4_##name = heddle::compat::small_vector<__nv_##bits##x4_storage_t, __nv_##bits##_##name, 4>;
HEDDLE_SMALL_NUMBERS(fp8, e4m3, 4, 3)
HEDDLE_SMALL_NUMBERS(fp8, e5m2, 5, 2)
HEDDLE_SMALL_NUMBERS(fp6, e2m3, 2, 3)
HEDDLE_SMALL_NUMBERS(fp6, e3m2, 3, 2)
HEDDLE_SMALL_NUMBERS(fp4, e2m1, 2, 1)
#undef HEDDLE_SMALL_NUMBERS

namespace heddle::compat {

/// As the intrinsics are told: what becomes of large numbers, or how to round.
HEDDLE_PTX_INLINE unsigned char to_kind(double from, __nv_fp8_interpretation_t kind, __nv_saturation_t how) {
  return kind == __NV_E4M3 ? to_small<4, 3>(from, how == __NV_SATFINITE) : to_small<5, 2>(from, how == __NV_SATFINITE);
}
HEDDLE_PTX_INLINE unsigned char to_kind(double from, __nv_fp6_interpretation_t kind, cudaRoundMode how) {
  return kind == __NV_E2M3 ? to_small<2, 3>(from, true, how) : to_small<3, 2>(from, true, how);
}
HEDDLE_PTX_INLINE unsigned char to_kind(double from, __nv_fp4_interpretation_t, cudaRoundMode how) {
  return to_small<2, 1>(from, true, how);
}
HEDDLE_PTX_INLINE float from_kind(unsigned char from, __nv_fp8_interpretation_t kind) {
  return kind == __NV_E4M3 ? from_small<4, 3>(from) : from_small<5, 2>(from);
}
HEDDLE_PTX_INLINE float from_kind(unsigned char from, __nv_fp6_interpretation_t kind) {
  return kind == __NV_E2M3 ? from_small<2, 3>(from) : from_small<3, 2>(from);
}
HEDDLE_PTX_INLINE float from_kind(unsigned char from, __nv_fp4_interpretation_t) { return from_small<2, 1>(from); }

HEDDLE_PTX_INLINE double number_of(double from) { return from; }
template <uint32_t Exponent, uint32_t Mantissa>
HEDDLE_PTX_INLINE double number_of(half_raw<Exponent, Mantissa> from) {
  return static_cast<double>(static_cast<float>(half_number<Exponent, Mantissa>(from)));
}
HEDDLE_PTX_INLINE double2 numbers_of(double2 from) { return from; }
HEDDLE_PTX_INLINE double2 numbers_of(float2 from) { return {static_cast<double>(from.x), static_cast<double>(from.y)}; }
template <uint32_t Exponent, uint32_t Mantissa>
HEDDLE_PTX_INLINE double2 numbers_of(half2_raw<Exponent, Mantissa> from) {
  using raw = half_raw<Exponent, Mantissa>;
  return {number_of(raw{from.x}), number_of(raw{from.y})};
}

}  // namespace heddle::compat

#define HEDDLE_SMALL_CONVERSION(bits, width, name, name2, type, type2, ...)                               \
  HEDDLE_PTX_INLINE __nv_##bits##_storage_t __nv_cvt_##name##_to_##bits(type from, __VA_ARGS__) {         \
    return ::heddle::compat::to_kind(::heddle::compat::number_of(from), kind, how);                       \
  }                                                                                                       \
  HEDDLE_PTX_INLINE __nv_##bits##x2_storage_t __nv_cvt_##name2##_to_##bits##x2(type2 from, __VA_ARGS__) { \
    const double2 both = ::heddle::compat::numbers_of(from);                                              \
    return static_cast<__nv_##bits##x2_storage_t>(::heddle::compat::to_kind(both.x, kind, how) |          \
                                                  ::heddle::compat::to_kind(both.y, kind, how) << width); \
  }
// Two lie `width` bits apart. What follows that are the parameters `kind` and `how`, in the order that the intrinsics have them.
#define HEDDLE_SMALL_CONVERSIONS(bits, width, ...)                                                                    \
  HEDDLE_SMALL_CONVERSION(bits, width, float, float2, float, float2, __VA_ARGS__)                                     \
  HEDDLE_SMALL_CONVERSION(bits, width, double, double2, double, double2, __VA_ARGS__)                                 \
  HEDDLE_SMALL_CONVERSION(bits, width, halfraw, halfraw2, __half_raw, __half2_raw, __VA_ARGS__)                       \
  HEDDLE_SMALL_CONVERSION(bits, width, bfloat16raw, bfloat16raw2, __nv_bfloat16_raw, __nv_bfloat162_raw, __VA_ARGS__) \
  HEDDLE_PTX_INLINE __half_raw __nv_cvt_##bits##_to_halfraw(__nv_##bits##_storage_t from,                             \
                                                            __nv_##bits##_interpretation_t kind) {                    \
    return __half(::heddle::compat::from_kind(from, kind));                                                           \
  }                                                                                                                   \
  HEDDLE_PTX_INLINE __half2_raw __nv_cvt_##bits##x2_to_halfraw2(__nv_##bits##x2_storage_t from,                       \
                                                                __nv_##bits##_interpretation_t kind) {                \
    return {__nv_cvt_##bits##_to_halfraw(static_cast<unsigned char>(from & ((1U << width) - 1)), kind).x,             \
            __nv_cvt_##bits##_to_halfraw(static_cast<unsigned char>(from >> width), kind).x};                         \
  }
HEDDLE_SMALL_CONVERSIONS(fp8, 8, __nv_saturation_t how, __nv_fp8_interpretation_t kind)
HEDDLE_SMALL_CONVERSIONS(fp6, 8, __nv_fp6_interpretation_t kind, cudaRoundMode how)
HEDDLE_SMALL_CONVERSIONS(fp4, 4, __nv_fp4_interpretation_t kind, cudaRoundMode how)
#undef HEDDLE_SMALL_CONVERSION
#undef HEDDLE_SMALL_CONVERSIONS
