#include <heddle/sim/sync/doorbell.h>

#include <algorithm>
#include <bit>

namespace heddle::sim {

void doorbell_line::reset(const doorbell_settings& how) {
  how_ = how;
  under_way_.clear();
  arriving_.clear();
  next_due_ = never;
  sent_ = 0;
}

uint32_t doorbell_line::fates() const {
  switch (how_.behaviour) {
    case doorbell_behaviour::delivered:
      return 1;
    case doorbell_behaviour::dropped:
    case doorbell_behaviour::duplicated:
      return 2;
    case doorbell_behaviour::delayed:
    case doorbell_behaviour::coalesced:
      break;
  }
  // At once, or 1, 2, 4, ... steps later, as long as that is no more than allowed.
  return 1 + static_cast<uint32_t>(std::bit_width(how_.steps_most));
}

doorbell_line::fate doorbell_line::fate_of(uint32_t answer) const {
  if (answer == 0) return {};
  if (how_.behaviour == doorbell_behaviour::dropped) return {.counts_now = 0};
  if (how_.behaviour == doorbell_behaviour::duplicated) return {.counts_now = 2};
  return {.counts_now = 0, .under_way = true, .steps = uint64_t{1} << (answer - 1)};
}

uint64_t doorbell_line::send(void* bell, const void* place, uint32_t sender, uint64_t due) {
  under_way_.push_back({.bell = bell, .place = place, .sender = sender, .number = sent_, .due = due});
  next_due_ = std::min(next_due_, due);
  return sent_++;
}

const std::vector<doorbell_line::ring>& doorbell_line::take(uint64_t step) {
  arriving_.clear();
  if (next_due_ == never || next_due_ > step) return arriving_;
  const auto earlier = [](const ring& one, const ring& other) { return one.due < other.due; };
  const ring next = *std::min_element(under_way_.begin(), under_way_.end(), earlier);
  const auto comes_along = [&](const ring& other) {
    return other.number == next.number || (how_.behaviour == doorbell_behaviour::coalesced && other.bell == next.bell);
  };
  for (const ring& each : under_way_)
    if (comes_along(each)) arriving_.push_back(each);
  std::erase_if(under_way_, comes_along);
  find_next();
  return arriving_;
}

void doorbell_line::find_next() {
  next_due_ = never;
  for (const ring& each : under_way_) next_due_ = std::min(next_due_, each.due);
}

bool doorbell_line::tell(state_reader& to, uint64_t step) const {
  for (const ring& each : under_way_)
    if (!to.fact(reinterpret_cast<uintptr_t>(each.bell)) || !to.fact(uint64_t{each.sender} << 32) ||
        !to.fact(each.due - step))
      return false;
  return to.fact(under_way_.size());
}

}  // namespace heddle::sim
