#include <heddle/sim/observe/behaviour.h>

#include <algorithm>

namespace heddle::sim {

void behaviour_watch::forget() {
  of_lane_.clear();
  taken_.clear();
}

// A read-modify-write that finds what it found before, in such a loop, has left memory as it was, or has failed.
bool behaviour_watch::looks_only(operation_kind kind) {
  switch (kind) {
    case operation_kind::load:
    case operation_kind::plain_load:
    case operation_kind::volatile_load:
    case operation_kind::read_modify_write:
    case operation_kind::compare_exchange:
      return true;
    default:
      return false;
  }
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
  switch (done.kind) {
    // What these find is the time, or nothing.
    case operation_kind::pause:
    case operation_kind::clock:
    case operation_kind::fence:
      return;
    default:
      break;
  }
  known& mine = of_lane(self);
  if (looks_only(done.kind)) {
    scheduler::digest at;
    at.add(reinterpret_cast<uintptr_t>(done.place), reinterpret_cast<uintptr_t>(done.address));
    look& before = mine.looks[at.value()];
    if (before.stretch == mine.stretch && before.value == value) return;
    before = {.value = value, .stretch = mine.stretch};
    if (done.kind == operation_kind::read_modify_write || done.kind == operation_kind::compare_exchange)
      before.stretch = ++mine.stretch;
  } else {
    ++mine.stretch;
  }
  if (done.kind == operation_kind::lock_mutex) value = ++taken_[done.address];
  mine.done.add(uint64_t{done.size_bytes} << 8 | static_cast<uint64_t>(done.kind), where, value);
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
