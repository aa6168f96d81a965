#include <heddle/driver/copy.h>
#include <heddle/driver/gpu_driver.h>
#include <heddle/driver/message.h>
#include <heddle/driver/middlewares.h>

#include <cassert>
#include <string>
#include <utility>

namespace heddle::driver {

gpu_driver::gpu_driver(const driver_settings& settings, work_group_runner* runner)
    : ticking(engine_, settings.cycle),
      settings_(settings),
      link_(settings_, engine_, tracer_, *this, *this),
      gpus_({.settings = settings_,
             .engine = engine_,
             .link = link_,
             .services = *this,
             .cycle = *this,
             .runner = runner}),
      contexts_(gpus_.memory(), gpus_.table()),
      chain_(queues_, tracer_),
      queues_({.settings = settings_,
               .contexts = contexts_,
               .memory = gpus_.memory(),
               .devices = gpus_.table(),
               .tracing = tracer_,
               .cycle = *this,
               .events = first_chain()}) {
  assert(settings.page_bits >= 8 && settings.page_bits <= 24 && settings.cycle != 0 && settings.port_requests != 0);
  if (settings_.middleware != nullptr) add_middleware(settings_.middleware->make(services()), 0);
  assert(settings.compute_units != 0 && settings.groups_per_unit != 0 && settings.groups_per_cycle != 0);
}

gpu_driver::~gpu_driver() = default;

queue_events& gpu_driver::first_chain() {
  if (settings_.copies == copy_model::timed)
    add_middleware(std::make_unique<timed_copy>(services()), chain_.length());
  else
    add_middleware(std::make_unique<instant_copy>(services()), chain_.length());
  add_middleware(std::make_unique<flush_caches>(services()), chain_.length());
  add_middleware(std::make_unique<launch_kernels>(services()), chain_.length());
  auto events = std::make_unique<queue_events>();
  queue_events& made = *events;
  add_middleware(std::move(events), chain_.length());
  return made;
}

result<device_id> gpu_driver::create_unified_device(context_id context, std::span<const device_id> gpus) {
  if (const auto by = contexts_.context_for("create_unified_device", context); !by) return by.why();
  return gpus_.create_unified_device(gpus);
}

// -- the cycle ----------------------------------------------------------------------------------------------------------------------

bool gpu_driver::tick() {
  migrator& migration = gpus_.migration();
  bool any = link_.send_next();
  any = migration.answer_mmu() || any;
  any = migration.send() || any;
  any = chain_.tick() || any;
  any = take_answer() || any;
  if (!settings_.paced) any = take_commands() || any;
  return migration.take_wanted() || any;
}

bool gpu_driver::take_answer() {
  const std::optional<request> next = link_.take_answer();
  if (!next) return false;
  if (!gpus_.migration().receive(*next)) chain_.receive(*next);
  return true;
}

bool gpu_driver::take_commands() {
  bool any = false;
  for (const auto& each : contexts_.all())
    for (command_queue* const queue : each->queues) any = chain_.offer(*queue) || any;
  return any;
}

bool gpu_driver::may_begin(queue_id queue) const {
  const command_queue* const of = queues_.find(queue);
  return of != nullptr && queues_.may_begin(*of);
}

uint64_t gpu_driver::next_of(queue_id queue) const {
  const command_queue* const of = queues_.find(queue);
  return of == nullptr || of->waiting.empty() ? 0 : of->waiting.front()->number;
}

bool gpu_driver::begin_next(queue_id queue) {
  command_queue* const of = queues_.find(queue);
  return of != nullptr && queues_.may_begin(*of) && chain_.offer(*of);
}

void gpu_driver::moved(const request& piece) {
  if (settings_.copies == copy_model::timed) return gpus_.moved(piece);
  complete(*piece.of);
}

// -- waiting ------------------------------------------------------------------------------------------------------------------------

result<void> gpu_driver::drain(queue_id queue) {
  auto which = queues_.queue_for("drain", queue);
  if (!which) return which.why();
  signal();
  while (!which.value()->waiting.empty() && engine_.step()) {
  }
  return outcome_of(queue);
}

result<void> gpu_driver::outcome_of(queue_id queue) {
  auto which = queues_.queue_for("drain", queue);
  if (!which) return which.why();
  command_queue& of = *which.value();
  if (of.waiting.empty()) {
    if (!of.fault) return {};
    error first = std::move(*of.fault);
    of.fault.reset();
    return first;
  }
  std::string waiting;
  for (const auto& each : contexts_.all())
    for (const command_queue* const one : each->queues)
      if (!one->waiting.empty())
        waiting += words(waiting.empty() ? "" : "; ", "queue ", one->id, " at ", one->waiting.front()->describe());
  if (outside() != 0)
    return failure("drain", words("queue ", queue), "waits",
                   words(outside(), " work-groups go on outside of the driver; ", waiting));
  return failure("drain", words("queue ", queue), "deadlock", "nothing is under way: " + waiting);
}

template <typename Enqueue>
result<void> gpu_driver::on_a_queue_of_its_own(context_id context, Enqueue&& enqueue) {
  result<queue_id> queue = queues_.create_queue(context);
  if (!queue) return queue.why();
  result<void> said = enqueue(queue.value());
  if (said) said = drain(queue.value());
  // A queue that hangs stays: its commands are still there.
  if (is_empty(queue.value())) queues_.destroy_queue(queue.value()).value();
  return said;
}

result<void> gpu_driver::copy_to_device(context_id context, uint64_t to, std::span<const std::byte> from) {
  return on_a_queue_of_its_own(context,
                               [&](queue_id queue) { return queues_.enqueue_copy_to_device(queue, to, from); });
}

result<void> gpu_driver::copy_to_host(context_id context, std::span<std::byte> to, uint64_t from) {
  return on_a_queue_of_its_own(context, [&](queue_id queue) { return queues_.enqueue_copy_to_host(queue, to, from); });
}

result<void> gpu_driver::launch(context_id context, const kernel_launch& what) {
  return on_a_queue_of_its_own(context, [&](queue_id queue) { return queues_.enqueue_launch(queue, what); });
}

}  // namespace heddle::driver
