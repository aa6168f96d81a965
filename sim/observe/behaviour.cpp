#include <heddle/sim/observe/behaviour.h>

#include <algorithm>
#include <utility>

namespace heddle::sim {
namespace {

constexpr bool is_look(operation_kind kind) {
  return kind == operation_kind::load || kind == operation_kind::plain_load || kind == operation_kind::volatile_load;
}

constexpr bool is_try(operation_kind kind) {
  return kind == operation_kind::read_modify_write || kind == operation_kind::compare_exchange;
}

}  // namespace

void behaviour_watch::forget() {
  of_lane_.clear();
  changes_.clear();
}

// Waves are numbered as they start, which is an order that no lane notices: a wave of a kernel goes by its place in it.
behaviour_watch::known& behaviour_watch::of_lane(const lane& self) {
  if (self.id >= of_lane_.size()) of_lane_.resize(self.id + size_t{1});
  known& mine = of_lane_[self.id];
  if (mine.name != 0) return mine;
  scheduler::digest name;
  const wave& of = *self.of;
  name.add(of.host ? 1 + of.ordinal : 0, of.host && !of.copies ? 0 : of.kernel, of.host ? 0 : of.in_kernel);
  name.add(self.index, of.copies || of.drives ? 1 : 0);
  mine.name = name.value() | 1;
  return mine;
}

void behaviour_watch::performed(const lane& self, uint64_t where, uint64_t value) {
  const operation& done = self.pending;
  known& mine = of_lane(self);
  switch (done.kind) {
    // What these find is the time, or nothing.
    case operation_kind::pause:
    case operation_kind::clock:
    case operation_kind::fence:
      return;
    case operation_kind::load:
    case operation_kind::plain_load:
    case operation_kind::volatile_load:
    case operation_kind::store:
    case operation_kind::plain_store:
    case operation_kind::volatile_store: {
      const auto [word, is_first] = mine.words.try_emplace(done.address, value);
      const bool is_news = is_first || std::exchange(word->second, value) != value;
      if (!is_news && is_look(done.kind)) return;
      break;
    }
    case operation_kind::read_modify_write:
    case operation_kind::compare_exchange: {
      scheduler::digest at;
      at.add(reinterpret_cast<uintptr_t>(done.place), reinterpret_cast<uintptr_t>(done.address));
      const auto [tried, is_first] = mine.tries.try_emplace(at.value(), value);
      if (!is_first && std::exchange(tried->second, value) == value) return;
      mine.words.erase(done.address);
      where += changes_[done.address] << 32;
      break;
    }
    case operation_kind::lock_mutex:
      value = ++changes_[done.address];
      break;
    default:
      break;
  }
  if (!is_try(done.kind) && !is_look(done.kind)) mine.tries.clear();
  mine.done.add(uint64_t{done.size_bytes} << 8 | static_cast<uint64_t>(done.kind), where, value);
}

void behaviour_watch::changed(const lane& self, const void* address) {
  ++changes_[address];
  if (is_try(self.pending.kind)) of_lane(self).tries.clear();
}

uint64_t behaviour_watch::value() const {
  uint64_t sum = 0;
  for (const known& each : of_lane_) {
    if (each.name == 0) continue;
    scheduler::digest one = each.done;
    one.add(each.name);
    sum += one.value();
  }
  return std::max<uint64_t>(sum, 1);
}

}  // namespace heddle::sim
