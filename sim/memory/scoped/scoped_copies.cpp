#include <heddle/sim/memory/scoped/scoped_copies.h>

#include <algorithm>

namespace heddle::sim::scoped {

template <typename Each>
void copies_under_way::for_each_line(const void* address, size_t size_bytes, Each&& each) {
  auto at = reinterpret_cast<uintptr_t>(address);
  while (size_bytes != 0) {
    const uintptr_t first = at % line_bytes;
    const size_t bytes = std::min<size_t>(size_bytes, line_bytes - first);
    each(at - first, ((uint32_t{1} << bytes) - 1) << first);
    at += bytes;
    size_bytes -= bytes;
  }
}

void copies_under_way::begin(const lane& self, const lane_facts& mine, const async_copy& what) {
  const auto add = [&](const void* address, size_t size_bytes, bool writes) {
    const access_record issued{.lane = mine.slot,
                               .epoch = mine.epoch,
                               .step = core_.history.this_step(),
                               .plain = true,
                               .writes = writes,
                               .place = low_half(self.pending.place)};
    for_each_line(address, size_bytes, [&](uintptr_t line, uint32_t bytes) {
      lines_[line].push_back({.issued = issued, .bytes = bytes, .writes = writes, .to = what.to, .from = what.from});
    });
  };
  add(what.to, what.size_bytes, true);
  add(what.from, what.given, false);
}

// Of equal ones the first.
void copies_under_way::drop(const lane& self, const async_copy& what, const void* address, size_t size_bytes,
                            bool writes) {
  for_each_line(address, size_bytes, [&](uintptr_t line, uint32_t) {
    const auto at = lines_.find(line);
    if (at == lines_.end()) return;
    std::vector<use>& uses = at->second;
    const auto found = std::find_if(uses.begin(), uses.end(), [&](const use& one) {
      return facts(self).has_done(one.issued.lane, one.issued.epoch) && one.writes == writes && one.to == what.to &&
             one.from == what.from;
    });
    if (found == uses.end()) return;
    uses.erase(found);
    if (uses.empty()) lines_.erase(at);
  });
}

void copies_under_way::end(const lane& self, const async_copy& what) {
  drop(self, what, what.to, what.size_bytes, true);
  drop(self, what, what.from, what.given, false);
}

// A copy that its lane has never waited for goes no further than the lane's kernel.
bool copies_under_way::has_come_to_its_end(const lane& self, const use& one) const {
  const lane_facts& issuer = known_.of(one.issued.lane, one.issued.epoch);
  // With its end a lane releases, which begins a last epoch.
  return core_.threads.lanes[issuer.id].state == lane_state::ended &&
         facts(self).ordered_to(issuer.slot) + 1 >= issuer.epoch;
}

void copies_under_way::look(lane& self, const void* address, size_t size_bytes, bool writes) {
  const auto first = reinterpret_cast<uintptr_t>(address);
  const uintptr_t behind = first + size_bytes;
  for (auto at = lines_.lower_bound(first / line_bytes * line_bytes); at != lines_.end() && at->first < behind; ++at) {
    const uintptr_t begin = std::max(first, at->first) - at->first;
    const uintptr_t end = std::min(behind - at->first, line_bytes);
    const uint32_t bytes = ((uint32_t{1} << end) - 1) & ~((uint32_t{1} << begin) - 1);
    for (const use& one : at->second)
      if ((one.bytes & bytes) != 0 && (one.writes || writes) && !has_come_to_its_end(self, one))
        log_.found(self, known_.named(one.issued), {.under_way = true});
  }
}

}  // namespace heddle::sim::scoped
