#include <heddle/sim/memory/scoped/scoped_choice.h>
#include <heddle/sim/memory/scoped/scoped_locations.h>

#include <algorithm>

namespace heddle::sim::scoped {

// Whether one of the stores `known`, which all come behind, is sure to have overwritten this one.
bool value_choice::is_overwritten(const granule& in, int n, const place_list& known) {
  const message* const it = in.order[static_cast<size_t>(n)];
  return std::any_of(known.begin(), known.end(),
                     [&](int one) { return in.order[static_cast<size_t>(one)]->races_with(it) == nullptr; });
}

visible value_choice::choose_among(lane& self, lane_facts& mine, const part& at, int newest) {
  const granule& in = *at.in;
  const uint8_t mask = at.mask;
  // Mostly the store before is of the same bytes, and the lane knows it: it is the only other one that can be read.
  if (newest > 0) {
    const message& one = *in.order[static_cast<size_t>(newest - 1)];
    if ((mask & ~(one.mask & one.readable)) == 0 && known_.knows(mine, one)) {
      // Lanes that load one location in one step find one value there, where none of them knows more.
      const auto kind = scheduler::choice_kind::visible;
      const bool together = core_.issues.under_way();
      if ((together ? core_.issues.pick_alike(self, 2, kind, in.newest) : core_.pick(self, 2, kind)) == 0)
        return visible::newest_at(newest, false);
      --self.left.late;
      if (mine.clock->split) note_overtaken(mine, in, newest - 1, mask);
      return visible::older_at(newest - 1, true);
    }
  }
  place_list cuts;
  cuts.add(newest);
  int known = newest - 1;
  for (; known >= 0; --known) {
    const message& one = *in.order[static_cast<size_t>(known)];
    if ((one.mask & mask) == 0) continue;
    const bool may_be_read = (one.mask & mask) == mask ? (mask & ~one.readable) == 0 : readable_at(in, known, mask);
    if (may_be_read) cuts.add(known);
    if (known_.knows(mine, one)) break;
  }
  if (known < 0 && (mask & ~in.base_readable) == 0) cuts.add(-1);
  if (cuts.count() == 1) return visible::newest_at(newest, false);
  const uint32_t picked = core_.issues.pick_alike(self, cuts.count(), scheduler::choice_kind::visible, in.newest);
  if (picked == 0) return visible::newest_at(newest, false);
  const int cut = cuts[picked];
  --self.left.late;
  if (mine.clock->split) note_overtaken(mine, in, cut, mask);
  return visible::older_at(cut, cut >= 0 && cut == known);
}

visible value_choice::choose_among_racing(const access& made, int newest, bool newest_is_known, bool modifies) {
  const auto& [self, mine, at, how, plain] = made;
  const granule& in = *at.in;
  const uint8_t mask = at.mask;
  place_list cuts;
  cuts.add(newest);
  place_list racing;  // known stores that race with older ones
  bool down_to_base = true;
  int last_known = -1;
  for (int n = newest; n >= 0; --n) {
    const message& one = *in.order[static_cast<size_t>(n)];
    if ((one.mask & mask) == 0) continue;
    if (n != newest) {
      const bool may_be_read = (one.mask & mask) == mask ? (mask & ~one.readable) == 0 : readable_at(in, n, mask);
      if (may_be_read && (racing.count() == 0 || !is_overwritten(in, n, racing))) cuts.add(n);
      if (modifies && known_.morally_strong(mine, plain, reach_of(mine, how), mask, one, false)) {
        down_to_base = false;
        break;
      }
    }
    if (!(n == newest ? newest_is_known : known_.knows(mine, one))) continue;
    down_to_base = false;
    last_known = n;
    if (modifies || one.unordered.empty()) break;
    racing.add(n);
  }
  const auto is_known = [&](int cut) {
    return cut == last_known || (racing.count() != 0 && std::find(racing.begin(), racing.end(), cut) != racing.end());
  };
  if (down_to_base && readable_at(in, -1, mask)) cuts.add(-1);
  if (cuts.count() == 1) return visible::newest_at(newest, is_known(newest));
  const uint32_t picked = core_.pick(self, cuts.count(), scheduler::choice_kind::visible);
  const int cut = cuts[picked];
  if (picked != 0) {
    --self.left.late;
    const message* const found = cut < 0 ? nullptr : in.order[static_cast<size_t>(cut)];
    for (uint32_t n = 0; n < racing.count(); ++n)
      for (message::racing& one : in.order[static_cast<size_t>(racing[n])]->unordered)
        if (one.with == found) one.found = true;
    if (mine.clock->split) note_overtaken(mine, in, cut, mask);
  }
  return picked == 0 ? visible::newest_at(cut, is_known(cut)) : visible::older_at(cut, is_known(cut));
}

void value_choice::note_overtaken(lane_facts& mine, const granule& in, int cut, uint8_t mask) {
  constexpr size_t most = 8;
  if (mine.flag_step == 0 || overtakings_.size() == most) return;
  for (int n = cut + 1; n < in.count; ++n) {
    const message& newer = *in.order[static_cast<size_t>(n)];
    if ((newer.mask & mask) == 0 || newer.host) continue;
    if (mine.ordered_to(newer.writer) < newer.epoch) continue;
    overtakings_.push_back({mine.flag_step, newer.step, in.address});
    return;
  }
}

std::string value_choice::overtakings() const {
  std::string text;
  for (const overtaking& one : overtakings_)
    text += "  " + core_.describe_step(one.data_step) + "\n    was overtaken by " + core_.describe_step(one.flag_step) +
            ": relaxed ordering is on (link.ro), and releases do not drain the link (link.drain)\n";
  return text;
}

}  // namespace heddle::sim::scoped
