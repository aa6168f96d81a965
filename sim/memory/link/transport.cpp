#include <heddle/sim/memory/link/transport.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace heddle::sim {
namespace {

constexpr size_t line_bytes = 64;
// As on present cores; the oldest leaves when there is no room.
constexpr size_t most_buffered = 64;
constexpr size_t most_combining_lines = 10;

bool overlap(const piece& a, const piece& b) {
  return a.address < b.address + b.size_bytes && b.address < a.address + a.size_bytes;
}

bool same_line(const store_under_way& a, const store_under_way& b) {
  return reinterpret_cast<uintptr_t>(a.where.address) / line_bytes ==
         reinterpret_cast<uintptr_t>(b.where.address) / line_bytes;
}

bool is_first_of_line(const std::vector<store_under_way>& stores, size_t index) {
  for (size_t n = 0; n < index; ++n)
    if (same_line(stores[n], stores[index])) return false;
  return true;
}

uint64_t read(const piece& bytes) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.address, bytes.size_bytes);
  return value;
}

/// Puts the store's bytes over those of the range.
void lay_over(const store_under_way& what, const std::byte* from, size_t size_bytes, std::byte* into) {
  for (size_t n = 0; n < what.where.size_bytes; ++n) {
    const auto at = static_cast<size_t>(what.where.address + n - from);
    if (at < size_bytes) into[at] = static_cast<std::byte>(what.value >> n * 8);
  }
}

template <typename Visit>
void for_each_piece(const void* address, size_t size_bytes, Visit&& visit) {
  const auto* const from = static_cast<const std::byte*>(address);
  for (size_t done = 0; done < size_bytes;) {
    const piece bytes = first_piece(from + done, size_bytes - done);
    visit(bytes, done);
    done += bytes.size_bytes;
  }
}

}  // namespace

void transport::reset() { *this = transport(settings_, *around_); }

void transport::add_host_thread(uint32_t thread) {
  if (thread >= threads_.size()) threads_.resize(thread + 1);
  if (devices_.empty()) devices_.resize(1);
  threads_[thread].host = true;
  host_threads_.push_back(thread);
}

void transport::add_device_thread(uint32_t thread, uint32_t device) {
  if (thread >= threads_.size()) threads_.resize(thread + 1);
  if (device >= devices_.size()) devices_.resize(device + 1);
  threads_[thread].device = device;
}

// -- loads -------------------------------------------------------------------------------------------------------------------------

uint64_t transport::load(uint32_t thread, const access& what, bool waits) {
  thread_state& who = threads_[thread];
  const piece bytes = first_piece(what.address, what.size_bytes);
  if (who.host) return load_from_host(who, thread, what, bytes);
  if (!what.on_device) return load_across(who, thread, bytes, waits);
  if (waits) see_present(thread);
  return read(bytes);
}

void transport::load_range(uint32_t thread, const access& what, std::byte* into) {
  for_each_piece(what.address, what.size_bytes, [&](const piece& bytes, size_t done) {
    access part = what;
    part.address = bytes.address;
    part.size_bytes = bytes.size_bytes;
    const uint64_t value = load(thread, part, false);
    std::memcpy(into + done, &value, bytes.size_bytes);
  });
}

// A device's load of host memory.
uint64_t transport::load_across(thread_state& who, uint32_t thread, const piece& bytes, bool waits) {
  device_side& device = devices_[who.device];
  push_before_request(who, thread, bytes, packet_kind::read);
  who.last_event = ++device.events;
  if (!waits) {
    const uint64_t value = choose_value(who, thread, bytes);
    // The answer queues up behind what the host has posted by now.
    if (!device.posted.empty()) who.answers_behind = device.posted.back().number;
    if (is_latency_on())
      who.answered_ns = std::max(who.answered_ns, start_ns(who) + delay_of(thread, settings_.read_ns));
    return value;
  }
  device.same_address.raise(bytes, moment_, thread, who.last_event);
  const uint64_t value = read(bytes);
  wait_for_answer(who, thread);
  return value;
}

// The thread has waited for the answer to its request, and with it for all that is ahead of the answer.
void transport::wait_for_answer(thread_state& who, uint32_t thread) {
  device_side& device = devices_[who.device];
  if (!passes(packet_kind::completion, packet_kind::posted, false)) push_posted(who, device, numbers_);
  who.floor = moment_;
  who.ready_ns = start_ns(who) + delay_of(thread, settings_.read_ns);
}

uint64_t transport::choose_value(thread_state& who, uint32_t thread, const piece& bytes) {
  device_side& device = devices_[who.device];
  uint64_t floor = std::max(who.floor, device.floor);
  if (settings_.same_address) floor = std::max(floor, device.same_address.of(bytes, {thread, who.synchronised}));
  history_.values_after(bytes, floor, seen_);
  const auto count = static_cast<uint32_t>(seen_.size());
  const value_history::value chosen = seen_[count == 1 ? 0 : around_->choose(thread, question::visible, count)];
  if (settings_.same_address) device.same_address.raise(bytes, std::max(floor, chosen.since), thread, who.last_event);
  return chosen.bytes;
}

uint64_t transport::load_from_host(thread_state& who, uint32_t thread, const access& what, const piece& bytes) {
  uint64_t value = 0;
  if (!what.on_device) {
    read_own(thread, what, reinterpret_cast<std::byte*>(&value));
    return value;
  }
  // An uncached or write-combining load: the buffers empty themselves first, then a request goes out and is waited for.
  device_side& device = devices_[what.device];
  drain_buffers(who);
  if (!passes(packet_kind::read, packet_kind::posted, false)) push_posted(who, device, numbers_);
  value = read(bytes);
  if (!passes(packet_kind::completion, packet_kind::posted, true)) push_sent(who, device);
  who.ready_ns = start_ns(who) + delay_of(thread, settings_.read_ns);
  return value;
}

void transport::read_own(uint32_t thread, const access& what, std::byte* into) const {
  const thread_state& who = threads_[thread];
  const auto* const from = static_cast<const std::byte*>(what.address);
  std::memcpy(into, from, what.size_bytes);
  if (under_way_ == 0) return;
  const auto lay_all_over = [&](const std::vector<store_under_way>& stores) {
    for (const store_under_way& made : stores)
      if (!who.host || made.thread == thread) lay_over(made, from, what.size_bytes, into);
  };
  if (who.host) {
    lay_all_over(devices_[what.device].posted);
    lay_all_over(who.combining);
    lay_all_over(who.buffer);
  } else {
    lay_all_over(devices_[who.device].requests);
  }
}

// -- stores ------------------------------------------------------------------------------------------------------------------------

store_under_way transport::make_store(uint32_t thread, const access& what, const piece& bytes, uint64_t value) {
  const thread_state& who = threads_[thread];
  return {.where = bytes,
          .value = value,
          .to_device = what.on_device,
          .device = who.host ? what.device : who.device,
          .thread = thread,
          .number = ++numbers_,
          .turn = turns_,
          .due_ns = start_ns(who),
          .step = what.step};
}

void transport::store(uint32_t thread, const access& what, uint64_t value, bool releases) {
  store_under_way made = make_store(thread, what, first_piece(what.address, what.size_bytes), value);
  made.releases = releases;
  store_piece(made);
}

void transport::store_range(uint32_t thread, const access& what, const std::byte* bytes) {
  for_each_piece(what.address, what.size_bytes, [&](const piece& part, size_t done) {
    uint64_t value = 0;
    std::memcpy(&value, bytes + done, part.size_bytes);
    store_piece(make_store(thread, what, part, value));
  });
}

void transport::store_wide(uint32_t thread, const access& what, uint64_t low, uint64_t high, bool releases) {
  thread_state& who = threads_[thread];
  if (who.host) drain_buffers(who);
  const auto* const address = static_cast<const std::byte*>(what.address);
  for (const int32_t half : {1, -1}) {
    const void* const at = half == 1 ? address : address + granule_bytes;
    store_under_way made = make_store(thread, what, first_piece(at, granule_bytes), half == 1 ? low : high);
    made.releases = releases;
    made.half = half;
    if (who.host != made.to_device) {
      arrive(made);
    } else if (who.host) {
      ++under_way_;
      post(made);
    } else {
      add_request(devices_[made.device], made);
    }
  }
}

void transport::store_piece(const store_under_way& made) {
  thread_state& who = threads_[made.thread];
  if (who.host) return add_to_buffer(who, made);
  if (made.to_device) return arrive(made);
  add_request(devices_[made.device], made);
}

void transport::add_request(device_side& device, store_under_way made) {
  // The other half goes with the first.
  made.due_ns =
      made.half < 0 ? device.requests.back().due_ns : made.due_ns + delay_of(made.thread, settings_.posted_ns);
  made.epoch = device.epoch;
  made.event = threads_[made.thread].last_event = ++device.events;
  made.fences = device.fences;
  // In program order: it has left the device by the time that the next one is issued.
  if (!settings_.pool && made.half <= 0) ++device.epoch;
  if (settings_.same_address)
    for (const store_under_way& older : device.requests) made.blockers += overlap(older.where, made.where) ? 1 : 0;
  device.requests.push_back(made);
  ++under_way_;
}

void transport::add_to_buffer(thread_state& who, const store_under_way& made) {
  if (who.buffer.size() == most_buffered) leave_buffer(who);
  who.buffer.push_back(made);
  ++under_way_;
}

bool transport::refuses(uint32_t thread, const access& what, bool is_atomic_op) const {
  const bool is_across = threads_[thread].host == what.on_device;
  if (!is_across || what.is_signal) return false;
  return settings_.rmw == rmw_capability::refused || (settings_.rmw == rmw_capability::pcie && !is_atomic_op);
}

std::optional<uint64_t> transport::modify(uint32_t thread, const access& what, const modification& next,
                                          bool is_atomic_op) {
  if (refuses(thread, what, is_atomic_op)) return std::nullopt;
  thread_state& who = threads_[thread];
  const bool is_across = who.host == what.on_device;
  const bool is_split = is_across && !what.is_signal && settings_.rmw == rmw_capability::split;
  if (is_across && !what.is_signal && settings_.rmw == rmw_capability::dropped) return load(thread, what, true);
  const piece bytes = first_piece(what.address, what.size_bytes);
  if (who.host) drain_buffers(who);
  if (is_split) {
    const uint64_t old = load(thread, what, true);
    if (next.writes == nullptr || next.writes(next.context, old))
      store(thread, what, next.apply(next.context, old), false);
    if (who.host) drain_buffers(who);
    return old;
  }
  if (!is_across) return replace(thread, what, next);
  device_side& device = devices_[who.host ? what.device : who.device];
  if (who.host) {
    if (!passes(packet_kind::atomic, packet_kind::posted, false)) push_posted(who, device, numbers_);
    const uint64_t old = replace(thread, what, next);
    if (!passes(packet_kind::completion, packet_kind::posted, true)) push_sent(who, device);
    who.ready_ns = start_ns(who) + delay_of(thread, settings_.read_ns);
    return old;
  }
  push_before_request(who, thread, bytes, packet_kind::atomic);
  who.last_event = ++device.events;
  const uint64_t old = replace(thread, what, next);
  device.same_address.raise(bytes, moment_, thread, who.last_event);
  wait_for_answer(who, thread);
  return old;
}

// At the memory, as one.
uint64_t transport::replace(uint32_t thread, const access& what, const modification& next) {
  const piece bytes = first_piece(what.address, what.size_bytes);
  const uint64_t old = read(bytes);
  if (next.writes == nullptr || next.writes(next.context, old))
    arrive(make_store(thread, what, bytes, next.apply(next.context, old)));
  return old;
}

void transport::fence(uint32_t thread) {
  thread_state& who = threads_[thread];
  if (who.host) return drain_buffers(who);
  device_side& device = devices_[who.device];
  if (!passes(packet_kind::completion, packet_kind::posted, false)) push_posted(who, device, who.answers_behind);
  if (settings_.drain)
    push_requests(who, device);
  else
    ++device.epoch;
  ++device.fences;
  device.binding = device.events;
  who.floor = moment_;
  who.ready_ns = std::max(start_ns(who), who.answered_ns) + delay_of(thread, settings_.fence_ns);
}

// -- order inside the machine ------------------------------------------------------------------------------------------------------

void transport::publish(uint32_t thread) {
  const thread_state& who = threads_[thread];
  if (who.host) return;
  device_side& device = devices_[who.device];
  device.published = std::max(device.published, who.floor);
  device.published_answers = std::max(device.published_answers, who.answers_behind);
  device.published_events = std::max({device.published_events, who.last_event, who.synchronised});
  device.binding = std::max(device.binding, device.published_events);
}

void transport::take_published(uint32_t thread) {
  thread_state& who = threads_[thread];
  if (who.host) return;
  const device_side& device = devices_[who.device];
  who.floor = std::max(who.floor, device.published);
  who.answers_behind = std::max(who.answers_behind, device.published_answers);
  who.synchronised = std::max(who.synchronised, device.published_events);
}

void transport::hand_on(uint32_t from, uint32_t to) {
  thread_state& then = threads_[to];
  const thread_state& first = threads_[from];
  then.floor = std::max(then.floor, first.floor);
  then.answers_behind = std::max(then.answers_behind, first.answers_behind);
  then.synchronised = std::max({then.synchronised, first.synchronised, first.last_event});
  then.ready_ns = std::max(then.ready_ns, first.ready_ns);
  if (first.host || then.host) return;
  device_side& device = devices_[then.device];
  device.binding = std::max(device.binding, then.synchronised);
}

void transport::finish(uint32_t thread, uint32_t waiting) {
  thread_state& first = threads_[thread];
  thread_state& then = threads_[waiting];
  if (first.host) {
    drain_buffers(first);
    for (device_side& device : devices_) push_posted(then, device, numbers_);
  } else {
    push_posted(then, devices_[first.device], first.answers_behind);
    push_requests(then, devices_[first.device]);
  }
  then.ready_ns = std::max(then.ready_ns, first.ready_ns);
}

void transport::see_all(uint32_t thread) {
  thread_state& who = threads_[thread];
  who.floor = moment_;
  if (who.host) return;
  device_side& device = devices_[who.device];
  who.synchronised = device.events;
  device.binding = device.events;
}

void transport::not_before(uint32_t thread, uint64_t at_ns) {
  thread_state& who = threads_[thread];
  who.ready_ns = std::max(who.ready_ns, at_ns);
}

// -- what has to happen first ------------------------------------------------------------------------------------------------------

void transport::push_sent(thread_state& who, device_side& device) {
  while (!device.requests.empty() && device.requests.front().epoch < device.epoch) {
    who.ready_ns = std::max(who.ready_ns, device.requests.front().due_ns);
    take_request(device, 0);
  }
}

void transport::push_requests(thread_state& who, device_side& device) {
  while (!device.requests.empty()) {
    who.ready_ns = std::max(who.ready_ns, device.requests.front().due_ns);
    take_request(device, 0);
  }
}

// Stores of the device that are ahead of a request of the thread, and whatever those may not overtake: what is on the link and
// what goes to the same bytes, as far as it happened before. Another lane's store may as well have been sent after the request.
void transport::push_before_request(thread_state& who, uint32_t thread, const piece& bytes, packet_kind kind) {
  device_side& device = devices_[who.device];
  auto& requests = device.requests;
  const bool is_behind_sent = !passes(kind, packet_kind::posted, true);
  const auto is_ahead = [&](const store_under_way& made) {
    if (made.thread != thread && made.event > who.synchronised) return false;
    return (is_behind_sent && made.epoch < device.epoch) || (settings_.same_address && overlap(made.where, bytes));
  };
  while (true) {
    auto next = std::find_if(requests.begin(), requests.end(), is_ahead);
    if (next == requests.end()) return;
    // The first store that stands in nobody's way is taken; it is the one that was found in the end.
    while (!may_arrive(device, *next)) {
      const store_under_way& behind = *next;
      next = std::find_if(requests.begin(), next, [&](const store_under_way& ahead) {
        return overlap(ahead.where, behind.where) || (behind.half < 0 && &ahead + 1 == &behind) ||
               (behind.half > 0 && overlap(ahead.where, (&behind)[1].where)) ||
               (ahead.epoch < behind.epoch && !passes(packet_kind::posted, packet_kind::posted, true));
      });
    }
    who.ready_ns = std::max(who.ready_ns, next->due_ns);
    take_request(device, static_cast<size_t>(next - requests.begin()));
  }
}

void transport::push_posted(thread_state& who, device_side& device, uint64_t up_to_number) {
  while (!device.posted.empty() && device.posted.front().number <= up_to_number) {
    who.ready_ns = std::max(who.ready_ns, device.posted.front().due_ns);
    take_posted(device);
  }
}

void transport::drain_buffers(thread_state& who) {
  while (!who.buffer.empty()) leave_buffer(who);
  while (!who.combining.empty()) leave_combining(who, 0);
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
  if (kept != at) note_overtaking(*kept, taken);
  const auto behind = device.requests.erase(at);
  --under_way_;
  if (settings_.same_address)
    for (auto younger = behind; younger != device.requests.end(); ++younger)
      if (overlap(younger->where, taken.where)) --younger->blockers;
  arrive(taken);
  if (taken.epoch == device.epoch) return;
  // It was on the link: whatever its thread requests from now on goes behind it, and so do the requests of those who may know of it.
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
  if (index != 0 && taken.releases) note_overtaking(device.posted.front(), taken);
  device.posted.erase(device.posted.begin() + static_cast<ptrdiff_t>(index));
  --under_way_;
  const thread_state& issuer = threads_[taken.thread];
  if (taken.releases && !issuer.combining.empty() && issuer.combining.front().number < taken.number)
    note_overtaking(issuer.combining.front(), taken);
  arrive(taken);
  if (taken.half > 0) take_posted(device, index);
}

void transport::leave_buffer(thread_state& who) {
  store_under_way made = who.buffer.front();
  who.buffer.erase(who.buffer.begin());
  if (made.to_device && !settings_.write_combining) return post(made);
  if (!made.to_device) {
    --under_way_;
    if (made.releases && !who.combining.empty()) note_overtaking(who.combining.front(), made);
    return arrive(made);
  }
  // The same bytes are written over in the buffer.
  for (store_under_way& older : who.combining) {
    if (older.where.address != made.where.address || older.where.size_bytes != made.where.size_bytes) continue;
    if (std::any_of(&older + 1, who.combining.data() + who.combining.size(),
                    [&](const store_under_way& between) { return overlap(between.where, made.where); }))
      continue;
    older.value = made.value;
    --under_way_;
    return;
  }
  who.combining.push_back(made);
  size_t lines = 0;
  for (size_t n = 0; n < who.combining.size(); ++n) lines += is_first_of_line(who.combining, n) ? 1 : 0;
  if (lines > most_combining_lines) leave_combining(who, 0);
}

// The line of this store, as one.
void transport::leave_combining(thread_state& who, size_t first) {
  const store_under_way chosen = who.combining[first];
  std::vector<store_under_way> stay;
  for (store_under_way& made : who.combining) {
    if (same_line(made, chosen))
      post(made);
    else
      stay.push_back(made);
  }
  who.combining = std::move(stay);
}

void transport::post(store_under_way what) {
  what.number = ++numbers_;
  std::vector<store_under_way>& posted = devices_[what.device].posted;
  what.due_ns = what.half < 0 ? posted.back().due_ns
                              : std::max(what.due_ns, now_ns_) + delay_of(what.thread, settings_.posted_ns);
  posted.push_back(what);
}

void transport::note_overtaking(const store_under_way& overtaken, const store_under_way& overtaker) {
  constexpr size_t most_told = 8;
  if (overtakings_.size() < most_told) overtakings_.push_back({.overtaken = overtaken, .overtaker = overtaker});
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
    const thread_state& who = threads_[thread];
    count += who.buffer.empty() ? 0 : 1;
    for (size_t n = 0; n < who.combining.size(); ++n) count += is_first_of_line(who.combining, n) ? 1 : 0;
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
    thread_state& who = threads_[thread];
    if (!who.buffer.empty() && left-- == 0) return leave_buffer(who);
    for (size_t n = 0; n < who.combining.size(); ++n)
      if (is_first_of_line(who.combining, n) && left-- == 0) return leave_combining(who, n);
  }
}

// Delivers what may arrive and passes the test, until nothing does; whether anything did.
template <typename Test>
bool transport::deliver_oldest(Test&& test) {
  bool any = false;
  for (const uint32_t thread : host_threads_) {
    thread_state& who = threads_[thread];
    for (; !who.buffer.empty() && test(who.buffer.front()); any = true) leave_buffer(who);
    for (; !who.combining.empty() && test(who.combining.front()); any = true) leave_combining(who, 0);
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
