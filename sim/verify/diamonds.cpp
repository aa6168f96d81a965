#include <heddle/sim/verify/diamonds.h>

namespace heddle::sim {

void diamonds::arrive(const way& taken, const footprint& touched) {
  way made = taken;
  made.first = static_cast<uint32_t>(ranges_.size());
  if (made.commutes) ranges_.insert(ranges_.end(), touched.ranges().begin(), touched.ranges().end());
  made.end = static_cast<uint32_t>(ranges_.size());
  ways_.push_back(made);
  keep(levels_.back().state, made);
}

bool diamonds::touch(const way& one, const way& other) const {
  for (uint32_t n = one.first; n < one.end; ++n)
    for (uint32_t k = other.first; k < other.end; ++k) {
      const footprint::range& mine = ranges_[n];
      const footprint::range& theirs = ranges_[k];
      const bool meet = mine.writes || theirs.writes || (one.host && other.host);
      if (meet && mine.first <= theirs.last && theirs.first <= mine.last) return true;
    }
  return false;
}

size_t diamonds::find_followed() {
  followed_ = 0;
  const size_t begin = ways_.size();
  const level& before = levels_[levels_.size() - 2];
  const way last = ways_.back();
  if (!last.commutes) return begin;
  for (size_t first = before.ways, end = first; first < begin; first = end) {
    const uint32_t lane = ways_[first].lane;
    while (end < begin && ways_[end].lane == lane) ++end;
    if (lane == last.lane || (before.spoilt >> lane & 1) != 0) continue;
    const size_t until_then = ways_.size();
    if (add_followed(first, end, last))
      followed_ |= uint64_t{1} << lane;
    else
      ways_.resize(until_then);
  }
  return begin;
}

// From the state before, `last` has led here and each of these ways to another state. From there the step of `last` leads to where this way leads
// from here.
bool diamonds::add_followed(size_t first, size_t end, const way& last) {
  for (size_t n = first; n < end; ++n) {
    const way other = ways_[n];
    if (!other.commutes || touch(other, last)) return false;
    const uint32_t across = known_.find(other.to, last.label);
    if (across == none) return false;
    ways_.push_back(other);
    ways_.back().to = across;
  }
  return true;
}

}  // namespace heddle::sim
