// The words of an asm statement of x86.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::rewrite {

/// What heddle calls the registers that instructions name: a is rax, al and so on.
constexpr std::string_view known_registers = "abcd";

/// The letter of `%%rax` and its like; 0 where it is none of them.
char register_of(std::string_view word, size_t& size_bytes);

/// Outside of brackets, without blanks around each.
std::vector<std::string> divided(std::string_view text, char at);

/// Whether a name is the one that a text in lower case has.
bool is_named(std::string_view name, std::string_view lower);

/// What an output stands for: g++ takes `(long)value` for `value` there.
std::string_view without_casts(std::string_view output);

/// The size in C that the last letter of an instruction says, which is taken off it; empty where it says none.
std::string size_by_suffix(std::string& name);

/// What setCC asks of the flags, in C; nothing where that is not known here.
std::string condition_of(std::string_view name);

}  // namespace heddle::rewrite
