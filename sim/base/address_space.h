// How much of the address space a machine may take where a limit (ulimit -v, as batch systems set it) leaves less than it would.
#pragma once

#include <cstddef>

namespace heddle::sim {

/// How many bytes a part that would like `wanted` is to take: all of them where the address space has no limit, otherwise at most one part
/// in `parts` of what the process has left. Whole pages.
size_t share_of_address_space(size_t wanted, size_t parts);

/// What to do where it is too little, in words: behind a message that says what is missing.
inline constexpr const char* more_address_space = "the address space is limited, raise the limit (ulimit -v)";

/// Ends the program with status 3 and one line: not even `bytes` could be had for `what`.
[[noreturn]] void no_address_space(size_t bytes, const char* what);

}  // namespace heddle::sim
