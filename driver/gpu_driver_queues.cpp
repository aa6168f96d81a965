// The program's side of the driver: what is put into queues, and waiting for it.
#include <heddle/driver/aql_packet.h>
#include <heddle/driver/gpu_driver.h>
#include <heddle/driver/message.h>
#include <heddle/driver/split.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace heddle::driver {

// -- queues -------------------------------------------------------------------------------------------------------------------------

// A name is the place in the list and how often that place was used before: a name that has gone stays gone.
constexpr unsigned place_bits = 32;

command_queue* gpu_driver::find(queue_id queue) const {
  const uint64_t place = queue & std::numeric_limits<uint32_t>::max();
  if (place >= queues_.size() || queues_[place]->id != queue) return nullptr;
  return queues_[place].get();
}

result<command_queue*> gpu_driver::queue_for(const char* call, queue_id queue) const {
  if (command_queue* const found = find(queue)) return found;
  return failure(call, words("queue ", queue), "unknown queue", "there is none of this name, or none any more");
}

result<queue_id> gpu_driver::create_queue(context_id context) {
  auto in = context_for("create_queue", context);
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

result<void> gpu_driver::destroy_queue(queue_id queue) {
  auto which = queue_for("destroy_queue", queue);
  if (!which) return which.why();
  command_queue& gone = *which.value();
  if (!gone.waiting.empty())
    return failure("destroy_queue", words("queue ", queue), "in use",
                   words(gone.waiting.size(), " commands have not ended, first ", gone.waiting.front()->describe()));
  auto& siblings = contexts_[gone.context]->queues;
  siblings.erase(std::find(siblings.begin(), siblings.end(), &gone));
  gone.id = (gone.id + (uint64_t{1} << place_bits)) | dead;
  free_queues_.push_back(static_cast<uint32_t>(queue & std::numeric_limits<uint32_t>::max()));
  return {};
}

bool gpu_driver::is_empty(queue_id queue) const {
  const command_queue* const which = find(queue);
  return which == nullptr || which->waiting.empty();
}

result<bool> gpu_driver::query(queue_id queue) const {
  const auto which = queue_for("query", queue);
  if (!which) return which.why();
  return is_empty(queue);
}

command& gpu_driver::make(command_queue& queue, command_kind kind) {
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

void gpu_driver::put(command_queue& queue, command& what) { queue.waiting.push(&what); }

// -- commands -----------------------------------------------------------------------------------------------------------------------

result<void> gpu_driver::enqueue_copy(const char* call, queue_id queue, command_kind kind, uint64_t address,
                                      uint64_t bytes, std::byte* to, const std::byte* from) {
  auto which = queue_for(call, queue);
  if (!which) return which.why();
  command_queue& in = *which.value();
  result<uint64_t> buffer = memory_.buffer_of(call, in.process, address, bytes);
  if (!buffer) return buffer.why();
  if (kind == command_kind::copy_to_host && settings_.flush_before_copy && marks_[in.process].needs_flush(in.marks)) {
    marks_[in.process].flush_enqueued(in.marks);
    put(in, make(in, command_kind::flush));
  }
  command& copy = make(in, kind);
  copy.address = address;
  copy.bytes = bytes;
  copy.to_host = to;
  copy.from_host = from;
  memory_.hold(in.process, buffer.value());
  copy.held.push_back(buffer.value());
  put(in, copy);
  return {};
}

result<void> gpu_driver::enqueue_copy_to_device(queue_id queue, uint64_t to, std::span<const std::byte> from) {
  return enqueue_copy("copy_to_device", queue, command_kind::copy_to_device, to, from.size(), nullptr, from.data());
}

result<void> gpu_driver::enqueue_copy_to_host(queue_id queue, std::span<std::byte> to, uint64_t from) {
  return enqueue_copy("copy_to_host", queue, command_kind::copy_to_host, from, to.size(), to.data(), nullptr);
}

result<void> gpu_driver::enqueue_flush(queue_id queue) {
  auto which = queue_for("flush", queue);
  if (!which) return which.why();
  command_queue& in = *which.value();
  marks_[in.process].flush_enqueued(in.marks);
  put(in, make(in, command_kind::flush));
  return {};
}

result<void> gpu_driver::enqueue_no_op(queue_id queue) {
  auto which = queue_for("no_op", queue);
  if (!which) return which.why();
  put(*which.value(), make(*which.value(), command_kind::no_op));
  return {};
}

result<void> gpu_driver::enqueue_custom(queue_id queue, std::string_view name, uint64_t payload) {
  auto which = queue_for("custom", queue);
  if (!which) return which.why();
  command& what = make(*which.value(), command_kind::custom);
  what.name = name;
  what.payload = payload;
  put(*which.value(), what);
  return {};
}

result<void> gpu_driver::enqueue_record(queue_id queue, event_id event) {
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

result<void> gpu_driver::enqueue_wait(queue_id queue, event_id event) {
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

result<bool> gpu_driver::query_event(event_id event) const {
  if (events_->has(event)) return events_->reached(event);
  return failure("query", words("event ", event), "unknown event", "there is no such event");
}

// -- launches -----------------------------------------------------------------------------------------------------------------------

result<void> gpu_driver::check(const kernel_launch& what, const command_queue& queue) const {
  const auto refuse = [&](std::string text) {
    const auto size = [](const extent& of) { return words(of.x, "x", of.y, "x", of.z); };
    return failure(
        "launch",
        words("queue ", queue.id, ", device ", queue.device, ", grid ", size(what.grid), ", group ", size(what.group)),
        "invalid value", std::move(text));
  };
  if (devices_.kind(queue.device) == device_kind::cpu) return refuse("the CPU executes no kernels");
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

result<void> gpu_driver::enqueue_launch(queue_id queue, const kernel_launch& what) {
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
  const auto gpus = devices_.physical(in.device);
  std::vector<uint64_t> taken;
  for (const device_id each : gpus)
    for (const uint64_t bytes : {what.code.size(), arguments.size(), sizeof(aql_packet)}) {
      result<uint64_t> buffer = memory_.allocate(in.process, bytes, each);
      if (!buffer) {
        for (const uint64_t address : taken) memory_.free(in.process, address).value();
        return failure("launch", words("queue ", queue, ", device ", each), buffer.why().name, buffer.why().line());
      }
      taken.push_back(buffer.value());
    }

  const bool is_unified = devices_.kind(in.device) == device_kind::unified;
  // Numbers are given in the order of execution: the launch comes behind its copies.
  const uint64_t number = commands_made_ + 3 * gpus.size() + 1;
  const uint64_t groups = grid_size{what.grid, what.group}.groups().count();
  std::vector<launch_part> parts;
  for (size_t n = 0; n < gpus.size(); ++n) {
    const launch_part part = {.device = gpus[n],
                              .code_object = taken[3 * n],
                              .arguments = taken[3 * n + 1],
                              .packet = taken[3 * n + 2],
                              .groups = share_of(groups, gpus.size(), n)};
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
    memory_.hold(in.process, buffer);
    launch.held.push_back(buffer);
  }
  hold_what_arguments_name(launch, arguments);
  marks_[in.process].launch_enqueued(in.marks);
  put(in, launch);
  return {};
}

void gpu_driver::enqueue_staged(command_queue& queue, uint64_t to, std::span<const std::byte> from) {
  command& copy = make(queue, command_kind::copy_to_device);
  copy.staged.assign(from.begin(), from.end());
  copy.from_host = copy.staged.data();
  copy.address = to;
  copy.bytes = from.size();
  memory_.hold(queue.process, to);
  copy.held.push_back(to);
  put(queue, copy);
}

void gpu_driver::hold_what_arguments_name(command& launch, std::span<const std::byte> arguments) {
  for (size_t at = 0; at + sizeof(uint64_t) <= arguments.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, arguments.data() + at, sizeof word);
    const uint64_t buffer = memory_.buffer_at(launch.process, word);
    if (buffer == 0) continue;
    memory_.hold(launch.process, buffer);
    launch.held.push_back(buffer);
  }
}

// -- waiting ------------------------------------------------------------------------------------------------------------------------

result<void> gpu_driver::drain(queue_id queue) {
  auto which = queue_for("drain", queue);
  if (!which) return which.why();
  signal();
  while (!which.value()->waiting.empty() && engine_.step()) {
  }
  return outcome_of(queue);
}

result<void> gpu_driver::outcome_of(queue_id queue) {
  auto which = queue_for("drain", queue);
  if (!which) return which.why();
  command_queue& of = *which.value();
  if (of.waiting.empty()) {
    if (!of.fault) return {};
    error first = std::move(*of.fault);
    of.fault.reset();
    return first;
  }
  std::string waiting;
  for (const auto& each : contexts_)
    for (const command_queue* const one : each->queues)
      if (!one->waiting.empty())
        waiting += words(waiting.empty() ? "" : "; ", "queue ", one->id, " at ", one->waiting.front()->describe());
  if (outside_ != 0)
    return failure("drain", words("queue ", queue), "waits",
                   words(outside_, " work-groups go on outside of the driver; ", waiting));
  return failure("drain", words("queue ", queue), "deadlock", "nothing is under way: " + waiting);
}

template <typename Enqueue>
result<void> gpu_driver::on_a_queue_of_its_own(context_id context, Enqueue&& enqueue) {
  result<queue_id> queue = create_queue(context);
  if (!queue) return queue.why();
  result<void> said = enqueue(queue.value());
  if (said) said = drain(queue.value());
  // A queue that hangs stays: its commands are still there.
  if (is_empty(queue.value())) destroy_queue(queue.value()).value();
  return said;
}

result<void> gpu_driver::copy_to_device(context_id context, uint64_t to, std::span<const std::byte> from) {
  return on_a_queue_of_its_own(context, [&](queue_id queue) { return enqueue_copy_to_device(queue, to, from); });
}

result<void> gpu_driver::copy_to_host(context_id context, std::span<std::byte> to, uint64_t from) {
  return on_a_queue_of_its_own(context, [&](queue_id queue) { return enqueue_copy_to_host(queue, to, from); });
}

result<void> gpu_driver::launch(context_id context, const kernel_launch& what) {
  return on_a_queue_of_its_own(context, [&](queue_id queue) { return enqueue_launch(queue, what); });
}

}  // namespace heddle::driver
