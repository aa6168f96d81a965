#include <heddle/tools/cli/common.h>
#include <heddle/tools/fuzz/campaign/seeds.h>

#include <algorithm>

namespace heddle::tools {
namespace {

constexpr uint32_t parts_max = 1'000'000;
constexpr uint64_t apart_without_end = uint64_t{1} << 40;

}  // namespace

std::optional<shard> shard::parse(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto parts = parse_number(text.substr(slash + 1), 1, parts_max);
  if (!parts) return std::nullopt;
  const auto number = parse_number(text.substr(0, slash), 1, *parts);
  if (!number) return std::nullopt;
  return shard{static_cast<uint32_t>(*number), static_cast<uint32_t>(*parts)};
}

seed_range shard::of(uint64_t first, uint64_t schedules) const {
  if (schedules == 0) return {first + (number - 1) * apart_without_end, 0};
  // The first `left` shards have one more.
  const uint64_t each = schedules / parts;
  const uint64_t left = schedules % parts;
  const uint64_t before = (number - 1) * each + std::min<uint64_t>(number - 1, left);
  return {first + before, each + (number - 1 < left ? 1 : 0)};
}

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
