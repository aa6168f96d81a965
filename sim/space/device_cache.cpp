#include <heddle/sim/space/device_cache.h>

#include <cstring>

namespace heddle::sim {

uint64_t device_cache::load(const void* address, size_t size_bytes, uint64_t value) {
  if (!holds(address)) return value;
  auto known = lines_.find(line_of(address));
  if (known == lines_.end()) {
    // What is still on its way to the device is no line of its cache.
    if (std::memcmp(address, &value, size_bytes) != 0) return value;
    known = lines_.try_emplace(line_of(address)).first;
    std::memcpy(known->second.data(), reinterpret_cast<const void*>(line_of(address) * line_bytes), line_bytes);
    ++revision_;
  }
  uint64_t seen = 0;
  std::memcpy(&seen, known->second.data() + place_of(address), size_bytes);
  return seen;
}

void device_cache::stored(const void* address, size_t size_bytes, uint64_t value) {
  if (!holds(address)) return;
  auto known = lines_.find(line_of(address));
  if (known == lines_.end()) {
    if (std::memcmp(address, &value, size_bytes) == 0) return;
    // The store is in flight to memory: lanes of the device see it before it arrives.
    known = lines_.try_emplace(line_of(address)).first;
    std::memcpy(known->second.data(), reinterpret_cast<const void*>(line_of(address) * line_bytes), line_bytes);
  }
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
