#include <heddle/sim/core/run_core.h>
#include <heddle/sim/machine/lane.h>
#include <heddle/sim/sync/mutex.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace heddle::sim {

mutex_table::answer mutex_table::try_lock(const void* mutex, mutex_kind kind, const lane& self) {
  holder& held = holders_[mutex];
  if (held.depth == 0) {
    held = {&self, calls_of(self), 1};
    return answer::locked;
  }
  if (held.who != &self || kind == mutex_kind::normal) return answer::must_wait;
  if (kind == mutex_kind::error_checking) return answer::deadlock;
  ++held.depth;
  return answer::locked;
}

bool mutex_table::unlock(const void* mutex, const lane& self) {
  const auto held = holders_.find(mutex);
  if (held == holders_.end() || held->second.who != &self) return false;
  if (--held->second.depth == 0) holders_.erase(held);
  return true;
}

const mutex_table::holder* mutex_table::holder_of(const void* mutex) const {
  const auto held = holders_.find(mutex);
  return held == holders_.end() || held->second.depth == 0 ? nullptr : &held->second;
}

void mutex_table::misused(run_core& core, lane& self, const char* does, const void* mutex) const {
  std::string why;
  core.aside(self, [&] {
    const holder* const held = holder_of(mutex);
    why = std::string(does) + " the mutex at " + describe_location(core.map.heap, mutex) + ", which ";
    if (held == nullptr)
      why += "no thread holds";
    else
      why += (held->who == &self ? "it" : name_of(*held->who)) + " holds since " + source_of(held->calls).where();
  });
  core.end(self, scheduler::verdict::assertion, why);
}

void mutex_table::check_end_of(run_core& core, lane& self) const {
  for (const void* each : robust_) {
    const holder* const held = holder_of(each);
    if (held == nullptr || held->who != &self) continue;
    std::string why;
    core.aside(self, [&] {
      why = "a thread ends while it holds the robust mutex at " + describe_location(core.map.heap, each) + ", since " +
            source_of(held->calls).where() + ": that the next one is told so (EOWNERDEAD) is not simulated";
    });
    core.end(self, scheduler::verdict::unsupported, why);
  }
}

bool mutex_table::visit_state(state_reader& to) const {
  std::vector<std::pair<const void*, const holder*>> sorted;
  for (const auto& [mutex, held] : holders_) sorted.emplace_back(mutex, &held);
  std::sort(sorted.begin(), sorted.end());
  return to.fact(sorted.size()) && std::all_of(sorted.begin(), sorted.end(), [&](const auto& each) {
           return to.fact(reinterpret_cast<uintptr_t>(each.first)) && to.fact(each.second->who->id) &&
                  to.fact(each.second->depth);
         });
}

}  // namespace heddle::sim
