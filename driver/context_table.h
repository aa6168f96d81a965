// What programs open first: contexts. Each is of a process, has a device selected, and allocates memory in the process's name.
#pragma once

#include <heddle/driver/command_queue.h>
#include <heddle/driver/device_table.h>
#include <heddle/driver/dirty_marks.h>
#include <heddle/driver/ids.h>
#include <heddle/driver/memory_allocator.h>
#include <heddle/rpc/result.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace heddle::driver {

struct context_state {
  process_id process = 0;
  device_id device = cpu_device;
  std::vector<command_queue*> queues;  ///< in the order of their creation
};

/// Each context begins with device 1 selected, where there is one, otherwise with the CPU.
class context_table {
 public:
  context_table(memory_allocator& memory, const device_table& devices)
      : memory_(&memory), devices_(&devices), marks_(1) {}

  /// A context of a process of its own.
  context_id create_context();
  /// Another context of the same process.
  result<context_id> create_context_beside(context_id other);
  result<process_id> process_of(context_id context) const;
  /// The device of the allocations, and of the queues that are created from now on.
  result<void> select_device(context_id context, device_id device);
  result<device_id> selected_device(context_id context) const;

  // -- memory of the context's process; see memory_allocator for what each call does

  result<uint64_t> allocate(context_id context, uint64_t bytes);
  result<uint64_t> allocate_unified(context_id context, uint64_t bytes);
  result<void> free(context_id context, uint64_t address);
  result<void> remap(context_id context, uint64_t address, uint64_t bytes, device_id device);
  result<void> remove_page(context_id context, uint64_t address);
  result<page> allocate_page_at(context_id context, device_id device, uint64_t address, bool unified);

  // -- for the driver's other parts

  /// An error that names `call` where there is no such context.
  result<context_state*> context_for(const char* call, context_id context);
  context_state& state_of(context_id context) { return *contexts_[context]; }
  /// All of them, in the order of their creation.
  std::span<const std::unique_ptr<context_state>> all() const { return contexts_; }
  dirty_marks& marks_of(process_id process) { return marks_[process]; }

 private:
  memory_allocator* memory_;
  const device_table* devices_;
  std::vector<std::unique_ptr<context_state>> contexts_;
  std::vector<dirty_marks> marks_;  ///< by process
};

}  // namespace heddle::driver
