#include <heddle/sim/observe/starvation.h>
#include <heddle/sim/space/heap.h>

#include <algorithm>

namespace heddle::sim {
namespace {

bool reads(operation_kind kind) {
  return kind == operation_kind::load || kind == operation_kind::plain_load || kind == operation_kind::volatile_load ||
         kind == operation_kind::lock_mutex || kind == operation_kind::read_modify_write ||
         kind == operation_kind::compare_exchange;
}

}  // namespace

void starvation_watch::reset(uint32_t most) {
  most_ = most;
  of_lane_.clear();
}

starvation_watch::lane_wait& starvation_watch::wait_of(const lane& who) {
  if (who.id >= of_lane_.size()) of_lane_.resize(who.id + size_t{1});
  of_lane_[who.id].who = &who;
  return of_lane_[who.id];
}

void starvation_watch::performed(const lane& who) {
  if (!reads(who.pending.kind)) return;
  std::vector<look>& looks = wait_of(who).looks;
  // A mutex is told by the operand of the call.
  const void* const address = who.pending.kind == operation_kind::lock_mutex
                                  ? reinterpret_cast<const void*>(who.operands[0])
                                  : who.pending.address;
  const look made = {who.pending.place, address};
  if (looks.size() < looks_most && std::find(looks.begin(), looks.end(), made) == looks.end()) looks.push_back(made);
}

void starvation_watch::waits(const lane& who, uint64_t step) {
  lane_wait& of = wait_of(who);
  if (of.looks.empty()) return;
  of.calls = calls_of(who);
  if (of.waiting) return;
  of.waiting = true;
  of.waits_for = of.looks;
  of.since_step = step;
  of.passed_over = 0;
  of.by.clear();
}

const lane* starvation_watch::got_on(const lane& who) {
  lane_wait& mine = wait_of(who);
  const lane* starved = nullptr;
  const auto is_mine = [&](const look& one) {
    return std::find(mine.looks.begin(), mine.looks.end(), one) != mine.looks.end();
  };
  for (lane_wait& other : of_lane_) {
    if (&other == &mine || !other.waiting || other.who->state == lane_state::ended || !other.who->of->guaranteed)
      continue;
    if (std::none_of(other.waits_for.begin(), other.waits_for.end(), is_mine)) continue;
    const auto known =
        std::find_if(other.by.begin(), other.by.end(), [&](const passes& each) { return each.by == &who; });
    ++(known != other.by.end() ? *known : other.by.emplace_back(passes{.by = &who})).times;
    if (++other.passed_over > most_) starved = other.who;
  }
  mine.looks.clear();
  mine.waiting = false;
  return starved;
}

std::string starvation_watch::message(const lane& who, const heap& memory) const {
  const lane_wait& of = of_lane_[who.id];
  std::string text = name_of(who) + " waits since step " + std::to_string(of.since_step) + " for " +
                     describe_location(memory, of.waits_for.front().address) + " and was passed over " +
                     std::to_string(of.passed_over) + " times (starvation=" + std::to_string(most_) + "):";
  std::vector<passes> by = of.by;
  std::stable_sort(by.begin(), by.end(),
                   [](const passes& one, const passes& other) { return one.times > other.times; });
  constexpr size_t most_named = 4;
  for (size_t n = 0; n < std::min(by.size(), most_named); ++n)
    text += (n == 0 ? " " : ", ") + std::to_string(by[n].times) + " times by " + name_of(*by[n].by);
  if (by.size() > most_named) text += ", and by " + std::to_string(by.size() - most_named) + " more";
  return text;
}

void request_watch::reset(uint32_t most) {
  most_ = most;
  waiting_.clear();
  early_.clear();
}

void request_watch::made(const lane& who, uint64_t id, uint64_t step) {
  if (std::erase(early_, id) == 0) waiting_.push_back({.who = &who, .id = id, .step = step});
}

std::string request_watch::served(uint64_t id) {
  const auto found =
      std::find_if(waiting_.begin(), waiting_.end(), [id](const request& each) { return each.id == id; });
  if (found == waiting_.end()) early_.push_back(id);
  const request* starved = nullptr;
  for (auto earlier = waiting_.begin(); earlier != found; ++earlier)
    if (earlier->who->of->guaranteed && ++earlier->passed_over > most_ && starved == nullptr) starved = &*earlier;
  std::string text;
  if (starved != nullptr)
    text = "request " + std::to_string(starved->id) + " of " + name_of(*starved->who) + " waits since step " +
           std::to_string(starved->step) + ", and " + std::to_string(starved->passed_over) +
           " that were made later were served before it (starvation=" + std::to_string(most_) + ")";
  if (found != waiting_.end()) waiting_.erase(found);
  return text;
}

}  // namespace heddle::sim
