// Who wants to know the whole state of a machine: to find it again in the same run (lasso.h), or in any run (verify/state_key.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::sim {

/// Is told all that can influence the future of a machine: the same things in the same order for equal states.
class state_reader {
 public:
  virtual ~state_reader() = default;
  /// False: it need not be told more.
  virtual bool fact(uint64_t value) = 0;
  /// Bytes that stay readable until the next run, stacks of others among them.
  virtual bool bytes(const void* at, size_t size_bytes) = 0;
};

}  // namespace heddle::sim
