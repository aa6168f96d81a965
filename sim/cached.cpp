#include <heddle/sim/cached.h>

namespace heddle::sim {

uint64_t device_cache::load(const void* address, size_t size_bytes, uint64_t value) {
  if (!holds(address)) return value;
  const auto [known, is_new] = lines_.try_emplace(line_of(address));
  auto& line = known->second;
  if (is_new) {
    ++revision_;
    std::memcpy(line.data(), reinterpret_cast<const void*>(line_of(address) * line_bytes), line.size());
    std::memcpy(line.data() + place_of(address), &value, size_bytes);
  }
  uint64_t seen = 0;
  std::memcpy(&seen, line.data() + place_of(address), size_bytes);
  return seen;
}

void device_cache::stored(const void* address, size_t size_bytes, uint64_t value) {
  const auto known = lines_.find(line_of(address));
  if (known == lines_.end()) return;
  std::byte* const at = known->second.data() + place_of(address);
  if (std::memcmp(at, &value, size_bytes) == 0) return;
  ++revision_;
  std::memcpy(at, &value, size_bytes);
}

void device_cache::modified(const void* address) {
  if (lines_.erase(line_of(address)) != 0) ++revision_;
}

void device_cache::forget() {
  if (lines_.empty()) return;
  ++revision_;
  lines_.clear();
}

}  // namespace heddle::sim
