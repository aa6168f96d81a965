// Large memory that is filled with one byte, and of which a program may touch little.
#pragma once

#include <cstddef>

namespace heddle::sim {

/// Memory of the heap to which nothing has been stored: all its bytes are 0, or `value`. Pages of much memory are there once they are touched.
void clear_fresh(std::byte* memory, size_t size_bytes);
void fill_fresh(std::byte* memory, int value, size_t size_bytes);

}  // namespace heddle::sim
