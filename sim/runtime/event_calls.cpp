// Events: places in a stream, for which others wait; and operations of several parts, which are ordered by them.
#include <heddle/sim/run/execution.h>
#include <heddle/sim/runtime/driver_call.h>
#include <heddle/sim/runtime/gpu_calls.h>
#include <heddle/sim/runtime/other_hosts.h>

#include <cstdint>
#include <vector>

namespace heddle::sim::runtime {

namespace {

/// `then`: the copy that the thread makes itself behind that, of which reports find the address in call[0]; null where there is none.
void wait_for_stream(uint32_t stream, const stream_copy* then, const caller& from) {
  lane& self = caller_lane("waiting for a stream");
  const driver_call called(self, from, driver_call::kind::wait);
  const entered inside(self);
  const uint64_t copied =
      then == nullptr ? 0 : (as_operand(then->to) * 1'000'003 + then->size_bytes) * 1'000'003 + stream;
  const hidden_operands hidden(self, then == nullptr ? stream : as_operand(then), copied);
  execution& here = *execution::instance;
  const operation how = make_operation(operation_kind::synchronize, nullptr, 0, from);
  take_turn_among_hosts(self, from);
  const std::vector<uint32_t> work = here.launched().work_of(self, stream, how);
  for (const uint32_t each : work) self.call[1] = self.call[1] * 1'000'003 + each + 1;
  here.wait_for_launches(self, work, how);
}

}  // namespace

void synchronize_stream(uint32_t stream) { wait_for_stream(stream, nullptr, HEDDLE_CALLER); }

void synchronize_stream_to_copy(uint32_t stream, void* to, size_t size_bytes) {
  const stream_copy then{.to = to, .size_bytes = size_bytes};
  wait_for_stream(stream, &then, HEDDLE_CALLER);
}

uint32_t create_event() {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("creating an event");
  refuse_in_stream(self, from);
  const entered inside(self);
  return execution::instance->launched().create_event();
}

void destroy_event(uint32_t event) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("destroying an event");
  refuse_in_stream(self, from);
  const entered inside(self);
  execution::instance->launched().destroy_event(self, event, make_operation(operation_kind::none, nullptr, 0, from));
}

void record_event(uint32_t event, uint32_t stream) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("recording an event");
  refuse_in_stream(self, from);
  const entered inside(self);
  const hidden_operands hidden(self, event, stream);
  take_turn_among_hosts(self, from);
  execution& here = *execution::instance;
  const operation how = make_operation(operation_kind::none, nullptr, 0, from);
  here.launched().record(self, event, stream, how);
}

bool query_event(uint32_t event) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("a query of an event");
  refuse_in_stream(self, from);
  const entered inside(self);
  const hidden_operands hidden(self, event);
  execution& here = *execution::instance;
  const operation how = make_operation(operation_kind::query, nullptr, 0, from);
  // Behind the step: meanwhile another thread may have recorded it.
  here.core().note_question_of_end();
  here.step(self, how);
  return here.have_ended(self, here.launched().event(self, event, how).work, how, from.private_state);
}

bool is_recorded(uint32_t event) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("a query of an event");
  refuse_in_stream(self, from);
  const entered inside(self);
  return execution::instance->launched()
      .event(self, event, make_operation(operation_kind::none, nullptr, 0, from))
      .recorded;
}

void synchronize_event(uint32_t event) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("waiting for an event");
  refuse_in_stream(self, from);
  const entered inside(self);
  const hidden_operands hidden(self, event);
  execution& here = *execution::instance;
  const operation how = make_operation(operation_kind::synchronize, nullptr, 0, from);
  take_turn_among_hosts(self, from);
  // A copy: another thread may record the event meanwhile, and this wait is for what it has found.
  const std::vector<uint32_t> work = here.launched().event(self, event, how).work;
  for (const uint32_t each : work) self.call[1] = self.call[1] * 1'000'003 + each + 1;
  here.wait_for_launches(self, work, how);
}

void wait_event(uint32_t stream, uint32_t event) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("a stream that waits for an event");
  refuse_in_stream(self, from);
  const entered inside(self);
  const hidden_operands hidden(self, event, stream);
  take_turn_among_hosts(self, from);
  execution& here = *execution::instance;
  const operation how = make_operation(operation_kind::none, nullptr, 0, from);
  here.launched().delay_stream(self, stream, here.launched().event(self, event, how).work, how);
}

void give_as_one(uint32_t stream, void (*give)(void*), void* what) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("a launch of a graph");
  const driver_call called(self, from, driver_call::kind::launch);
  execution& here = *execution::instance;
  {
    const entered inside(self);
    const hidden_operands hidden(self, stream);
    here.step(self, make_operation(operation_kind::query, nullptr, 0, from));
    here.performed(self, 0);
  }
  self.gives_as_one = true;
  give(what);
  self.gives_as_one = false;
  if (!here.machine().launches_block || !self.is_host()) return;
  const entered inside(self);
  const hidden_operands hidden(self, stream);
  const operation how = make_operation(operation_kind::synchronize, nullptr, 0, from);
  here.wait_for_launches(self, here.launched().work_of(self, stream, how), how);
}

}  // namespace heddle::sim::runtime
