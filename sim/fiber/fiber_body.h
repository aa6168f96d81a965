// How to run a callable that lies on the stack of the fiber that runs it.
#pragma once

#include <stddef.h>

namespace heddle::sim {

struct fiber_body {
  size_t size_bytes = 0;
  void (*move_to)(void* to,
                  void* from) = nullptr;  ///< constructs at `to` from what its creator holds; null: copies bytes
  void (*invoke)(void* body) = nullptr;   ///< runs it, and destroys it when it returns
};

}  // namespace heddle::sim
