// The steps of stores under way: what makes them go on, and where they arrive.
#include <heddle/sim/memory/link/transport.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace heddle::sim {
namespace {

constexpr size_t line_bytes = 64;
// As on present cores; the oldest leaves when there is no room.
constexpr size_t most_combining_lines = 10;

bool same_line(const store_under_way& a, const store_under_way& b) {
  return reinterpret_cast<uintptr_t>(a.where.address) / line_bytes ==
         reinterpret_cast<uintptr_t>(b.where.address) / line_bytes;
}

bool is_first_of_line(const std::vector<store_under_way>& stores, size_t index) {
  for (size_t n = 0; n < index; ++n)
    if (same_line(stores[n], stores[index])) return false;
  return true;
}

}  // namespace

// -- what has to happen first ------------------------------------------------------------------------------------------------------

// Those of earlier epochs are on the link.
void transport::push_requests(thread_state& state, device_side& device, uint32_t before_epoch) {
  while (!device.requests.empty() && device.requests.front().epoch < before_epoch) {
    state.ready_ns = std::max(state.ready_ns, device.requests.front().due_ns);
    take_request(device, 0);
  }
}

// Stores of the device that are ahead of a request of the thread, and whatever those may not overtake: what is on the link and
// what goes to the same bytes, as far as it happened before. Another lane's store may as well have been sent after the request.
void transport::push_before_request(thread_state& state, uint32_t thread, const piece& bytes, packet_kind kind) {
  device_side& device = devices_[state.device];
  auto& requests = device.requests;
  const bool is_behind_sent = !passes(kind, packet_kind::posted, true);
  const auto is_ahead = [&](const store_under_way& made) {
    if (made.thread != thread && made.event > state.synchronised) return false;
    return (is_behind_sent && made.epoch < device.epoch) || (settings_.same_address && overlap(made.where, bytes));
  };
  while (true) {
    auto next = std::find_if(requests.begin(), requests.end(), is_ahead);
    if (next == requests.end()) return;
    // The first store that stands in no other's way is taken; it is the one that was found in the end.
    while (!may_arrive(device, *next)) {
      const store_under_way& behind = *next;
      next = std::find_if(requests.begin(), next, [&](const store_under_way& ahead) {
        return overlap(ahead.where, behind.where) || (behind.half < 0 && &ahead + 1 == &behind) ||
               (behind.half > 0 && overlap(ahead.where, (&behind)[1].where)) ||
               (ahead.epoch < behind.epoch && !passes(packet_kind::posted, packet_kind::posted, true));
      });
    }
    state.ready_ns = std::max(state.ready_ns, next->due_ns);
    take_request(device, static_cast<size_t>(next - requests.begin()));
  }
}

void transport::push_posted(thread_state& state, device_side& device, uint64_t up_to_number) {
  while (!device.posted.empty() && device.posted.front().number <= up_to_number) {
    state.ready_ns = std::max(state.ready_ns, device.posted.front().due_ns);
    take_posted(device);
  }
}

void transport::drain_buffers(thread_state& state, uint64_t stores) {
  const auto is_one = [&](const store_under_way& made) { return made.number <= stores; };
  while (!state.buffer.empty() && is_one(state.buffer.front())) leave_buffer(state);
  auto& combining = state.combining;
  for (auto one = combining.begin();
       (one = std::find_if(combining.begin(), combining.end(), is_one)) != combining.end();)
    leave_combining(state, static_cast<size_t>(one - combining.begin()));
}

// -- steps -------------------------------------------------------------------------------------------------------------------------

// Nothing that it may not overtake is ahead of it.
bool transport::may_arrive(const device_side& device, const store_under_way& what) const {
  if (what.blockers != 0 || what.half < 0 || (what.half > 0 && (&what)[1].blockers != 0)) return false;
  return what.epoch == device.requests.front().epoch || passes(packet_kind::posted, packet_kind::posted, true);
}

void transport::take_one_request(device_side& device, size_t index) {
  const auto at = device.requests.begin() + static_cast<ptrdiff_t>(index);
  const store_under_way taken = *at;
  const auto kept = std::find_if(device.requests.begin(), at,
                                 [&](const store_under_way& older) { return older.fences < taken.fences; });
  if (kept != at) overtakings_.note(*kept, taken);
  const auto behind = device.requests.erase(at);
  --under_way_;
  if (settings_.same_address)
    for (auto younger = behind; younger != device.requests.end(); ++younger)
      if (overlap(younger->where, taken.where)) --younger->blockers;
  arrive(taken);
  if (taken.epoch == device.epoch) return;
  // It was on the link: whatever its thread requests from now on goes behind it, and so do the requests of the threads that may know of it.
  uint64_t& floor = taken.event <= device.binding ? device.floor : threads_[taken.thread].floor;
  floor = moment_;
}

// Where it is one of two halves, both.
void transport::take_request(device_side& device, size_t index) {
  const bool first = device.requests[index].half > 0;
  take_one_request(device, index);
  if (first) take_one_request(device, index);
}

// The first of the host's posted writes; where they may pass each other, also another one, but none to the same bytes.
bool transport::may_arrive_posted(const device_side& device, size_t index) const {
  if (device.posted[index].half < 0) return false;
  if (index == 0) return true;
  if (!passes(packet_kind::posted, packet_kind::posted, false)) return false;
  const auto behind = device.posted.begin() + static_cast<ptrdiff_t>(index);
  return std::none_of(device.posted.begin(), behind, [&](const store_under_way& ahead) {
    return overlap(ahead.where, behind->where) || (behind->half > 0 && overlap(ahead.where, behind[1].where));
  });
}

void transport::take_posted(device_side& device, size_t index) {
  const store_under_way taken = device.posted[index];
  if (index != 0 && taken.releases) overtakings_.note(device.posted.front(), taken);
  device.posted.erase(device.posted.begin() + static_cast<ptrdiff_t>(index));
  --under_way_;
  const thread_state& issuer = threads_[taken.thread];
  if (taken.releases && !issuer.combining.empty() && issuer.combining.front().number < taken.number)
    overtakings_.note(issuer.combining.front(), taken);
  arrive(taken);
  if (taken.half > 0) take_posted(device, index);
}

void transport::leave_buffer(thread_state& state) {
  store_under_way made = state.buffer.front();
  state.buffer.erase(state.buffer.begin());
  while (!state.combining.empty() && state.combining.front().fences < made.fences) leave_combining(state, 0);
  if (!made.combines) return leave_processor(made);
  // The same bytes are written over in the buffer.
  for (store_under_way& older : state.combining) {
    if (older.where.address != made.where.address || older.where.size_bytes != made.where.size_bytes) continue;
    if (std::any_of(&older + 1, state.combining.data() + state.combining.size(),
                    [&](const store_under_way& between) { return overlap(between.where, made.where); }))
      continue;
    older.value = made.value;
    --under_way_;
    return;
  }
  state.combining.push_back(made);
  size_t lines = 0;
  for (size_t n = 0; n < state.combining.size(); ++n) lines += is_first_of_line(state.combining, n) ? 1 : 0;
  if (lines > most_combining_lines) leave_combining(state, 0);
}

// The line of this store, as one.
void transport::leave_combining(thread_state& state, size_t first) {
  const store_under_way chosen = state.combining[first];
  std::vector<store_under_way> stay;
  std::vector<store_under_way> leave;
  for (const store_under_way& made : state.combining) (same_line(made, chosen) ? leave : stay).push_back(made);
  state.combining = std::move(stay);
  for (const store_under_way& made : leave) leave_processor(made);
}

// It is in memory of its own side then, or posted.
void transport::leave_processor(store_under_way what) {
  if (!what.to_device) {
    const std::vector<store_under_way>& kept = threads_[what.thread].combining;
    if (what.releases && !kept.empty() && kept.front().number < what.number) overtakings_.note(kept.front(), what);
    --under_way_;
    return arrive(what);
  }
  what.number = ++numbers_;
  std::vector<store_under_way>& posted = devices_[what.device].posted;
  what.due_ns = what.half < 0 ? posted.back().due_ns
                              : std::max(what.due_ns, now_ns_) + delay_of(what.thread, settings_.posted_ns);
  posted.push_back(what);
}

void transport::arrive(const store_under_way& what) {
  const bool changed = std::memcmp(what.where.address, &what.value, what.where.size_bytes) != 0;
  if (!what.to_device) {
    ++moment_;
    if (changed) history_.remember(what.where, moment_);
    if (!threads_[what.thread].host && settings_.same_address)
      devices_[what.device].same_address.raise(what.where, moment_, what.thread, what.event);
  }
  std::memcpy(what.where.address, &what.value, what.where.size_bytes);
  around_->arrived(what, changed);
}

// -- deliveries --------------------------------------------------------------------------------------------------------------------

void transport::begin_turn(uint32_t thread) {
  ++turns_;
  if (is_latency_on()) {
    // An operation takes time: a lane that only looks lets it pass, too.
    now_ns_ = std::max(now_ns_ + 1, threads_[thread].ready_ns);
    if (under_way_ != 0) deliver_oldest([&](const store_under_way& what) { return what.due_ns <= now_ns_; });
  } else if (under_way_ != 0) {
    deliver_oldest([&](const store_under_way& what) { return what.turn + settings_.oldest_turns <= turns_; });
  }
}

uint32_t transport::deliverable() const {
  if (under_way_ == 0 || is_latency_on()) return 0;
  uint32_t count = 0;
  for (const device_side& device : devices_) {
    for (const store_under_way& what : device.requests) count += may_arrive(device, what) ? 1 : 0;
    for (size_t n = 0; n < device.posted.size(); ++n) count += may_arrive_posted(device, n) ? 1 : 0;
  }
  for (const uint32_t thread : host_threads_) {
    const thread_state& state = threads_[thread];
    count += state.buffer.empty() ? 0 : 1;
    for (size_t n = 0; n < state.combining.size(); ++n) count += is_first_of_line(state.combining, n) ? 1 : 0;
  }
  return count;
}

void transport::deliver(uint32_t index) {
  uint32_t left = index;
  for (device_side& device : devices_) {
    for (size_t n = 0; n < device.requests.size(); ++n)
      if (may_arrive(device, device.requests[n]) && left-- == 0) return take_request(device, n);
    for (size_t n = 0; n < device.posted.size(); ++n)
      if (may_arrive_posted(device, n) && left-- == 0) return take_posted(device, n);
  }
  for (const uint32_t thread : host_threads_) {
    thread_state& state = threads_[thread];
    if (!state.buffer.empty() && left-- == 0) return leave_buffer(state);
    for (size_t n = 0; n < state.combining.size(); ++n)
      if (is_first_of_line(state.combining, n) && left-- == 0) return leave_combining(state, n);
  }
}

// Delivers what may arrive and passes the test, until nothing does; whether anything did.
template <typename Test>
bool transport::deliver_oldest(Test&& test) {
  bool any = false;
  for (const uint32_t thread : host_threads_) {
    thread_state& state = threads_[thread];
    for (; !state.buffer.empty() && test(state.buffer.front()); any = true) leave_buffer(state);
    for (; !state.combining.empty() && test(state.combining.front()); any = true) leave_combining(state, 0);
  }
  for (device_side& device : devices_) {
    for (; !device.posted.empty() && test(device.posted.front()); any = true) take_posted(device);
    for (size_t n = 0; n < device.requests.size();) {
      if (!may_arrive(device, device.requests[n]) || !test(device.requests[n])) {
        ++n;
        continue;
      }
      take_request(device, n);
      any = true;
      n = 0;
    }
  }
  return any;
}

bool transport::deliver_all() {
  if (under_way_ == 0) return false;
  return deliver_oldest([&](const store_under_way& what) {
    if (is_latency_on()) now_ns_ = std::max(now_ns_, what.due_ns);
    return true;
  });
}

}  // namespace heddle::sim
