// What a program puts into queues: commands. Each queue is first in, first out.
#pragma once

#include <heddle/driver/command.h>
#include <heddle/driver/command_queue.h>
#include <heddle/driver/context_table.h>
#include <heddle/driver/device_table.h>
#include <heddle/driver/engine.h>
#include <heddle/driver/ids.h>
#include <heddle/driver/kernel.h>
#include <heddle/driver/memory_allocator.h>
#include <heddle/driver/middlewares.h>
#include <heddle/driver/settings.h>
#include <heddle/driver/trace.h>
#include <heddle/rpc/result.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace heddle::driver {

/// What is enqueued is executed in order, after gpu_driver::signal(), or while any queue is drained.
class command_queues {
 public:
  /// What they stand among. `cycle` is woken when a command has ended; `events` are those that queues record and wait for.
  struct surroundings {
    const driver_settings& settings;
    context_table& contexts;
    memory_allocator& memory;
    const device_table& devices;
    const tracer& tracing;
    ticking& cycle;
    queue_events& events;
  };

  explicit command_queues(const surroundings& around)
      : settings_(&around.settings),
        contexts_(&around.contexts),
        memory_(&around.memory),
        devices_(&around.devices),
        tracer_(&around.tracing),
        cycle_(&around.cycle),
        events_(&around.events) {}
  command_queues(const command_queues&) = delete;
  command_queues& operator=(const command_queues&) = delete;
  ~command_queues() = default;

  /// Of the device that the context has selected.
  result<queue_id> create_queue(context_id context);
  /// An error while a command is in it.
  result<void> destroy_queue(queue_id queue);

  /// The host's bytes must stay as they are until the command has ended. The device's must be of one buffer.
  result<void> enqueue_copy_to_device(queue_id queue, uint64_t to, std::span<const std::byte> from);
  /// A flush goes before it when a kernel may have left something in a cache.
  result<void> enqueue_copy_to_host(queue_id queue, std::span<std::byte> to, uint64_t from);
  /// From one buffer of devices to another, or within one; a flush goes before it as before a copy to the host.
  result<void> enqueue_copy_on_device(queue_id queue, uint64_t to, uint64_t from, uint64_t bytes);
  /// Three copies for each GPU of the queue's device, then the launch. Errors: an empty code object, grid or group; a group or a grid
  /// that is too large; arguments that do not hold what `group_memory` names; the CPU; no memory for the copies.
  result<void> enqueue_launch(queue_id queue, const kernel_launch& what);
  result<void> enqueue_flush(queue_id queue);
  result<void> enqueue_no_op(queue_id queue);
  /// For a middleware that knows this name; without one the command fails.
  result<void> enqueue_custom(queue_id queue, std::string_view name, uint64_t payload);

  event_id create_event() { return events_->create(); }
  result<void> enqueue_record(queue_id queue, event_id event);
  result<void> enqueue_wait(queue_id queue, event_id event);
  /// Whether its last record has been reached; true of an event that was never recorded.
  result<bool> query_event(event_id event) const;

  /// Whether the queue is empty. query() knows no queue that has gone; is_empty() calls it empty.
  result<bool> query(queue_id queue) const;
  bool is_empty(queue_id queue) const;
  /// How often a queue has become empty.
  uint64_t emptied() const { return emptied_; }
  /// How many commands were ever enqueued: the number of the last one.
  uint64_t commands_made() const { return commands_made_; }
  /// Whether a kernel may have left something in a cache that a copy to the host, enqueued in this queue now, would miss.
  bool needs_flush(queue_id queue) const;

  // -- for the driver's other parts

  /// Null where there is none of this name.
  command_queue* find(queue_id queue) const;
  /// An error that names `call` where there is none.
  result<command_queue*> queue_for(const char* call, queue_id queue) const;
  /// Whether the queue's first command could begin: there is one, it has not begun, and it waits for no event.
  bool may_begin(const command_queue& queue) const;
  /// driver_services::put_before().
  command& put_before(const command& next, command_kind kind);
  /// Takes the queue's first command, which has ended, out of it.
  void end(command_queue& queue, command& done);

 private:
  /// One copy.
  struct copy_order {
    const char* call = nullptr;  ///< in whose name errors are told
    command_kind kind = command_kind::copy_to_device;
    uint64_t address = 0;  ///< the device's
    uint64_t bytes = 0;
    uint64_t from_address = 0;  ///< of a copy on devices
    std::byte* to_host = nullptr;
    const std::byte* from_host = nullptr;
  };

  /// In the name of a queue that is not there: the next queue in its place takes it off.
  static constexpr queue_id dead = uint64_t{1} << 63;

  command& make(command_queue& queue, command_kind kind);
  void put(command_queue& queue, command& what);
  void put_flush(command_queue& queue);
  result<void> enqueue_copy(queue_id queue, const copy_order& order);
  /// A copy of bytes that the command keeps.
  void enqueue_staged(command_queue& queue, uint64_t to, std::span<const std::byte> from);
  result<void> check(const kernel_launch& what, const command_queue& queue) const;
  void hold_what_arguments_name(command& launch, std::span<const std::byte> arguments);

  const driver_settings* settings_;
  context_table* contexts_;
  memory_allocator* memory_;
  const device_table* devices_;
  const tracer* tracer_;
  ticking* cycle_;
  queue_events* events_;
  std::vector<std::unique_ptr<command_queue>> queues_;  ///< by the lower half of their names
  std::vector<uint32_t> free_queues_;
  std::vector<std::unique_ptr<command>> commands_;
  std::vector<command*> free_commands_;
  uint64_t commands_made_ = 0;
  uint64_t emptied_ = 0;
  bool one_flag_ = false;  ///< driver_fault::one_flag
};

}  // namespace heddle::driver
