// Which seeds of a campaign are still to be run.
#pragma once

#include <heddle/tools/cli/shard.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace heddle::tools {

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
