// Arithmetic of PTX. (PTX ISA, "Integer Arithmetic Instructions", "Extended-Precision Integer Arithmetic Instructions".)
#pragma once

#include <heddle/sim/compat/ptx/floats.h>
#include <heddle/sim/compat/ptx/types.h>

namespace heddle::ptx {

template <uint32_t Bits>
using natural_of =
    std::conditional_t<Bits == 128, wide,
                       std::conditional_t<Bits == 64, uint64_t, std::conditional_t<Bits == 32, uint32_t, uint16_t>>>;
__extension__ using wide_integer = __int128;
template <uint32_t Bits>
using integer_of =
    std::conditional_t<Bits == 128, wide_integer,
                       std::conditional_t<Bits == 64, int64_t, std::conditional_t<Bits == 32, int32_t, int16_t>>>;

/// A word of a type as a number of twice its bits, so that no product overflows.
template <typename T>
HEDDLE_PTX_INLINE natural_of<T::bits * 2> doubled(word<T> from) {
  using twice = integer_of<T::bits * 2>;
  if constexpr (T::kind == number::integer)
    return static_cast<natural_of<T::bits * 2>>(static_cast<twice>(static_cast<typename T::value>(from)));
  else
    return from;
}

template <typename T, typename... M>
HEDDLE_PTX_INLINE natural_of<T::bits * 2> whole_product(word<T> a, word<T> b) {
  return doubled<T>(a) * doubled<T>(b);
}

/// The half of a product that an instruction asks for, in a register of twice its bits.
template <typename T, typename... M>
HEDDLE_PTX_INLINE auto part_of_product(word<T> a, word<T> b) {
  const auto product = whole_product<T>(a, b);
  if constexpr (has<m_wide, M...>)
    return product;
  else if constexpr (has<m_hi, M...>)
    return static_cast<word<T>>(product >> T::bits);
  else
    return static_cast<word<T>>(product);
}

/// What is the same for both halves of a pair.
template <typename T, typename Work>
HEDDLE_PTX_INLINE uint32_t by_halves(uint32_t a, uint32_t b, Work&& work) {
  return static_cast<uint32_t>(work(static_cast<uint16_t>(a), static_cast<uint16_t>(b))) |
         static_cast<uint32_t>(work(static_cast<uint16_t>(a >> 16), static_cast<uint16_t>(b >> 16))) << 16;
}

template <typename T>
HEDDLE_PTX_INLINE word<T> saturated(integer_of<T::bits * 2> value) {
  constexpr integer_of<T::bits * 2> most = (integer_of<T::bits * 2>{1} << (T::bits - 1)) - 1;
  return static_cast<word<T>>(value > most ? most : value < -most - 1 ? -most - 1 : value);
}

template <typename T, typename... M>
HEDDLE_PTX_INLINE word<T> i_add(word<T> a, word<T> b) {
  if constexpr (has_halves<T>)
    return by_halves<T>(a, b, [](uint16_t x, uint16_t y) { return i_add<typename T::half, M...>(x, y); });
  else if constexpr (is_real<T>)
    return real_sum<T, M...>(a, b);
  else if constexpr (has<m_sat, M...>)
    return saturated<T>(static_cast<integer_of<T::bits * 2>>(doubled<T>(a) + doubled<T>(b)));
  else
    return static_cast<word<T>>(a + b);
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE word<T> i_add(word<T> a, word<T> b, uint32_t& carry) {
  const natural_of<T::bits * 2> sum = natural_of<T::bits * 2>{a} + b;
  carry = static_cast<uint32_t>(sum >> T::bits);
  return static_cast<word<T>>(sum);
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE word<T> i_addc(word<T> a, word<T> b, uint32_t& carry) {
  const natural_of<T::bits * 2> sum = natural_of<T::bits * 2>{a} + b + carry;
  if constexpr (has<m_cc, M...>) carry = static_cast<uint32_t>(sum >> T::bits) & 1;
  return static_cast<word<T>>(sum);
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE word<T> i_sub(word<T> a, word<T> b) {
  if constexpr (has_halves<T>)
    return by_halves<T>(a, b, [](uint16_t x, uint16_t y) { return i_sub<typename T::half, M...>(x, y); });
  else if constexpr (is_real<T>)
    return real_difference<T, M...>(a, b);
  else if constexpr (has<m_sat, M...>)
    return saturated<T>(static_cast<integer_of<T::bits * 2>>(doubled<T>(a) - doubled<T>(b)));
  else
    return static_cast<word<T>>(a - b);
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE word<T> i_sub(word<T> a, word<T> b, uint32_t& borrow) {
  borrow = a < b ? 1 : 0;
  return static_cast<word<T>>(a - b);
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE word<T> i_subc(word<T> a, word<T> b, uint32_t& borrow) {
  const natural_of<T::bits * 2> taken = natural_of<T::bits * 2>{b} + borrow;
  if constexpr (has<m_cc, M...>) borrow = a < taken ? 1 : 0;
  return static_cast<word<T>>(a - taken);
}

template <typename T, typename... M>
HEDDLE_PTX_INLINE auto i_mul(word<T> a, word<T> b) {
  if constexpr (has_halves<T>)
    return by_halves<T>(a, b, [](uint16_t x, uint16_t y) { return i_mul<typename T::half, M...>(x, y); });
  else if constexpr (is_real<T>)
    return real_product<T, M...>(a, b);
  else
    return part_of_product<T, M...>(a, b);
}
/// Of the low 24 bits.
template <typename T>
HEDDLE_PTX_INLINE uint64_t product24(uint32_t a, uint32_t b) {
  if constexpr (T::kind == number::integer)
    return static_cast<uint64_t>(int64_t{static_cast<int32_t>(a << 8) >> 8} * (static_cast<int32_t>(b << 8) >> 8));
  else
    return uint64_t{a & 0xffffff} * (b & 0xffffff);
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE uint32_t i_mul24(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(product24<T>(a, b) >> (has<m_hi, M...> ? 16 : 0));
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE uint32_t i_mad24(uint32_t a, uint32_t b, uint32_t c) {
  return i_mul24<T, M...>(a, b) + c;
}

template <typename T, typename... M, typename Addend>
HEDDLE_PTX_INLINE auto i_mad(word<T> a, word<T> b, Addend c) {
  if constexpr (is_real<T>) {
    return real_fma<T, M...>(a, b, static_cast<word<T>>(c));
  } else if constexpr (has<m_wide, M...>) {
    return static_cast<natural_of<T::bits * 2>>(whole_product<T>(a, b) + static_cast<natural_of<T::bits * 2>>(c));
  } else {
    const auto product = part_of_product<T, M...>(a, b);
    if constexpr (has<m_sat, M...>)
      return saturated<T>(
          static_cast<integer_of<T::bits * 2>>(doubled<T>(product) + doubled<T>(static_cast<word<T>>(c))));
    else
      return static_cast<word<T>>(product + static_cast<word<T>>(c));
  }
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE word<T> i_mad(word<T> a, word<T> b, word<T> c, uint32_t& carry) {
  return i_add<T>(part_of_product<T, M...>(a, b), c, carry);
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE word<T> i_madc(word<T> a, word<T> b, word<T> c, uint32_t& carry) {
  return i_addc<T, M...>(part_of_product<T, M...>(a, b), c, carry);
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE word<T> i_fma(word<T> a, word<T> b, word<T> c) {
  if constexpr (has_halves<T>) {
    using half = typename T::half;
    return static_cast<uint32_t>(
               i_fma<half, M...>(static_cast<uint16_t>(a), static_cast<uint16_t>(b), static_cast<uint16_t>(c))) |
           static_cast<uint32_t>(i_fma<half, M...>(static_cast<uint16_t>(a >> 16), static_cast<uint16_t>(b >> 16),
                                                   static_cast<uint16_t>(c >> 16)))
               << 16;
  } else {
    return real_fma<T, M...>(a, b, c);
  }
}

/// By zero: all bits, as today's GPUs have it; PTX leaves it open.
template <typename T, typename... M>
HEDDLE_PTX_INLINE auto i_div(word<T> a, word<T> b) {
  if constexpr (is_real<T>) {
    return real_quotient<T, M...>(a, b);
  } else {
    using value = typename T::value;
    if (b == 0) return static_cast<word<T>>(~word<T>{0});
    if constexpr (T::kind == number::integer)
      if (static_cast<value>(b) == -1) return static_cast<word<T>>(word<T>{0} - a);
    return static_cast<word<T>>(static_cast<value>(a) / static_cast<value>(b));
  }
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE word<T> i_rem(word<T> a, word<T> b) {
  using value = typename T::value;
  if (b == 0) return a;
  if constexpr (T::kind == number::integer)
    if (static_cast<value>(b) == -1) return 0;
  return static_cast<word<T>>(static_cast<value>(a) % static_cast<value>(b));
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE word<T> i_abs(word<T> a) {
  if constexpr (has_halves<T>)
    return by_halves<T>(a, a, [](uint16_t x, uint16_t) { return i_abs<typename T::half, M...>(x); });
  else if constexpr (is_real<T>)
    return flushed<T, M...>(static_cast<word<T>>(a & static_cast<word<T>>(~word<T>{0} >> 1)));
  else
    return static_cast<word<T>>(static_cast<typename T::value>(a) < 0 ? word<T>{0} - a : a);
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE word<T> i_neg(word<T> a) {
  if constexpr (has_halves<T>)
    return by_halves<T>(a, a, [](uint16_t x, uint16_t) { return i_neg<typename T::half, M...>(x); });
  else if constexpr (is_real<T>)
    return flushed<T, M...>(static_cast<word<T>>(a ^ static_cast<word<T>>(word<T>{1} << (T::bits - 1))));
  else
    return static_cast<word<T>>(word<T>{0} - a);
}

template <bool Least, typename T, typename... M>
HEDDLE_PTX_INLINE word<T> extreme(word<T> a, word<T> b) {
  if constexpr (has_halves<T>) {
    return by_halves<T>(a, b, [](uint16_t x, uint16_t y) { return extreme<Least, typename T::half, M...>(x, y); });
  } else if constexpr (is_real<T>) {
    return real_extreme<Least, T, M...>(a, b);
  } else {
    const bool first = static_cast<typename T::value>(a) < static_cast<typename T::value>(b);
    const word<T> found = first == Least ? a : b;
    return has<m_relu, M...> && static_cast<typename T::value>(found) < 0 ? word<T>{0} : found;
  }
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE word<T> i_min(word<T> a, word<T> b) {
  return extreme<true, T, M...>(a, b);
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE word<T> i_max(word<T> a, word<T> b) {
  return extreme<false, T, M...>(a, b);
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE word<T> i_min(word<T> a, word<T> b, word<T> c) {
  return i_min<T, M...>(i_min<T, M...>(a, b), c);
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE word<T> i_max(word<T> a, word<T> b, word<T> c) {
  return i_max<T, M...>(i_max<T, M...>(a, b), c);
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE word<T> i_sad(word<T> a, word<T> b, word<T> c) {
  const bool less = static_cast<typename T::value>(a) < static_cast<typename T::value>(b);
  return static_cast<word<T>>((less ? b - a : a - b) + c);
}

}  // namespace heddle::ptx
