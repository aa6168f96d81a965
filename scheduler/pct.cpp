#include <heddle/scheduler/pct.h>

#include <algorithm>

namespace heddle::scheduler {
namespace {

constexpr std::array<uint32_t, 4> drawn_depths = {2, 3, 5, 10};
constexpr uint64_t never = ~uint64_t{0};

/// Whether the machine's default is the rule for such a choice, and another answer the exception.
bool has_rule(choice_kind kind) {
  return kind == choice_kind::visible || kind == choice_kind::place || kind == choice_kind::wake ||
         kind == choice_kind::active_mask || kind == choice_kind::spurious;
}

}  // namespace

void pct_strategy::begin(uint64_t seed) {
  streams_.begin(seed);
  random_stream draws(seed, stream_of_draws);
  const uint32_t drawn = drawn_depths[draws.below(static_cast<uint32_t>(drawn_depths.size()))];
  depth_ = given_depth_.value_or(drawn);
  draw_points(draws);
  crowd_.begin();
  looks_.clear();
  groups_.clear();
  ran_.clear();
  now_ = looked_at_ = 0;
  lowest_ = 0;
  last_ = last_group_ = no_actor;
  stayed_ = 0;
}

void pct_strategy::draw_points(random_stream& draws) {
  // Where nothing is known, any length from 32 to 8,191.
  const uint32_t octave = uint32_t{32} << draws.below(8);
  const uint64_t guessed = octave + draws.below(octave);
  const uint64_t known = known_ == nullptr ? 0 : known_->steps;
  const auto length = static_cast<uint32_t>(std::min<uint64_t>(known != 0 ? known : guessed, never >> 32));
  length_ = length;
  points_.clear();
  while (points_.size() + 1 < depth_ && points_.size() < length) {
    const uint64_t drawn = 1 + uint64_t{draws.below(length)};
    if (std::find(points_.begin(), points_.end(), drawn) == points_.end()) points_.push_back(drawn);
  }
  next_point_ = points_.empty() ? never : *std::min_element(points_.begin(), points_.end());
}

uint32_t pct_strategy::pick(const choice& asked) {
  if (asked.kind != choice_kind::actor) return answer(asked);
  ++now_;
  if (crowd_.look(asked)) {
    look_at(crowd_.picked(), true);
  } else {
    priorities_.resize(asked.count);
    const bool says_who_comes = asked.candidates.version() != 0;
    for (uint32_t index = 0; index < asked.count; ++index)
      look_at(index, !says_who_comes && crowd_[index].actor == last_);
  }
  if (now_ >= next_point_) pass_change_point();
  if (now_ - looked_at_ > 2 * length_) pass_over();
  const uint32_t next = highest();
  last_ = crowd_[next].actor;
  const uint32_t group = crowd_[next].group;
  ran_[group] = now_;
  stayed_ = group == last_group_ ? stayed_ + 1 : 0;
  last_group_ = group;
  // It has run for longer than a whole run is expected to: it waits, though the machine does not see how.
  if (stayed_ > length_) {
    fall(group, --lowest_);
    stayed_ = 0;
  }
  return crowd_.pick(next);
}

/// `went_on`: the actor was picked last, and has stayed enabled since.
void pct_strategy::look_at(uint32_t index, bool went_on) {
  const candidate& who = crowd_[index];
  int64_t& priority = groups_[who.group];
  if (priority == 0)
    // Above all that fall, and leaves them room.
    priority = int64_t{depth_max} + static_cast<int64_t>(streams_.of(choice_kind::actor).next() >> 2);
  priorities_[index] = priority;
  if (uint64_t& ran = ran_[who.group]; ran == 0) ran = now_;
  vain_look& last = looks_[who.actor];
  if (who.fruitless == last.fruitless) return;
  const uint32_t done = useful(who);
  if (went_on || done == last.useful) fall(who.group, --lowest_);
  last = {.fruitless = who.fruitless, .useful = done};
}

void pct_strategy::fall(uint32_t group, int64_t to) {
  groups_[group] = to;
  for (uint32_t index = 0; index < crowd_.count(); ++index)
    if (crowd_[index].group == group) priorities_[index] = to;
}

// Where a group has been left out for twice as long as a whole run is expected to be, those that ran meanwhile wait for one another in turns: a host that
// has a stream copy a word, waits for the stream and looks, again and again, is never seen to spin. They fall.
void pct_strategy::pass_over() {
  const auto has_run = [&](uint32_t index) { return ran_[crowd_[index].group] > looked_at_; };
  bool any_left_out = false;
  for (uint32_t index = 0; index < crowd_.count(); ++index) any_left_out = any_left_out || !has_run(index);
  for (uint32_t index = 0; index < crowd_.count() && any_left_out; ++index)
    if (has_run(index)) fall(crowd_[index].group, --lowest_);
  looked_at_ = now_;
}

/// One of the group with the highest priority.
uint32_t pct_strategy::highest() {
  const int64_t top = *std::max_element(priorities_.begin(), priorities_.end());
  const auto members = static_cast<uint32_t>(std::count(priorities_.begin(), priorities_.end(), top));
  uint32_t left = members == 1 ? 0 : streams_.of(choice_kind::actor).below(members);
  for (uint32_t index = 0;; ++index)
    if (priorities_[index] == top && left-- == 0) return index;
}

void pct_strategy::pass_change_point() {
  next_point_ = never;
  for (size_t n = 0; n < points_.size(); ++n) {
    if (points_[n] == now_) fall(crowd_[highest()].group, static_cast<int64_t>(n) + 1);
    if (points_[n] > now_) next_point_ = std::min(next_point_, points_[n]);
  }
}

uint32_t pct_strategy::answer(const choice& asked) {
  random_stream& stream = streams_.of(asked.kind);
  const uint64_t length = expected(asked.kind);
  if (!has_rule(asked.kind) || length <= depth_) return stream.below(asked.count);
  if (stream.below(static_cast<uint32_t>(std::min<uint64_t>(length, never >> 32))) >= depth_) return 0;
  return stream.below(asked.count);
}

}  // namespace heddle::scheduler
