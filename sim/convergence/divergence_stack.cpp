#include <heddle/sim/convergence/divergence_stack.h>

#include <algorithm>
#include <bit>

namespace heddle::sim {
namespace {

// Word by word: paths are short, and the library's comparison of bytes is one of the calls that the simulator looks at.
bool begin_alike(const call_path& one, const call_path& other, size_t count) {
  for (size_t n = 0; n < count; ++n)
    if (one[n] != other[n]) return false;
  return true;
}

}  // namespace

void divergence_stack::begin(uint64_t lanes) {
  depth_ = 0;
  leaving_ = 0;
  entry& all = push();
  all.lanes = lanes;
  fresh_ = true;
}

divergence_stack::entry& divergence_stack::push() {
  if (depth_ == entries_.size()) entries_.emplace_back();
  entry& fresh = entries_[depth_++];
  // The path keeps its memory.
  fresh.outer.clear();
  fresh.stands = stand::before;
  fresh.joins = false;
  fresh.until = {};
  return fresh;
}

void divergence_stack::advance(const std::array<const call_path*, 64>& paths, uint64_t ended, uint64_t same_call,
                               std::array<branch_log, 64>& logs, const arm_order& order) {
  if (depth_ == 0) return;
  logs_ = &logs;
  leaving_ &= ~ended;
  if (top().stands == stand::at) top().stands = stand::behind;
  while (true) {
    const uint64_t lanes = top().lanes & ~ended;
    if (lanes == 0) {
      pop();
      if (depth_ == 0) return;
      continue;
    }
    look(paths, lanes);
    if (fresh_) {
      fresh_ = false;
      // No lane has made a call yet: the lanes are at the beginning of what their wave runs.
      const call_path& first = *seen_.front().path;
      const call_site outermost = first.empty() ? call_site() : code_->find(first.front());
      top().here = {outermost.in, outermost.in == nullptr ? 0 : outermost.in->entry(), 0};
    }
    if (walk(lanes, same_call, order) == progress::settled) return;
    same_call = 0;
  }
}

void divergence_stack::look(const std::array<const call_path*, 64>& paths, uint64_t lanes) {
  seen_.clear();
  for (uint64_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<size_t>(std::countr_zero(left));
    const uint64_t bit = uint64_t{1} << lane;
    const branch_log& log = (*logs_)[lane];
    const point aim = (leaving_ & bit) != 0 ? aims_[lane] : point{};
    const auto alike = std::find_if(seen_.begin(), seen_.end(), [&](const seen& one) {
      return one.path == paths[lane] && one.aim == aim && one.log->is_left_like(log);
    });
    if (alike != seen_.end())
      alike->lanes |= bit;
    else
      seen_.push_back({bit, paths[lane], &log, aim, control_flow::none});
  }
}

// Finds the node of each group in the frame of the entry's point.
void divergence_stack::look_in_frame(const entry& one) {
  for (seen& group : seen_) {
    group.node = control_flow::none;
    const call_path& path = *group.path;
    // Lanes that leave are ahead of where the others are.
    if (is_leaving(group, one.here)) continue;
    if (path.size() <= one.here.depth || !begin_alike(one.outer, path, one.outer.size())) continue;
    const call_site site = code_->find(path[one.here.depth]);
    if (site.in == one.here.in) group.node = site.node;
  }
}

uint32_t divergence_stack::behind(const point& call) const {
  const std::vector<uint32_t>& next = call.in->next(call.node);
  return next.empty() ? call.in->exit() : next.front();
}

void divergence_stack::stand_at(entry& one, const call_path& path) {
  const call_site site = path.empty() ? call_site() : code_->find(path.back());
  const size_t outer = path.empty() ? 0 : path.size() - 1;
  if (one.outer.size() != outer || !begin_alike(one.outer, path, outer))
    one.outer.assign(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(outer));
  one.here = {site.in, site.node, static_cast<uint32_t>(one.outer.size())};
  one.stands = stand::at;
}

// Whether lanes that were together, and are together again at `path`, have not passed the end of their arm.
bool divergence_stack::stays_within(const entry& one, const call_path& path) const {
  if (one.here.in == nullptr) return false;
  if (!one.joins) return true;
  const point& until = one.until;
  if (until.in == nullptr || path.size() <= until.depth || !begin_alike(path, one.outer, until.depth)) return false;
  const call_site to = code_->find(path[until.depth]);
  if (to.in != until.in) return false;
  if (one.here.depth > until.depth) {
    const call_site from = code_->find(one.outer[until.depth]);
    if (from.in != until.in) return false;
    if (from.node == to.node && path.size() > until.depth + 1) return true;
    return until.in->reachable(behind({from.in, from.node, 0}), until.node).contains(to.node);
  }
  return until.in->reachable(behind(one.here), until.node).contains(to.node);
}

// Follows the code from where the lanes of the top entry were to where they are seen now.
divergence_stack::progress divergence_stack::walk(uint64_t lanes, uint64_t same_call, const arm_order& order) {
  entry& here = top();
  if (here.stands == stand::at) return progress::settled;
  if (here.stands == stand::behind) {
    if (const uint64_t again = same_call & lanes; again != 0) {
      here.stands = stand::at;
      if (again == lanes || here.here.in == nullptr) return progress::settled;
      arms_.assign(1, {again, here.here.node, nullptr});
      for (const seen& group : seen_)
        if ((group.lanes & again) != 0) arms_.front().path = group.path;
      split(behind(here.here), lanes, arms_, stand::at, order);
      return progress::changed;
    }
    if (seen_.size() == 1 && !seen_.front().log->any() && stays_within(here, *seen_.front().path)) {
      stand_at(here, *seen_.front().path);
      return progress::settled;
    }
    here.stands = stand::before;
    if (here.here.in != nullptr)
      here.here.node = behind(here.here);
    else
      climb(here);
  }
  look_in_frame(here);
  for (uint32_t steps = 0; here.here.in != nullptr && steps < 8 * here.here.in->size() + 64; ++steps) {
    if (here.joins && (here.here == here.until || here.here.depth < here.until.depth)) {
      pop();
      return progress::changed;
    }
    if (leaving_ != 0 && arrive(here)) return progress::changed;
    const control_flow& in = *here.here.in;
    progress made = progress::on;
    if (here.here.node == in.exit()) {
      if (!leave_call(here)) break;
    } else if (in.at(here.here.node).calls) {
      made = pass_call(lanes, order);
    } else {
      const uint64_t left = leaving_;
      made = pass_branch(lanes, order);
      if (left != leaving_) return progress::changed;
    }
    if (made != progress::on) return made;
  }
  return scatter(order);
}

// Out of code that says nothing of itself, to the call that led there.
void divergence_stack::climb(entry& one) {
  while (one.here.in == nullptr && !one.outer.empty()) {
    forget_aims(one.lanes, one.here.depth);
    const call_site caller = code_->find(one.outer.back());
    one.outer.pop_back();
    one.here = {caller.in, caller.node, static_cast<uint32_t>(one.outer.size())};
  }
}

bool divergence_stack::leave_call(entry& one) {
  if (one.outer.empty()) return false;
  const call_site caller = code_->find(one.outer.back());
  if (caller.in == nullptr) return false;
  forget_aims(one.lanes, one.here.depth);
  one.outer.pop_back();
  one.here = {caller.in, caller.node, static_cast<uint32_t>(one.outer.size())};
  one.here.node = behind(one.here);
  look_in_frame(one);
  return true;
}

// All lanes make this call; those that are not seen in it have come back from it.
divergence_stack::progress divergence_stack::pass_call(uint64_t lanes, const arm_order& order) {
  entry& one = top();
  const uint32_t depth = one.here.depth;
  uint64_t within = 0;
  uint64_t at_it = 0;
  const control_flow* callee = nullptr;
  bool alike = true;
  for (const seen& group : seen_) {
    if (group.node != one.here.node) continue;
    if (group.path->size() == depth + 1) {
      at_it |= group.lanes;
    } else {
      const control_flow* const into = code_->find((*group.path)[depth + 1]).in;
      alike = alike && into != nullptr && (within == 0 || callee == into);
      callee = into;
      within |= group.lanes;
    }
  }
  const uint32_t next = behind(one.here);
  if ((within | at_it) == 0) {
    one.here.node = next;
    return progress::on;
  }
  if (at_it == lanes) {
    one.stands = stand::at;
    return progress::settled;
  }
  if (within == lanes && alike) {
    one.outer.push_back((*seen_.front().path)[depth]);
    one.here = {callee, callee->entry(), depth + 1};
    look_in_frame(one);
    return progress::on;
  }
  arms_.clear();
  if (at_it == 0 && alike) {
    arms_.push_back({within, one.here.node, nullptr});
    for (const seen& group : seen_)
      if (group.node == one.here.node) arms_.front().path = group.path;
    split(next, lanes, arms_, stand::before, order);
    return progress::changed;
  }
  // One call of several functions, or of code that says nothing of itself.
  for (const seen& group : seen_)
    if (group.node == one.here.node) arms_.push_back({group.lanes, one.here.node, group.path});
  split(next, lanes, arms_, stand::at, order);
  return progress::changed;
}

divergence_stack::progress divergence_stack::pass_branch(uint64_t lanes, const arm_order& order) {
  entry& one = top();
  const control_flow& in = *one.here.in;
  const std::vector<uint32_t>& next = in.next(one.here.node);
  if (next.size() == 1) {
    one.here.node = next.front();
    return progress::on;
  }
  const uint32_t joined = in.post_dominator(one.here.node);
  decide(in, one.here.node);
  // The ways that lead to where the group is seen, before the lanes reconverge. Ways with the fewest calls are taken: on others, the lanes
  // would have been seen in one of their calls.
  const auto ways_to = [&](const seen& group) {
    uint64_t ways = 0;
    if (const uint32_t told = decided_[static_cast<size_t>(&group - seen_.data())]; told != control_flow::none)
      return next[told] == joined ? 0 : uint64_t{1} << told;
    if (group.node == control_flow::none) return ways;
    uint16_t fewest = control_flow::unreached;
    for (uint32_t way = 0; way < next.size(); ++way) {
      const uint16_t calls = in.calls_before(one.here.node, way)[group.node];
      if (calls == control_flow::unreached || calls > fewest) continue;
      ways = (calls < fewest ? 0 : ways) | uint64_t{1} << way;
      fewest = calls;
    }
    return ways;
  };
  uint64_t inside = 0;
  uint64_t common = ~uint64_t{0};
  for (const seen& group : seen_)
    if (const uint64_t ways = ways_to(group)) {
      inside |= group.lanes;
      common &= ways;
    }
  if (inside == 0) {
    if (next.empty()) return scatter(order);
    one.here.node = joined;
    return progress::on;
  }
  if (inside == lanes && common != 0) {
    one.here.node = next[static_cast<size_t>(std::countr_zero(common))];
    return progress::on;
  }
  arms_.clear();
  const auto add = [&](const seen& group, uint64_t ways) {
    for (arm& known : arms_)
      for (size_t way = 0; way < next.size(); ++way)
        if ((ways >> way & 1) != 0 && known.node == next[way]) {
          known.lanes |= group.lanes;
          return;
        }
    arms_.push_back({group.lanes, next[static_cast<size_t>(std::countr_zero(ways))], group.path});
  };
  // Groups that only one way explains define the arms.
  for (const seen& group : seen_)
    if (const uint64_t ways = ways_to(group); std::has_single_bit(ways)) add(group, ways);
  for (const seen& group : seen_)
    if (const uint64_t ways = ways_to(group); ways != 0 && !std::has_single_bit(ways)) add(group, ways);
  split(joined, lanes, arms_, stand::before, order);
  return progress::changed;
}

// The lanes of the top entry diverge here, and reconverge at the node `joined` of this function.
void divergence_stack::split(uint32_t joined, uint64_t lanes, std::vector<arm>& arms, stand how,
                             const arm_order& order) {
  const size_t parting = depth_ - 1;
  const point from = entries_[parting].here;
  const point until = {from.in, joined, from.depth};
  std::vector<uint32_t> turns(arms.size());
  for (uint32_t n = 0; n < turns.size(); ++n) turns[n] = n;
  if (arms.size() > 1) {
    std::vector<const void*> places;
    // Lanes that have told where they went may have left the function since.
    for (const arm& one : arms)
      places.push_back(one.path->size() > from.depth ? (*one.path)[from.depth]
                                                     : reinterpret_cast<const void*>(from.in->at(one.node).end));
    order(turns, places);
  }
  entry& parts = entries_[parting];
  parts.lanes = lanes;
  parts.here = until;
  parts.stands = stand::before;
  const call_path outer = parts.outer;
  // Where the arms end at the end of the whole entry, no entry of their own need wait for them there: the one below does.
  if (parts.joins && parts.until == until) pop();
  for (size_t n = turns.size(); n-- > 0;) {
    const arm& one = arms[turns[n]];
    entry& added = push();
    added.lanes = one.lanes;
    added.outer = outer;
    added.here = {from.in, one.node, from.depth};
    added.joins = true;
    added.until = until;
    if (how == stand::at) stand_at(added, *one.path);
  }
}

// The code does not say how the lanes got to where they are seen: behind an indirect jump or an exception. Lanes that are together stay
// so, and all reconverge where the entry ends.
divergence_stack::progress divergence_stack::scatter(const arm_order& order) {
  forget_aims(top().lanes, 0);
  if (seen_.size() == 1) {
    stand_at(top(), *seen_.front().path);
    return progress::settled;
  }
  // The frame that all of them are in.
  size_t depth = 0;
  const call_path& first = *seen_.front().path;
  while (std::all_of(seen_.begin(), seen_.end(), [&](const seen& one) {
    return one.path->size() > depth + 1 && first.size() > depth + 1 && (*one.path)[depth] == first[depth];
  }))
    ++depth;
  std::vector<uint32_t> turns(seen_.size());
  for (uint32_t n = 0; n < turns.size(); ++n) turns[n] = n;
  std::vector<const void*> places;
  for (const seen& one : seen_) places.push_back(one.path->size() > depth ? (*one.path)[depth] : nullptr);
  order(turns, places);

  const bool joins = top().joins;
  point until = top().until;
  if (!joins) {
    const call_site common = first.size() > depth ? code_->find(first[depth]) : call_site();
    entry& rest = top();
    rest.outer.assign(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(depth));
    until = {common.in, common.in == nullptr ? 0 : common.in->exit(), static_cast<uint32_t>(depth)};
    rest.here = until;
    rest.stands = stand::before;
  } else {
    pop();
  }
  for (size_t n = turns.size(); n-- > 0;) {
    const seen& one = seen_[turns[n]];
    entry& added = push();
    added.lanes = one.lanes;
    added.joins = true;
    added.until = until;
    stand_at(added, *one.path);
  }
  return progress::changed;
}

}  // namespace heddle::sim
