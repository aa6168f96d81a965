// Arrivals at barriers, clusters of blocks, and kernels that begin before the end of the one in front of them.
#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/runtime/gpu_calls.h>

namespace heddle::sim::runtime {

void arrive_at_block() {
  const caller from = HEDDLE_CALLER;
  lane& self = device_lane("a barrier of a block", from);
  const entered inside(self);
  execution::instance->barrier(self, make_operation(operation_kind::block_arrive, nullptr, 0, from), 0);
}

void arrive_at_cluster(memory_order order) {
  const caller from = HEDDLE_CALLER;
  lane& self = device_lane("a barrier of a cluster", from);
  const entered inside(self);
  operation made = make_operation(operation_kind::cluster_arrive, nullptr, 0, from);
  made.order = order;
  execution::instance->barrier(self, made, 0);
}

void wait_at_cluster(memory_order order) {
  const caller from = HEDDLE_CALLER;
  lane& self = device_lane("a barrier of a cluster", from);
  const entered inside(self);
  operation made = make_operation(operation_kind::cluster_wait, nullptr, 0, from);
  made.order = order;
  execution::instance->barrier(self, made, 0);
}

void* shared_of_cluster(const void* address, uint32_t rank) {
  const caller from = HEDDLE_CALLER;
  lane& self = device_lane("shared memory of a cluster", from);
  const entered inside(self);
  return execution::instance->memory().shared_variable_of(self, rank, address, from.place);
}

uint32_t rank_in_cluster(const void* address) {
  const caller from = HEDDLE_CALLER;
  const lane& self = device_lane("shared memory of a cluster", from);
  return execution::instance->memory().rank_of(self, address);
}

void let_next_kernel_begin() {
  const caller from = HEDDLE_CALLER;
  lane& self = device_lane("a launch that depends on the kernel", from);
  const entered inside(self);
  execution& here = *execution::instance;
  here.step(self, make_operation(operation_kind::give_notice, nullptr, 0, from));
  if (here.launched().early().let(self)) here.launched().start_blocks(self);
  here.performed(self, 0);
}

void wait_for_kernel_before() {
  const caller from = HEDDLE_CALLER;
  lane& self = device_lane("a wait for the kernel before", from);
  if (self.of->runs->early_behind == launched_kernel::none) return;
  const entered inside(self);
  const hidden_operands hidden(self);
  execution& here = *execution::instance;
  here.wait_for_launches(self, {self.of->runs->early_behind},
                         make_operation(operation_kind::synchronize, nullptr, 0, from));
  here.launched().early().has_waited(self);
}

}  // namespace heddle::sim::runtime
