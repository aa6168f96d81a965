// The driver of a simulated machine's devices, as a program sees it: memory, queues, copies, launches, unified devices.
//
// It is a passive object. Nothing happens but within a call, virtual time passes only in step(), run() and drain(), and the same calls
// give the same run, to the bit. It owns no thread and takes no lock: several threads use it through a connection (connection.h).
//
// Source: MGPUSim's driver (sarchlab/mgpusim) as chapter 5.1 of its book describes it. Where its source and the chapter differ, this is
// the chapter; docs/driver.md has the list.
#pragma once

#include <heddle/driver/command_queue.h>
#include <heddle/driver/gpu.h>
#include <heddle/driver/kernel.h>
#include <heddle/driver/middleware.h>
#include <heddle/driver/migration.h>
#include <heddle/driver/queue_events.h>
#include <heddle/driver/settings.h>
#include <heddle/driver/trace.h>
#include <heddle/rpc/result.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::driver {

/// Every call that can fail answers with an error which names the call and its arguments, and then has changed nothing.
/// What a command does wrong when it is executed is told by the next drain() of its queue.
class gpu_driver final : private driver_services,
                         private gpu_surroundings,
                         private page_watcher,
                         private migrator::machine,
                         private ticking {
 public:
  /// `runner` executes work-groups and must outlive the driver; null: they do nothing. The CPU is there from the beginning.
  explicit gpu_driver(const driver_settings& settings = {}, work_group_runner* runner = nullptr);
  gpu_driver(const gpu_driver&) = delete;
  gpu_driver& operator=(const gpu_driver&) = delete;
  ~gpu_driver() override;

  // -- devices

  /// A GPU with that much memory. Errors: less than a page; more than there are physical addresses.
  result<device_id> register_gpu(uint64_t memory_bytes);
  /// A device that is these GPUs, in this order; contexts select it like any other. Errors: device_table::unify(), unknown context.
  result<device_id> create_unified_device(context_id context, std::span<const device_id> gpus);
  uint32_t device_count() const { return devices_.count(); }
  result<device_id> device_of(uint64_t physical_address) const {
    return memory_.physical().device_of(physical_address);
  }

  // -- contexts. Each begins with device 1 selected, where there is one, otherwise with the CPU.

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

  // -- queues. What is enqueued is executed in order, after signal(), or while any queue is drained.

  result<queue_id> create_queue(context_id context);
  /// An error while a command is in it.
  result<void> destroy_queue(queue_id queue);

  /// The host's bytes must stay as they are until the command has ended. The device's must be of one buffer.
  result<void> enqueue_copy_to_device(queue_id queue, uint64_t to, std::span<const std::byte> from);
  /// A flush goes before it when a kernel may have left something in a cache.
  result<void> enqueue_copy_to_host(queue_id queue, std::span<std::byte> to, uint64_t from);
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
  result<bool> query(queue_id queue) const;

  /// Runs the engine until the queue is empty. The first fault of its commands since the last time; "deadlock" when nothing is under
  /// way any more and the queue is not empty, with all commands that wait; "waits" when all that is left are work-groups outside().
  result<void> drain(queue_id queue);

  // -- copies and launches, each with a queue of its own that is drained

  result<void> copy_to_device(context_id context, uint64_t to, std::span<const std::byte> from);
  result<void> copy_to_host(context_id context, std::span<std::byte> to, uint64_t from);
  result<void> launch(context_id context, const kernel_launch& what);

  // -- work-groups that their runner finishes later (execution::state::later)

  result<void> finish(const work_group& group);
  /// How many there are.
  uint64_t outside() const { return outside_; }

  // -- the engine

  /// The driver looks at its queues in this cycle. Nothing else starts them.
  void signal() { tick_soon(); }
  bool step() { return engine_.step(); }
  event_engine& engine() override { return engine_; }
  picoseconds now() const { return engine_.now(); }
  bool is_empty(queue_id queue) const;
  /// How often a queue has become empty.
  uint64_t emptied() const { return emptied_; }
  /// What drain() answers when the engine has stopped.
  result<void> outcome_of(queue_id queue);

  // -- what extends it, and looks at it

  /// The services that a middleware is made with.
  driver_services& services() { return *this; }
  /// Puts it at this place of the chain, 0 the first; behind the last it is asked last.
  void add_middleware(std::unique_ptr<middleware> fresh, size_t place);
  size_t chain_length() const { return chain_.size(); }
  /// Null for none.
  void set_listener(trace_listener* listener) { listener_ = listener; }

  const memory_allocator& allocator() const { return memory_; }
  const driver_settings& settings() const override { return settings_; }
  /// Null of a device that is no GPU.
  gpu* gpu_of(device_id device);
  /// What is in memory itself, not in a cache.
  contents& memory_contents() { return contents_; }
  uint64_t pages_moved() const { return migrator_.moved(); }

 private:
  struct context_state {
    process_id process = 0;
    device_id device = cpu_device;
    std::vector<command_queue*> queues;  ///< in the order of their creation
  };
  struct in_flight {
    request what;
    bool is_answer = false;
  };
  /// Both directions of the link.
  class both_ways final : public event_handler {
   public:
    explicit both_ways(gpu_driver& of) : of_(&of) {}
    void handle(const timed_event& now) override { of_->arrived(now.detail); }

   private:
    gpu_driver* of_;
  };

  // driver_services
  memory_allocator& memory() override;
  const device_table& devices() const override { return devices_; }
  dirty_marks& marks_of(process_id process) override { return marks_[process]; }
  bool port_has_room() const override { return port_.size() < settings_.port_requests; }
  void send(request what) override;
  void tick_at(picoseconds time) override { ticking::tick_at(time); }
  void complete(command& done) override;
  void write_memory(const page& where, uint64_t offset, std::span<const std::byte> from) override;
  uint64_t read_memory(const page& where, uint64_t offset, std::span<std::byte> to) override;
  // gpu_surroundings
  const page_table& pages() const override { return memory_.pages(); }
  contents& memory_bytes() override { return contents_; }
  l2_cache* cache_of(device_id device) override;
  work_group_runner* runner() const override { return runner_; }
  void answer(const request& what, picoseconds delay) override;
  void wants_page(page_slot& slot, device_id to) override;
  void left_outside(bool one_more) override { outside_ += one_more ? 1 : ~uint64_t{0}; }
  // page_watcher
  void released(const page& old) override;
  void replaced(const page& fresh) override { contents_.poison(fresh.physical_address); }
  // migrator::machine
  bool translates(device_id device, process_id process, uint64_t address) override;
  void abandon(const page& old) override { contents_.clear(old.physical_address); }
  void answer_walks() override;
  // ticking
  bool tick() override;

  bool send_request();
  bool take_answer();
  bool take_commands();
  bool offer(command_queue& queue);
  void arrived(uint64_t slot);
  void travel(const request& what, bool is_answer, picoseconds delay);
  void deliver_to_cpu(const request& what);
  picoseconds way_to(const request& what) const;

  /// In the name of a queue that is not there: the next queue in its place takes it off.
  static constexpr queue_id dead = uint64_t{1} << 63;

  command_queue* find(queue_id queue) const;
  result<command_queue*> queue_for(const char* call, queue_id queue) const;
  result<context_state*> context_for(const char* call, context_id context);
  command& make(command_queue& queue, command_kind kind);
  void put(command_queue& queue, command& what);
  result<void> enqueue_copy(const char* call, queue_id queue, command_kind kind, uint64_t address, uint64_t bytes,
                            std::byte* to, const std::byte* from);
  /// A copy of bytes that the command keeps.
  void enqueue_staged(command_queue& queue, uint64_t to, std::span<const std::byte> from);
  result<void> check(const kernel_launch& what, const command_queue& queue) const;
  void hold_what_arguments_name(command& launch, std::span<const std::byte> arguments);
  void end(command_queue& queue, command& done);
  void tell(trace_kind kind, const command* of, const request* asked) const;
  template <typename Enqueue>
  result<void> on_a_queue_of_its_own(context_id context, Enqueue&& enqueue);

  driver_settings settings_;
  work_group_runner* runner_;
  event_engine engine_;
  device_table devices_;
  contents contents_;
  memory_allocator memory_;
  std::vector<std::unique_ptr<gpu>> gpus_;  ///< by device; null of those that are none
  std::vector<std::unique_ptr<context_state>> contexts_;
  std::vector<std::unique_ptr<command_queue>> queues_;  ///< by the lower half of their names
  std::vector<uint32_t> free_queues_;
  std::vector<dirty_marks> marks_;  ///< by process
  std::vector<std::unique_ptr<command>> commands_;
  std::vector<command*> free_commands_;
  uint64_t commands_made_ = 0;
  uint64_t requests_made_ = 0;

  std::vector<std::unique_ptr<middleware>> chain_;
  queue_events* events_;  ///< in the chain
  migrator migrator_;
  both_ways link_{*this};
  fifo<request> port_;     ///< waits to be sent
  fifo<request> answers_;  ///< have come, and wait to be looked at
  std::vector<in_flight> in_flight_;
  std::vector<uint64_t> free_in_flight_;
  uint64_t outside_ = 0;
  uint64_t emptied_ = 0;
  trace_listener* listener_ = nullptr;
};

}  // namespace heddle::driver
