#include <heddle/sim/convergence/lane_paths.h>
#include <heddle/sim/machine/frames.h>

#include <algorithm>
#include <bit>

namespace heddle::sim {
namespace {

// The places that the lane's calls return to, from the innermost outwards, as long as `take` wants more.
template <typename Take>
void walk_out(const lane& one, Take&& take) {
  if (!take(one.pending.place)) return;
  bool innermost = true;
  for_each_frame(one, one.pending.frame, [&](void* const* frame) {
    if (innermost) {
      innermost = false;
      return true;
    }
    return outer_frame(frame) != one.first_frame && take(returns_to(one, frame));
  });
}

void find_path(const lane& one, call_path& path) {
  path.clear();
  walk_out(one, [&](const void* place) {
    path.push_back(place);
    return true;
  });
  std::reverse(path.begin(), path.end());
}

bool is_at(const lane& one, const call_path& path) {
  size_t left = path.size();
  bool alike = true;
  walk_out(one, [&](const void* place) {
    alike = left != 0 && path[left - 1] == place;
    if (alike) --left;
    return alike;
  });
  return alike && left == 0;
}

}  // namespace

// Most lanes stand where the one before stands.
void lane_paths::find(const wave& of, uint64_t lanes, std::array<const call_path*, 64>& into) {
  const call_path* last = nullptr;
  for (uint64_t left = lanes; left != 0; left &= left - 1) {
    const lane& one = *of.lanes[static_cast<size_t>(std::countr_zero(left))];
    if (last == nullptr || !is_at(one, *last)) {
      find_path(one, found_);
      last = &*kept_.insert(found_).first;
    }
    into[one.index] = last;
  }
}

}  // namespace heddle::sim
