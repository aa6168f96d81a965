// A grid of work-items, cut into work-groups, and these into waves: which there are, and which lanes of them are there.
#pragma once

#include <heddle/driver/extent.h>
#include <heddle/driver/split.h>

#include <algorithm>
#include <cstdint>

namespace heddle::driver {

inline constexpr uint32_t lanes_per_wave = 64;

/// Work-items, and work-items of a whole group.
struct grid_size {
  extent items;
  extent group;

  constexpr bool empty() const { return items.count() == 0 || group.count() == 0; }
  /// Groups along each axis; the last one may be smaller than the others. Of a grid that is not empty().
  constexpr extent groups() const {
    return {(items.x - 1) / group.x + 1, (items.y - 1) / group.y + 1, (items.z - 1) / group.z + 1};
  }
  /// The place of the group of this number: x counts fastest, then y, then z.
  constexpr extent place(uint64_t flat) const { return groups().at(flat); }
  /// The number of the group at this place.
  constexpr uint64_t flat(const extent& place) const { return number_of(place, groups()); }
  /// How many work-items the group at this place has along each axis.
  constexpr extent size_of(const extent& place) const {
    return {std::min(group.x, items.x - place.x * group.x), std::min(group.y, items.y - place.y * group.y),
            std::min(group.z, items.z - place.z * group.z)};
  }
};

/// Waves of a whole group.
constexpr uint64_t waves_of(const extent& group) { return (group.count() + lanes_per_wave - 1) / lanes_per_wave; }

/// The lanes with which a wave begins, of a group of `size` work-items out of `whole`. A work-item has the lane that it
/// has in a whole group, so a smaller group leaves lanes out, and may leave waves out altogether (0).
constexpr uint64_t first_mask(const extent& whole, const extent& size, uint64_t wave) {
  uint64_t mask = 0;
  const uint64_t first = wave * lanes_per_wave;
  const uint64_t end = std::min(first + lanes_per_wave, whole.count());
  for (uint64_t flat = first; flat < end; ++flat) {
    const extent at = whole.at(flat);
    if (at.x < size.x && at.y < size.y && at.z < size.z) mask |= uint64_t{1} << (flat - first);
  }
  return mask;
}

// Which work-groups of a grid a GPU executes: one GPU's share of a unified launch.

/// Work-groups are numbered with x counting fastest, by the number of groups along an axis.
struct work_group_filter {
  grid_size grid;
  share mine;

  constexpr bool accepts(const extent& place) const { return mine.contains(grid.flat(place)); }
};

}  // namespace heddle::driver
