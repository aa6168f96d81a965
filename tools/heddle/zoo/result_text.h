// What a copy of the process says of an entry of the zoo, as text between the two.
#pragma once

#include <heddle/tools/zoo/keeper.h>

#include <string>

namespace heddle::tools {

std::string text_of(const zoo_result& result);

/// The result that text_of() has written, of an entry with these expected verdicts. Throws what the JSON library does where it is none.
zoo_result result_in(const std::string& sent, const scheduler::verdict_set& expected);

}  // namespace heddle::tools
