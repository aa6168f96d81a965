#include <heddle/driver/aql_packet.h>
#include <heddle/driver/command_queues.h>
#include <heddle/driver/message.h>
#include <heddle/driver/split.h>

#include <algorithm>
#include <cassert>
#include <cstring>
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

command& command_queues::put_before(const command& next, command_kind kind) {
  command_queue& queue = *find(next.queue);
  assert(!queue.running && !queue.waiting.empty() && queue.waiting.front() == &next);
  command& fresh = make(queue, kind);
  fresh.device = next.device;
  fresh.part_of = next.part_of != 0 ? next.part_of : next.number;
  queue.waiting.push_front(&fresh);
  return fresh;
}

void command_queues::end(command_queue& queue, command& done) {
  tracer_->tell(trace_kind::command_ends, &done, nullptr);
  // What a middleware has put before a command is that command's.
  if (done.part_of == 0) {
    if (done.kind == command_kind::launch || done.kind == command_kind::unified_launch)
      contexts_->marks_of(done.process).launch_ended(queue.marks);
    for (const uint64_t buffer : done.held) memory_->let_go(done.process, buffer);
    for (const launch_part& part : done.parts)
      for (const uint64_t buffer : {part.code_object, part.arguments, part.packet})
        memory_->free(done.process, buffer).value();
  }
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
  const bool on_devices = order.kind == command_kind::copy_on_device;
  uint64_t source = 0;
  if (on_devices) {
    result<uint64_t> from = memory_->buffer_of(order.call, in.process, order.from_address, order.bytes);
    if (!from) return from.why();
    source = from.value();
  }
  if (order.kind != command_kind::copy_to_device && settings_->flush_before_copy && needs_flush(queue)) {
    put_flush(in);
  }
  command& copy = make(in, order.kind);
  copy.address = order.address;
  copy.bytes = order.bytes;
  copy.to_host = order.to_host;
  copy.from_host = order.from_host;
  copy.from_address = order.from_address;
  copy.held.push_back(buffer.value());
  if (on_devices) copy.held.push_back(source);
  for (const uint64_t held : copy.held) memory_->hold(in.process, held);
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

result<void> command_queues::enqueue_copy_on_device(queue_id queue, uint64_t to, uint64_t from, uint64_t bytes) {
  return enqueue_copy(queue, {.call = "copy_on_device",
                              .kind = command_kind::copy_on_device,
                              .address = to,
                              .bytes = bytes,
                              .from_address = from});
}

bool command_queues::needs_flush(queue_id queue) const {
  const command_queue* const in = find(queue);
  if (in == nullptr) return false;
  if (settings_->fault == driver_fault::one_flag) return one_flag_;
  return contexts_->marks_of(in->process).needs_flush(in->marks);
}

void command_queues::put_flush(command_queue& queue) {
  contexts_->marks_of(queue.process).flush_enqueued(queue.marks);
  one_flag_ = false;
  put(queue, make(queue, command_kind::flush));
}

bool command_queues::may_begin(const command_queue& queue) const {
  if (queue.running || queue.waiting.empty()) return false;
  const command& next = *queue.waiting.front();
  return next.kind != command_kind::wait_event || events_->has_come_to(next.event, next.generation);
}

result<void> command_queues::enqueue_flush(queue_id queue) {
  auto which = queue_for("flush", queue);
  if (!which) return which.why();
  command_queue& in = *which.value();
  put_flush(in);
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

// -- launches -----------------------------------------------------------------------------------------------------------------------

result<void> command_queues::check(const kernel_launch& what, const command_queue& queue) const {
  const auto refuse = [&](std::string text) {
    const auto size = [](const extent& of) { return words(of.x, "x", of.y, "x", of.z); };
    return failure(
        "launch",
        words("queue ", queue.id, ", device ", queue.device, ", grid ", size(what.grid), ", group ", size(what.group)),
        "invalid value", std::move(text));
  };
  if (devices_->kind(queue.device) == device_kind::cpu) return refuse("the CPU executes no kernels");
  if (what.code.empty()) return refuse("the code object is empty");
  // Empty first: the number of groups of an empty grid would come out as nearly all that there can be.
  if (what.grid.x == 0 || what.grid.y == 0 || what.grid.z == 0) return refuse("the grid is empty");
  if (what.group.x == 0 || what.group.y == 0 || what.group.z == 0) return refuse("the work-group is empty");
  constexpr uint32_t most = std::numeric_limits<uint16_t>::max();
  if (what.group.x > most || what.group.y > most || what.group.z > most)
    return refuse(words("a work-group has at most ", most, " work-items along each axis"));
  const extent groups = grid_size{what.grid, what.group}.groups();
  if (uint64_t{groups.x} * groups.y > std::numeric_limits<uint64_t>::max() / groups.z)
    return refuse("there are more work-groups than can be counted");
  uint64_t group_bytes = what.group_bytes;
  for (const group_memory_argument& each : what.group_memory) {
    if (each.offset % sizeof(uint64_t) != 0 || what.arguments.size() < sizeof(uint64_t) ||
        each.offset > what.arguments.size() - sizeof(uint64_t))
      return refuse(words("an argument of 8 bytes at offset ", each.offset, " is not among ", what.arguments.size(),
                          " bytes of arguments, or not aligned"));
    group_bytes = (group_bytes + group_memory_alignment - 1) / group_memory_alignment * group_memory_alignment;
    group_bytes += each.bytes;
  }
  if (group_bytes > std::numeric_limits<uint32_t>::max())
    return refuse(words("a work-group would take ", group_bytes, " bytes of group memory"));
  return {};
}

result<void> command_queues::enqueue_launch(queue_id queue, const kernel_launch& what) {
  auto which = queue_for("launch", queue);
  if (!which) return which.why();
  command_queue& in = *which.value();
  if (result<void> fine = check(what, in); !fine) return fine;

  // What the kernel is given: pointers to group memory become offsets behind the static part.
  std::vector<std::byte> arguments(what.arguments.begin(), what.arguments.end());
  uint64_t group_bytes = what.group_bytes;
  for (const group_memory_argument& each : what.group_memory) {
    group_bytes = (group_bytes + group_memory_alignment - 1) / group_memory_alignment * group_memory_alignment;
    std::memcpy(arguments.data() + each.offset, &group_bytes, sizeof group_bytes);
    group_bytes += each.bytes;
  }
  // A kernel without arguments has a segment for them like any other.
  arguments.resize(std::max(arguments.size(), sizeof(uint64_t)));

  // All memory first: what cannot be launched leaves nothing behind.
  const auto gpus = devices_->physical(in.device);
  std::vector<uint64_t> taken;
  for (const device_id each : gpus)
    for (const uint64_t bytes : {what.code.size(), arguments.size(), sizeof(aql_packet)}) {
      result<uint64_t> buffer = memory_->allocate(in.process, bytes, settings_->launches_from_host ? cpu_device : each);
      if (!buffer) {
        for (const uint64_t address : taken) memory_->free(in.process, address).value();
        return failure("launch", words("queue ", queue, ", device ", each), buffer.why().name, buffer.why().line());
      }
      taken.push_back(buffer.value());
    }

  const bool is_unified = devices_->kind(in.device) == device_kind::unified;
  // Numbers are given in the order of execution: the launch comes behind its copies.
  const uint64_t number = commands_made_ + 3 * gpus.size() + 1;
  const uint64_t groups = grid_size{what.grid, what.group}.groups().count();
  std::vector<launch_part> parts;
  for (size_t n = 0; n < gpus.size(); ++n) {
    const launch_part part = {.device = gpus[n],
                              .code_object = taken[3 * n],
                              .arguments = taken[3 * n + 1],
                              .packet = taken[3 * n + 2],
                              .groups = settings_->split->of(groups, gpus.size(), n)};
    const aql_packet packet = {
        .header = aql_packet::dispatch_header,
        .setup = static_cast<uint16_t>(what.grid.z > 1 || what.group.z > 1   ? 3
                                       : what.grid.y > 1 || what.group.y > 1 ? 2
                                                                             : 1),
        .group_x = static_cast<uint16_t>(what.group.x),
        .group_y = static_cast<uint16_t>(what.group.y),
        .group_z = static_cast<uint16_t>(what.group.z),
        .grid_x = what.grid.x,
        .grid_y = what.grid.y,
        .grid_z = what.grid.z,
        .private_bytes = what.private_bytes,
        .group_bytes = static_cast<uint32_t>(group_bytes),
        .code_object = part.code_object,
        .arguments = part.arguments,
        .completion_signal = number,
    };
    enqueue_staged(in, part.code_object, what.code);
    enqueue_staged(in, part.arguments, arguments);
    enqueue_staged(in, part.packet, std::as_bytes(std::span(&packet, 1)));
    parts.push_back(part);
  }
  command& launch = make(in, is_unified ? command_kind::unified_launch : command_kind::launch);
  launch.parts.assign(parts.begin(), parts.end());
  for (const uint64_t buffer : taken) {
    memory_->hold(in.process, buffer);
    launch.held.push_back(buffer);
  }
  hold_what_arguments_name(launch, arguments);
  contexts_->marks_of(in.process).launch_enqueued(in.marks);
  one_flag_ = true;
  put(in, launch);
  return {};
}

void command_queues::enqueue_staged(command_queue& queue, uint64_t to, std::span<const std::byte> from) {
  command& copy = make(queue, command_kind::copy_to_device);
  copy.staged.assign(from.begin(), from.end());
  copy.from_host = copy.staged.data();
  copy.address = to;
  copy.bytes = from.size();
  memory_->hold(queue.process, to);
  copy.held.push_back(to);
  put(queue, copy);
}

void command_queues::hold_what_arguments_name(command& launch, std::span<const std::byte> arguments) {
  for (size_t at = 0; at + sizeof(uint64_t) <= arguments.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, arguments.data() + at, sizeof word);
    const uint64_t buffer = memory_->buffer_at(launch.process, word);
    if (buffer == 0) continue;
    memory_->hold(launch.process, buffer);
    launch.held.push_back(buffer);
  }
}

}  // namespace heddle::driver
