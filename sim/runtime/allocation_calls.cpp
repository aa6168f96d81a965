// Devices and their memory.
#include <heddle/sim/runtime/calls.h>
#include <heddle/sim/runtime/driver_call.h>
#include <heddle/sim/runtime/entry.h>
#include <heddle/sim/runtime/gpu_calls.h>
#include <heddle/sim/runtime/other_hosts.h>
#include <heddle/sim/runtime/reached.h>

#include <string_view>
#include <vector>

namespace heddle::sim::runtime {

bool set_peer_access(uint32_t peer, bool may_reach) {
  if (execution::current == nullptr) return false;
  return execution::instance->memory().set_peer_access(current_device(), peer, may_reach);
}

void let_reach(const void* memory, uint32_t loading, uint32_t storing) {
  if (execution::instance == nullptr) return;
  heap& all = execution::instance->core().map.heap;
  if (all.contains(memory)) all.let_reach(memory, loading, storing);
}

void open_frames(const void* memory, size_t size_bytes) {
  if (execution::current == nullptr) return;
  const caller from = HEDDLE_CALLER;
  execution::instance->core().frames.open(*execution::current, memory, size_bytes, from.private_state);
}

void close_frames(const void* memory) {
  if (execution::current != nullptr) execution::instance->core().frames.close(memory);
}

namespace {

/// Of what is allocated or mapped; null where that is nothing.
const allocation* allocation_at(const void* address) {
  if (execution::instance == nullptr) return nullptr;
  address = home_of(address);
  const heap& all = execution::instance->core().map.heap;
  return all.contains(address) ? all.nearest(address) : nullptr;
}

}  // namespace

void set_waits_for_copies(const void* address, bool wait) {
  const caller from = HEDDLE_CALLER;
  const allocation* const of = allocation_at(address);
  if (of == nullptr) return;
  lane& self = caller_lane("an attribute of memory");
  const driver_call called(self, from, driver_call::kind::wait);
  const entered inside(self);
  const hidden_operands hidden(self, as_operand(address), wait ? 1 : 0);
  execution& here = *execution::instance;
  take_turn_among_hosts(self, from);
  here.core().map.heap.wait_for_copies_of(of->base, wait);
  if (!wait) return;
  std::vector<uint32_t> work;
  for (const auto& [stream, left] : here.memory().left_to_streams()) work.insert(work.end(), left.begin(), left.end());
  for (const uint32_t each : work) self.call[1] = self.call[1] * 1'000'003 + each + 1;
  here.wait_for_launches(self, work, make_operation(operation_kind::synchronize, nullptr, 0, from));
}
void note_left_to_stream(uint32_t stream) {
  if (execution::instance == nullptr) return;
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("a copy");
  const entered inside(self);
  execution& here = *execution::instance;
  const operation how = make_operation(operation_kind::none, nullptr, 0, from);
  here.memory().note_left_to(stream, here.launched().work_of(self, stream, how));
}
bool is_managed(const void* address) {
  const allocation* const of = allocation_at(address);
  const std::string_view name = of == nullptr ? "" : of->name;
  return name.starts_with("cudaMallocManaged") || name.starts_with("cuMemAllocManaged") ||
         name.starts_with("hipMallocManaged");
}
bool waits_for_copies(const void* address) {
  const allocation* const of = allocation_at(address);
  return of != nullptr && of->is_waited_for;
}

uint32_t device_count() { return execution::instance == nullptr ? 1 : execution::instance->memory().devices().gpus(); }

link_properties link_of_run() {
  link_properties found = link_properties::everything();
  if (execution::instance == nullptr) return found;
  const settings& machine = execution::instance->machine();
  if (machine.fidelity != fidelity::link || machine.link.rmw == rmw_capability::all) return found;
  found.add = found.swap = found.compare = machine.link.rmw == rmw_capability::pcie;
  found.bits = false;
  return found;
}

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
                                                 .owner = owner,
                                                 .place = from.place},
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
                                                     .moves = moves,
                                                     .place = from.place});
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

void release_all(uint32_t device) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("a reset of the device");
  const driver_call called(self, from);
  const entered inside(self);
  execution& here = *execution::instance;
  std::vector<void*> all;
  for (const allocation& each : here.core().map.heap.allocations()) {
    const std::string_view name = each.name;
    const bool is_drivers = name.starts_with("cuda") || name.starts_with("cuMem") || name.starts_with("hip");
    if (is_drivers && !each.freed && each.owner == nullptr && each.device == device) all.push_back(each.base);
  }
  for (void* const each : all) here.release(self, each, make_operation(operation_kind::none, nullptr, 0, from));
}

void map_cached(void* memory) {
  const caller from = HEDDLE_CALLER;
  lane& self = caller_lane("map_cached");
  const entered inside(self);
  execution::instance->map_cached(self, memory, make_operation(operation_kind::none, nullptr, 0, from));
}

}  // namespace heddle::sim::runtime
