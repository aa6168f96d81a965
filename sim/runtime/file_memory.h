// What calls of the C library do to the memory that they are given: one plain access, as far as the simulator sees it.
#pragma once

#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/runtime/plain_accesses.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace heddle::sim::runtime {

/// `fill(bytes)` puts at most `size_bytes` there and answers how many, or what is less than one where there are none. A host thread stores them at `to`
/// when it has its turn; others, and memory that no lane but this one reaches, are given to `fill` as they are.
template <typename Fill>
auto fill_memory(void* to, size_t size_bytes, const caller& from, Fill&& fill) {
  lane* const self = observed(to);
  if (self == nullptr || !self->is_on_host() || size_bytes == 0) return fill(to);
  const hidden_operands hidden(*self, as_operand(to), size_bytes);
  std::byte* bytes = nullptr;
  {
    const entered inside(*self);
    bytes = execution::instance->hosts().bytes_in_transfer(self->id, size_bytes);
  }
  const auto count = fill(static_cast<void*>(bytes));
  const int error = errno;
  if (count > 0) {
    const size_t stored = std::min(static_cast<size_t>(count), size_bytes);
    range_write(to, stored, from, [&] { std::memcpy(to, bytes, stored); });
  }
  errno = error;
  return count;
}

/// A host thread is about to have the bytes read by a call.
inline void have_memory_read(const void* data, size_t size_bytes, const caller& from) {
  lane* const self = observed(data);
  if (self == nullptr || !self->is_on_host() || size_bytes == 0) return;
  const hidden_operands hidden(*self, as_operand(data), size_bytes);
  plain_read(data, size_bytes, from);
  const entered inside(*self);
  have_own_stores_in_memory(*execution::instance, *self);
}

}  // namespace heddle::sim::runtime
