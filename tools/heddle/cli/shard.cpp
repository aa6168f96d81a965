#include <heddle/tools/cli/common.h>
#include <heddle/tools/cli/shard.h>

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

}  // namespace heddle::tools
