// The driver of a simulated machine's devices, as a program sees it: memory, queues, copies, launches, unified devices.
//
// It is a passive object. Nothing happens but within a call, virtual time passes only in step(), run() and drain(), and the same calls
// give the same run, to the bit. It owns no thread and takes no lock: several threads use it through a connection (connection.h).
//
// It is made of parts: contexts and their memory (context_table.h), queues and what is in them (command_queues.h), the chain that executes
// commands (middleware_chain.h), the link (device_link.h), and the devices at its far end (gpu_set.h).
//
// Source: MGPUSim's driver (sarchlab/mgpusim) as chapter 5.1 of its book describes it. Where its source and the chapter differ, this is
// the chapter; docs/driver.md has the list.
#pragma once

#include <heddle/driver/command_queues.h>
#include <heddle/driver/context_table.h>
#include <heddle/driver/device_link.h>
#include <heddle/driver/gpu_set.h>
#include <heddle/driver/kernel.h>
#include <heddle/driver/middleware.h>
#include <heddle/driver/middleware_chain.h>
#include <heddle/driver/middlewares.h>
#include <heddle/driver/settings.h>
#include <heddle/driver/trace.h>
#include <heddle/rpc/result.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace heddle::driver {

/// Every call that can fail answers with an error which names the call and its arguments, and then has changed nothing.
/// What a command does wrong when it is executed is told by the next drain() of its queue.
class gpu_driver final : private driver_services, private device_link::far_end, private ticking {
 public:
  /// `runner` executes work-groups and must outlive the driver; null: they do nothing. The CPU is there from the beginning.
  explicit gpu_driver(const driver_settings& settings = {}, work_group_runner* runner = nullptr);
  gpu_driver(const gpu_driver&) = delete;
  gpu_driver& operator=(const gpu_driver&) = delete;
  ~gpu_driver();

  // -- devices

  /// A GPU with that much memory. Errors: less than a page; more than there are physical addresses.
  result<device_id> register_gpu(uint64_t memory_bytes) { return gpus_.register_gpu(memory_bytes); }
  /// A device that is these GPUs, in this order; contexts select it like any other. Errors: device_table::unify(), unknown context.
  result<device_id> create_unified_device(context_id context, std::span<const device_id> gpus);
  uint32_t device_count() const { return gpus_.table().count(); }
  result<device_id> device_of(uint64_t physical_address) const {
    return allocator().physical().device_of(physical_address);
  }

  // -- its parts

  /// Contexts, the devices that they have selected, and their memory.
  context_table& contexts() { return contexts_; }
  const context_table& contexts() const { return contexts_; }
  /// Queues, what is enqueued in them, and events.
  command_queues& queues() { return queues_; }
  const command_queues& queues() const { return queues_; }

  // -- waiting

  /// Runs the engine until the queue is empty. The first fault of its commands since the last time; "deadlock" when nothing is under
  /// way any more and the queue is not empty, with all commands that wait; "waits" when all that is left are work-groups outside().
  result<void> drain(queue_id queue);
  /// What drain() answers when the engine has stopped.
  result<void> outcome_of(queue_id queue);
  bool is_empty(queue_id queue) const { return queues_.is_empty(queue); }
  /// How often a queue has become empty.
  uint64_t emptied() const { return queues_.emptied(); }

  // -- copies and launches, each with a queue of its own that is drained

  result<void> copy_to_device(context_id context, uint64_t to, std::span<const std::byte> from);
  result<void> copy_to_host(context_id context, std::span<std::byte> to, uint64_t from);
  result<void> launch(context_id context, const kernel_launch& what);

  // -- work-groups that their runner finishes later (execution::state::later)

  result<void> finish(const work_group& group) { return gpus_.finish(group); }
  /// What a byte_mover was given has been moved.
  void moved(const request& piece);
  /// Null for none. Before the first command.
  void set_mover(byte_mover* mover) { gpus_.set_mover(mover); }
  /// How many there are.
  uint64_t outside() const { return gpus_.outside(); }

  // -- queues that go on when their owner says so (driver_settings::paced)

  /// Whether the first command of the queue could begin.
  bool may_begin(queue_id queue) const;
  /// The number of the command that would; 0 of none.
  uint64_t next_of(queue_id queue) const;
  /// Has it begin. False where it could not, and where its middleware said so (handling::later).
  bool begin_next(queue_id queue);

  // -- the engine

  /// The driver looks at its queues in this cycle. Nothing else starts them.
  void signal() { tick_soon(); }
  bool step() { return engine_.step(); }
  event_engine& engine() override { return engine_; }
  picoseconds now() const { return engine_.now(); }

  // -- what extends it, and looks at it

  /// The services that a middleware is made with.
  driver_services& services() { return *this; }
  /// Puts it at this place of the chain, 0 the first; behind the last it is asked last.
  void add_middleware(std::unique_ptr<middleware> fresh, size_t place) { chain_.add(std::move(fresh), place); }
  size_t chain_length() const { return chain_.length(); }
  /// Null for none.
  void set_listener(trace_listener* listener) { tracer_.set_listener(listener); }

  const memory_allocator& allocator() const { return gpus_.memory(); }
  const driver_settings& settings() const override { return settings_; }
  /// Null of a device that is no GPU.
  gpu* gpu_of(device_id device) { return gpus_.gpu_of(device); }
  /// What is in memory itself, not in a cache.
  contents& memory_contents() { return gpus_.bytes(); }
  uint64_t pages_moved() const { return gpus_.migration().moved(); }
  /// Pages that were asked for by a GPU that has not got them.
  uint64_t pages_asked_for() const { return gpus_.migration().asked(); }
  /// Whether a page is being moved, or is to be.
  bool migrates() const { return !gpus_.migration().idle(); }

 private:
  // driver_services
  memory_allocator& memory() override { return gpus_.memory(); }
  const device_table& devices() const override { return gpus_.table(); }
  dirty_marks& marks_of(process_id process) override { return contexts_.marks_of(process); }
  byte_mover* mover() const override { return gpus_.mover(); }
  bool port_has_room() const override { return link_.has_room(); }
  void send(request what) override { link_.send(what); }
  void tick_at(picoseconds time) override { ticking::tick_at(time); }
  void complete(command& done) override {
    chain_.ended(done);
    queues_.end(*queues_.find(done.queue), done);
  }
  command& put_before(const command& next, command_kind kind) override { return queues_.put_before(next, kind); }
  handling offer(command& outside) override { return chain_.offer(outside); }
  void has_ended(const command& outside) override { chain_.ended(outside); }
  void write_memory(const page& where, uint64_t offset, std::span<const std::byte> from) override {
    gpus_.write_memory(where, offset, from);
  }
  uint64_t read_memory(const page& where, uint64_t offset, std::span<std::byte> to) override {
    return gpus_.read_memory(where, offset, to);
  }
  // device_link::far_end
  void arrive(const request& what) override { gpus_.arrive(what); }
  // ticking
  bool tick() override;

  bool take_answer();
  bool take_commands();
  /// The middlewares that every driver has.
  queue_events& first_chain();
  template <typename Enqueue>
  result<void> on_a_queue_of_its_own(context_id context, Enqueue&& enqueue);

  driver_settings settings_;
  event_engine engine_;
  tracer tracer_{engine_};
  device_link link_;
  gpu_set gpus_;
  context_table contexts_;
  middleware_chain chain_;
  command_queues queues_;
};

}  // namespace heddle::driver
