// A visitor of the whole state of a machine: recognises it later in the same run (lasso.h), or in any run (state_key.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::sim {

/// Is told all that can influence the future of a machine. Equal states tell it equal things in one order.
class state_reader {
 public:
  virtual ~state_reader() = default;
  /// False: the visit may end here.
  virtual bool fact(uint64_t value) = 0;
  /// Bytes that stay readable until the next run, stacks of other fibers among them.
  virtual bool bytes(const void* at, size_t size_bytes) = 0;
};

}  // namespace heddle::sim
