// Which seeds a campaign runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::tools {

/// Seeds first, first + 1, and so on.
struct seed_range {
  uint64_t first = 0;
  uint64_t count = 0;
  friend bool operator==(const seed_range&, const seed_range&) = default;
};

/// Part `number` of a campaign in `parts` parts, numbered from 1.
struct shard {
  uint32_t number = 1;
  uint32_t parts = 1;

  /// "2/4"; nothing when it is none.
  static std::optional<shard> parse(std::string_view text);
  std::string text() const { return std::to_string(number) + "/" + std::to_string(parts); }

  /// What the shard runs of `schedules` seeds from `first`. Together the shards run each of them once, in runs as long as can be equal. Of a
  /// campaign without a number of schedules (0) the shards begin 2^40 seeds apart.
  seed_range of(uint64_t first, uint64_t schedules) const;

  friend bool operator==(const shard&, const shard&) = default;
};

}  // namespace heddle::tools
