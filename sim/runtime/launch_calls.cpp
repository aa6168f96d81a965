// Kernels and host threads: begun and waited for.
#include <heddle/sim/runtime/calls.h>
#include <heddle/sim/runtime/driver_call.h>
#include <heddle/sim/runtime/entry.h>

namespace heddle::sim::runtime {

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
  here.core().note_question_of_end();
  here.step(self, make_operation(operation_kind::query, nullptr, 0, from));
  const uint64_t& running = here.launched().running(device);
  self.called = true;
  const bool is_unseen =
      running == 0 && here.launched().early().seen().any_unseen(device) && seen_ends::is_missed(here.core(), self);
  const bool is_idle = running == 0 && !is_unseen;
  self.reads.add(&running, sizeof running, is_unseen ? 1 : running);
  here.performed(self, is_unseen ? 1 : running);
  if (is_idle) {
    here.launched().acquire_kernels(self, device);
  } else {
    ++self.fruitless_reads;
    if (self.may_spin()) here.look_for_spin(self, from.private_state);
  }
  return is_idle;
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
