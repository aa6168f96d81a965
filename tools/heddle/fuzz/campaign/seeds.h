// Which seeds a campaign runs, and which of them are still to be run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

  /// What the shard runs of `schedules` seeds from `first`. Together the shards run each of them once, in runs as long
  /// as can be equal. Of a campaign without a number of schedules (0) the shards begin 2^40 seeds apart.
  seed_range of(uint64_t first, uint64_t schedules) const;

  friend bool operator==(const shard&, const shard&) = default;
};

/// Deals out the seeds of a campaign in pieces, in order, leaving out what has been run.
class seed_dealer {
 public:
  /// `count` 0: without an end. The ranges of `done` may overlap and need not be in order.
  explicit seed_dealer(seed_range all, std::vector<seed_range> done = {});

  /// The next seeds, at most so many; nothing when all have been dealt out.
  std::optional<seed_range> next(uint64_t most);

  /// These have not been run after all: they are dealt out again, before others.
  void give_back(seed_range left);

 private:
  std::vector<seed_range> gaps_;  ///< what is left, the last first; a count of 0 has no end
};

}  // namespace heddle::tools
