#include <heddle/driver/command_queues.h>
#include <heddle/driver/message.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace heddle::driver {

// -- queues -------------------------------------------------------------------------------------------------------------------------

// A name is the place in the list and how often that place was used before: a name that has gone stays gone.
constexpr unsigned place_bits = 32;

command_queue* command_queues::find(queue_id queue) const {
  const uint64_t place = queue & std::numeric_limits<uint32_t>::max();
  if (place >= queues_.size() || queues_[place]->id != queue) return nullptr;
  return queues_[place].get();
}

result<command_queue*> command_queues::queue_for(const char* call, queue_id queue) const {
  if (command_queue* const found = find(queue)) return found;
  return failure(call, words("queue ", queue), "unknown queue", "there is none of this name, or none any more");
}

result<queue_id> command_queues::create_queue(context_id context) {
  auto in = contexts_->context_for("create_queue", context);
  if (!in) return in.why();
  uint32_t place = static_cast<uint32_t>(queues_.size());
  if (free_queues_.empty()) {
    queues_.push_back(std::make_unique<command_queue>());
    queues_.back()->id = place;
  } else {
    place = free_queues_.back();
    free_queues_.pop_back();
    // destroy_queue() has given it its next name.
    queues_[place]->id &= ~dead;
  }
  command_queue& fresh = *queues_[place];
  fresh.context = context;
  fresh.process = in.value()->process;
  fresh.device = in.value()->device;
  fresh.marks = {};
  fresh.fault.reset();
  in.value()->queues.push_back(&fresh);
  return fresh.id;
}

result<void> command_queues::destroy_queue(queue_id queue) {
  auto which = queue_for("destroy_queue", queue);
  if (!which) return which.why();
  command_queue& gone = *which.value();
  if (!gone.waiting.empty())
    return failure("destroy_queue", words("queue ", queue), "in use",
                   words(gone.waiting.size(), " commands have not ended, first ", gone.waiting.front()->describe()));
  auto& siblings = contexts_->state_of(gone.context).queues;
  siblings.erase(std::find(siblings.begin(), siblings.end(), &gone));
  gone.id = (gone.id + (uint64_t{1} << place_bits)) | dead;
  free_queues_.push_back(static_cast<uint32_t>(queue & std::numeric_limits<uint32_t>::max()));
  return {};
}

bool command_queues::is_empty(queue_id queue) const {
  const command_queue* const which = find(queue);
  return which == nullptr || which->waiting.empty();
}

result<bool> command_queues::query(queue_id queue) const {
  const auto which = queue_for("query", queue);
  if (!which) return which.why();
  return is_empty(queue);
}

command& command_queues::make(command_queue& queue, command_kind kind) {
  if (free_commands_.empty()) {
    commands_.push_back(std::make_unique<command>());
    free_commands_.push_back(commands_.back().get());
  }
  command& fresh = *free_commands_.back();
  free_commands_.pop_back();
  fresh.number = ++commands_made_;
  fresh.kind = kind;
  fresh.queue = queue.id;
  fresh.context = queue.context;
  fresh.process = queue.process;
  fresh.device = queue.device;
  return fresh;
}

void command_queues::put(command_queue& queue, command& what) { queue.waiting.push(&what); }

void command_queues::end(command_queue& queue, command& done) {
  tracer_->tell(trace_kind::command_ends, &done, nullptr);
  if (done.kind == command_kind::launch || done.kind == command_kind::unified_launch)
    contexts_->marks_of(done.process).launch_ended(queue.marks);
  for (const uint64_t buffer : done.held) memory_->let_go(done.process, buffer);
  for (const launch_part& part : done.parts)
    for (const uint64_t buffer : {part.code_object, part.arguments, part.packet})
      memory_->free(done.process, buffer).value();
  if (done.fault && !queue.fault) queue.fault = std::move(done.fault);
  queue.waiting.pop();
  queue.running = false;
  if (queue.waiting.empty()) ++emptied_;
  done.clear();
  free_commands_.push_back(&done);
  cycle_->tick_soon();
}

// -- commands -----------------------------------------------------------------------------------------------------------------------

result<void> command_queues::enqueue_copy(queue_id queue, const copy_order& order) {
  auto which = queue_for(order.call, queue);
  if (!which) return which.why();
  command_queue& in = *which.value();
  result<uint64_t> buffer = memory_->buffer_of(order.call, in.process, order.address, order.bytes);
  if (!buffer) return buffer.why();
  if (order.kind == command_kind::copy_to_host && settings_->flush_before_copy &&
      contexts_->marks_of(in.process).needs_flush(in.marks)) {
    contexts_->marks_of(in.process).flush_enqueued(in.marks);
    put(in, make(in, command_kind::flush));
  }
  command& copy = make(in, order.kind);
  copy.address = order.address;
  copy.bytes = order.bytes;
  copy.to_host = order.to_host;
  copy.from_host = order.from_host;
  memory_->hold(in.process, buffer.value());
  copy.held.push_back(buffer.value());
  put(in, copy);
  return {};
}

result<void> command_queues::enqueue_copy_to_device(queue_id queue, uint64_t to, std::span<const std::byte> from) {
  return enqueue_copy(queue, {.call = "copy_to_device",
                              .kind = command_kind::copy_to_device,
                              .address = to,
                              .bytes = from.size(),
                              .from_host = from.data()});
}

result<void> command_queues::enqueue_copy_to_host(queue_id queue, std::span<std::byte> to, uint64_t from) {
  return enqueue_copy(queue, {.call = "copy_to_host",
                              .kind = command_kind::copy_to_host,
                              .address = from,
                              .bytes = to.size(),
                              .to_host = to.data()});
}

result<void> command_queues::enqueue_flush(queue_id queue) {
  auto which = queue_for("flush", queue);
  if (!which) return which.why();
  command_queue& in = *which.value();
  contexts_->marks_of(in.process).flush_enqueued(in.marks);
  put(in, make(in, command_kind::flush));
  return {};
}

result<void> command_queues::enqueue_no_op(queue_id queue) {
  auto which = queue_for("no_op", queue);
  if (!which) return which.why();
  put(*which.value(), make(*which.value(), command_kind::no_op));
  return {};
}

result<void> command_queues::enqueue_custom(queue_id queue, std::string_view name, uint64_t payload) {
  auto which = queue_for("custom", queue);
  if (!which) return which.why();
  command& what = make(*which.value(), command_kind::custom);
  what.name = name;
  what.payload = payload;
  put(*which.value(), what);
  return {};
}

result<void> command_queues::enqueue_record(queue_id queue, event_id event) {
  auto which = queue_for("record", queue);
  if (!which) return which.why();
  if (!events_->has(event))
    return failure("record", words("queue ", queue, ", event ", event), "unknown event", "there is no such event");
  command& what = make(*which.value(), command_kind::record_event);
  what.event = event;
  what.generation = events_->next_generation(event);
  put(*which.value(), what);
  return {};
}

result<void> command_queues::enqueue_wait(queue_id queue, event_id event) {
  auto which = queue_for("wait", queue);
  if (!which) return which.why();
  if (!events_->has(event))
    return failure("wait", words("queue ", queue, ", event ", event), "unknown event", "there is no such event");
  command& what = make(*which.value(), command_kind::wait_event);
  what.event = event;
  what.generation = events_->generation(event);
  put(*which.value(), what);
  return {};
}

result<bool> command_queues::query_event(event_id event) const {
  if (events_->has(event)) return events_->reached(event);
  return failure("query", words("event ", event), "unknown event", "there is no such event");
}

}  // namespace heddle::driver
