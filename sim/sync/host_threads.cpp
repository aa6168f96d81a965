#include <heddle/sim/sync/host_threads.h>

#include <algorithm>

namespace heddle::sim {

void host_threads::clear() {
  used_ = false;
  facts_used_ = 0;
  keys_.clear();
  under_way_.clear();
  barriers_.clear();
  held_.clear();
  at_exit_.clear();
}

host_thread_facts& host_threads::of(uint32_t wave) {
  used_ = true;
  if (facts_.size() <= wave) facts_.resize(wave + size_t{1});
  for (; facts_used_ <= wave; ++facts_used_) facts_[facts_used_].reset();
  return facts_[wave];
}

uint32_t host_threads::under_way(const void* flag) const {
  const auto known =
      std::find_if(under_way_.begin(), under_way_.end(), [&](const once& one) { return one.flag == flag; });
  return known == under_way_.end() ? none : known->lane;
}

void host_threads::begins(const void* flag, uint32_t lane) {
  used_ = true;
  under_way_.push_back({flag, lane});
}

void host_threads::ends(const void* flag) {
  std::erase_if(under_way_, [&](const once& one) { return one.flag == flag; });
}

void host_threads::takes(const void* lock, uint32_t lane) {
  used_ = true;
  const std::pair one(lock, lane);
  held_.insert(std::upper_bound(held_.begin(), held_.end(), one), one);
}

bool host_threads::gives(const void* lock, uint32_t lane) {
  const auto known = std::find(held_.begin(), held_.end(), std::pair(lock, lane));
  if (known == held_.end()) return false;
  held_.erase(known);
  return true;
}

uint32_t host_threads::holder_of(const void* lock) const {
  const auto known = std::find_if(held_.begin(), held_.end(), [&](const auto& one) { return one.first == lock; });
  return known == held_.end() ? none : known->second;
}

host_threads::barrier* host_threads::known_barrier(const void* object) {
  const auto known =
      std::find_if(barriers_.begin(), barriers_.end(), [&](const barrier& one) { return one.object == object; });
  return known == barriers_.end() ? nullptr : &*known;
}

host_threads::barrier& host_threads::barrier_at(const void* object, uint32_t count) {
  used_ = true;
  barrier* known = known_barrier(object);
  if (known == nullptr) known = &barriers_.emplace_back();
  *known = {.object = object, .count = count};
  return *known;
}

void host_threads::forget_barrier(const void* object) {
  std::erase_if(barriers_, [&](const barrier& one) { return one.object == object; });
}

bool host_threads::visit_state(state_reader& to) const {
  if (!used_) return to.fact(0);
  const auto as_fact = [](const auto* address) { return reinterpret_cast<uintptr_t>(address); };
  const auto calls = [&](const std::vector<ending_call>& all) {
    return to.fact(all.size()) && std::all_of(all.begin(), all.end(), [&](const ending_call& one) {
             return to.fact(as_fact(one.object)) && to.fact(reinterpret_cast<uintptr_t>(one.call));
           });
  };
  for (size_t n = 0; n < facts_used_; ++n) {
    const host_thread_facts& each = facts_[n];
    if (!to.fact(as_fact(each.result)) || !to.fact(as_fact(each.thread_pointer)) ||
        !to.fact((each.detached ? 1u : 0u) | (each.joined ? 2u : 0u)))
      return false;
    if (!each.openmp.visit_state(to) || !to.fact(each.values.size()) || !calls(each.at_its_end) ||
        !calls(each.behind_its_end))
      return false;
    for (const void* value : each.values)
      if (!to.fact(as_fact(value))) return false;
  }
  for (const key& each : keys_)
    if (!to.fact(reinterpret_cast<uintptr_t>(each.destroy) << 1 | (each.in_use ? 1u : 0u))) return false;
  for (const once& each : under_way_)
    if (!to.fact(as_fact(each.flag)) || !to.fact(each.lane)) return false;
  for (const auto& [lock, lane] : held_)
    if (!to.fact(as_fact(lock)) || !to.fact(lane)) return false;
  for (const barrier& each : barriers_)
    if (!to.fact(as_fact(each.object)) || !to.fact(uint64_t{each.count} << 32 | each.arrived) || !to.fact(each.round))
      return false;
  return calls(at_exit_);
}

}  // namespace heddle::sim
