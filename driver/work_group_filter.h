// Which work-groups of a grid a GPU executes: one GPU's share of a unified launch.
#pragma once

#include <heddle/driver/grid_walk.h>
#include <heddle/driver/split.h>

namespace heddle::driver {

/// Work-groups are numbered with x counting fastest, by the number of groups along an axis.
struct work_group_filter {
  grid_size grid;
  share mine;

  constexpr bool accepts(const extent& place) const { return mine.contains(grid.flat(place)); }
};

}  // namespace heddle::driver
