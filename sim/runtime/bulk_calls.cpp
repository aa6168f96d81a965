// What lanes of kernels have copied beside them: bulk copies, proxy fences, and memory for what they wait for.
#include <heddle/sim/runtime/calls.h>
#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/runtime/gpu_calls.h>
#include <heddle/sim/runtime/plain_accesses.h>

#include <cstring>

namespace heddle::sim::runtime {
namespace {

/// The memory of a block goes with the block.
void check_block(lane& self, const caller& from) {
  const entered inside(self);
  execution& here = *execution::instance;
  if (here.launched().bulk().block_is_live(*self.of)) return;
  here.finish_plain_store(self, from.frame);
  self.pending = make_operation(operation_kind::none, nullptr, 0, from);
  here.core().end(
      self, scheduler::verdict::assertion,
      "the block of " + name_of(here.core().threads.lanes[self.of->issuer]) +
          (self.of->async ? " has ended before its asynchronous copy has" : " has ended before its bulk copy has") +
          ": nothing has waited for it");
}

void read_all(lane& self, const bulk_copy& what, const caller& from) {
  if (!what.loads) check_block(self, from);
  plain_read(what.from, what.size_bytes, from);
  const entered inside(self);
  const auto* const bytes = static_cast<const std::byte*>(what.from);
  self.of->carried.assign(bytes, bytes + what.size_bytes);
}

/// What waits for that may go on before anything is written.
void tell_that_all_is_read(lane& self, const operation& how) {
  execution& here = *execution::instance;
  uint64_t& word = self.of->has_read;
  here.step(self, how);
  word = 1;
  if (late_memory* const late = here.late()) late->release_object(self, &word);
  here.waiting().wake_readers(self, &word, sizeof word);
  here.performed(self, 0);
  here.step(self, how);
  here.performed(self, 0);
}

/// The actor of one copy, from its beginning to its end.
void perform_bulk_copy(void* body) {
  const bulk_copy& what = *static_cast<const bulk_copy*>(body);
  lane& self = *execution::current;
  // No code under test has called this: reports tell what it does as done where the copy was issued.
  void* const no_frame[2] = {nullptr, nullptr};
  const caller from = {what.place, no_frame, reinterpret_cast<const std::byte*>(no_frame)};
  const hidden_operands hidden(self, as_operand(what.to), as_operand(what.from), what.size_bytes);
  if (what.size_bytes != 0) read_all(self, what, from);
  {
    const entered inside(self);
    tell_that_all_is_read(self, make_operation(operation_kind::copy, nullptr, 0, from));
  }
  if (what.loads) check_block(self, from);
  range_write(what.to, what.size_bytes, from, [&] { std::memcpy(what.to, self.of->carried.data(), what.size_bytes); });
  if (what.complete != nullptr) what.complete(what.barrier, what.size_bytes);
}

/// Starts the actor of a copy.
void issue(const bulk_copy& what, const caller& from) {
  static constexpr fiber_body engine = {
      .size_bytes = sizeof(bulk_copy), .move_to = nullptr, .invoke = perform_bulk_copy};
  lane& self = caller_lane(what.async ? "an asynchronous copy" : "a bulk copy");
  const entered inside(self);
  const hidden_operands hidden(self, as_operand(what.to), as_operand(what.from),
                               as_operand(what.barrier) ^ what.size_bytes);
  execution& here = *execution::instance;
  here.step(self, make_operation(operation_kind::copy, nullptr, 0, from));
  if (self.is_host()) [[unlikely]]
    here.core().end(self, scheduler::verdict::unsupported, "a bulk copy is issued by a lane of a kernel");
  if (late_memory* const late = here.late(); late != nullptr && !what.async) late->before_bulk(self, what);
  here.performed(self, here.launched().bulk().issue(self, what, engine));
}

/// Until the copies with these numbers have ended; or, `reading`, until they have read their sources.
void wait_for(lane& self, const std::vector<uint32_t>& copies, bool reading, const operation& how) {
  execution& here = *execution::instance;
  for (const uint32_t id : copies) {
    const wave& one = here.core().threads.waves[id];
    const uint64_t& word = reading ? one.has_read : one.ended;
    self.call[2] = id;  // what the call still waits for
    if (word == 0) {
      self.pending = how;
      here.wait_for(self, word, 1);
    }
    if (late_memory* const late = here.late()) late->acquire_object(self, &word);
    if (!reading && one.issuer == self.id) here.launched().bulk().forget(id);
  }
}

/// A copy by cp.async, by where its memory is.
async_copy named_copy(lane& self, void* to, const void* from_memory, uint32_t size_bytes, uint32_t given) {
  execution& here = *execution::instance;
  return {.to = reached(here, self, to, size_bytes, mapping_right::write),
          .from = given == 0 ? from_memory : reached(here, self, from_memory, given, mapping_right::read),
          .size_bytes = size_bytes,
          .given = given};
}

}  // namespace

void* memory_of_lane(const void* key, size_t size_bytes) {
  lane& self = caller_lane("memory of a lane");
  const entered inside(self);
  return execution::instance->launched().bulk().memory_of(self, key, size_bytes);
}

void leave_out_of_proofs() {
  const entered inside(caller_lane("copies beside a lane"));
  execution::instance->launched().bulk().leave_out_of_proofs();
}

void issue_bulk_copy(void* to, const void* from_memory, uint32_t size_bytes, bool loads, void* barrier,
                     void (*complete)(void*, uint32_t)) {
  const caller from = HEDDLE_CALLER;
  issue({.to = to,
         .from = from_memory,
         .size_bytes = size_bytes,
         .loads = loads,
         .barrier = barrier,
         .complete = complete,
         .place = from.place},
        from);
}

void issue_async_copy(void* to, const void* from_memory, uint32_t size_bytes, uint32_t group, void* barrier,
                      void (*complete)(void*, uint32_t)) {
  const caller from = HEDDLE_CALLER;
  issue({.to = to,
         .from = from_memory,
         .size_bytes = size_bytes,
         .loads = true,
         .barrier = barrier,
         .complete = complete,
         .place = from.place,
         .async = true,
         .group = group},
        from);
}

void close_bulk_group() {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("a group of bulk copies");
  const entered inside(self);
  execution& here = *execution::instance;
  here.step(self, make_operation(operation_kind::none, nullptr, 0, from));
  here.performed(self, ++self.bulk_groups);
}

void wait_for_bulk_groups(uint32_t but, bool reading) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("a wait for bulk copies");
  const entered inside(self);
  const hidden_operands hidden(self, but, reading ? 1 : 0);
  execution& here = *execution::instance;
  const operation how = make_operation(operation_kind::synchronize, nullptr, 0, from);
  here.step(self, how);
  here.performed(self, but);
  if (self.bulk_groups <= but) return;
  wait_for(self, here.launched().bulk().of_groups_below(self, self.bulk_groups - but), reading, how);
}

void wait_for_async_copies(uint32_t groups) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("a wait for asynchronous copies");
  const entered inside(self);
  const hidden_operands hidden(self, groups);
  execution& here = *execution::instance;
  const operation how = make_operation(operation_kind::synchronize, nullptr, 0, from);
  here.step(self, how);
  here.performed(self, groups);
  wait_for(self, here.launched().bulk().of_groups_below(self, groups, true), false, how);
}

void async_copy_begins(void* to, const void* from_memory, uint32_t size_bytes, uint32_t given) {
  const caller from = HEDDLE_CALLER;
  lane* const self = observed(to);
  if (self == nullptr) return;
  const hidden_operands hidden(*self, as_operand(to), as_operand(from_memory), uint64_t{size_bytes} << 32 | given);
  plain_read(from_memory, given, from);
  execution& here = *execution::instance;
  const entered inside(*self);
  const async_copy what = named_copy(*self, to, from_memory, size_bytes, given);
  publish_access(here, *self, operation_kind::plain_store, {what.to, size_bytes}, from);
  take_turn(here, *self, here.core().is_plain_point(what.to));
  self->pending.kind = operation_kind::copy;
  if (late_memory* const late = here.late()) late->copy_begins(*self, what);
  here.performed(*self, 0);
}

void async_copy_ends(void* to, const void* from_memory, uint32_t size_bytes, uint32_t given) {
  lane* const self = observed(to);
  if (self == nullptr) return;
  const entered inside(*self);
  late_memory* const late = execution::instance->late();
  if (late != nullptr) late->copy_ends(*self, named_copy(*self, to, from_memory, size_bytes, given));
}

void proxy_fence(uint32_t spaces) {
  const caller from = HEDDLE_CALLER;
  lane* const self = execution::current;
  if (self == nullptr) return;
  const entered inside(*self);
  operation how = make_operation(operation_kind::fence, nullptr, 0, from);
  how.reach = scope::block;
  execution& here = *execution::instance;
  here.step(*self, how);
  if (late_memory* const late = here.late()) late->proxy_fence(*self, spaces);
  here.performed(*self, spaces);
}

}  // namespace heddle::sim::runtime
