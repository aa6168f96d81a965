// What an explorer leaves to a later process, and what it begins with there.
#include <heddle/sim/memory/late_memory.h>
#include <heddle/sim/verify/explorer.h>

#include <algorithm>
#include <cstring>

namespace heddle::sim {

void explorer::frontier::add(const frontier& other) {
  paths.insert(paths.end(), other.paths.begin(), other.paths.end());
  put_off.insert(put_off.end(), other.put_off.begin(), other.put_off.end());
}

void explorer::frontier::add_work(const std::vector<std::byte>& given) {
  if (given.size() != sizeof(uint32_t)) return paths.push_back(given);
  std::memcpy(&put_off.emplace_back(), given.data(), sizeof(uint32_t));
}

bool explorer::frontier::is_of(uint32_t states) const {
  const auto is_state = [&](uint32_t each) { return each < states; };
  const auto is_path = [&](const std::vector<std::byte>& each) {
    std::vector<node> path(each.size() / sizeof(node));
    if (!path.empty()) std::memcpy(static_cast<void*>(path.data()), each.data(), path.size() * sizeof(node));
    return each.size() % sizeof(node) == 0 && std::all_of(path.begin(), path.end(), [&](const node& one) {
             return one.given.picked < one.given.count && (one.state == no_state || is_state(one.state));
           });
  };
  return std::all_of(put_off.begin(), put_off.end(), is_state) && std::all_of(paths.begin(), paths.end(), is_path);
}

// A run that was ended in its midst goes on behind the last answer that it got; one that came to its end has left the next one's answers. What the
// run did behind the last answer, and has noted, it does again.
explorer::frontier explorer::left_to_do() const {
  frontier made;
  if (follows_) {
    made.put_off.push_back(followed_);
  } else if (!path_.empty() || from_beginning_) {
    const auto* const first = reinterpret_cast<const std::byte*>(path_.data());
    made.paths.emplace_back(first, first + path_.size() * sizeof(node));
  }
  made.paths.insert(made.paths.end(), paths_.begin(), paths_.end());
  made.put_off.insert(made.put_off.end(), put_off_.begin(), put_off_.end());
  return made;
}

void explorer::go_on(const frontier& left) {
  begin_again();
  from_beginning_ = false;
  paths_.assign(left.paths.begin(), left.paths.end());
  put_off_.assign(left.put_off.begin(), left.put_off.end());
  take_next();
}

void explorer::do_nothing() {
  begin_again();
  from_beginning_ = false;
  takes_samples_ = false;
}

// Spread over all states that this process has met, however many there are.
void explorer::note_sample(uint32_t state, const state_key& key) {
  if (!takes_samples_ || state % sample_each_ != 0) return;
  const auto is_same = [](const auto& one, const auto& other) {
    return one.first == other.first && one.second == other.second;
  };
  std::vector<std::pair<const void*, size_t>>& told = samples_.variables;
  if (!std::equal(told.begin(), told.end(), notes_.variables.begin(), notes_.variables.end(), is_same)) {
    samples_.states.clear();
    fresh_samples_.clear();
    told.assign(notes_.variables.begin(), notes_.variables.end());
  }
  fresh_samples_.push_back({.state = state, .key = key});
}

std::optional<state_samples::sample> explorer::fresh_sample() {
  if (fresh_samples_.empty()) return std::nullopt;
  const sample taken = fresh_samples_.back();
  fresh_samples_.pop_back();
  return taken;
}

void explorer::keep_sample(const sample& fresh) {
  samples_.states.push_back(fresh);
  if (samples_.states.size() < most_samples) return;
  sample_each_ *= 2;
  std::erase_if(samples_.states, [&](const sample& each) { return each.state % sample_each_ != 0; });
}

void explorer::take_samples(state_samples samples) {
  samples_ = std::move(samples);
  while (known_.count() / sample_each_ >= most_samples) sample_each_ *= 2;
}

void explorer::begin_to_look_at(uint32_t state) {
  begin_to_follow(state);
  looks_ = true;
  looked_at_.reset();
}

std::string explorer::deepest_rounds(const explored_run& run) const {
  if (deepest_ == no_state) return {};
  explorer looks(options_, notes_, known_);
  rounds_made made;
  looks.begin_to_look_at(deepest_);
  looks.counts_ = &made;
  scheduler::choice_source choices;
  choices.begin(looks, 0);
  run(choices);
  return made.told();
}

}  // namespace heddle::sim
