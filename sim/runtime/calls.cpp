#include <heddle/sim/base/code_under_test.h>
#include <heddle/sim/named_slots.h>
#include <heddle/sim/requests.h>
#include <heddle/sim/runtime/calls.h>
#include <heddle/sim/runtime/driver_call.h>
#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/runtime/gpu_calls.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace heddle::sim::runtime {
namespace {

/// The calling lane; what is asked for has no meaning outside of a run.
lane& caller_lane(const char* what) {
  if (execution::current == nullptr) {
    std::fprintf(stderr, "heddle: sim::%s is called outside of a simulated run\n", what);
    std::abort();
  }
  return *execution::current;
}

operation collective_operation(operation_kind kind, uint64_t mask, const caller& from) {
  operation made = make_operation(kind, nullptr, 0, from);
  made.mask = mask;
  return made;
}

/// What heddle's own objects do for a lane is not the lane's doing.
void* look_away() { return std::exchange(execution::current, nullptr); }
void look_again(void* looked_away) {
  auto* const self = static_cast<lane*>(looked_away);
  execution::current = self;
  if (self != nullptr && self->is_explored) [[unlikely]]
    clear_dead_stack();
}

}  // namespace

const scheduler::onlooker& looks_on_at_lanes() {
  static constexpr scheduler::onlooker self = {.look_away = look_away, .look_again = look_again};
  return self;
}

// -- lanes -------------------------------------------------------------------------------------------------------------------------

uint64_t lane_mask() {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("target");
  const entered inside(self);
  return execution::instance->active_mask(self, make_operation(operation_kind::active_mask, nullptr, 0, from));
}

uint32_t lane_id() { return caller_lane("target").index; }

uint32_t lane_count() {
  const lane& self = caller_lane("target");
  return static_cast<uint32_t>(self.of->lanes.size());
}

bool is_first_lane(uint64_t mask) {
  const lane& self = caller_lane("target");
  return self.is_host() || (mask != 0 && static_cast<uint32_t>(__builtin_ctzll(mask)) == self.index);
}

uint64_t broadcast(uint64_t mask, uint64_t value) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("target");
  if (self.is_host()) return value;
  const entered inside(self);
  return execution::instance->collective(self, collective_operation(operation_kind::broadcast, mask, from), value);
}

uint64_t ballot(uint64_t mask, bool predicate) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("target");
  if (self.is_host()) return predicate ? mask : 0;
  const entered inside(self);
  return execution::instance->collective(self, collective_operation(operation_kind::ballot, mask, from),
                                         predicate ? 1 : 0);
}

void sync_lanes(uint64_t mask) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("target");
  if (self.is_host()) return;
  const entered inside(self);
  execution::instance->collective(self, collective_operation(operation_kind::sync_lanes, mask, from), 0);
}

// -- memory ------------------------------------------------------------------------------------------------------------------------

uint64_t load(const void* address, uint32_t size_bytes, memory_order order, scope reach) {
  return atomic_load(address, size_bytes, order, reach, HEDDLE_CALLER);
}

void store(void* address, uint32_t size_bytes, uint64_t value, memory_order order, scope reach) {
  atomic_store(address, size_bytes, value, order, reach, HEDDLE_CALLER);
}

uint64_t read_modify_write(rmw_kind kind, void* address, uint32_t size_bytes, uint64_t operand, memory_order order,
                           scope reach) {
  return atomic_rmw(kind, address, size_bytes, operand, order, reach, HEDDLE_CALLER);
}

bool compare_exchange(void* address, uint32_t size_bytes, uint64_t* expected, uint64_t desired, memory_order order,
                      scope reach, bool weak) {
  return atomic_compare_exchange(address, size_bytes, *expected, desired, order, reach, HEDDLE_CALLER,
                                 weak ? exchange_kind::weak : exchange_kind::strong);
}

void fence(memory_order order, scope reach) { fence(order, reach, HEDDLE_CALLER); }

// -- position and waiting ----------------------------------------------------------------------------------------------------------

uint32_t block_id() { return caller_lane("target").of->block; }

uint32_t wave_id() {
  const wave& of = *caller_lane("target").of;
  return of.host ? of.ordinal : of.in_kernel;
}

void pause() {
  const caller from = HEDDLE_CALLER;
  lane* const self = execution::current;
  if (self == nullptr) return;
  const entered inside(*self);
  publish(*execution::instance, *self, operation_kind::pause, from);
  execution::instance->pause(*self, from.private_state);
}

void notify(doorbell* bell) {
  const caller from = HEDDLE_CALLER;
  lane* const self = observed_atomic(bell);
  doorbell_line::fate fate;
  if (self != nullptr) {
    execution& here = *execution::instance;
    const entered inside(*self);
    fate = here.rings().fate_of(*self, bell);
    if (fate.counts_now == 0) {
      publish_access(here, *self, operation_kind::notify, bell, sizeof *bell, memory_order::release, scope::system,
                     from);
      take_turn(here, *self);
      if (fate.under_way) here.send_ring(*self, bell, fate.steps);
      here.performed(*self, read_memory(bell, sizeof *bell));
      return;
    }
  }
  atomic_rmw(rmw_kind::add, bell, sizeof *bell, fate.counts_now, memory_order::release, scope::system, from,
             operation_kind::notify);
}

void wait(doorbell* bell, doorbell seen, uint64_t timeout_ns) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("target");
  const entered inside(self);
  const hidden_operands hidden(self, as_operand(bell), seen, timeout_ns);
  execution& here = *execution::instance;
  publish_access(here, self, operation_kind::wait, bell, sizeof *bell, memory_order::acquire, scope::system, from);
  take_turn(here, self);
  late_memory* const late = here.late();
  const uint64_t count = late == nullptr ? read_memory(bell, sizeof *bell) : late->load(self, self.pending);
  here.performed(self, count);
  if (count != seen) return;
  // A wait that can time out is one more turn of the loop around it: it ends when anything that the loop has read changes, be it
  // late. Without a time-out only the bell ends it, and running the loop again would hide a ring that was lost.
  if (timeout_ns == no_timeout) self.reads.clear();
  here.waiting().has_read(self, bell, sizeof *bell, count);
  self.in_same_call = true;
  here.finish_plain_store(self);
  here.pause(self, timeout_ns == no_timeout ? nullptr : from.private_state);
  self.in_same_call = false;
}

void trap(fault why, const char* message) {
  const caller from = HEDDLE_CALLER;
  if (execution::current == nullptr) {
    std::fprintf(stderr, "heddle: %s\n", message);
    std::abort();
  }
  lane& self = *execution::current;
  const entered inside(self);
  execution& here = *execution::instance;
  here.finish_plain_store(self);
  self.pending = make_operation(operation_kind::none, nullptr, 0, from);
  here.core().end(self, why == fault::protocol ? scheduler::verdict::protocol : scheduler::verdict::assertion, message);
}

bool is_device() { return execution::current != nullptr && !execution::current->is_host(); }

// -- the device --------------------------------------------------------------------------------------------------------------------

uint32_t device_count() { return execution::instance == nullptr ? 1 : execution::instance->memory().devices().gpus(); }

uint32_t default_stream_of(uint32_t device) {
  return execution::instance == nullptr ? 0 : execution::instance->memory().devices()[device].stream;
}

result<uint32_t> unify(std::span<const uint32_t> devices) {
  const entered inside(caller_lane("device"));
  return execution::instance->launched().unify(devices);
}

device_memory memory_of(uint32_t device) {
  const entered inside(caller_lane("device"));
  return execution::instance->memory().memory_of(device);
}

result<uint32_t> open_process(uint32_t device) {
  const entered inside(caller_lane("device"));
  return execution::instance->launched().open_process(device);
}

result<void> check_copy(uint32_t device, const void* to, const void* from, size_t size_bytes) {
  if (execution::current == nullptr) return {};
  const entered inside(*execution::current);
  result<void> mine = execution::instance->memory().check_process("copy", device, to, size_bytes);
  return mine ? execution::instance->memory().check_process("copy", device, from, size_bytes) : mine;
}

result<device_page> page_of(uint32_t device, const void* address) {
  const entered inside(caller_lane("device"));
  return execution::instance->memory().page_of(device, address);
}

result<void*> at(uint32_t device, uint64_t address) {
  const entered inside(caller_lane("device"));
  return execution::instance->memory().at(device, address);
}

void* allocate(size_t size_bytes, bool on_device, const char* name, uint32_t device, const void* owner) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("device");
  const driver_call called(self, from);
  const entered inside(self);
  return execution::instance->memory().allocate(self,
                                                {.size_bytes = size_bytes,
                                                 .kind = on_device ? memory_kind::device : memory_kind::shared,
                                                 .name = name,
                                                 .device = device,
                                                 .owner = owner},
                                                make_operation(operation_kind::none, nullptr, 0, from));
}

void* try_allocate(size_t size_bytes, bool on_device, const char* name, uint32_t device, const void* owner,
                   bool moves) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("device");
  const driver_call called(self, from);
  const entered inside(self);
  return execution::instance->memory().try_allocate(self,
                                                    {.size_bytes = size_bytes,
                                                     .kind = on_device ? memory_kind::device : memory_kind::shared,
                                                     .name = name,
                                                     .device = device,
                                                     .owner = owner,
                                                     .moves = moves});
}

void device_ends(const void* owner) {
  lane* const self = execution::current;
  if (self == nullptr) return;
  const entered inside(*self);
  execution::instance->release_all_of(*self, owner);
}

void release(void* pointer, uint32_t device) {
  if (pointer == nullptr) return;
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("device");
  const driver_call called(self, from);
  const entered inside(self);
  const operation how = make_operation(operation_kind::none, nullptr, 0, from);
  execution::instance->memory().require_process(self, "free", device, pointer, 1, how);
  execution::instance->release(self, pointer, how);
}

namespace {

/// What a host thread copies. More than so many bytes are one plain access.
constexpr size_t copied_by_word_bytes = 8192;

/// Ends the run where the bytes are not all there.
void check_range(operation_kind kind, const void* address, size_t size_bytes, const caller& from) {
  lane* const self = observed(address);
  if (self == nullptr) return;
  const entered inside(*self);
  publish_access(*execution::instance, *self, kind, address, size_bytes, memory_order::relaxed, scope::system, from);
  execution::instance->check_access(*self);
}

/// Where a copy finds a byte of device memory, when that is not where kernels have stored it.
std::byte* past_caches(const void* address) {
  execution& here = *execution::instance;
  if (!here.memory().unflushed().on()) return nullptr;
  const entered inside(*execution::current);
  return here.memory().unflushed().found_by_copy(here.core().map.heap, address);
}

/// Each aligned word whole, as by a relaxed access of system scope; from either end, because no engine promises an order. The thread
/// waits for the copy: what it did before comes before, what it does next comes behind.
void copy_by_word(std::byte* to, const std::byte* from_memory, size_t size_bytes, const caller& from) {
  check_range(operation_kind::plain_load, from_memory, size_bytes, from);
  check_range(operation_kind::plain_store, to, size_bytes, from);
  fence(memory_order::release, scope::system, from);
  const auto misaligned = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from_memory);
  const auto copy_word = [&](size_t at, size_t bytes) {
    uint64_t value = atomic_load(from_memory + at, bytes, memory_order::relaxed, scope::system, from);
    if (const std::byte* const stale = past_caches(from_memory + at)) value = read_memory(stale, bytes);
    atomic_store(to + at, bytes, value, memory_order::relaxed, scope::system, from);
    if (std::byte* const memory = past_caches(to + at)) write_memory(memory, bytes, value);
  };
  size_t word_bytes = 8;
  while (misaligned % word_bytes != 0) word_bytes /= 2;
  const size_t words = size_bytes / word_bytes;
  bool from_the_end = false;
  if (words > 1 && execution::instance->core().phase.is_open()) {
    lane& self = *execution::current;
    const entered inside(self);
    from_the_end = execution::instance->core().pick(self, 2, scheduler::choice_kind::visible) != 0;
    if (from_the_end) self.call[2] |= uint64_t{1} << 63;
  }
  for (size_t n = 0; n < words; ++n) copy_word((from_the_end ? words - 1 - n : n) * word_bytes, word_bytes);
  for (size_t at = words * word_bytes; at < size_bytes; word_bytes /= 2)
    if (size_bytes - at >= word_bytes) {
      copy_word(at, word_bytes);
      at += word_bytes;
    }
  fence(memory_order::acquire, scope::system, from);
}

void copy_bytes(void* to, const void* from_memory, size_t size_bytes, const caller& from) {
  if (execution::current->is_host() && size_bytes <= copied_by_word_bytes)
    return copy_by_word(static_cast<std::byte*>(to), static_cast<const std::byte*>(from_memory), size_bytes, from);
  plain_read(from_memory, size_bytes, from);
  const same_call more(from_memory);
  const std::byte* const stale = past_caches(from_memory);
  std::byte* const memory = past_caches(to);
  range_write(to, size_bytes, from, [&] {
    std::memmove(to, stale == nullptr ? from_memory : stale, size_bytes);
    if (memory != nullptr) std::memcpy(memory, to, size_bytes);
  });
}

/// Marks the time of a copy, where virtual time is kept.
class timed_copy {
 public:
  timed_copy(const lane& who, size_t size_bytes) : time_(execution::instance->timed()), who_(who) {
    if (time_ != nullptr) time_->copy_begins(who, size_bytes);
  }
  ~timed_copy() {
    if (time_ != nullptr) time_->copy_ends(who_);
  }
  timed_copy(const timed_copy&) = delete;
  timed_copy& operator=(const timed_copy&) = delete;

 private:
  timed_memory* time_;
  const lane& who_;
};

/// Piece by piece, where they lie in the memory of several GPUs: each has an engine that copies from it, and none promises an order.
void copy_pieces(void* to, const void* from_memory, size_t size_bytes, const caller& from) {
  const auto copy_piece = [&](size_t at, size_t piece) {
    copy_bytes(static_cast<std::byte*>(to) + at, static_cast<const std::byte*>(from_memory) + at, piece, from);
  };
  lane& self = *execution::current;
  execution& here = *execution::instance;
  const timed_copy timed(self, size_bytes);
  if (!here.memory().devices().places_memory()) return copy_piece(0, size_bytes);
  // Not more than a unified device has GPUs, on both sides; the last one takes what is left.
  std::array<std::pair<size_t, size_t>, size_t{2} * device_set::most_gpus> pieces;
  uint32_t count = 0;
  {
    const entered inside(self);
    for (size_t at = 0; at < size_bytes; at += pieces[count++].second) {
      const bool is_last = count + 1 == pieces.size();
      pieces[count] = {at, is_last ? size_bytes - at : here.memory().piece_of_copy(to, from_memory, at, size_bytes)};
    }
  }
  while (count != 0) {
    uint32_t next = 0;
    if (count > 1 && here.core().phase.is_open()) {
      const entered inside(self);
      next = here.core().pick(self, count, scheduler::choice_kind::visible);
      // What is left to do is nowhere but in this frame.
      self.call[2] = self.call[2] * pieces.size() + next + 1;
    }
    const auto [at, piece] = pieces[next];
    std::copy(pieces.begin() + next + 1, pieces.begin() + count, pieces.begin() + next);
    --count;
    copy_piece(at, piece);
  }
}

/// The engine of one copy, from its beginning to its end.
void perform_copy(void* body) {
  const stream_copy& what = *static_cast<const stream_copy*>(body);
  lane& self = *execution::current;
  // Nobody has called this: what it does is told as done where the stream was given it.
  void* const no_frame[2] = {nullptr, nullptr};
  const caller from = {what.place, no_frame, reinterpret_cast<const std::byte*>(no_frame)};
  const hidden_operands hidden(self, as_operand(what.to), as_operand(what.from), what.size_bytes);
  {
    const entered inside(self);
    execution::instance->begin_copy(self, make_operation(operation_kind::synchronize, nullptr, 0, from));
  }
  copy_pieces(what.to, what.from, what.size_bytes, from);
}

}  // namespace

void copy(void* to, const void* from_memory, size_t size_bytes, uint32_t device) {
  const caller from = HEDDLE_CALLER;
  if (execution::current == nullptr) {
    std::memmove(to, from_memory, size_bytes);
    return;
  }
  const driver_call called(*execution::current, from);
  const hidden_operands hidden(*execution::current, as_operand(to), as_operand(from_memory), size_bytes);
  if (execution::instance->memory().devices().has_several_processes()) {
    lane& self = *execution::current;
    const entered inside(self);
    const operation how = make_operation(operation_kind::none, nullptr, 0, from);
    for (const void* const side : {static_cast<const void*>(to), from_memory})
      execution::instance->memory().require_process(self, "copy", device, side, size_bytes, how);
  }
  copy_pieces(to, from_memory, size_bytes, from);
}

void copy_in_stream(void* to, const void* from_memory, size_t size_bytes, uint32_t stream) {
  static constexpr fiber_body engine = {.size_bytes = sizeof(stream_copy), .move_to = nullptr, .invoke = perform_copy};
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("a copy in a stream");
  const driver_call called(self, from, driver_call::kind::launch);
  const entered inside(self);
  const hidden_operands hidden(self, as_operand(to), as_operand(from_memory), uint64_t{stream} << 48 | size_bytes);
  execution::instance->copy_in_stream(self,
                                      {.to = to, .from = from_memory, .size_bytes = size_bytes, .place = from.place},
                                      stream, engine, make_operation(operation_kind::copy, nullptr, 0, from));
}

void map_cached(void* memory) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("map_cached");
  const entered inside(self);
  execution::instance->map_cached(self, memory, make_operation(operation_kind::none, nullptr, 0, from));
}

void name_slots(const named_slots& where) {
  if (execution::current == nullptr) return;
  if (recorder* const record = execution::instance->core().observers.recorder.get()) record->name(where);
}

void call_begins() {
  if (execution::current == nullptr || execution::instance->timed() == nullptr) return;
  lane& self = *execution::current;
  const entered inside(self);
  execution::instance->timed()->call_begins(self);
}

void call_ends(bool answered) {
  if (execution::current == nullptr || execution::instance->timed() == nullptr) return;
  lane& self = *execution::current;
  const entered inside(self);
  execution::instance->timed()->call_ends(self, answered);
}

void request_made(uint64_t id) {
  lane& self = caller_lane("request_made");
  const entered inside(self);
  execution::instance->request_made(self, id);
}

void request_served(uint64_t id) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("request_served");
  const entered inside(self);
  execution::instance->request_served(self, id, make_operation(operation_kind::none, nullptr, 0, from));
}

void launch(const launch_shape& shape, const fiber_body& kernel, const void* bytes, uint32_t stream) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("device");
  const driver_call called(self, from, driver_call::kind::launch);
  const entered inside(self);
  const hidden_operands hidden(self, uint64_t{shape.blocks} << 32 | shape.waves, uint64_t{shape.lanes} << 32 | stream,
                               as_operand(bytes));
  // Where this is too much, a block does not fit.
  const uint64_t threads = uint64_t{shape.waves} * shape.lanes;
  const grid_shape grid = {
      .grid = {.x = shape.blocks},
      .block = {.x = static_cast<uint32_t>(threads < UINT32_MAX ? threads : UINT32_MAX)},
      .wave_lanes = shape.lanes,
      .stream = stream,
  };
  execution::instance->launch(self, grid, kernel, bytes, make_operation(operation_kind::launch, nullptr, 0, from));
}

bool query(uint32_t device) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("device");
  const entered inside(self);
  const hidden_operands hidden(self);
  execution& here = *execution::instance;
  here.step(self, make_operation(operation_kind::query, nullptr, 0, from));
  const uint64_t& running = here.launched().running(device);
  self.called = true;
  self.reads.add(&running, sizeof running, running);
  here.performed(self, running);
  if (running == 0) here.launched().acquire_kernels(self, device);
  return running == 0;
}

void synchronize(uint32_t device) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("device");
  const driver_call called(self, from, driver_call::kind::wait);
  const entered inside(self);
  const hidden_operands hidden(self);
  execution& here = *execution::instance;
  here.require_host(self, "synchronize()", make_operation(operation_kind::synchronize, nullptr, 0, from));
  publish(here, self, operation_kind::synchronize, from);
  here.wait_for(self, here.launched().running(device), 0);
  here.launched().acquire_kernels(self, device);
}

bool begin_on_clear_stacks() { return begins_on_clear_stacks = true; }

const wave* spawn_host(const char* name, const fiber_body& body, void* function) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("device");
  const entered inside(self);
  const hidden_operands hidden(self, as_operand(name), as_operand(function));
  execution::instance->require_host(self, "spawn_host()", make_operation(operation_kind::spawn, nullptr, 0, from));
  publish(*execution::instance, self, operation_kind::spawn, from);
  return &execution::instance->spawn_host(self, name, body, function);
}

void join(const wave* thread) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("device");
  const entered inside(self);
  const hidden_operands hidden(self, as_operand(thread));
  execution& here = *execution::instance;
  publish(here, self, operation_kind::join, from);
  here.wait_for(self, thread->ended, 1);
  if (late_memory* const late = here.late()) late->acquire_object(self, &thread->ended);
}

}  // namespace heddle::sim::runtime
