#include <heddle/sim/base/state_key.h>

// Reads stacks of other fibers, parts of which AddressSanitizer has poisoned.
#if defined(__GNUC__)
#define HEDDLE_AS_IT_IS __attribute__((no_sanitize("address")))
#else
#define HEDDLE_AS_IT_IS
#endif

namespace heddle::sim {

HEDDLE_AS_IT_IS bool key_maker::bytes(const void* at, size_t size_bytes) {
  const auto* read = static_cast<const std::byte*>(at);
  add(size_bytes);
  for (; size_bytes >= sizeof(uint64_t); size_bytes -= sizeof(uint64_t), read += sizeof(uint64_t))
    add(*reinterpret_cast<const volatile uint64_t*>(read));
  uint64_t last = 0;
  for (size_t n = 0; n < size_bytes; ++n)
    last |= static_cast<uint64_t>(*reinterpret_cast<const volatile unsigned char*>(read + n)) << (8 * n);
  if (size_bytes != 0) add(last);
  return true;
}

}  // namespace heddle::sim

#undef HEDDLE_AS_IT_IS
