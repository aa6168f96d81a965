#include <heddle/sim/memory/link/transport.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace heddle::sim {
namespace {

// As on present cores; the oldest leaves when there is no room.
constexpr size_t most_buffered = 64;

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
  thread_state& state = threads_[thread];
  const piece bytes = first_piece(what.address, what.size_bytes);
  if (state.host) return load_from_host(state, thread, what, bytes);
  if (!what.on_device) return load_across(state, thread, bytes, waits);
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
uint64_t transport::load_across(thread_state& state, uint32_t thread, const piece& bytes, bool waits) {
  device_side& device = devices_[state.device];
  push_before_request(state, thread, bytes, packet_kind::read);
  state.last_event = ++device.events;
  if (!waits) {
    const uint64_t value = choose_value(state, thread, bytes);
    // The answer queues up behind what the host has posted by now.
    if (!device.posted.empty()) state.answers_behind = device.posted.back().number;
    if (is_latency_on())
      state.answered_ns = std::max(state.answered_ns, state.start_ns(now_ns_) + delay_of(thread, settings_.read_ns));
    return value;
  }
  device.same_address.raise(bytes, moment_, thread, state.last_event);
  const uint64_t value = read(bytes);
  wait_for_answer(state, thread);
  return value;
}

// The thread has waited for the answer to its request, and with it for all that is ahead of the answer.
void transport::wait_for_answer(thread_state& state, uint32_t thread) {
  device_side& device = devices_[state.device];
  if (!passes(packet_kind::completion, packet_kind::posted, false)) push_posted(state, device, numbers_);
  state.floor = moment_;
  state.ready_ns = state.start_ns(now_ns_) + delay_of(thread, settings_.read_ns);
}

uint64_t transport::choose_value(thread_state& state, uint32_t thread, const piece& bytes) {
  device_side& device = devices_[state.device];
  uint64_t floor = std::max(state.floor, device.floor);
  if (settings_.same_address) floor = std::max(floor, device.same_address.of(bytes, {thread, state.synchronised}));
  history_.values_after(bytes, floor, seen_);
  const auto count = static_cast<uint32_t>(seen_.size());
  const value_history::value chosen = seen_[count == 1 ? 0 : around_->choose(thread, question::visible, count)];
  if (settings_.same_address) device.same_address.raise(bytes, std::max(floor, chosen.since), thread, state.last_event);
  return chosen.bytes;
}

uint64_t transport::load_from_host(thread_state& state, uint32_t thread, const access& what, const piece& bytes) {
  uint64_t value = 0;
  if (!what.on_device) {
    if (what.combines) drain_buffers(state);
    read_own(thread, what, reinterpret_cast<std::byte*>(&value));
    return value;
  }
  // An uncached or write-combining load: the buffers empty themselves first, then a request goes out and is waited for.
  device_side& device = devices_[what.device];
  drain_buffers(state);
  if (!passes(packet_kind::read, packet_kind::posted, false)) push_posted(state, device, numbers_);
  value = read(bytes);
  if (!passes(packet_kind::completion, packet_kind::posted, true)) push_requests(state, device, device.epoch);
  state.ready_ns = state.start_ns(now_ns_) + delay_of(thread, settings_.read_ns);
  return value;
}

void transport::read_own(uint32_t thread, const access& what, std::byte* into) const {
  const thread_state& state = threads_[thread];
  const auto* const from = static_cast<const std::byte*>(what.address);
  std::memcpy(into, from, what.size_bytes);
  if (under_way_ == 0) return;
  const auto lay_all_over = [&](const std::vector<store_under_way>& stores) {
    for (const store_under_way& made : stores)
      if (!state.host || made.thread == thread) lay_over(made, from, what.size_bytes, into);
  };
  if (state.host) {
    lay_all_over(devices_[what.device].posted);
    lay_all_over(state.combining);
    lay_all_over(state.buffer);
  } else {
    lay_all_over(devices_[state.device].requests);
  }
}

// -- stores ------------------------------------------------------------------------------------------------------------------------

store_under_way transport::make_store(uint32_t thread, const access& what, const piece& bytes, uint64_t value) {
  const thread_state& state = threads_[thread];
  return {.where = bytes,
          .value = value,
          .to_device = what.on_device,
          .combines = state.host && (what.combines || (what.on_device && settings_.write_combining)),
          .device = state.host ? what.device : state.device,
          .thread = thread,
          .number = ++numbers_,
          .turn = turns_,
          .due_ns = state.start_ns(now_ns_),
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
  thread_state& state = threads_[thread];
  if (state.host) drain_buffers(state);
  const auto* const address = static_cast<const std::byte*>(what.address);
  for (const int32_t half : {1, -1}) {
    const void* const at = half == 1 ? address : address + granule_bytes;
    store_under_way made = make_store(thread, what, first_piece(at, granule_bytes), half == 1 ? low : high);
    made.releases = releases;
    made.half = half;
    if (state.host != made.to_device) {
      arrive(made);
    } else if (state.host) {
      ++under_way_;
      leave_processor(made);
    } else {
      add_request(devices_[made.device], made);
    }
  }
}

void transport::store_piece(const store_under_way& made) {
  thread_state& state = threads_[made.thread];
  if (state.host) return add_to_buffer(state, made);
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

void transport::add_to_buffer(thread_state& state, const store_under_way& made) {
  if (state.buffer.size() == most_buffered) leave_buffer(state);
  state.buffer.push_back(made);
  state.buffer.back().fences = state.fences;
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
  thread_state& state = threads_[thread];
  const bool is_across = state.host == what.on_device;
  const bool is_split = is_across && !what.is_signal && settings_.rmw == rmw_capability::split;
  if (is_across && !what.is_signal && settings_.rmw == rmw_capability::dropped) return load(thread, what, true);
  const piece bytes = first_piece(what.address, what.size_bytes);
  if (state.host) drain_buffers(state);
  if (is_split) {
    const uint64_t old = load(thread, what, true);
    if (next.writes == nullptr || next.writes(next.context, old))
      store(thread, what, next.apply(next.context, old), false);
    if (state.host) drain_buffers(state);
    return old;
  }
  if (!is_across) return replace(thread, what, next);
  device_side& device = devices_[state.host ? what.device : state.device];
  if (state.host) {
    if (!passes(packet_kind::atomic, packet_kind::posted, false)) push_posted(state, device, numbers_);
    const uint64_t old = replace(thread, what, next);
    if (!passes(packet_kind::completion, packet_kind::posted, true)) push_requests(state, device, device.epoch);
    state.ready_ns = state.start_ns(now_ns_) + delay_of(thread, settings_.read_ns);
    return old;
  }
  push_before_request(state, thread, bytes, packet_kind::atomic);
  state.last_event = ++device.events;
  const uint64_t old = replace(thread, what, next);
  device.same_address.raise(bytes, moment_, thread, state.last_event);
  wait_for_answer(state, thread);
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

void transport::fence(uint32_t thread, orders what, uint64_t stores) {
  thread_state& state = threads_[thread];
  if (state.host && what == orders::stores) {
    // The store buffer keeps its order: what it holds needs only to be told from what combining buffers may hold back.
    const std::vector<store_under_way>& last = state.buffer.empty() ? state.combining : state.buffer;
    if (!last.empty() && last.back().fences == state.fences) ++state.fences;
    return;
  }
  if (state.host) return drain_buffers(state, stores);
  device_side& device = devices_[state.device];
  if (!passes(packet_kind::completion, packet_kind::posted, false)) push_posted(state, device, state.answers_behind);
  if (settings_.drain)
    push_requests(state, device);
  else
    ++device.epoch;
  ++device.fences;
  device.binding = device.events;
  state.floor = moment_;
  state.ready_ns = std::max(state.start_ns(now_ns_), state.answered_ns) + delay_of(thread, settings_.fence_ns);
}

// -- order inside the machine ------------------------------------------------------------------------------------------------------

void transport::publish(uint32_t thread) {
  const thread_state& state = threads_[thread];
  if (state.host) return;
  device_side& device = devices_[state.device];
  device.published = std::max(device.published, state.floor);
  device.published_answers = std::max(device.published_answers, state.answers_behind);
  device.published_events = std::max({device.published_events, state.last_event, state.synchronised});
  device.binding = std::max(device.binding, device.published_events);
}

void transport::take_published(uint32_t thread) {
  thread_state& state = threads_[thread];
  if (state.host) return;
  const device_side& device = devices_[state.device];
  state.floor = std::max(state.floor, device.published);
  state.answers_behind = std::max(state.answers_behind, device.published_answers);
  state.synchronised = std::max(state.synchronised, device.published_events);
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

void transport::finish(uint32_t thread, uint32_t waiting, uint64_t stores) {
  thread_state& first = threads_[thread];
  thread_state& then = threads_[waiting];
  if (first.host) {
    drain_buffers(first, stores);
    for (device_side& device : devices_) push_posted(then, device, numbers_);
  } else {
    push_posted(then, devices_[first.device], first.answers_behind);
    push_requests(then, devices_[first.device]);
  }
  then.ready_ns = std::max(then.ready_ns, first.ready_ns);
}

void transport::see_all(uint32_t thread) {
  thread_state& state = threads_[thread];
  state.floor = moment_;
  if (state.host) return;
  device_side& device = devices_[state.device];
  state.synchronised = device.events;
  device.binding = device.events;
}

void transport::not_before(uint32_t thread, uint64_t at_ns) {
  thread_state& state = threads_[thread];
  state.ready_ns = std::max(state.ready_ns, at_ns);
}

}  // namespace heddle::sim
