#include <heddle/sim/memory/link/history.h>

#include <algorithm>
#include <cstring>
#include <ranges>
#include <tuple>

namespace heddle::sim {
namespace {

size_t offset_in_granule(const piece& bytes) { return reinterpret_cast<uintptr_t>(bytes.address) % granule_bytes; }

/// One bit for each byte of the granule that is in the piece.
uint32_t mask_of(const piece& bytes) { return ((1u << bytes.size_bytes) - 1) << offset_in_granule(bytes); }

/// The bytes of the piece out of the value of its granule, as a load of this size would have them.
uint64_t cut(uint64_t granule, const piece& bytes) {
  uint64_t value = 0;
  std::memcpy(&value, reinterpret_cast<const std::byte*>(&granule) + offset_in_granule(bytes), bytes.size_bytes);
  return value;
}

template <typename Map>
void forget_granules(Map& granules, const void* address, size_t size_bytes) {
  if (granules.empty() || size_bytes == 0) return;
  const auto end = reinterpret_cast<uintptr_t>(address) + size_bytes;
  for (uintptr_t at = granule_of(address); at < end; at += granule_bytes) granules.erase(at);
}

}  // namespace

uintptr_t granule_of(const void* address) { return reinterpret_cast<uintptr_t>(address) & ~(granule_bytes - 1); }

piece first_piece(const void* address, size_t size_bytes) {
  auto* const at = const_cast<std::byte*>(static_cast<const std::byte*>(address));
  const size_t left = granule_bytes - reinterpret_cast<uintptr_t>(at) % granule_bytes;
  return {.address = at, .size_bytes = static_cast<uint32_t>(std::min(left, size_bytes))};
}

void value_history::forget(const void* address, size_t size_bytes) { forget_granules(granules_, address, size_bytes); }

void value_history::remember(const piece& bytes, uint64_t moment) {
  std::vector<version>& known = granules_[granule_of(bytes.address)];
  if (known.size() == most_versions) {
    known.erase(known.begin());
    forgotten_ = true;
  }
  version now{.until = moment};
  std::memcpy(&now.bytes, reinterpret_cast<const void*>(granule_of(bytes.address)), granule_bytes);
  known.push_back(now);
}

void value_history::values_after(const piece& bytes, uint64_t moment, std::vector<value>& seen) const {
  seen.clear();
  value newest{};
  std::memcpy(&newest.bytes, bytes.address, bytes.size_bytes);
  seen.push_back(newest);
  const auto found = granules_.find(granule_of(bytes.address));
  if (found == granules_.end()) return;
  for (const version& past : std::views::reverse(found->second)) {
    const uint64_t before = cut(past.bytes, bytes);
    // Neighbours changed, or the same value was written again: one and the same for a reader of these bytes.
    if (before == seen.back().bytes) continue;
    seen.back().since = past.until;
    if (past.until <= moment) return;
    seen.push_back({.bytes = before});
  }
}

void read_floors::forget(const void* address, size_t size_bytes) { forget_granules(granules_, address, size_bytes); }

uint64_t read_floors::of(const piece& bytes, const reader& asking) const {
  const auto found = granules_.find(granule_of(bytes.address));
  if (found == granules_.end()) return 0;
  uint64_t highest = 0;
  for (const floor& known : found->second)
    if ((known.bytes & mask_of(bytes)) != 0 && (known.thread == asking.thread || known.event <= asking.synchronised))
      highest = std::max(highest, known.moment);
  return highest;
}

void read_floors::raise(const piece& bytes, uint64_t moment, uint32_t thread, uint64_t event) {
  const uint32_t mask = mask_of(bytes);
  std::vector<floor>& known = granules_[granule_of(bytes.address)];
  for (floor& own : known) {
    if (own.thread != thread || own.bytes != mask) continue;
    // The earlier event may bind more threads than this one does: it may only be replaced by what says the same of them.
    if (own.moment == moment) return;
  }
  if (known.size() == most_floors) {
    known[1].moment = std::max(known[0].moment, known[1].moment);
    known[1].bytes |= known[0].bytes;
    known[1].event = 0;
    known.erase(known.begin());
    forgotten_ = true;
  }
  known.push_back({.moment = moment, .event = event, .thread = thread, .bytes = mask});
}

std::vector<read_floors::floor> read_floors::binding_after(uintptr_t granule,
                                                           std::span<const value_history::version> past) const {
  std::vector<floor> binding;
  const auto found = granules_.find(granule);
  if (found == granules_.end()) return binding;
  const auto hidden_by = [&](const floor& each) {
    return std::count_if(past.begin(), past.end(), [&](const auto& version) { return version.until <= each.moment; });
  };
  // A thread that is bound by `other` is bound by `each` to as much.
  const auto says_all_of = [&](const floor& each, const floor& other) {
    return each.thread == other.thread && (each.bytes & other.bytes) == other.bytes && each.event <= other.event &&
           hidden_by(each) >= hidden_by(other);
  };
  for (const floor& each : found->second) {
    if (hidden_by(each) == 0) continue;
    if (std::any_of(binding.begin(), binding.end(), [&](const floor& known) { return says_all_of(known, each); }))
      continue;
    std::erase_if(binding, [&](const floor& known) { return says_all_of(each, known); });
    binding.push_back(each);
  }
  std::sort(binding.begin(), binding.end(), [](const floor& one, const floor& other) {
    return std::tie(one.thread, one.bytes, one.event) < std::tie(other.thread, other.bytes, other.event);
  });
  return binding;
}

}  // namespace heddle::sim
