// Read-modify-writes: what each makes of the old value.
#pragma once

#include <stdint.h>

namespace heddle::sim {

enum class rmw_kind : uint8_t { exchange, add, subtract, bit_and, bit_or, bit_xor, nand };

/// Of words of 8 or of 16 bytes.
template <typename Word>
constexpr Word apply(rmw_kind kind, Word old, Word operand) {
  switch (kind) {
    case rmw_kind::exchange:
      return operand;
    case rmw_kind::add:
      return old + operand;
    case rmw_kind::subtract:
      return old - operand;
    case rmw_kind::bit_and:
      return old & operand;
    case rmw_kind::bit_or:
      return old | operand;
    case rmw_kind::bit_xor:
      return old ^ operand;
    case rmw_kind::nand:
      return ~(old & operand);
  }
  return old;
}

}  // namespace heddle::sim
