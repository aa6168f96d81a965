// Floating-point numbers of PTX, rounded as an instruction says. (PTX ISA, "Floating Point Instructions", "Half Precision Floating
// Point Instructions".)
//
// Where PTX leaves a result to the device (.approx), it is the CPU's. Halves are computed as float or wider and rounded once.
#pragma once

#include <fenv.h>
#include <heddle/sim/compat/ptx/types.h>
#include <math.h>

namespace heddle::ptx {

/// The processor rounds another way while this lives.
template <typename... M>
class rounding {
 public:
  HEDDLE_PTX_INLINE rounding() {
    if constexpr (changes) fesetround(has<m_rz, M...> ? FE_TOWARDZERO : has<m_rm, M...> ? FE_DOWNWARD : FE_UPWARD);
  }
  HEDDLE_PTX_INLINE ~rounding() {
    if constexpr (changes) fesetround(FE_TONEAREST);
  }
  rounding(const rounding&) = delete;
  rounding& operator=(const rounding&) = delete;

 private:
  static constexpr bool changes = has<m_rz, M...> || has<m_rm, M...> || has<m_rp, M...>;
};

/// Keeps the compiler from computing with it before, or elsewhere.
template <typename Value>
HEDDLE_PTX_INLINE Value pinned(Value from) {
  asm volatile("" : "+m"(from) : : "memory");
  return from;
}

// -- halves

/// The float that a half stands for: of `Exponent` bits and `Mantissa` bits.
template <uint32_t Exponent, uint32_t Mantissa>
HEDDLE_PTX_INLINE float from_half(uint16_t from) {
  const uint32_t sign = uint32_t{from} >> 15 << 31;
  const uint32_t exponent = from >> Mantissa & ((1U << Exponent) - 1);
  const uint32_t mantissa = from & ((1U << Mantissa) - 1);
  constexpr uint32_t special = (1U << Exponent) - 1;
  constexpr int32_t bias = (1 << (Exponent - 1)) - 1;
  if (exponent == special) return __builtin_bit_cast(float, sign | 0x7f800000U | mantissa << (23 - Mantissa));
  const double magnitude = exponent == 0
                               ? ldexp(static_cast<double>(mantissa), 1 - bias - static_cast<int32_t>(Mantissa))
                               : ldexp(static_cast<double>(mantissa | 1U << Mantissa),
                                       static_cast<int32_t>(exponent) - bias - static_cast<int32_t>(Mantissa));
  const auto value = static_cast<float>(magnitude);
  return sign != 0 ? -value : value;
}
/// The bits of a magnitude that is finite and not 0: the nearest, to even on a tie, or the one that the rounding asks for. Those above the
/// highest number go on counting.
template <uint32_t Exponent, uint32_t Mantissa, typename... M>
HEDDLE_PTX_INLINE uint64_t bits_of_magnitude(long double magnitude, bool negative) {
  constexpr int32_t bias = (1 << (Exponent - 1)) - 1;
  int exponent = 0;
  frexpl(magnitude, &exponent);
  int32_t least = exponent - 1;
  if (least < 1 - bias) least = 1 - bias;
  const long double units = ldexpl(magnitude, static_cast<int>(Mantissa) - least);
  long double whole = floorl(units);
  const long double rest = units - whole;
  const bool up = has<m_rz, M...>   ? false
                  : has<m_rm, M...> ? rest > 0 && negative
                  : has<m_rp, M...> ? rest > 0 && !negative
                                    : rest > 0.5L || (rest == 0.5L && fmodl(whole, 2) != 0);
  if (up) whole += 1;
  const uint64_t count = static_cast<uint64_t>(whole);
  if (count < uint64_t{1} << Mantissa) return count;
  return count - (uint64_t{1} << Mantissa) + (static_cast<uint64_t>(least + bias) << Mantissa);
}
/// As a half: the nearest, to even on a tie; or the one that the rounding asks for.
template <uint32_t Exponent, uint32_t Mantissa, typename... M>
HEDDLE_PTX_INLINE uint16_t to_half(long double from) {
  const auto sign = static_cast<uint16_t>(signbit(from) ? 0x8000 : 0);
  constexpr auto infinite = static_cast<uint16_t>(((1U << Exponent) - 1) << Mantissa);
  if (isnan(from)) return 0x7fff;
  const long double magnitude = fabsl(from);
  constexpr bool is_finite = has<m_satfinite, M...>;
  if (isinf(magnitude)) return static_cast<uint16_t>(sign | (infinite - (is_finite ? 1U : 0U)));
  if (magnitude == 0) return sign;
  uint64_t bits = bits_of_magnitude<Exponent, Mantissa, M...>(magnitude, sign != 0);
  if (bits >= infinite) {
    const bool stays = is_finite || has<m_rz, M...> || (has<m_rm, M...> && sign == 0) || (has<m_rp, M...> && sign != 0);
    bits = stays ? infinite - 1U : infinite;
  }
  return static_cast<uint16_t>(sign | bits);
}

template <typename T>
HEDDLE_PTX_INLINE auto real_value(word<T> from) {
  if constexpr (std::is_same_v<T, t_f16>)
    return from_half<5, 10>(from);
  else if constexpr (std::is_same_v<T, t_bf16>)
    return from_half<8, 7>(from);
  else
    return __builtin_bit_cast(typename T::value, from);
}

/// What a computation of this type is made in.
template <typename T>
using computed = std::conditional_t<std::is_same_v<T, t_f64>, double,
                                    std::conditional_t<std::is_same_v<T, t_f32>, float, long double>>;

/// Of a subnormal number, zero, where the instruction has .ftz; a conversion flushes no halves (PTX ISA, "cvt").
template <typename T, typename... M>
HEDDLE_PTX_INLINE word<T> flushed(word<T> from) {
  if constexpr (has<m_ftz, M...> && std::is_same_v<T, t_f32>)
    return (from & 0x7f800000U) == 0 ? from & 0x80000000U : from;
  else if constexpr (has<m_ftz, M...> && !has<m_conversion, M...> && std::is_same_v<T, t_f16>)
    return (from & 0x7c00U) == 0 ? from & 0x8000U : from;
  else if constexpr (has<m_ftz, M...> && !has<m_conversion, M...> && std::is_same_v<T, t_bf16>)
    return (from & 0x7f80U) == 0 ? from & 0x8000U : from;
  else
    return from;
}

/// A result as a word: flushed and clamped as the instruction says; a NaN of f32 is the one that PTX names.
template <typename T, typename... M>
HEDDLE_PTX_INLINE word<T> real_word(computed<T> value) {
  word<T> made;
  if constexpr (has<m_sat, M...>) value = !(value > 0) ? 0 : value > 1 ? 1 : value;
  if constexpr (has<m_relu, M...>)
    if (value <= 0) value = 0;
  if constexpr (std::is_same_v<T, t_f16>)
    made = to_half<5, 10, M...>(value);
  else if constexpr (std::is_same_v<T, t_bf16>)
    made = to_half<8, 7, M...>(value);
  else
    made = __builtin_bit_cast(word<T>, value);
  if constexpr (std::is_same_v<T, t_f32>)
    if (value != value) made = 0x7fffffffU;
  return flushed<T, M...>(made);
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE computed<T> operand_of(word<T> from) {
  return static_cast<computed<T>>(real_value<T>(flushed<T, M...>(from)));
}

#define HEDDLE_PTX_REAL(name, expression)                         \
  template <typename T, typename... M>                            \
  HEDDLE_PTX_INLINE word<T> name(word<T> first, word<T> second) { \
    const computed<T> a = pinned(operand_of<T, M...>(first));     \
    const computed<T> b = pinned(operand_of<T, M...>(second));    \
    computed<T> made;                                             \
    {                                                             \
      const rounding<M...> other;                                 \
      made = pinned(expression);                                  \
    }                                                             \
    return real_word<T, M...>(made);                              \
  }
HEDDLE_PTX_REAL(real_sum, a + b)
HEDDLE_PTX_REAL(real_difference, a - b)
HEDDLE_PTX_REAL(real_product, a* b)
HEDDLE_PTX_REAL(real_quotient, a / b)
#undef HEDDLE_PTX_REAL

/// a * b + c of halves, whose product is exact. Where the sum is not, the neighbour of it whose last bit is set: a second rounding,
/// to a half, then gives what one would. (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008.)
HEDDLE_PTX_INLINE long double sum_to_odd(long double product, long double c) {
  const long double sum = product + c;
  const long double taken = sum - product;
  const long double rest = (product - (sum - taken)) + (c - taken);
  uint64_t mantissa;
  __builtin_memcpy(&mantissa, &sum, sizeof mantissa);
  if (!isfinite(sum) || rest == 0 || (mantissa & 1) != 0) return sum;
  return nextafterl(sum, rest > 0 ? HUGE_VALL : -HUGE_VALL);
}

template <typename T, typename... M>
HEDDLE_PTX_INLINE word<T> real_fma(word<T> first, word<T> second, word<T> third) {
  const computed<T> a = pinned(operand_of<T, M...>(first));
  const computed<T> b = pinned(operand_of<T, M...>(second));
  const computed<T> c = pinned(operand_of<T, M...>(third));
  computed<T> made;
  {
    const rounding<M...> other;
    if constexpr (std::is_same_v<T, t_f64>)
      made = pinned(fma(a, b, c));
    else if constexpr (std::is_same_v<T, t_f32>)
      made = pinned(fmaf(a, b, c));
    else
      made = pinned(sum_to_odd(a * b, c));
  }
  return real_word<T, M...>(made);
}

/// A number before a NaN, unless .NaN; -0 before +0.
template <bool Least, typename T, typename... M>
HEDDLE_PTX_INLINE word<T> real_extreme_of_two(word<T> first, word<T> second) {
  const computed<T> a = operand_of<T, M...>(first);
  const computed<T> b = operand_of<T, M...>(second);
  const bool either = a != a || b != b;
  if (either && (has<m_NaN, M...> || (a != a && b != b))) return real_word<T, M...>(static_cast<computed<T>>(NAN));
  if (a != a) return second;
  if (b != b) return first;
  if (a == b) return (signbit(a) != 0) == Least ? first : second;
  return (a < b) == Least ? first : second;
}
template <bool Least, typename T, typename... M>
HEDDLE_PTX_INLINE word<T> real_extreme(word<T> first, word<T> second) {
  first = flushed<T, M...>(first);
  second = flushed<T, M...>(second);
  constexpr word<T> top = static_cast<word<T>>(word<T>{1} << (T::bits - 1));
  const auto sign = static_cast<word<T>>((first ^ second) & top);
  const auto magnitude = [](word<T> of) { return has<m_abs, M...> ? static_cast<word<T>>(of & (top - 1)) : of; };
  const word<T> found = real_extreme_of_two<Least, T, M...>(magnitude(first), magnitude(second));
  // The signs' exclusive or, but of no NaN. (PTX ISA, "min", ".xorsign".)
  const computed<T> value = operand_of<T>(found);
  if (!has<m_xorsign, M...> || value != value) return found;
  return static_cast<word<T>>((found & (top - 1)) | sign);
}

HEDDLE_PTX_INLINE uint16_t lower_half(uint32_t both) { return static_cast<uint16_t>(both); }
HEDDLE_PTX_INLINE uint16_t upper_half(uint32_t both) { return static_cast<uint16_t>(both >> 16); }

#define HEDDLE_PTX_FUNCTION(name, expression)                                                               \
  template <typename T, typename... M>                                                                      \
    requires(!has_halves<T>)                                                                                \
  HEDDLE_PTX_INLINE word<T> i_##name(word<T> first) {                                                       \
    const computed<T> a = pinned(operand_of<T, M...>(first));                                               \
    computed<T> made;                                                                                       \
    {                                                                                                       \
      const rounding<M...> other;                                                                           \
      made = pinned(static_cast<computed<T>>(expression));                                                  \
    }                                                                                                       \
    return real_word<T, M...>(made);                                                                        \
  }                                                                                                         \
  template <typename T, typename... M>                                                                      \
    requires has_halves<T>                                                                                  \
  HEDDLE_PTX_INLINE word<T> i_##name(word<T> both) {                                                        \
    using half = typename T::half;                                                                          \
    return uint32_t{i_##name<half, M...>(upper_half(both))} << 16 | i_##name<half, M...>(lower_half(both)); \
  }
HEDDLE_PTX_FUNCTION(rcp, 1 / a)
HEDDLE_PTX_FUNCTION(sqrt, (std::is_same_v<T, t_f32> ? sqrtf(static_cast<float>(a)) : ::sqrt(static_cast<double>(a))))
HEDDLE_PTX_FUNCTION(rsqrt, 1 / ::sqrt(static_cast<double>(a)))
HEDDLE_PTX_FUNCTION(sin, ::sin(static_cast<double>(a)))
HEDDLE_PTX_FUNCTION(cos, ::cos(static_cast<double>(a)))
HEDDLE_PTX_FUNCTION(lg2, ::log2(static_cast<double>(a)))
HEDDLE_PTX_FUNCTION(ex2, ::exp2(static_cast<double>(a)))
HEDDLE_PTX_FUNCTION(tanh, ::tanh(static_cast<double>(a)))
#undef HEDDLE_PTX_FUNCTION

template <typename T>
HEDDLE_PTX_INLINE word<T> i_copysign(word<T> a, word<T> b) {
  constexpr word<T> sign = word<T>{1} << (T::bits - 1);
  return (a & sign) | (b & ~sign);
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE bool i_testp(word<T> from) {
  const computed<T> a = operand_of<T>(from);
  if constexpr (has<m_finite, M...>) return isfinite(a);
  if constexpr (has<m_infinite, M...>) return isinf(a);
  if constexpr (has<m_number, M...>) return !isnan(a);
  if constexpr (has<m_notanumber, M...>) return isnan(a);
  if constexpr (has<m_normal, M...>) return isnormal(a);
  return fpclassify(a) == FP_SUBNORMAL;
}

// -- comparison and choice

template <typename T, typename... M>
HEDDLE_PTX_INLINE bool compares(word<T> first, word<T> second) {
  if constexpr (is_real<T>) {
    const computed<T> a = operand_of<T, M...>(first);
    const computed<T> b = operand_of<T, M...>(second);
    const bool either = a != a || b != b;
    if constexpr (has<m_num, M...>) return !either;
    if constexpr (has<m_nan, M...>) return either;
    if constexpr (has<m_eq, M...>) return !either && a == b;
    if constexpr (has<m_ne, M...>) return !either && a != b;
    if constexpr (has<m_lt, M...>) return a < b;
    if constexpr (has<m_le, M...>) return a <= b;
    if constexpr (has<m_gt, M...>) return a > b;
    if constexpr (has<m_ge, M...>) return a >= b;
    if constexpr (has<m_equ, M...>) return either || a == b;
    if constexpr (has<m_neu, M...>) return either || a != b;
    if constexpr (has<m_ltu, M...>) return either || a < b;
    if constexpr (has<m_leu, M...>) return either || a <= b;
    if constexpr (has<m_gtu, M...>) return either || a > b;
    if constexpr (has<m_geu, M...>) return either || a >= b;
  } else {
    const auto a = static_cast<typename T::value>(first);
    const auto b = static_cast<typename T::value>(second);
    if constexpr (has<m_eq, M...>) return a == b;
    if constexpr (has<m_ne, M...>) return a != b;
    if constexpr (has<m_lt, M...> || (has<m_lo, M...> && !is_real<T>)) return a < b;
    if constexpr (has<m_le, M...> || has<m_ls, M...>) return a <= b;
    if constexpr (has<m_gt, M...> || has<m_hi, M...>) return a > b;
    if constexpr (has<m_ge, M...> || has<m_hs, M...>) return a >= b;
  }
  return false;
}
template <typename... M>
HEDDLE_PTX_INLINE bool joined(bool holds, bool c) {
  if constexpr (has<m_and, M...>) return holds && c;
  if constexpr (has<m_or, M...>) return holds || c;
  if constexpr (has<m_xor, M...>) return holds != c;
  return holds;
}
template <typename T, typename... M>
  requires(!has_halves<T>)
HEDDLE_PTX_INLINE void i_setp(bool& p, bool& q, word<T> a, word<T> b, bool c = true) {
  const bool holds = compares<T, M...>(a, b);
  p = joined<M...>(holds, c);
  q = joined<M...>(!holds, c);
}
/// Of two halves: a predicate of each, the lower one first.
template <typename T, typename... M>
  requires has_halves<T>
HEDDLE_PTX_INLINE void i_setp(bool& p, bool& q, word<T> a, word<T> b, bool c = true) {
  p = joined<M...>(compares<typename T::half, M...>(lower_half(a), lower_half(b)), c);
  q = joined<M...>(compares<typename T::half, M...>(upper_half(a), upper_half(b)), c);
}
template <typename T, typename From, typename... M>
  requires(!has_halves<From>)
HEDDLE_PTX_INLINE word<T> i_set(word<From> a, word<From> b, bool c = true) {
  if (!joined<M...>(compares<From, M...>(a, b), c)) return 0;
  if constexpr (is_real<T>)
    return real_word<T>(1);
  else
    return static_cast<word<T>>(~word<T>{0});
}
template <typename T, typename From, typename... M>
  requires has_halves<From>
HEDDLE_PTX_INLINE word<T> i_set(word<From> a, word<From> b, bool c = true) {
  using half = typename From::half;
  uint32_t one = 0xffff;
  if constexpr (has_halves<T>) one = real_word<typename T::half>(1);
  const bool low = joined<M...>(compares<half, M...>(lower_half(a), lower_half(b)), c);
  const bool high = joined<M...>(compares<half, M...>(upper_half(a), upper_half(b)), c);
  return static_cast<word<T>>((low ? one : 0) | (high ? one << 16 : 0));
}
template <typename T>
HEDDLE_PTX_INLINE word<T> i_selp(word<T> a, word<T> b, bool c) {
  return c ? a : b;
}
template <typename T, typename By, typename... M>
HEDDLE_PTX_INLINE word<T> i_slct(word<T> a, word<T> b, word<By> c) {
  if constexpr (is_real<By>)
    return operand_of<By, M...>(c) >= 0 ? a : b;
  else
    return static_cast<int32_t>(c) >= 0 ? a : b;
}

}  // namespace heddle::ptx
