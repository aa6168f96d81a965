#include <heddle/sim/memory/causality.h>

namespace heddle::sim {

void join(clock_entries& to, const clock_entries& from) {
  if (to.size() < from.size()) to.resize(from.size(), 0);
  uint32_t* const into = to.data();
  const uint32_t* const other = from.data();
  const size_t count = from.size();
  for (size_t n = 0; n < count; ++n) into[n] = into[n] < other[n] ? other[n] : into[n];
}

snapshot_pool::~snapshot_pool() {
  for (snapshot::counted* unused : free_) delete unused;
}

snapshot snapshot_pool::take(const causal_clock& of) {
  snapshot::counted* taken = nullptr;
  if (free_.empty()) {
    taken = new snapshot::counted;
    taken->pool = this;
  } else {
    taken = free_.back();
    free_.pop_back();
  }
  taken->clock.ordered.assign(of.ordered.begin(), of.ordered.end());
  taken->clock.split = of.split;
  if (of.split)
    taken->clock.seen.assign(of.seen.begin(), of.seen.end());
  else
    taken->clock.seen.clear();
  return snapshot(taken);
}

}  // namespace heddle::sim
