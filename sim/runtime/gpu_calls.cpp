#include <heddle/sim/code/program_state.h>
#include <heddle/sim/code/source_line.h>
#include <heddle/sim/runtime/atomic_accesses.h>
#include <heddle/sim/runtime/driver_call.h>
#include <heddle/sim/runtime/gpu_calls.h>
#include <heddle/sim/runtime/other_hosts.h>
#include <heddle/sim/runtime/plain_accesses.h>
#include <heddle/sim/runtime/program_memory.h>
#include <heddle/sim/runtime/reached.h>
#include <heddle/sim/space/fresh_memory.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <unordered_map>
#include <vector>

namespace heddle::sim::runtime {
namespace {

operation operation_of(operation_kind kind, const caller& from) { return make_operation(kind, nullptr, 0, from); }

lane& calling_lane(const char* what) {
  if (execution::current == nullptr) {
    std::fprintf(stderr, "heddle: %s is called outside of a simulated run\n", what);
    std::abort();
  }
  return *execution::current;
}

uint64_t collective_of_live(operation_kind kind, const char* what, uint64_t mask, uint64_t value, uint32_t source,
                            const caller& from) {
  lane& self = device_lane(what, from);
  const entered inside(self);
  operation made = operation_of(kind, from);
  made.mask = mask;
  made.without_ended = true;
  self.source = source;
  return execution::instance->collective(self, made, value);
}

struct known_kernel {
  launcher how = nullptr;
  extent cluster;
};
std::unordered_map<const void*, known_kernel>& known_kernels() {
  static std::unordered_map<const void*, known_kernel> all;
  return all;
}

struct modify_operand {
  modify_function next;
  uint64_t operand;
  static uint64_t apply_to(const void* self, uint64_t old) {
    const auto& how = *static_cast<const modify_operand*>(self);
    return how.next(old, how.operand);
  }
};

}  // namespace

lane& device_lane(const char* what, const caller& from) {
  lane& self = calling_lane(what);
  if (!self.is_host()) return self;
  const entered inside(self);
  execution& here = *execution::instance;
  here.finish_plain_store(self, from.frame);
  self.pending = operation_of(operation_kind::none, from);
  here.core().end(self, scheduler::verdict::assertion, std::string(what) + " is used by host code");
}

grid_position position() {
  const caller from = HEDDLE_CALLER;
  const lane& self = device_lane("a thread's index", from);
  const launched_kernel& kernel = *self.of->runs;
  const grid_shape& shape = kernel.shape;
  const uint32_t wave_in_block = self.of->in_kernel % kernel.waves_per_block;
  return {.thread = shape.block.at(uint64_t{wave_in_block} * shape.wave_lanes + self.index),
          .block = shape.grid.at(self.of->block),
          .block_size = shape.block,
          .grid_size = shape.grid,
          .cluster_size = shape.cluster,
          .shared_bytes = shape.shared_bytes,
          .launch = kernel.ordinal};
}

uint32_t wave_lanes() {
  const lane& self = calling_lane("the width of a wave");
  return self.is_host() ? 1 : self.of->runs->shape.wave_lanes;
}

uint64_t ballot_of_live(uint64_t mask, bool predicate) {
  const caller from = HEDDLE_CALLER;
  return collective_of_live(operation_kind::ballot, "a ballot", mask, predicate ? 1 : 0, 0, from);
}

void sync_live(uint64_t mask) {
  const caller from = HEDDLE_CALLER;
  collective_of_live(operation_kind::sync_lanes, "a barrier of a wave", mask, 0, 0, from);
}

uint64_t shuffle(uint64_t mask, uint64_t value, uint32_t source) {
  const caller from = HEDDLE_CALLER;
  return collective_of_live(operation_kind::shuffle, "a shuffle", mask, value, source, from);
}

uint32_t block_barrier(barrier_kind kind, bool predicate, bool aligned) {
  const caller from = HEDDLE_CALLER;
  lane& self = device_lane("a barrier of a block", from);
  const entered inside(self);
  operation made = operation_of(operation_kind::block_barrier, from);
  made.mask = static_cast<uint64_t>(kind);
  made.aligned = aligned;
  const uint64_t came = execution::instance->barrier(self, made, predicate ? 1 : 0);
  const auto lanes = static_cast<uint32_t>(came);
  const auto holds = static_cast<uint32_t>(came >> 32);
  if (kind == barrier_kind::all) return holds == lanes ? 1 : 0;
  if (kind == barrier_kind::any) return holds != 0 ? 1 : 0;
  return holds;
}

void arrives_at_part(uint32_t id, uint32_t begun, uint32_t given, bool aligned) {
  const caller from = HEDDLE_CALLER;
  lane& self = device_lane("a barrier of a block", from);
  if (begun == given && !aligned) return;
  const entered inside(self);
  if (aligned) execution::instance->meeting().check_aligned_part(self, id, begun == 0, from.place);
  if (begun == given) return;
  block_state::arrival& first = self.of->runs->state_of(self.of->block).first_of_part[id];
  if (begun == 0) {
    first = {.lane = self.id, .place = from.place};
    return;
  }
  run_core& core = execution::instance->core();
  const auto shape_of = [](uint32_t shape) {
    return (shape >> 16 != 0 ? "red with a count of " : "a count of ") + std::to_string(shape & 0xffff);
  };
  const auto line_of = [&](const void* place) {
    std::string line;
    core.aside(self, [&] { line = source_of(place).where(); });
    return line;
  };
  refuse(self, scheduler::verdict::mask,
         name_of(self) + " comes to barrier " + std::to_string(id) + " of its block with " + shape_of(given) + " at " +
             line_of(from.place) + ", and " + name_of(core.threads.lanes[first.lane]) + " has begun the phase with " +
             shape_of(begun) + " at " + line_of(first.place),
         from);
}

void* shared_variable(const void* key, size_t size_bytes, const char* name) {
  const caller from = HEDDLE_CALLER;
  lane& self = device_lane("shared memory of a block", from);
  const entered inside(self);
  return execution::instance->memory().shared_variable(self, key, size_bytes, name, from.place);
}

void* dynamic_shared() {
  const caller from = HEDDLE_CALLER;
  lane& self = device_lane("shared memory of a block", from);
  const entered inside(self);
  static constexpr char key = 0;
  return execution::instance->memory().shared_variable(self, &key, self.of->runs->shape.shared_bytes,
                                                       "dynamic shared memory", from.place);
}

uint64_t clock() {
  const caller from = HEDDLE_CALLER;
  if (execution::current == nullptr) return static_cast<uint64_t>(std::clock());
  lane& self = *execution::current;
  const entered inside(self);
  execution& here = *execution::instance;
  here.step(self, operation_of(operation_kind::clock, from));
  const uint64_t now = here.look_at_clock(self);
  here.performed(self, now);
  return now;
}

void refuse_call(const char* call, const char* why) {
  const caller from = HEDDLE_CALLER;
  lane& self = calling_lane(call);
  const entered inside(self);
  refuse(self, scheduler::verdict::unsupported, std::string(call) + ": " + why, from);
}

bool is_function(const void* address) {
  const entered inside(calling_lane("a look for a function"));
  const code_range found = function_at(address);
  return found.low != nullptr && found.low == address;
}

uint64_t modify(modify_function next, void* address, uint32_t size_bytes, uint64_t operand, memory_order order,
                scope reach) {
  const caller from = HEDDLE_CALLER;
  lane* const self = observed_atomic(address);
  if (self == nullptr) {
    const uint64_t old = read_memory(address, size_bytes);
    write_memory(address, size_bytes, next(old, operand));
    return old;
  }
  execution& here = *execution::instance;
  const entered inside(*self);
  address = reached(here, *self, address, size_bytes, mapping_right::write);
  const access what = {address, size_bytes, order, reach};
  publish_access(here, *self, operation_kind::read_modify_write, what, from);
  self->operands = {operand, reinterpret_cast<uintptr_t>(next)};
  take_turn(here, *self);
  const uint64_t before = read_memory(address, size_bytes);
  uint64_t old = before;
  const modify_operand context = {next, operand};
  if (late_memory* const late = here.late())
    old = late->read_modify_write(*self, self->pending,
                                  {.apply = &modify_operand::apply_to, .context = &context, .is_atomic_op = false});
  else
    write_memory(address, size_bytes, next(old, operand));
  // One that leaves the value as it was is a read, or loops that wait with it would never wait.
  if (before == read_memory(address, size_bytes)) {
    read_done(here, *self, from, what, old);
  } else {
    here.performed(*self, old);
    here.changed(*self, address, size_bytes);
  }
  return old;
}

void* allocate_unnamed(size_t size_bytes, memory_place what, const char* kind) {
  const caller from = HEDDLE_CALLER;
  lane& self = calling_lane(kind);
  const driver_call called(self, from);
  const entered inside(self);
  execution& here = *execution::instance;
  const bool is_hidden =
      (what == memory_place::device_mapped || what == memory_place::device_alone) && hides_device_memory(here);
  const memory_kind where = what == memory_place::host             ? memory_kind::shared
                            : what == memory_place::host_combining ? memory_kind::combining
                                                                   : memory_kind::device;
  void* const memory = here.memory().allocate(self,
                                              {.size_bytes = size_bytes,
                                               .kind = where,
                                               .name = here.memory().numbered_name(kind),
                                               .device = self.of->current_device,
                                               .place = from.place,
                                               .is_hidden = is_hidden && what == memory_place::device_alone,
                                               .peers = is_hidden ? peer_reach::let_devices : peer_reach::all},
                                              operation_of(operation_kind::none, from));
  fill_fresh(static_cast<std::byte*>(memory), static_cast<int>(here.machine().fill), size_bytes);
  return memory;
}

bool is_allocated(const void* address) {
  return execution::instance != nullptr &&
         (mapped_ranges::contains(address) || execution::instance->core().map.heap.contains(address) ||
          is_device_variable(address));
}

bool is_of_block(const void* address) {
  if (execution::current == nullptr || execution::current->of->runs == nullptr) return false;
  lane& self = *execution::current;
  const entered inside(self);
  const heap& memory = execution::instance->core().map.heap;
  const allocation* const known = memory.contains(address) ? memory.nearest(address) : nullptr;
  if (known == nullptr || !known->holds(address, 1)) return false;
  const wave& of = *self.of;
  const auto& shared = of.runs->state_of(of.block).shared;
  return std::any_of(shared.begin(), shared.end(), [&](const auto& each) { return each.copy == known->base; });
}

bool is_on_device(const void* address) {
  if (execution::instance == nullptr) return false;
  address = home_of(address);
  const heap& memory = execution::instance->core().map.heap;
  const allocation* const known = memory.contains(address) ? memory.nearest(address) : nullptr;
  return (known != nullptr && known->kind == memory_kind::device) || is_device_variable(address);
}

named_object allocation_of(const void* address) {
  if (execution::instance == nullptr) return {};
  if (mapped_ranges::contains(address)) {
    const auto [first, size_bytes] = execution::instance->core().map.ranges.mapping_of(address);
    return {first, size_bytes};
  }
  const heap& memory = execution::instance->core().map.heap;
  const allocation* const known = memory.contains(address) ? memory.nearest(address) : nullptr;
  if (known == nullptr) return {};
  return {const_cast<std::byte*>(known->base), known->size_bytes};
}

uint32_t device_of(const void* address) {
  if (execution::instance == nullptr) return 0;
  address = home_of(address);
  const heap& memory = execution::instance->core().map.heap;
  const allocation* const known = memory.contains(address) ? memory.nearest(address) : nullptr;
  return known != nullptr && known->kind == memory_kind::device ? known->device : current_device();
}

uint32_t current_device() { return execution::current == nullptr ? 0 : execution::current->of->current_device; }

void set_current_device(uint32_t device) { calling_lane("choosing a device").of->current_device = device; }

uint32_t device_of_stream(uint32_t stream) {
  return execution::instance == nullptr ? 0 : execution::instance->launched().device_of_stream(stream);
}

void launch_grid(const grid_shape& shape, const fiber_body& kernel, const void* bytes) {
  const caller from = HEDDLE_CALLER;
  lane& self = calling_lane("a launch");
  const driver_call called(self, from, driver_call::kind::launch);
  const entered inside(self);
  const hidden_operands hidden(self, shape.grid.count(), shape.block.count(), as_operand(bytes));
  execution::instance->launch(self, shape, kernel, bytes, operation_of(operation_kind::launch, from));
}

void know_kernel(const void* kernel, launcher how, const extent& cluster) {
  known_kernels().emplace(kernel, known_kernel{how, cluster});
}

void take_clusters(grid_shape& to, const extent& declared) {
  if (declared.count() == 1) return;
  const extent& asked = to.cluster;
  if (asked.count() != 1 && (asked.x != declared.x || asked.y != declared.y || asked.z != declared.z))
    return trap(fault::assertion, "a launch with other clusters than those that its kernel is declared with");
  to.cluster = declared;
}

extent clusters_of(const void* kernel) {
  const auto known = known_kernels().find(kernel);
  return known == known_kernels().end() ? extent{} : known->second.cluster;
}

launcher launcher_of(const void* kernel) {
  const auto known = known_kernels().find(kernel);
  return known == known_kernels().end() ? nullptr : known->second.how;
}

named_object device_variable_named(const char* name) {
  const entered inside(calling_lane("a look for a variable"));
  const symbol_range found = symbol_named(name);
  // Some other variable of the program is the host's.
  if (!is_device_variable(found.low)) return {};
  return {const_cast<std::byte*>(found.low), found.size_bytes};
}

const void* kernel_named(const char* name) {
  const entered inside(calling_lane("a look for a kernel"));
  const std::byte* const found = symbol_named(name).low;
  return launcher_of(found) == nullptr ? nullptr : found;
}

int32_t priority_of_stream(uint32_t stream) {
  return execution::instance == nullptr ? 0 : execution::instance->launched().priority_of_stream(stream);
}

uint32_t create_stream(bool blocking, uint32_t device, int32_t priority) {
  const caller from = HEDDLE_CALLER;
  lane& self = calling_lane("creating a stream");
  const driver_call called(self, from);
  const entered inside(self);
  return execution::instance->launched().create_stream(blocking, device, priority);
}

void destroy_stream(uint32_t stream) {
  const caller from = HEDDLE_CALLER;
  lane& self = calling_lane("destroying a stream");
  const driver_call called(self, from);
  const entered inside(self);
  execution::instance->launched().destroy_stream(self, stream, operation_of(operation_kind::none, from));
}

bool query_stream(uint32_t stream) {
  const caller from = HEDDLE_CALLER;
  lane& self = calling_lane("a query of a stream");
  refuse_in_stream(self, from);
  const entered inside(self);
  const hidden_operands hidden(self, stream);
  execution& here = *execution::instance;
  const operation how = operation_of(operation_kind::query, from);
  // Behind the step: meanwhile another thread may have given the stream more.
  here.core().note_question_of_end();
  here.step(self, how);
  return here.have_ended(self, here.launched().work_of(self, stream, how), how, from.private_state);
}

}  // namespace heddle::sim::runtime
