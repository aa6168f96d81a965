// What is a host thread's own: values by key, and what is called when it ends.
#pragma once

#include <cstddef>

namespace heddle::sim::runtime {

/// The calling thread ends: destroys its thread-local variables and the values of its keys. Calls code under test.
void end_values_of_thread();
/// The program ends, on the calling thread: calls what is to be called then, the last one first.
void end_program_values();
/// How many bytes lie behind a pointer that `new` has given.
size_t allocated_bytes(const void* memory);

}  // namespace heddle::sim::runtime
