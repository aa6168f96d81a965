// Which value a load finds, where its lane may miss the newest store.
#include <heddle/sim/memory/scoped/scoped_inline.h>

#include <algorithm>

namespace heddle::sim {

// Whether one of the stores `known`, which all come behind, is sure to have overwritten this one.
bool scoped_memory::is_overwritten(const granule& in, int n, const place_list& known) {
  const message* const it = in.order[static_cast<size_t>(n)];
  return std::any_of(known.begin(), known.end(),
                     [&](int one) { return in.order[static_cast<size_t>(one)]->races_with(it) == nullptr; });
}

scoped_memory::visible scoped_memory::choose_among(lane& self, lane_facts& mine, const part& at, int newest) {
  const granule& in = *at.in;
  const uint8_t mask = at.mask;
  place_list cuts;
  cuts.add(newest);
  int known = newest - 1;
  for (; known >= 0; --known) {
    const message& one = *in.order[static_cast<size_t>(known)];
    if ((one.mask & mask) == 0) continue;
    const bool may_be_read = (one.mask & mask) == mask ? (mask & ~one.readable) == 0 : readable_at(in, known, mask);
    if (may_be_read) cuts.add(known);
    if (knows(self, mine, one)) break;
  }
  if (known < 0 && (mask & ~in.base_readable) == 0) cuts.add(-1);
  if (cuts.count() == 1) return visible::newest_at(newest, false);
  const uint32_t picked = core_.pick(self, cuts.count(), scheduler::choice_kind::visible);
  if (picked == 0) return visible::newest_at(newest, false);
  const int cut = cuts[picked];
  --self.left.late;
  if (mine.clock.split) note_overtaken(mine, in, cut, mask);
  return visible::older_at(cut, cut >= 0 && cut == known);
}

scoped_memory::visible scoped_memory::choose_among_racing(lane& self, lane_facts& mine, const part& at, int newest,
                                                          bool newest_is_known, bool modifies, bool plain,
                                                          uint8_t reach) {
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
      if (modifies && morally_strong(mine, plain, reach, mask, one, false)) {
        down_to_base = false;
        break;
      }
    }
    if (!(n == newest ? newest_is_known : knows(self, mine, one))) continue;
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
    if (mine.clock.split) note_overtaken(mine, in, cut, mask);
  }
  return picked == 0 ? visible::newest_at(cut, is_known(cut)) : visible::older_at(cut, is_known(cut));
}

void scoped_memory::note_overtaken(lane_facts& mine, const granule& in, int cut, uint8_t mask) {
  constexpr size_t most = 8;
  if (mine.flag_step == 0 || overtakings_.size() == most) return;
  for (int n = cut + 1; n < in.count; ++n) {
    const message& newer = *in.order[static_cast<size_t>(n)];
    if ((newer.mask & mask) == 0 || newer.host) continue;
    if (entry_of(mine.clock.ordered, newer.writer) < newer.epoch) continue;
    overtakings_.push_back({mine.flag_step, newer.step, in.address});
    return;
  }
}

}  // namespace heddle::sim
