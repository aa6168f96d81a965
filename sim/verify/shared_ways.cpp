#include <heddle/sim/verify/shared_ways.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace heddle::sim {

shared_ways::shared_ways(size_t most_states)
    : header_(1), slots_(std::max(most_states * (bytes_a_state / sizeof(slot)), size_t{4} << fewest_slots_log2)) {
  shared_->slots_log2 = fewest_slots_log2;
}

void shared_ways::clear() {
  const shared_lock::holder held(shared_->locked);
  std::memset(&slots_[size_t{1} << fewest_slots_log2], 0, sizeof(slot) << fewest_slots_log2);
  shared_->slots_log2 = fewest_slots_log2;
  shared_->kept = 0;
}

// Labels are as good as random already.
shared_ways::slot& shared_ways::slot_of(uint32_t from, uint64_t label) const {
  const size_t mask = (size_t{1} << shared_->slots_log2) - 1;
  slot* const first = &slots_[mask + 1];
  size_t at = (label ^ from * 0x9e3779b97f4a7c15u) & mask;
  while (first[at].after_from != 0 && (first[at].after_from != from + 1 || first[at].label != label))
    at = (at + 1) & mask;
  return first[at];
}

/// Whether one more way may be kept, with room made for it.
bool shared_ways::has_room() {
  const size_t now = size_t{1} << shared_->slots_log2;
  if (4 * (shared_->kept + 1) <= 3 * now) return true;
  if (4 * now > slots_.most()) return false;
  std::memset(&slots_[2 * now], 0, 2 * now * sizeof(slot));
  ++shared_->slots_log2;
  for (const slot* each = &slots_[now]; each != &slots_[2 * now]; ++each)
    if (each->after_from != 0) slot_of(each->after_from - 1, each->label) = *each;
  // Where the machine does not take the pages back, they are cleared before they are used again.
  madvise(&slots_[now], now * sizeof(slot), MADV_REMOVE);
  return true;
}

void shared_ways::keep(uint32_t from, uint64_t label, uint32_t to) {
  const shared_lock::holder held(shared_->locked);
  if (!has_room()) return;
  slot& in = slot_of(from, label);
  if (in.after_from == 0) ++shared_->kept;
  in = {.label = label, .after_from = from + 1, .to = to};
}

uint32_t shared_ways::find(uint32_t from, uint64_t label) const {
  const shared_lock::holder held(shared_->locked);
  const slot& found = slot_of(from, label);
  return found.after_from == 0 ? none : found.to;
}

uint64_t shared_ways::bytes() const { return sizeof(slot) << shared_->slots_log2; }

}  // namespace heddle::sim
