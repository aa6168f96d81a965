// Conversion of numbers of PTX. (PTX ISA, "cvt", "cvt.pack".)
#pragma once

#include <heddle/sim/compat/ptx/floats.h>
#include <heddle/sim/compat/ptx/types.h>

namespace heddle::ptx {

/// To an integer as the instruction rounds; out of range, the nearest there is. A NaN is 0, or the highest bit alone where it is an f64 or becomes 64
/// bits.
template <typename To, typename Real, typename... M>
HEDDLE_PTX_INLINE word<To> to_integer(Real from) {
  using value = typename To::value;
  constexpr bool is_wide = std::is_same_v<Real, double> || To::bits == 64;
  if (from != from) return is_wide ? static_cast<word<To>>(word<To>{1} << (To::bits - 1)) : 0;
  long double whole = from;
  if constexpr (has<m_rmi, M...>)
    whole = floorl(whole);
  else if constexpr (has<m_rpi, M...>)
    whole = ceill(whole);
  else if constexpr (has<m_rni, M...>)
    whole = rintl(whole);
  else
    whole = truncl(whole);
  constexpr bool is_signed = To::kind == number::integer;
  const long double most = ldexpl(1, static_cast<int>(To::bits - (is_signed ? 1 : 0)));
  const long double least = is_signed ? -most : 0;
  if (whole >= most) return static_cast<word<To>>(static_cast<word<To>>(~word<To>{0}) >> (is_signed ? 1 : 0));
  if (whole < least) return is_signed ? static_cast<word<To>>(word<To>{1} << (To::bits - 1)) : 0;
  return static_cast<word<To>>(static_cast<value>(whole));
}

template <typename To, typename From, typename... M>
HEDDLE_PTX_INLINE word<To> between_integers(word<From> from) {
  if constexpr (has<m_sat, M...>) {
    const auto value = static_cast<wide>(static_cast<typename From::value>(from));
    __extension__ using both = __int128;
    const both number_of = From::kind == number::integer ? static_cast<both>(static_cast<typename From::value>(from))
                                                         : static_cast<both>(value);
    const both most = (both{1} << (To::bits - (To::kind == number::integer ? 1 : 0))) - 1;
    const both least = To::kind == number::integer ? -most - 1 : 0;
    return static_cast<word<To>>(number_of > most ? most : number_of < least ? least : number_of);
  }
  return static_cast<word<To>>(static_cast<typename From::value>(from));
}

template <typename To, typename From, typename... M>
  requires(!has_eight_bits<To> && !has_eight_bits<From>)
HEDDLE_PTX_INLINE auto i_cvt(word<From> from) {
  if constexpr (!is_real<To> && !is_real<From>) {
    return extended<To>(between_integers<To, From, M...>(from));
  } else if constexpr (!is_real<To>) {
    return extended<To>(to_integer<To, computed<From>, M...>(operand_of<From, M..., m_conversion>(from)));
  } else if constexpr (!is_real<From>) {
    const auto value = static_cast<typename From::value>(from);
    computed<To> made;
    {
      const rounding<M...> other;
      made = pinned(static_cast<computed<To>>(pinned(value)));
    }
    return real_word<To, M..., m_conversion>(made);
  } else {
    computed<From> value = operand_of<From, M..., m_conversion>(from);
    if constexpr (has<m_rni, M...>) value = static_cast<computed<From>>(rintl(value));
    if constexpr (has<m_rzi, M...>) value = static_cast<computed<From>>(truncl(value));
    if constexpr (has<m_rmi, M...>) value = static_cast<computed<From>>(floorl(value));
    if constexpr (has<m_rpi, M...>) value = static_cast<computed<From>>(ceill(value));
    computed<To> made;
    {
      const rounding<M...> other;
      made = pinned(static_cast<computed<To>>(pinned(value)));
    }
    return real_word<To, M..., m_conversion>(made);
  }
}
/// Two numbers as halves: the first is the upper one.
template <typename To, typename From, typename... M>
  requires has_halves<To>
HEDDLE_PTX_INLINE uint32_t i_cvt(word<From> a, word<From> b) {
  using half = typename To::half;
  return static_cast<uint32_t>(i_cvt<half, From, M...>(a)) << 16 | static_cast<uint32_t>(i_cvt<half, From, M...>(b));
}

// -- numbers of 8 bits, two in a word

/// The nearest that there is; what is out of range is the highest number. (PTX ISA, "cvt", ".satfinite".)
template <typename To, typename... M>
HEDDLE_PTX_INLINE uint16_t to_eight_bits(long double from) {
  if (isnan(from)) return 0x7f;
  if constexpr (has<m_relu, M...>)
    if (from <= 0) return 0;
  const bool negative = signbit(from) != 0;
  const long double magnitude = fabsl(from);
  uint64_t bits = 0;
  if (isinf(magnitude))
    bits = To::highest;
  else if (magnitude != 0)
    bits = bits_of_magnitude<To::exponent, 7 - To::exponent, M...>(magnitude, negative);
  return static_cast<uint16_t>((bits > To::highest ? To::highest : bits) | (negative ? 0x80 : 0));
}
/// One of them as a half of f16, which has each of its numbers.
template <typename From, typename... M>
HEDDLE_PTX_INLINE uint16_t from_eight_bits(uint16_t from) {
  const uint16_t magnitude = from & 0x7f;
  const auto sign = static_cast<uint16_t>((from & 0x80) << 8);
  if constexpr (From::exponent == 5) {
    if (magnitude > 0x7c) return 0x7fff;
    if (has<m_relu, M...> && sign != 0) return 0;
    return static_cast<uint16_t>(sign | magnitude << 8);
  } else {
    if (magnitude == 0x7f) return 0x7fff;
    if (has<m_relu, M...> && sign != 0) return 0;
    constexpr uint32_t mantissa = 7 - From::exponent;
    constexpr int32_t bias = (1 << (From::exponent - 1)) - 1;
    const int32_t exponent = magnitude >> mantissa;
    const uint32_t whole = (magnitude & ((1U << mantissa) - 1)) | (exponent == 0 ? 0U : 1U << mantissa);
    const int32_t power = (exponent == 0 ? 1 : exponent) - bias - static_cast<int32_t>(mantissa);
    return static_cast<uint16_t>(sign | to_half<5, 10>(ldexpl(whole, power)));
  }
}
template <typename To, typename From, typename... M>
  requires has_eight_bits<To>
HEDDLE_PTX_INLINE uint16_t i_cvt(word<From> a, word<From> b) {
  return static_cast<uint16_t>(to_eight_bits<To, M...>(real_value<From>(a)) << 8 |
                               to_eight_bits<To, M...>(real_value<From>(b)));
}
template <typename To, typename From, typename... M>
  requires has_eight_bits<To>
HEDDLE_PTX_INLINE auto i_cvt(word<From> both) {
  return i_cvt<To, typename From::half, M...>(upper_half(both), lower_half(both));
}
template <typename To, typename From, typename... M>
  requires has_eight_bits<From>
HEDDLE_PTX_INLINE auto i_cvt(word<From> both) {
  return uint32_t{from_eight_bits<From, M...>(static_cast<uint16_t>(both >> 8))} << 16 |
         from_eight_bits<From, M...>(static_cast<uint16_t>(both & 0xff));
}

// -- integers, made smaller and put together. (PTX ISA, "cvt.pack".)

template <typename To, typename From, typename... M>
  requires has<m_pack, M...>
HEDDLE_PTX_INLINE uint32_t i_cvt(uint32_t a, uint32_t b, uint32_t c = 0) {
  constexpr uint32_t bits = bits_of_packed<To>;
  constexpr bool is_signed = To::kind == number::integer;
  constexpr int32_t most = static_cast<int32_t>((1U << (is_signed ? bits - 1 : bits)) - 1);
  constexpr int32_t least = is_signed ? -most - 1 : 0;
  const auto small = [](uint32_t from) {
    const auto value = static_cast<int32_t>(from);
    return static_cast<uint32_t>(value < least ? least : value > most ? most : value) & ((1U << bits) - 1);
  };
  const uint32_t both = small(a) << bits | small(b);
  if constexpr (bits == 16) return both;
  return c << (2 * bits) | both;
}

}  // namespace heddle::ptx
