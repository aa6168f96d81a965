#include <heddle/scheduler/follow.h>
#include <heddle/sim/observe/headway.h>

namespace heddle::sim {

void headway_watch::forget() { of_lane_.clear(); }

headway_watch::known& headway_watch::of_lane(const lane& who) {
  if (who.id >= of_lane_.size()) of_lane_.resize(who.id + size_t{1});
  return of_lane_[who.id];
}

void headway_watch::performed(const lane& who, uint64_t value) {
  known& of = of_lane(who);
  switch (who.pending.kind) {
    case operation_kind::store:
      of.values[who.pending.address] = value;
      break;
    case operation_kind::notify:
      of.values.erase(who.pending.address);
      break;
    case operation_kind::load:
    case operation_kind::read_modify_write:
    case operation_kind::compare_exchange: {
      const auto [entry, first] = of.values.try_emplace(who.pending.address, value);
      if (first || entry->second != value) ++of.news;
      entry->second = value;
      return;
    }
    default:
      return;
  }
  ++of.changes;
  of.news = 0;
}

void headway_watch::changed(const lane& who, const void* address) {
  const operation_kind kind = who.pending.kind;
  if (kind != operation_kind::read_modify_write && kind != operation_kind::compare_exchange) return;
  known& of = of_lane(who);
  ++of.changes;
  of.news = 0;
  // The lane knows the value that it left there: memory has it now.
  uint64_t value = 0;
  __builtin_memcpy(&value, address, who.pending.size_bytes < sizeof value ? who.pending.size_bytes : sizeof value);
  of.values[address] = value;
}

uint64_t headway_watch::of(const lane& who) const {
  if (who.id >= of_lane_.size()) return 0;
  return scheduler::headway_of(of_lane_[who.id].changes, of_lane_[who.id].news);
}

}  // namespace heddle::sim
