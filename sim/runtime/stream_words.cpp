// Words that streams write and wait for.
#include <heddle/sim/runtime/atomic_accesses.h>
#include <heddle/sim/runtime/driver_call.h>
#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/runtime/given_place.h>
#include <heddle/sim/runtime/gpu_calls.h>

namespace heddle::sim::runtime {
namespace {

uint64_t within(uint64_t mask, size_t size_bytes) {
  return size_bytes >= sizeof mask ? mask : mask & ((uint64_t{1} << 8 * size_bytes) - 1);
}

void perform_write(void* body) {
  const stream_copy& what = *static_cast<const stream_copy*>(body);
  lane& self = *execution::current;
  const given_place engine(what.calls);
  const hidden_operands hidden(self, as_operand(what.to), what.word.value);
  engine.begin(self);
  const memory_order order = what.word.is_ordered ? memory_order::release : memory_order::relaxed;
  atomic_store({what.to, what.size_bytes, order, scope::system}, what.word.value, engine.from());
}

void perform_wait(void* body) {
  const stream_copy& what = *static_cast<const stream_copy*>(body);
  lane& self = *execution::current;
  const given_place engine(what.calls);
  const hidden_operands hidden(self, as_operand(what.from), what.word.value, what.word.mask);
  engine.begin(self);
  while (true) {
    const uint64_t found =
        atomic_load({what.from, what.size_bytes, memory_order::acquire, scope::system}, engine.from());
    if (what.word.holds(found & within(what.word.mask, what.size_bytes), what.word.value)) return;
    const entered inside(self);
    execution& here = *execution::instance;
    publish(here, self, operation_kind::pause, engine.from());
    here.pause(self, engine.from().private_state);
  }
}

void give(stream_copy what, uint32_t stream, const fiber_body& engine, const caller& from) {
  lane& self = caller_lane("a word in a stream");
  what.calls = calls_to(self, from);
  const driver_call called(self, from, driver_call::kind::launch);
  const entered inside(self);
  const hidden_operands hidden(self, as_operand(what.from), what.word.value, stream);
  execution::instance->copy_in_stream(self, what, stream, engine,
                                      make_operation(operation_kind::copy, nullptr, 0, from));
}

}  // namespace

bool streams_have_words() { return execution::instance->launched().commands() == nullptr; }

void write_word_in_stream(void* to, uint32_t size_bytes, uint64_t value, bool is_ordered, uint32_t stream) {
  static constexpr fiber_body engine = {.size_bytes = sizeof(stream_copy), .move_to = nullptr, .invoke = perform_write};
  const caller from = HEDDLE_CALLER;
  give({.to = to,
        .from = to,
        .size_bytes = size_bytes,
        .named = "write",
        .by_gpu = true,
        .word = {.value = value, .is_ordered = is_ordered}},
       stream, engine, from);
}

void wait_for_word_in_stream(const void* at, uint32_t size_bytes, const awaited_word& what, uint32_t stream) {
  static constexpr fiber_body engine = {.size_bytes = sizeof(stream_copy), .move_to = nullptr, .invoke = perform_wait};
  const caller from = HEDDLE_CALLER;
  give({.from = at,
        .size_bytes = size_bytes,
        .named = "wait",
        .by_gpu = true,
        .word = {.value = what.value, .mask = what.mask, .holds = what.holds}},
       stream, engine, from);
}

}  // namespace heddle::sim::runtime
