// The types and modifiers of PTX as C++ types, and registers of a type as words and as numbers. (PTX ISA, "State Spaces, Types, and
// Variables".)
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#ifndef HEDDLE_PTX_INLINE
#define HEDDLE_PTX_INLINE [[gnu::always_inline]] inline
#endif

namespace heddle::ptx {

__extension__ using wide = unsigned __int128;

enum class number : uint8_t { bits, natural, integer, real };

/// A type of PTX: the word that a register holds, and the number that this stands for.
template <typename Word, typename Value, number Kind>
struct type {
  using word = Word;
  using value = Value;
  static constexpr number kind = Kind;
  static constexpr uint32_t bits = sizeof(Word) * 8;
};

using t_pred = type<bool, bool, number::bits>;
using t_b8 = type<uint8_t, uint8_t, number::bits>;
using t_b16 = type<uint16_t, uint16_t, number::bits>;
using t_b32 = type<uint32_t, uint32_t, number::bits>;
using t_b64 = type<uint64_t, uint64_t, number::bits>;
using t_b128 = type<wide, wide, number::bits>;
using t_u8 = type<uint8_t, uint8_t, number::natural>;
using t_u16 = type<uint16_t, uint16_t, number::natural>;
using t_u32 = type<uint32_t, uint32_t, number::natural>;
using t_u64 = type<uint64_t, uint64_t, number::natural>;
using t_s8 = type<uint8_t, int8_t, number::integer>;
using t_s16 = type<uint16_t, int16_t, number::integer>;
using t_s32 = type<uint32_t, int32_t, number::integer>;
using t_s64 = type<uint64_t, int64_t, number::integer>;
using t_f32 = type<uint32_t, float, number::real>;
using t_f64 = type<uint64_t, double, number::real>;
/// Computed as float.
struct t_f16 : type<uint16_t, float, number::real> {};
struct t_bf16 : type<uint16_t, float, number::real> {};
/// Two of them.
struct t_f16x2 : type<uint32_t, uint32_t, number::bits> {
  using half = t_f16;
};
struct t_bf16x2 : type<uint32_t, uint32_t, number::bits> {
  using half = t_bf16;
};
struct t_u16x2 : type<uint32_t, uint32_t, number::bits> {
  using half = t_u16;
};
struct t_s16x2 : type<uint32_t, uint32_t, number::bits> {
  using half = t_s16;
};

/// Two numbers of 8 bits; `highest` is that of their finite ones.
struct t_e4m3x2 : type<uint16_t, uint16_t, number::bits> {
  static constexpr uint32_t exponent = 4;
  static constexpr uint32_t highest = 0x7e;
};
struct t_e5m2x2 : type<uint16_t, uint16_t, number::bits> {
  static constexpr uint32_t exponent = 5;
  static constexpr uint32_t highest = 0x7b;
};
/// Parts of a byte, of which cvt.pack makes words.
struct t_u2 : type<uint8_t, uint8_t, number::natural> {};
struct t_s2 : type<uint8_t, int8_t, number::integer> {};
struct t_u4 : type<uint8_t, uint8_t, number::natural> {};
struct t_s4 : type<uint8_t, int8_t, number::integer> {};

template <typename T>
inline constexpr uint32_t bits_of_packed = std::is_same_v<T, t_u2> || std::is_same_v<T, t_s2>   ? 2
                                           : std::is_same_v<T, t_u4> || std::is_same_v<T, t_s4> ? 4
                                                                                                : T::bits;

template <typename T>
concept has_halves = requires { typename T::half; };
template <typename T>
concept has_eight_bits = requires { T::highest; };
template <typename T>
concept is_real = T::kind == number::real;

template <typename T>
using word = typename T::word;

// Modifiers.
#define HEDDLE_PTX_MODIFIER(name) \
  struct m_##name {}
HEDDLE_PTX_MODIFIER(rn);
HEDDLE_PTX_MODIFIER(rz);
HEDDLE_PTX_MODIFIER(rm);
HEDDLE_PTX_MODIFIER(rp);
HEDDLE_PTX_MODIFIER(rna);
HEDDLE_PTX_MODIFIER(rni);
HEDDLE_PTX_MODIFIER(rzi);
HEDDLE_PTX_MODIFIER(rmi);
HEDDLE_PTX_MODIFIER(rpi);
HEDDLE_PTX_MODIFIER(ftz);
HEDDLE_PTX_MODIFIER(sat);
HEDDLE_PTX_MODIFIER(relu);
HEDDLE_PTX_MODIFIER(satfinite);
HEDDLE_PTX_MODIFIER(xorsign);
HEDDLE_PTX_MODIFIER(abs);
HEDDLE_PTX_MODIFIER(pack);
HEDDLE_PTX_MODIFIER(b32);
HEDDLE_PTX_MODIFIER(conversion);  // none of PTX's: the instruction is one
HEDDLE_PTX_MODIFIER(NaN);
HEDDLE_PTX_MODIFIER(approx);
HEDDLE_PTX_MODIFIER(full);
HEDDLE_PTX_MODIFIER(cc);
HEDDLE_PTX_MODIFIER(lo);
HEDDLE_PTX_MODIFIER(hi);
HEDDLE_PTX_MODIFIER(wide);
HEDDLE_PTX_MODIFIER(l);
HEDDLE_PTX_MODIFIER(r);
HEDDLE_PTX_MODIFIER(clamp);
HEDDLE_PTX_MODIFIER(wrap);
HEDDLE_PTX_MODIFIER(shiftamt);
HEDDLE_PTX_MODIFIER(f4e);
HEDDLE_PTX_MODIFIER(b4e);
HEDDLE_PTX_MODIFIER(rc8);
HEDDLE_PTX_MODIFIER(ecl);
HEDDLE_PTX_MODIFIER(ecr);
HEDDLE_PTX_MODIFIER(rc16);
HEDDLE_PTX_MODIFIER(finite);
HEDDLE_PTX_MODIFIER(infinite);
HEDDLE_PTX_MODIFIER(number);
HEDDLE_PTX_MODIFIER(notanumber);
HEDDLE_PTX_MODIFIER(normal);
HEDDLE_PTX_MODIFIER(subnormal);
HEDDLE_PTX_MODIFIER(eq);
HEDDLE_PTX_MODIFIER(ne);
HEDDLE_PTX_MODIFIER(lt);
HEDDLE_PTX_MODIFIER(le);
HEDDLE_PTX_MODIFIER(gt);
HEDDLE_PTX_MODIFIER(ge);
HEDDLE_PTX_MODIFIER(ls);
HEDDLE_PTX_MODIFIER(hs);
HEDDLE_PTX_MODIFIER(equ);
HEDDLE_PTX_MODIFIER(neu);
HEDDLE_PTX_MODIFIER(ltu);
HEDDLE_PTX_MODIFIER(leu);
HEDDLE_PTX_MODIFIER(gtu);
HEDDLE_PTX_MODIFIER(geu);
HEDDLE_PTX_MODIFIER(num);
HEDDLE_PTX_MODIFIER(nan);
HEDDLE_PTX_MODIFIER(and);
HEDDLE_PTX_MODIFIER(or);
HEDDLE_PTX_MODIFIER(xor);
HEDDLE_PTX_MODIFIER(exch);
HEDDLE_PTX_MODIFIER(cas);
HEDDLE_PTX_MODIFIER(add);
HEDDLE_PTX_MODIFIER(inc);
HEDDLE_PTX_MODIFIER(dec);
HEDDLE_PTX_MODIFIER(min);
HEDDLE_PTX_MODIFIER(max);
HEDDLE_PTX_MODIFIER(weak);
HEDDLE_PTX_MODIFIER(volatile);
HEDDLE_PTX_MODIFIER(mmio);
HEDDLE_PTX_MODIFIER(relaxed);
HEDDLE_PTX_MODIFIER(acquire);
HEDDLE_PTX_MODIFIER(release);
HEDDLE_PTX_MODIFIER(acq_rel);
HEDDLE_PTX_MODIFIER(sc);
HEDDLE_PTX_MODIFIER(mbarrier_init);
HEDDLE_PTX_MODIFIER(alias);
HEDDLE_PTX_MODIFIER(async);
HEDDLE_PTX_MODIFIER(proxy);
HEDDLE_PTX_MODIFIER(cta);
HEDDLE_PTX_MODIFIER(cluster);
HEDDLE_PTX_MODIFIER(gpu);
HEDDLE_PTX_MODIFIER(gl);
HEDDLE_PTX_MODIFIER(sys);
HEDDLE_PTX_MODIFIER(to);
HEDDLE_PTX_MODIFIER(global);
HEDDLE_PTX_MODIFIER(shared);
HEDDLE_PTX_MODIFIER(shared__cta);
HEDDLE_PTX_MODIFIER(acc__f32);
HEDDLE_PTX_MODIFIER(shared__cluster);
HEDDLE_PTX_MODIFIER(local);
HEDDLE_PTX_MODIFIER(const);
HEDDLE_PTX_MODIFIER(param);
HEDDLE_PTX_MODIFIER(param__entry);
HEDDLE_PTX_MODIFIER(sync);
HEDDLE_PTX_MODIFIER(arrive);
HEDDLE_PTX_MODIFIER(wait);
HEDDLE_PTX_MODIFIER(launch_dependents);
HEDDLE_PTX_MODIFIER(aligned);
HEDDLE_PTX_MODIFIER(popc);
HEDDLE_PTX_MODIFIER(up);
HEDDLE_PTX_MODIFIER(down);
HEDDLE_PTX_MODIFIER(bfly);
HEDDLE_PTX_MODIFIER(idx);
HEDDLE_PTX_MODIFIER(all);
HEDDLE_PTX_MODIFIER(any);
HEDDLE_PTX_MODIFIER(uni);
HEDDLE_PTX_MODIFIER(ballot);
#undef HEDDLE_PTX_MODIFIER

template <typename Wanted, typename... Given>
inline constexpr bool has = (std::is_same_v<Wanted, Given> || ...);

/// The number that a word stands for, of types that are computed as they are.
template <typename T>
HEDDLE_PTX_INLINE typename T::value as_value(word<T> from) {
  return __builtin_bit_cast(typename T::value, from);
}
template <typename T>
HEDDLE_PTX_INLINE word<T> as_word(typename T::value from) {
  return __builtin_bit_cast(word<T>, from);
}

/// A result of a type as a register that may be longer: extended as the type is. (PTX ISA, "Operand Size Exceeding
/// Instruction-Type Size".)
template <typename T>
HEDDLE_PTX_INLINE auto extended(word<T> from) {
  if constexpr (T::kind == number::integer)
    return static_cast<uint64_t>(static_cast<int64_t>(static_cast<typename T::value>(from)));
  else
    return from;
}

}  // namespace heddle::ptx
