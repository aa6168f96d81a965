#include <heddle/tools/fuzz/campaign/seeds.h>

#include <algorithm>

namespace heddle::tools {

seed_dealer::seed_dealer(seed_range all, std::vector<seed_range> done) {
  // In numbers from the first seed on, which do not wrap.
  std::erase_if(done, [](const seed_range& each) { return each.count == 0; });
  for (seed_range& each : done) each.first -= all.first;
  std::sort(done.begin(), done.end(),
            [](const seed_range& one, const seed_range& other) { return one.first < other.first; });
  uint64_t next = 0;
  for (const seed_range& each : done) {
    const uint64_t end = all.count == 0 ? each.first : std::min(each.first, all.count);
    if (end > next) gaps_.push_back({all.first + next, end - next});
    next = std::max(next, each.first + each.count);
  }
  if (all.count == 0)
    gaps_.push_back({all.first + next, 0});
  else if (next < all.count)
    gaps_.push_back({all.first + next, all.count - next});
  std::reverse(gaps_.begin(), gaps_.end());
}

std::optional<seed_range> seed_dealer::next(uint64_t most) {
  if (gaps_.empty()) return std::nullopt;
  seed_range& gap = gaps_.back();
  const bool endless = gap.count == 0;
  const seed_range dealt{gap.first, endless ? most : std::min(most, gap.count)};
  gap.first += dealt.count;
  if (!endless) {
    gap.count -= dealt.count;
    if (gap.count == 0) gaps_.pop_back();
  }
  return dealt;
}

void seed_dealer::give_back(seed_range left) {
  if (left.count != 0) gaps_.push_back(left);
}

}  // namespace heddle::tools
