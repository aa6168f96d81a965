// What several of the sources of scoped memory inline: each access comes through here.
#pragma once

#include <heddle/sim/core/run_core.h>
#include <heddle/sim/memory/scoped/scoped_memory.h>
#include <heddle/sim/settings/link.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace heddle::sim {
namespace scoped {

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
  // Not a byte beside them: it may be another thread's. Whole words, which whoever reads them next need not wait for.
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

}  // namespace scoped

[[gnu::always_inline]] inline scoped_memory::message* scoped_memory::latest(const granule& in, int cut, uint8_t mask) {
  for (int n = cut; n >= 0; --n) {
    message* const one = in.order[static_cast<size_t>(n)];
    if ((one->mask & mask) != 0) return one;
  }
  return nullptr;
}

inline scoped_memory::message* scoped_memory::take_message() {
  if (free_messages_.empty()) [[unlikely]]
    make_messages();
  message* const taken = free_messages_.back();
  free_messages_.pop_back();
  return taken;
}

inline bool scoped_memory::wants_reasons() const { return core_.explains(); }

inline void scoped_memory::clock_changed(lane_facts& mine) {
  mine.now = snapshot();
  mine.learnt_at = core_.history.this_step();
}

}  // namespace heddle::sim
