#include <heddle/sim/memory/race.h>

#include <ranges>

namespace heddle::sim {

const race_finder::edge* race_finder::would_order(const access_record& earlier, const clock_entries& now,
                                                  missing_orders these) const {
  // Edges are in order of time, so that one pass finds every chain.
  std::vector<const edge*> reached;
  for (const edge& one : edges_) {
    if ((only(one.lacks) & these) == 0) continue;
    const auto knew = [&](uint32_t lane, uint32_t epoch) {
      return (one.releaser == lane && one.releaser_epoch >= epoch) || entry_of(one.from->ordered, lane) >= epoch;
    };
    bool comes_after = knew(earlier.lane, earlier.epoch);
    for (const edge* before : reached) comes_after = comes_after || knew(before->lane, before->epoch);
    if (comes_after) reached.push_back(&one);
  }
  for (const edge* last : std::views::reverse(reached))
    if (entry_of(now, last->lane) >= last->epoch) return last;
  return nullptr;
}

}  // namespace heddle::sim
