#include <heddle/driver/engine.h>
#include <heddle/driver/message.h>

#include <algorithm>
#include <cstddef>

namespace heddle::driver {
namespace {

/// A heap of the standard library has the greatest in front: here the one that comes first.
struct comes_later {
  bool operator()(const timed_event& a, const timed_event& b) const {
    return a.time != b.time ? a.time > b.time : a.order > b.order;
  }
};

}  // namespace

result<void> event_engine::schedule(picoseconds when, event_rank rank, event_handler& handler, uint64_t what,
                                    uint64_t detail) {
  if (when < now_)
    return failure("schedule", words("time ", when, " ps"), "in the past", words("it is ", now_, " ps already"));
  const uint64_t order = scheduled_++ | (rank == event_rank::secondary ? uint64_t{1} << 63 : 0);
  waiting_.push_back({.time = when, .order = order, .handler = &handler, .what = what, .detail = detail});
  std::push_heap(waiting_.begin(), waiting_.end(), comes_later());
  return {};
}

bool event_engine::step() {
  if (waiting_.empty()) return false;
  std::pop_heap(waiting_.begin(), waiting_.end(), comes_later());
  const timed_event next = waiting_.back();
  waiting_.pop_back();
  handle(next);
  return true;
}

void event_engine::handle(const timed_event& next) {
  now_ = std::max(now_, next.time);
  in_event_ = true;
  if (hook_ != nullptr) hook_->before(next);
  next.handler->handle(next);
  if (hook_ != nullptr) hook_->after(next);
  in_event_ = false;
  ++handled_;
}

std::vector<size_t> event_engine::first_of_each() const {
  std::vector<size_t> first;
  for (size_t n = 0; n < waiting_.size(); ++n) {
    const auto known = std::find_if(first.begin(), first.end(), [&](size_t other) {
      return waiting_[other].handler == waiting_[n].handler && waiting_[other].what == waiting_[n].what;
    });
    if (known == first.end())
      first.push_back(n);
    else if (comes_later()(waiting_[*known], waiting_[n]))
      *known = n;
  }
  // In the order in which they were asked for: that of their times differs with what time the owner has let pass.
  std::sort(first.begin(), first.end(), [&](size_t a, size_t b) { return waiting_[a].order < waiting_[b].order; });
  return first;
}

size_t event_engine::choices() const { return first_of_each().size(); }

void event_engine::step(size_t which) {
  const size_t at = first_of_each()[which];
  const timed_event next = waiting_[at];
  waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(at));
  std::make_heap(waiting_.begin(), waiting_.end(), comes_later());
  handle(next);
}

void event_engine::run_until(picoseconds time) {
  while (!waiting_.empty() && waiting_.front().time <= time) step();
  now_ = std::max(now_, time);
}

void ticking::tick_soon() {
  // Where an owner chooses what comes next, time may have passed one that is due: it is soon enough.
  if (asked_ < engine_->now()) return;
  picoseconds time = (engine_->now() + cycle_ - 1) / cycle_ * cycle_;
  if (time == ticked_) time += cycle_;
  schedule(time);
}

void ticking::tick_at(picoseconds time) {
  if (time <= engine_->now()) return tick_soon();
  schedule((time + cycle_ - 1) / cycle_ * cycle_);
}

void ticking::schedule(picoseconds time) {
  if (time == asked_) return;
  asked_ = time;
  engine_->schedule(time, event_rank::secondary, *this).value();
}

void ticking::handle(const timed_event& now) {
  // The same cycle may have been asked for twice, with another in between.
  if (now.time == ticked_) return;
  ticked_ = now.time;
  if (now.time == asked_) asked_ = never;
  ++ticks_;
  if (tick()) tick_soon();
}

}  // namespace heddle::driver
