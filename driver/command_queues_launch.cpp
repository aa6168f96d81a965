// What a launch becomes in a queue: copies of the code object, of the arguments and of the packet, and the launch itself.
#include <heddle/driver/aql_packet.h>
#include <heddle/driver/command_queues.h>
#include <heddle/driver/message.h>
#include <heddle/driver/split.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace heddle::driver {

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
      result<uint64_t> buffer = memory_->allocate(in.process, bytes, each);
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
    memory_->hold(in.process, buffer);
    launch.held.push_back(buffer);
  }
  hold_what_arguments_name(launch, arguments);
  contexts_->marks_of(in.process).launch_enqueued(in.marks);
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
