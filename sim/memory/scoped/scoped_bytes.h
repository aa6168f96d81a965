// Bytes of a granule, by mask: one bit a byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace heddle::sim::scoped {

constexpr std::array<uint64_t, 256> make_bytes_of_mask() {
  std::array<uint64_t, 256> made{};
  for (uint32_t mask = 0; mask < 256; ++mask)
    for (uint32_t byte = 0; byte < 8; ++byte)
      if ((mask >> byte & 1) != 0) made[mask] |= uint64_t{0xff} << (8 * byte);
  return made;
}
inline constexpr std::array<uint64_t, 256> bytes_of_mask = make_bytes_of_mask();

inline uint64_t read_granule(const std::byte* address) {
  uint64_t word = 0;
  std::memcpy(&word, address, sizeof word);
  return word;
}

inline void write_bytes(std::byte* granule, uint8_t mask, uint64_t value) {
  // Not a byte beside them: it may be another thread's. Whole words, for which a read that comes next need not wait.
  if (mask == 0xff) {
    std::memcpy(granule, &value, 8);
    return;
  }
  const auto low = static_cast<uint32_t>(value);
  const auto high = static_cast<uint32_t>(value >> 32);
  if (mask == 0x0f) {
    std::memcpy(granule, &low, 4);
    return;
  }
  if (mask == 0xf0) {
    std::memcpy(granule + 4, &high, 4);
    return;
  }
  for (uint32_t byte = 0; byte < 8; ++byte)
    if ((mask >> byte & 1) != 0) granule[byte] = static_cast<std::byte>(value >> (8 * byte));
}

}  // namespace heddle::sim::scoped
