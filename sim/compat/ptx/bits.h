// Bits of registers in PTX. (PTX ISA, "Logic and Shift Instructions", "Integer Arithmetic Instructions".)
#pragma once

#include <heddle/sim/compat/ptx/types.h>

namespace heddle::ptx {

template <typename T>
HEDDLE_PTX_INLINE word<T> i_and(word<T> a, word<T> b) {
  return static_cast<word<T>>(a & b);
}
template <typename T>
HEDDLE_PTX_INLINE word<T> i_or(word<T> a, word<T> b) {
  return static_cast<word<T>>(a | b);
}
template <typename T>
HEDDLE_PTX_INLINE word<T> i_xor(word<T> a, word<T> b) {
  return static_cast<word<T>>(a ^ b);
}
template <typename T>
HEDDLE_PTX_INLINE word<T> i_not(word<T> a) {
  if constexpr (std::is_same_v<T, t_pred>)
    return !a;
  else
    return static_cast<word<T>>(~a);
}
template <typename T>
HEDDLE_PTX_INLINE word<T> i_cnot(word<T> a) {
  return a == 0 ? 1 : 0;
}

template <typename T>
HEDDLE_PTX_INLINE word<T> i_shl(word<T> a, uint32_t count) {
  return count >= T::bits ? 0 : static_cast<word<T>>(a << count);
}
template <typename T>
HEDDLE_PTX_INLINE word<T> i_shr(word<T> a, uint32_t count) {
  const uint32_t most = count >= T::bits ? T::bits - 1 : count;
  if constexpr (T::kind == number::integer) return static_cast<word<T>>(static_cast<typename T::value>(a) >> most);
  return count >= T::bits ? 0 : static_cast<word<T>>(a >> count);
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE uint32_t i_shf(uint32_t a, uint32_t b, uint32_t c) {
  const uint32_t count = has<m_wrap, M...> ? c & 31 : c > 32 ? 32 : c;
  const uint64_t both = uint64_t{b} << 32 | a;
  if constexpr (has<m_l, M...>) return static_cast<uint32_t>(both << count >> 32);
  return static_cast<uint32_t>(both >> count);
}

template <typename T>
HEDDLE_PTX_INLINE uint32_t i_lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t which) {
  uint32_t made = 0;
  for (uint32_t n = 0; n < 8; ++n)
    if ((which >> n & 1) != 0) made |= ((n & 4) != 0 ? a : ~a) & ((n & 2) != 0 ? b : ~b) & ((n & 1) != 0 ? c : ~c);
  return made;
}

struct lop3_sources {
  uint32_t a, b, c, which;
  bool q;
};
/// With a predicate: whether any bit of it is set, joined with another.
template <typename T, typename... M, typename... Sources>
HEDDLE_PTX_INLINE void i_lop3(uint32_t& d, bool& p, Sources... given) {
  const lop3_sources from(given...);
  d = i_lop3<T>(from.a, from.b, from.c, from.which);
  p = has<m_and, M...> ? d != 0 && from.q : d != 0 || from.q;
}

/// Which byte of eight each of the four is. (PTX ISA, "prmt".)
template <typename T, typename... M>
HEDDLE_PTX_INLINE uint32_t i_prmt(uint32_t a, uint32_t b, uint32_t c) {
  const uint64_t both = uint64_t{b} << 32 | a;
  uint32_t made = 0;
  for (uint32_t n = 0; n < 4; ++n) {
    const uint32_t low = c & 3;
    uint32_t which = c >> (n * 4) & 0xf;
    if constexpr (has<m_f4e, M...>) which = low + n;
    if constexpr (has<m_b4e, M...>) which = (low - n) & 7;
    if constexpr (has<m_rc8, M...>) which = low;
    if constexpr (has<m_ecl, M...>) which = n > low ? n : low;
    if constexpr (has<m_ecr, M...>) which = n < low ? n : low;
    if constexpr (has<m_rc16, M...>) which = (low & 1) * 2 + (n & 1);
    auto byte = static_cast<uint8_t>(both >> ((which & 7) * 8));
    if ((which & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    made |= uint32_t{byte} << (n * 8);
  }
  return made;
}

template <typename T>
HEDDLE_PTX_INLINE word<T> i_bfe(word<T> a, uint32_t from, uint32_t count) {
  from &= 0xff;
  count &= 0xff;
  constexpr uint32_t top = T::bits - 1;
  word<T> made = 0;
  const uint32_t last = from + count - 1 < top ? from + count - 1 : top;
  const bool sign = T::kind == number::integer && count != 0 && (a >> last & 1) != 0;
  for (uint32_t n = 0; n <= top; ++n) {
    const bool bit = n < count && from + n <= top ? (a >> (from + n) & 1) != 0 : sign;
    if (bit) made |= word<T>{1} << n;
  }
  return made;
}
template <typename T>
HEDDLE_PTX_INLINE word<T> i_bfi(word<T> a, word<T> b, uint32_t from, uint32_t count) {
  from &= 0xff;
  count &= 0xff;
  for (uint32_t n = 0; n < count && from + n < T::bits; ++n) {
    const word<T> bit = word<T>{1} << (from + n);
    b = (a >> n & 1) != 0 ? b | bit : b & ~bit;
  }
  return b;
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE uint32_t i_bfind(word<T> a) {
  if (T::kind == number::integer && static_cast<typename T::value>(a) < 0) a = static_cast<word<T>>(~a);
  if (a == 0) return ~uint32_t{0};
  const auto highest = static_cast<uint32_t>(63 - __builtin_clzll(a));
  return has<m_shiftamt, M...> ? T::bits - 1 - highest : highest;
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE uint32_t i_bmsk(uint32_t from, uint32_t count) {
  if constexpr (has<m_wrap, M...>) {
    from &= 31;
    count &= 31;
  }
  const uint32_t bits = count >= 32 ? ~uint32_t{0} : (uint32_t{1} << count) - 1;
  return from >= 32 ? 0 : bits << from;
}
template <typename T, typename... M>
HEDDLE_PTX_INLINE uint32_t i_szext(uint32_t a, uint32_t count) {
  if constexpr (has<m_wrap, M...>) count &= 31;
  return count == 0 ? 0 : count >= 32 ? a : i_bfe<T>(a, 0, count);
}
template <typename T>
HEDDLE_PTX_INLINE uint32_t i_fns(uint32_t mask, uint32_t base, uint32_t offset) {
  const auto wanted = static_cast<int32_t>(offset);
  const int32_t step = wanted < 0 ? -1 : 1;
  int32_t left = wanted < 0 ? -wanted : wanted == 0 ? 1 : wanted;
  if (wanted == 0) return base < 32 && (mask >> base & 1) != 0 ? base : ~uint32_t{0};
  for (auto n = static_cast<int32_t>(base); n >= 0 && n < 32; n += step)
    if ((mask >> n & 1) != 0 && --left == 0) return static_cast<uint32_t>(n);
  return ~uint32_t{0};
}
template <typename T>
HEDDLE_PTX_INLINE uint32_t i_popc(word<T> a) {
  return static_cast<uint32_t>(__builtin_popcountll(a));
}
template <typename T>
HEDDLE_PTX_INLINE uint32_t i_clz(word<T> a) {
  return a == 0 ? T::bits : static_cast<uint32_t>(__builtin_clzll(a)) - (64 - T::bits);
}
template <typename T>
HEDDLE_PTX_INLINE word<T> i_brev(word<T> a) {
  word<T> made = 0;
  for (uint32_t n = 0; n < T::bits; ++n)
    if ((a >> n & 1) != 0) made |= word<T>{1} << (T::bits - 1 - n);
  return made;
}

template <typename T>
HEDDLE_PTX_INLINE int64_t byte_of(uint32_t a, uint32_t n) {
  const auto byte = static_cast<uint8_t>(a >> (n * 8));
  return T::kind == number::integer ? int64_t{static_cast<int8_t>(byte)} : int64_t{byte};
}
template <typename A, typename B>
HEDDLE_PTX_INLINE uint32_t i_dp4a(uint32_t a, uint32_t b, uint32_t c) {
  int64_t sum = c;
  for (uint32_t n = 0; n < 4; ++n) sum += byte_of<A>(a, n) * byte_of<B>(b, n);
  return static_cast<uint32_t>(sum);
}
template <typename A, typename B, typename... M>
HEDDLE_PTX_INLINE uint32_t i_dp2a(uint32_t a, uint32_t b, uint32_t c) {
  int64_t sum = c;
  for (uint32_t n = 0; n < 2; ++n) {
    const auto half = static_cast<uint16_t>(a >> (n * 16));
    const int64_t value = A::kind == number::integer ? int64_t{static_cast<int16_t>(half)} : int64_t{half};
    sum += value * byte_of<B>(b, n + (has<m_hi, M...> ? 2 : 0));
  }
  return static_cast<uint32_t>(sum);
}

/// |a - b| of four bytes each, or of two halves: as many results, or with .add their sum and c. (PTX ISA, "vabsdiff2", "vabsdiff4".)
template <uint32_t Bits, typename To, typename A, typename B, typename... M>
HEDDLE_PTX_INLINE uint32_t differences(uint32_t a, uint32_t b, uint32_t c) {
  constexpr uint32_t mask = (1U << Bits) - 1;
  constexpr bool is_signed = To::kind == number::integer;
  constexpr int64_t most = is_signed ? mask >> 1 : mask;
  const auto part = []<typename Of>(uint32_t from, uint32_t n, Of) {
    const uint32_t bits = from >> n & mask;
    return Of::kind == number::integer ? int64_t{static_cast<int32_t>(bits << (32 - Bits)) >> (32 - Bits)}
                                       : int64_t{bits};
  };
  uint32_t made = has<m_add, M...> ? c : 0;
  for (uint32_t n = 0; n < 32; n += Bits) {
    const int64_t apart = part(a, n, A{}) - part(b, n, B{});
    int64_t size = apart < 0 ? -apart : apart;
    if (has<m_sat, M...> && size > most) size = most;
    made += has<m_add, M...> ? static_cast<uint32_t>(size) : (static_cast<uint32_t>(size) & mask) << n;
  }
  return made;
}
template <typename To, typename A, typename B, typename... M>
HEDDLE_PTX_INLINE uint32_t i_vabsdiff4(uint32_t a, uint32_t b, uint32_t c) {
  return differences<8, To, A, B, M...>(a, b, c);
}
template <typename To, typename A, typename B, typename... M>
HEDDLE_PTX_INLINE uint32_t i_vabsdiff2(uint32_t a, uint32_t b, uint32_t c) {
  return differences<16, To, A, B, M...>(a, b, c);
}

}  // namespace heddle::ptx
