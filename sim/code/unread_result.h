// Whether code looks at what a call returns.
#pragma once

#include <optional>

namespace heddle::sim {

/// True when no path from this return address on reads the register in which the call's result is (System V ABI for x86-64: rax), as the machine
/// code says; false where it does, or is not known not to. Remembers what it has found out. Needs more stack than a lane has.
bool is_result_unread(const void* return_address);
/// What is_result_unread() has found out, if it was asked. Needs little stack.
std::optional<bool> remembered_as_unread(const void* return_address);

}  // namespace heddle::sim
