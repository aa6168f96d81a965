// A heap in which what is allocated next lies elsewhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>

namespace heddle::sim {

/// While it lives, a block of malloc() is another one than without it: it holds the ones that would come first.
class shaken_heap {
 public:
  shaken_heap() {
    size_t number = 0;
    for (void*& each : held_) each = std::malloc(step_bytes * (1 + number++ / each_size) - 8);
  }
  ~shaken_heap() {
    for (void* each : held_) std::free(each);
  }
  shaken_heap(const shaken_heap&) = delete;
  shaken_heap& operator=(const shaken_heap&) = delete;

 private:
  // Blocks of up to 1 KiB, one more of each than the C library keeps at hand.
  static constexpr size_t step_bytes = 16;
  static constexpr size_t each_size = 8;
  static constexpr size_t sizes = 64;
  std::array<void*, sizes * each_size> held_;
};

}  // namespace heddle::sim
