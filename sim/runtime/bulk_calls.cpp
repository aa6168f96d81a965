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
  here.core().end(self, scheduler::verdict::assertion,
                  "the block of " + name_of(here.core().threads.lanes[self.of->issuer]) +
                      " has ended before its bulk copy has: nothing has waited for it");
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

}  // namespace

void* memory_of_lane(const void* key, size_t size_bytes) {
  lane& self = caller_lane("memory of a lane");
  const entered inside(self);
  return execution::instance->launched().bulk().memory_of(self, key, size_bytes);
}

void issue_bulk_copy(void* to, const void* from_memory, uint32_t size_bytes, bool loads, void* barrier,
                     void (*complete)(void*, uint32_t)) {
  static constexpr fiber_body engine = {
      .size_bytes = sizeof(bulk_copy), .move_to = nullptr, .invoke = perform_bulk_copy};
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("a bulk copy");
  const entered inside(self);
  const hidden_operands hidden(self, as_operand(to), as_operand(from_memory), as_operand(barrier) ^ size_bytes);
  execution& here = *execution::instance;
  const bulk_copy what = {.to = to,
                          .from = from_memory,
                          .size_bytes = size_bytes,
                          .loads = loads,
                          .barrier = barrier,
                          .complete = complete,
                          .place = from.place};
  here.step(self, make_operation(operation_kind::copy, nullptr, 0, from));
  if (self.is_host()) [[unlikely]]
    here.core().end(self, scheduler::verdict::unsupported, "a bulk copy is issued by a lane of a kernel");
  if (late_memory* const late = here.late()) late->before_bulk(self, what);
  here.performed(self, here.launched().bulk().issue(self, what, engine));
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
  bulk_copies& all = here.launched().bulk();
  for (const uint32_t id : all.of_groups_below(self, self.bulk_groups - but)) {
    const wave& copies = here.core().threads.waves[id];
    const uint64_t& word = reading ? copies.has_read : copies.ended;
    self.call[2] = id;  // what the call still waits for
    if (word == 0) {
      self.pending = how;
      here.wait_for(self, word, 1);
    }
    if (late_memory* const late = here.late()) late->acquire_object(self, &word);
    if (!reading && copies.issuer == self.id) all.forget(id);
  }
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
