// PTX text, cut into tokens. (PTX ISA, "Syntax".)
#pragma once

#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "module.h"

namespace heddle::ptx {

inline bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

struct token {
  enum class kind : uint8_t {
    word,       ///< a name or opcode with its modifiers: "ld.global.u32", "%tid.x", "$L__BB0_2"
    directive,  ///< with its dot: ".reg"
    number,     ///< as written
    text,       ///< a string, without its quotes
    sign,       ///< one character
    end,
  };
  kind is = kind::end;
  std::string_view text;
  size_t line = 0;
};

/// Ends with a token `end`. Throws error where the text has no such token.
std::vector<token> tokens_of(std::string_view text);

}  // namespace heddle::ptx
