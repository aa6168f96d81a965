// Reading tokens one after the other: operands, and declarations of variables. What parser.cpp stands on.
#pragma once

#include "lexer.h"
#include "module.h"

namespace heddle::ptx {

/// As many as any compiler writes; more is a text that was made to hurt.
inline constexpr size_t deepest_nesting = 64;

/// The value of a constant expression: an .s64 or a .u64.
struct constant_value {
  uint64_t bits = 0;
  bool is_unsigned = false;
};

class reader {
 public:
  explicit reader(std::string_view text) : tokens_(tokens_of(text)) {}

 protected:
  const token& peek(size_t ahead = 0) const;
  const token& take() { return tokens_[at_ < tokens_.size() - 1 ? at_++ : at_]; }
  /// To where place() was.
  void back_to(size_t place) { at_ = place; }
  size_t place() const { return at_; }
  bool is_sign(char c, size_t ahead = 0) const;
  bool is_directive(std::string_view name) const;
  bool take_if(char c);
  /// At the token that comes next.
  [[noreturn]] void wrong(const std::string& what) const;
  void expect(char c);
  std::string word(const char* what);
  uint64_t natural(const char* what);
  operand one_operand(size_t depth = 0);
  /// The arguments of a call, in brackets; elsewhere those are a constant's.
  operand one_argument(size_t depth = 0);
  void skip_group();

  /// `.global .align 4 .u32 a, b[3] = {1, 2, 3};`: one for each name.
  std::vector<variable> declaration();
  /// `(.param .b32 a, .reg .u64 b)`.
  std::vector<variable> parameters(const char* names_missing);

 private:
  static bool is_float(std::string_view number);
  operand number();
  bool begins_constant() const;
  bool is_operator(std::string_view sign) const;
  constant_value unary(size_t depth);
  /// Of what binds as closely as that, or closer.
  constant_value expression(int rank, size_t depth);
  operand constant(size_t depth);
  int64_t offset(size_t depth);
  operand address(size_t depth);
  operand list(operand::kind is, char close, size_t depth);
  variable specifiers();
  void initial(variable& made, size_t depth = 0);
  variable declarator(const variable& before);

  std::vector<token> tokens_;
  size_t at_ = 0;
};

}  // namespace heddle::ptx
