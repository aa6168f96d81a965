// Constant expressions. (PTX ISA, "Constant Expressions".)
#include "reader.h"

namespace heddle::ptx {
namespace {

struct binary {
  std::string_view sign;
  int rank;  ///< the higher ones bind closer
};
// Of two that begin alike, the longer one stands first.
constexpr binary binaries[] = {{"*", 10}, {"/", 10}, {"%", 10}, {"+", 9}, {"-", 9}, {"<<", 8},
                               {">>", 8}, {"<=", 7}, {">=", 7}, {"<", 7}, {">", 7}, {"==", 6},
                               {"!=", 6}, {"&&", 2}, {"||", 1}, {"&", 5}, {"^", 4}, {"|", 3}};
constexpr int lowest_rank = 1;

/// Of what is not 0.
uint64_t quotient(const constant_value& a, const constant_value& b) {
  if (a.is_unsigned || b.is_unsigned) return a.bits / b.bits;
  const auto divisor = static_cast<int64_t>(b.bits);
  return divisor == -1 ? 0 - a.bits : static_cast<uint64_t>(static_cast<int64_t>(a.bits) / divisor);
}

/// By as many bits as the lower 6 of the count say, as ptxas does.
uint64_t shifted(const constant_value& a, uint64_t count, bool to_left) {
  constexpr uint64_t last = 63;
  if (to_left) return a.bits << (count & last);
  if (a.is_unsigned) return a.bits >> (count & last);
  return static_cast<uint64_t>(static_cast<int64_t>(a.bits) >> (count & last));
}

/// Of two that are not divided: a comparison is an s64, and so is what joins two.
constant_value joined(std::string_view sign, const constant_value& a, const constant_value& b) {
  const bool is_unsigned = a.is_unsigned || b.is_unsigned;
  const bool less = is_unsigned ? a.bits < b.bits : static_cast<int64_t>(a.bits) < static_cast<int64_t>(b.bits);
  if (sign == "*") return {a.bits * b.bits, is_unsigned};
  if (sign == "+") return {a.bits + b.bits, is_unsigned};
  if (sign == "-") return {a.bits - b.bits, is_unsigned};
  if (sign == "<<" || sign == ">>") return {shifted(a, b.bits, sign == "<<"), a.is_unsigned};
  if (sign == "&") return {a.bits & b.bits, is_unsigned};
  if (sign == "|") return {a.bits | b.bits, is_unsigned};
  if (sign == "^") return {a.bits ^ b.bits, is_unsigned};
  const bool equal = a.bits == b.bits;
  const bool holds = sign == "<"    ? less
                     : sign == "<=" ? less || equal
                     : sign == ">"  ? !less && !equal
                     : sign == ">=" ? !less
                     : sign == "==" ? equal
                     : sign == "!=" ? !equal
                     : sign == "&&" ? a.bits != 0 && b.bits != 0
                                    : a.bits != 0 || b.bits != 0;
  return {holds ? 1U : 0U, false};
}

}  // namespace

bool reader::begins_constant() const {
  size_t ahead = 0;
  while (is_sign('!', ahead)) ++ahead;
  return peek(ahead).is == token::kind::number || is_sign('(', ahead) || is_sign('-', ahead) || is_sign('+', ahead) ||
         is_sign('~', ahead);
}

bool reader::is_operator(std::string_view sign) const {
  // A `%` begins names, too.
  if (sign == "%") return peek().is == token::kind::word && peek().text == "%";
  for (size_t n = 0; n < sign.size(); ++n)
    if (!is_sign(sign[n], n)) return false;
  return true;
}

constant_value reader::unary(size_t depth) {
  if (depth > deepest_nesting) wrong("too many brackets in each other");
  if (take_if('-')) {
    const constant_value of = unary(depth + 1);
    return {0 - of.bits, of.is_unsigned};
  }
  if (take_if('+')) return unary(depth + 1);
  if (take_if('~')) {
    const constant_value of = unary(depth + 1);
    return {~of.bits, true};
  }
  if (take_if('!')) return {unary(depth + 1).bits == 0 ? 1U : 0U, false};
  if (take_if('(')) {
    if (peek().is == token::kind::directive) {
      const bool is_unsigned = is_directive(".u64");
      if (!is_unsigned && !is_directive(".s64")) wrong("a constant becomes an .s64 or a .u64");
      take();
      expect(')');
      return {unary(depth + 1).bits, is_unsigned};
    }
    const constant_value made = expression(lowest_rank, depth + 1);
    expect(')');
    return made;
  }
  if (peek().is != token::kind::number) wrong("a constant is missing");
  const char last = peek().text.back();
  const operand found = number();
  if (found.is != operand::kind::integer) wrong("a constant expression is of integers");
  return {found.bits, last == 'U' || last == 'u' || found.bits >> 63 != 0};
}

constant_value reader::expression(int rank, size_t depth) {
  constant_value made = unary(depth);
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (const binary& one : binaries) {
      if (!is_operator(one.sign)) continue;
      if (one.rank < rank) break;
      for (size_t n = 0; n < one.sign.size(); ++n) take();
      const constant_value other = expression(one.rank + 1, depth + 1);
      if (one.sign == "/" || one.sign == "%") {
        if (other.bits == 0) wrong("a constant is divided by 0");
        // The operands of a rest are of .u64, whatever they were.
        if (one.sign == "%")
          made = {made.bits % other.bits, true};
        else
          made = {quotient(made, other), made.is_unsigned || other.is_unsigned};
      } else {
        made = joined(one.sign, made, other);
      }
      goes_on = true;
      break;
    }
  }
  if (rank > lowest_rank || !take_if('?')) return made;
  const constant_value if_so = expression(lowest_rank, depth + 1);
  expect(':');
  const constant_value if_not = expression(lowest_rank, depth + 1);
  return made.bits != 0 ? if_so : if_not;
}

operand reader::constant(size_t depth) {
  operand made;
  // A float has a sign at most.
  size_t ahead = 0;
  while (is_sign('-', ahead) || is_sign('+', ahead)) ++ahead;
  if (ahead <= deepest_nesting && peek(ahead).is == token::kind::number && is_float(peek(ahead).text)) {
    bool minus = false;
    for (; ahead != 0; --ahead) minus = (take().text[0] == '-') != minus;
    made = number();
    if (minus) made.bits ^= uint64_t{1} << (made.is == operand::kind::real ? 63 : 31);
    return made;
  }
  made.is = operand::kind::integer;
  made.bits = expression(lowest_rank, depth).bits;
  return made;
}

/// A sum of constants, as an offset: signs in front of each.
int64_t reader::offset(size_t depth) {
  uint64_t sum = 0;
  while (is_sign('+') || is_sign('-')) {
    const bool minus = take().text[0] == '-';
    constexpr int of_products = 10;
    const uint64_t value = expression(of_products, depth).bits;
    sum += minus ? 0 - value : value;
  }
  return static_cast<int64_t>(sum);
}

}  // namespace heddle::ptx
