// Declarations of variables, as far as rewriting them needs.
#pragma once

#include <cstddef>
#include <vector>

#include "tokens.h"

namespace heddle::rewrite {

/// Behind `__attribute__((...))`, `alignas(...)` and the like, if they stand at n.
size_t behind_attribute(const token_list& tokens, size_t n);

/// The first token of the declaration of which this one says __shared__: the type may stand before the word too.
size_t begin_of_shared(const token_list& tokens, size_t n);

/// The declared names: of each declarator, the last word before its [ or its end. False where it is something else.
bool names_of(const token_list& tokens, size_t begin, size_t end, std::vector<size_t>& names);

/// The brace that is open at n; none where it is outside of all.
size_t opened_around(const token_list& tokens, size_t n);

/// Whether token n is a word behind which a value begins.
bool stands_before_values(const token_list& tokens, size_t n);

/// The first token of the variable that is named at n, which may be qualified; none where that is a member, a call or looks like the declaration of
/// something of that name.
size_t begin_of_use(const token_list& tokens, size_t n);

}  // namespace heddle::rewrite
