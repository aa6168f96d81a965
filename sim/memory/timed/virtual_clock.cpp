#include <heddle/sim/memory/timed/virtual_clock.h>

#include <algorithm>
#include <utility>

namespace heddle::sim {

void virtual_clock::reset(bool heavy, uint64_t seed) {
  threads_.clear();
  stores_.clear();
  objects_.clear();
  heavy_ = heavy;
  random_ = scheduler::random_stream(seed);
}

void virtual_clock::begins(uint32_t thread, uint64_t at) {
  if (thread >= threads_.size()) threads_.resize(thread + size_t{1});
  threads_[thread] = {
      .now = at, .floor = at, .outstanding = 0, .beside = 0, .reads_beside = false, .reads = {}, .sleep = {}};
}

// As the link draws its delays (link/transport_state.cpp): half of them are more than twice the least, one in a thousand is a thousand
// times that.
uint64_t virtual_clock::drawn(uint64_t least) {
  constexpr uint32_t draws = 1024;
  return heavy_ ? least * draws / (draws - random_.below(draws)) : least;
}

void virtual_clock::passes(uint32_t thread, uint64_t time) {
  threads_[thread].now += time;
  gets_on(thread);
}

void virtual_clock::not_before(uint32_t thread, uint64_t at) {
  thread_time& its = threads_[thread];
  its.now = std::max(its.now, at);
  its.floor = std::max(its.floor, at);
}

void virtual_clock::gets_on(uint32_t thread) {
  thread_time& its = threads_[thread];
  its.reads.clear();
  its.floor = its.now;
  its.reads_beside = false;
  its.sleep = {};
}

uint64_t virtual_clock::certain(const thread_time& its) {
  return its.reads.empty() ? its.now : std::max(its.floor, its.reads.front().before);
}

const virtual_clock::stored* virtual_clock::find(const look& what) const {
  const auto known = stores_.find(what.address);
  if (known == stores_.end()) return nullptr;
  const auto is_it = [&](const stored& each) {
    return what.store_step != 0 ? each.step == what.store_step : each.value == what.value;
  };
  const auto found = std::find_if(known->second.rbegin(), known->second.rend(), is_it);
  return found == known->second.rend() ? nullptr : &*found;
}

uint64_t virtual_clock::answered(thread_time& its, const look& what, bool gets_on) {
  const auto again = std::find_if(its.reads.begin(), its.reads.end(), [&](const seen& each) {
    return each.place == what.place && each.address == what.address;
  });
  const bool is_again = again != its.reads.end();
  const bool changed = is_again && again->value != what.value;
  const uint64_t begun = is_again ? std::max(again->before, its.floor) : its.now;
  uint64_t at = begun + what.takes;
  // The request that finds a value comes to memory when it is there, or later.
  if (const stored* const made = find(what)) at = std::max(at, made->at + what.takes / 2);
  if (changed && its.sleep.bell != nullptr) at = woken(std::exchange(its.sleep, {}), what, at);
  if (changed || gets_on || its.reads.size() == reads_most) {
    its.reads.clear();
    its.floor = at - what.takes;
  }
  if (changed || !is_again) its.reads.push_back({what.place, what.address, what.value, at - what.takes});
  its.reads_beside = false;
  return at;
}

uint64_t virtual_clock::woken(const asleep& sleep, const look& what, uint64_t at) {
  // It was there before the thread slept: the thread would not have.
  if (at <= sleep.since + what.takes) return at;
  if (what.address == sleep.bell || sleep.period == forever) return at + sleep.wakes;
  const uint64_t periods = (at - what.takes - sleep.since + sleep.period - 1) / sleep.period;
  return sleep.since + periods * sleep.period + sleep.wakes + what.takes;
}

void virtual_clock::sleeps(uint32_t thread, const void* bell, uint64_t period, uint64_t wakes) {
  thread_time& its = threads_[thread];
  if (its.sleep.bell == nullptr) its.sleep = {bell, its.now, std::max<uint64_t>(period, 1), wakes};
}

void virtual_clock::reads(uint32_t thread, const look& what) {
  thread_time& its = threads_[thread];
  its.now = answered(its, what, false);
}

void virtual_clock::reads_beside(uint32_t thread, uint64_t takes) {
  thread_time& its = threads_[thread];
  if (!its.reads_beside) {
    its.reads_beside = true;
    its.beside = its.now;
  }
  its.now = std::max(its.now, its.beside + takes);
}

void virtual_clock::remember(const void* address, const stored& made) {
  std::vector<stored>& all = stores_[address];
  if (all.size() == stores_most) all.erase(all.begin());
  all.push_back(made);
}

void virtual_clock::stores(uint32_t thread, const void* address, uint64_t value, uint64_t step, uint64_t arrives) {
  stores_plainly(thread, arrives);
  remember(address, {value, step, threads_[thread].now + arrives});
}

void virtual_clock::stores_plainly(uint32_t thread, uint64_t arrives) {
  gets_on(thread);
  thread_time& its = threads_[thread];
  its.outstanding = std::max(its.outstanding, its.now + arrives);
}

void virtual_clock::replaces(uint32_t thread, const look& what, uint64_t stored_value, uint64_t step) {
  thread_time& its = threads_[thread];
  its.now = answered(its, what, true);
  remember(what.address, {stored_value, step, its.now - what.takes / 2});
  gets_on(thread);
}

void virtual_clock::fences(uint32_t thread, uint64_t takes, bool drains) {
  thread_time& its = threads_[thread];
  its.now += takes;
  if (drains) its.now = std::max(its.now, its.outstanding);
  its.reads_beside = false;
}

void virtual_clock::meet(const std::vector<uint32_t>& threads) {
  thread_time last;
  for (const uint32_t each : threads) {
    const thread_time& its = threads_[each];
    last.now = std::max(last.now, its.now);
    last.floor = std::max(last.floor, certain(its));
    last.outstanding = std::max(last.outstanding, its.outstanding);
  }
  for (const uint32_t each : threads) {
    thread_time& its = threads_[each];
    its.now = last.now;
    its.floor = std::max(its.floor, last.floor);
    its.outstanding = last.outstanding;
    its.reads_beside = false;
  }
}

void virtual_clock::follows(uint32_t first, uint32_t then) {
  not_before(then, threads_[first].now);
  threads_[then].outstanding = std::max(threads_[then].outstanding, threads_[first].outstanding);
}

void virtual_clock::gives(uint32_t thread, const void* object) {
  uint64_t& at = objects_[object];
  at = std::max(at, threads_[thread].now);
}

void virtual_clock::takes(uint32_t thread, const void* object, uint64_t later) {
  if (const auto known = objects_.find(object); known != objects_.end()) not_before(thread, known->second + later);
}

}  // namespace heddle::sim
