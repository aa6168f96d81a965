// Copies of bytes, at once and in streams.
#include <heddle/sim/runtime/atomic_accesses.h>
#include <heddle/sim/runtime/calls.h>
#include <heddle/sim/runtime/driver_call.h>
#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/runtime/given_place.h>
#include <heddle/sim/runtime/gpu_calls.h>
#include <heddle/sim/runtime/plain_accesses.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace heddle::sim::runtime {
namespace {

/// What a host thread copies. More than so many bytes are one plain access.
constexpr size_t copied_by_word_bytes = 8192;

/// Ends the run where the bytes are not all there.
void check_range(operation_kind kind, const void* address, size_t size_bytes, const caller& from) {
  lane* const self = observed(address);
  if (self == nullptr) return;
  const entered inside(*self);
  publish_access(*execution::instance, *self, kind, {address, size_bytes}, from);
  execution::instance->check_access(*self);
}

/// Where a copy finds a byte of device memory, when that is not where kernels have stored it.
std::byte* past_caches(const void* address) {
  execution& here = *execution::instance;
  if (!here.memory().unflushed().on()) return nullptr;
  const entered inside(*execution::current);
  return here.memory().unflushed().found_by_copy(here.core().map.heap, address);
}

/// More than one word of 8 bytes is data and no flag: against another copy, its words are no atomics.
class block_copy {
 public:
  block_copy(lane& self, size_t size_bytes) : self_(self) { self.copies_block = size_bytes > sizeof(uint64_t); }
  ~block_copy() { self_.copies_block = false; }
  block_copy(const block_copy&) = delete;
  block_copy& operator=(const block_copy&) = delete;

 private:
  lane& self_;
};

/// Each aligned word whole, as by a relaxed access of system scope; from either end, because no engine promises an order. The thread
/// waits for the copy: what it did before comes before, what it does next comes behind.
void copy_by_word(std::byte* to, const std::byte* from_memory, size_t size_bytes, const caller& from) {
  check_range(operation_kind::plain_load, from_memory, size_bytes, from);
  check_range(operation_kind::plain_store, to, size_bytes, from);
  const block_copy copying(*execution::current, size_bytes);
  fence(memory_order::release, scope::system, from);
  const auto misaligned = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from_memory);
  const auto copy_word = [&](size_t at, size_t bytes) {
    // What lies in the thread's own frame no other actor sees. As atomics these would look like a loop that waits there.
    const lane& self = *execution::current;
    uint64_t value = self.is_private(from_memory + at) ? read_memory(from_memory + at, bytes)
                                                       : atomic_load({from_memory + at, bytes}, from);
    // Where flushes happen, an older value than memory holds is one that the load may return as well; what it has learnt goes with it.
    if (const std::byte* const stale = past_caches(from_memory + at);
        stale != nullptr && (!execution::instance->machine().flushes || value == read_memory(from_memory + at, bytes)))
      value = read_memory(stale, bytes);
    if (self.is_private(to + at))
      write_memory(to + at, bytes, value);
    else
      atomic_store({to + at, bytes}, value, from);
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
  lane& self = *execution::current;
  range_write(to, size_bytes, from, [&] {
    if (stale == nullptr) look_again_inside(self, from_memory, size_bytes);
    std::memmove(to, stale == nullptr ? from_memory : stale, size_bytes);
    if (memory != nullptr) std::memcpy(memory, to, size_bytes);
  });
}

/// A copy that a host thread has the runtime make: it reaches all memory.
class by_runtime {
 public:
  explicit by_runtime(lane& self) : self_(self) { self.copies_memory = true; }
  ~by_runtime() { self_.copies_memory = false; }
  by_runtime(const by_runtime&) = delete;
  by_runtime& operator=(const by_runtime&) = delete;

 private:
  lane& self_;
};

/// Marks the time of a copy, where virtual time is kept.
class timed_copy {
 public:
  timed_copy(const lane& who, size_t size_bytes) : time_(execution::instance->timed()), who_(who) {
    if (time_ != nullptr) time_->enters_copy(who, size_bytes);
  }
  ~timed_copy() {
    if (time_ != nullptr) time_->leaves_copy(who_);
  }
  timed_copy(const timed_copy&) = delete;
  timed_copy& operator=(const timed_copy&) = delete;

 private:
  timed_memory* time_;
  const lane& who_;
};

void copy_pieces(void* to, const void* from_memory, size_t size_bytes, const caller& from);

/// Each part that is mapped as one, where it lies.
void copy_between_mappings(void* to, const void* from_memory, size_t size_bytes, const caller& from) {
  lane& self = *execution::current;
  execution& here = *execution::instance;
  for (size_t at = 0, bytes = 0; at < size_bytes; at += bytes) {
    void* into = static_cast<std::byte*>(to) + at;
    const void* out_of = static_cast<const std::byte*>(from_memory) + at;
    bytes = bytes_together(into, bytes_together(out_of, size_bytes - at));
    {
      const entered inside(self);
      into = reached(here, self, into, bytes, mapping_right::write);
      out_of = reached(here, self, out_of, bytes, mapping_right::read);
    }
    check_range(operation_kind::plain_load, out_of, bytes, from);
    check_range(operation_kind::plain_store, into, bytes, from);
    copy_pieces(into, out_of, bytes, from);
  }
}

/// Piece by piece, where they lie in the memory of several GPUs: each has an engine that copies from it, and none promises an order.
void copy_pieces(void* to, const void* from_memory, size_t size_bytes, const caller& from) {
  const auto copy_piece = [&](size_t at, size_t piece) {
    copy_bytes(static_cast<std::byte*>(to) + at, static_cast<const std::byte*>(from_memory) + at, piece, from);
  };
  lane& self = *execution::current;
  execution& here = *execution::instance;
  if (mapped_ranges::contains(to) || mapped_ranges::contains(from_memory)) [[unlikely]]
    return copy_between_mappings(to, from_memory, size_bytes, from);
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
  const given_place engine(what.calls);
  const hidden_operands hidden(self, as_operand(what.to), as_operand(what.from), what.size_bytes);
  engine.begin(self);
  copy_pieces(what.to, what.from, what.size_bytes, engine.from());
}

/// A function of the host, in its place in a stream.
void perform_call(void* body) {
  const stream_copy& what = *static_cast<const stream_copy*>(body);
  lane& self = *execution::current;
  const given_place engine(what.calls);
  const hidden_operands hidden(self, as_operand(what.to), as_operand(reinterpret_cast<const void*>(what.function)));
  engine.begin(self);
  what.function(what.to);
}

/// Each part that is mapped as one.
void fill_parts(void* to, int value, size_t size_bytes, const caller& from) {
  for (size_t at = 0, bytes = 0; at < size_bytes; at += bytes) {
    void* const part = static_cast<std::byte*>(to) + at;
    bytes = bytes_together(part, size_bytes - at);
    range_fill(part, value, bytes, from, [&] { std::memset(part, value, bytes); });
  }
}

/// Memory is there, or gone, from here on. What it holds no program knows: a lane that looks there too early has a race with that.
void perform_allocation(void* body) {
  const stream_copy& what = *static_cast<const stream_copy*>(body);
  lane& self = *execution::current;
  const given_place engine(what.calls);
  const hidden_operands hidden(self, as_operand(what.to), what.size_bytes);
  engine.begin(self);
  const int value = static_cast<int>(execution::instance->machine().fill);
  range_fill(what.to, value, what.size_bytes, engine.from(), [&] { std::memset(what.to, value, what.size_bytes); });
}
void perform_release(void* body) {
  const stream_copy& what = *static_cast<const stream_copy*>(body);
  lane& self = *execution::current;
  const given_place engine(what.calls);
  const hidden_operands hidden(self, as_operand(what.to));
  engine.begin(self);
  const entered inside(self);
  execution::instance->release(self, what.to, make_operation(operation_kind::none, nullptr, 0, engine.from()));
}

}  // namespace

stream_fill::stream_fill(void* memory, int byte, size_t count) : to(memory), value(byte), size_bytes(count) {
  const caller from = HEDDLE_CALLER;
  if (execution::current != nullptr) calls = calls_to(*execution::current, from);
}

void stream_fill::operator()() const {
  const given_place engine(calls);
  fill_parts(to, value, size_bytes, engine.from());
}

void fill(void* to, int value, size_t size_bytes) { fill_parts(to, value, size_bytes, HEDDLE_CALLER); }

void copy(void* to, const void* from_memory, size_t size_bytes, uint32_t device) {
  const caller from = HEDDLE_CALLER;
  if (execution::current == nullptr) {
    std::memmove(to, from_memory, size_bytes);
    return;
  }
  const driver_call called(*execution::current, from);
  const hidden_operands hidden(*execution::current, as_operand(to), as_operand(from_memory), size_bytes);
  const by_runtime copying(*execution::current);
  if (execution::instance->memory().devices().has_several_processes()) {
    lane& self = *execution::current;
    const entered inside(self);
    const operation how = make_operation(operation_kind::none, nullptr, 0, from);
    for (const void* const side : {static_cast<const void*>(to), from_memory})
      execution::instance->memory().require_process(self, "copy", device, side, size_bytes, how);
  }
  if (execution::instance->launched().commands() != nullptr && execution::current->is_host()) {
    lane& self = *execution::current;
    const entered inside(self);
    execution& here = *execution::instance;
    if (const auto flush = here.launched().flush_before_copy(self, device, from_memory))
      here.wait_for_launches(self, {*flush}, make_operation(operation_kind::synchronize, nullptr, 0, from));
    self.call[2] = size_bytes;
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
  execution::instance->copy_in_stream(
      self, {.to = to, .from = from_memory, .size_bytes = size_bytes, .calls = calls_to(self, from)}, stream, engine,
      make_operation(operation_kind::copy, nullptr, 0, from));
}

void* allocate_in_stream(size_t size_bytes, memory_place what, const char* kind, uint32_t stream) {
  static constexpr fiber_body engine = {
      .size_bytes = sizeof(stream_copy), .move_to = nullptr, .invoke = perform_allocation};
  void* const memory = allocate_unnamed(size_bytes, what, kind);
  // A driver that is stepped knows copies and launches alone.
  if (memory == nullptr || size_bytes == 0 || execution::instance->launched().commands() != nullptr) return memory;
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("an allocation in a stream");
  const driver_call called(self, from, driver_call::kind::launch);
  const entered inside(self);
  const hidden_operands hidden(self, as_operand(memory), size_bytes, stream);
  execution::instance->copy_in_stream(
      self,
      {.to = memory, .from = memory, .size_bytes = size_bytes, .calls = calls_to(self, from), .named = "allocation"},
      stream, engine, make_operation(operation_kind::copy, nullptr, 0, from));
  return memory;
}

void release_in_stream(void* memory, uint32_t stream) {
  static constexpr fiber_body engine = {
      .size_bytes = sizeof(stream_copy), .move_to = nullptr, .invoke = perform_release};
  if (memory == nullptr) return;
  if (execution::instance->launched().commands() != nullptr) {
    synchronize_stream(stream);
    return release(memory);
  }
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("a release in a stream");
  const driver_call called(self, from, driver_call::kind::launch);
  const entered inside(self);
  const hidden_operands hidden(self, as_operand(memory), stream);
  execution::instance->copy_in_stream(
      self, {.to = memory, .from = memory, .size_bytes = 1, .calls = calls_to(self, from), .named = "release"}, stream,
      engine, make_operation(operation_kind::copy, nullptr, 0, from));
}

void call_in_stream(void (*function)(void*), void* given, uint32_t stream) {
  static constexpr fiber_body engine = {.size_bytes = sizeof(stream_copy), .move_to = nullptr, .invoke = perform_call};
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("a call in a stream");
  if (execution::instance->launched().commands() != nullptr)
    refuse_call("a call of the host in a stream", "a driver that is stepped (driver.detail) has none");
  const driver_call called(self, from, driver_call::kind::launch);
  const entered inside(self);
  const hidden_operands hidden(self, as_operand(given), as_operand(reinterpret_cast<const void*>(function)), stream);
  execution::instance->copy_in_stream(
      self, {.to = given, .from = given, .size_bytes = 1, .function = function, .calls = calls_to(self, from)}, stream,
      engine, make_operation(operation_kind::copy, nullptr, 0, from));
}

}  // namespace heddle::sim::runtime
