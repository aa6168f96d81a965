// The heap of a program that begins anew with each run, by address: what `new` gives to its threads is memory that the simulator knows.
#pragma once

#include <cstddef>

namespace heddle::sim {

inline constexpr size_t in_no_program_heap = ~size_t{0};

/// How far the address lies behind the beginning of such a heap, the same in every process; in_no_program_heap where it lies in none.
size_t offset_in_program_heap(const void* address);

}  // namespace heddle::sim
