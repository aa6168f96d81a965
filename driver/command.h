// What a program asks of its driver by a queue, and what the driver then asks of a device, over the link between them.
#pragma once

#include <heddle/driver/ids.h>
#include <heddle/driver/split.h>
#include <heddle/rpc/result.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heddle::driver {

enum class command_kind : uint8_t {
  copy_to_device,
  copy_to_host,
  copy_on_device,  ///< from one place in the memory of devices to another
  launch,          ///< of one GPU
  unified_launch,  ///< of the GPUs of a unified device
  flush,           ///< of all L2 caches
  no_op,
  record_event,
  wait_event,
  custom,   ///< for a middleware of the user's, which knows it by its name
  migrate,  ///< of pages to `device`, which uses them: `bytes`, of which the first are at `address`. It is in no queue
};

const char* to_string(command_kind kind);

/// Where one GPU finds a launch, and what its part of it is.
struct launch_part {
  device_id device = 0;
  uint64_t code_object = 0;  ///< the three buffers, which the driver has allocated and gives back
  uint64_t arguments = 0;
  uint64_t packet = 0;
  share groups;
};

struct command {
  uint64_t number = 0;  ///< among all of the driver, from 1
  command_kind kind = command_kind::no_op;
  queue_id queue = 0;
  context_id context = 0;
  process_id process = 0;
  device_id device = 0;

  // Copies. The bytes on the host must stay until the command has ended.
  uint64_t address = 0;
  uint64_t from_address = 0;  ///< of a copy on devices
  std::byte* to_host = nullptr;
  const std::byte* from_host = nullptr;
  uint64_t bytes = 0;
  std::vector<std::byte> staged;  ///< what a launch copies, where `from_host` points then

  std::vector<launch_part> parts;
  event_id event = 0;
  uint64_t generation = 0;  ///< of the event, that is recorded or waited for
  std::string name;         ///< of a custom command
  uint64_t payload = 0;     ///< of a custom command

  uint64_t part_of =
      0;  ///< the number of the command that a middleware has put it before; 0: a program has enqueued it

  std::vector<uint64_t> held;  ///< buffers that cannot be freed before it has ended, once for each time
  uint64_t outstanding = 0;    ///< requests that are not answered, for the middleware that has it
  bool begun = false;
  std::optional<error> fault;  ///< the first one

  void fail(error why) {
    if (!fault) fault = std::move(why);
  }
  /// "copy_to_host 7 (process 1, 0x1000, 64 bytes)"
  std::string describe() const;
  /// As new, but with the memory that its lists have.
  void clear();
};

// What the driver asks of a device, over the link between them; the same comes back as the answer.

enum class request_kind : uint8_t {
  write,         ///< `bytes` from the host to one page of the device's memory
  read,          ///< `bytes` of one page to the host
  copy,          ///< `bytes` of one page, of any device, to one page of this device
  launch,        ///< `part`
  flush,         ///< write dirty bytes back
  drain_rdma,    ///< no accesses to other devices from now on
  shoot_down,    ///< forget the translations of `pages`, write dirty bytes back, and execute nothing from now on
  copy_page,     ///< the page at `from` to the one at `physical_address`
  restart,       ///< after shoot_down
  restart_rdma,  ///< after drain_rdma
};

const char* to_string(request_kind kind);

struct request {
  uint64_t number = 0;  ///< among all of the driver, from 1
  request_kind kind = request_kind::write;
  device_id device = 0;
  command* of = nullptr;  ///< none of a migration's
  process_id process = 0;
  uint64_t virtual_address = 0;
  uint64_t physical_address = 0;
  uint64_t from = 0;          ///< a physical address, of what is copied on devices
  uint64_t from_virtual = 0;  ///< the same place as the process has it
  uint64_t bytes = 0;
  std::byte* to_host = nullptr;
  const std::byte* from_host = nullptr;
  launch_part part;
  const std::vector<uint64_t>* pages = nullptr;  ///< virtual addresses; lives until the answer
  uint64_t poisoned_bytes = 0;                   ///< in the answer: of those read
};

}  // namespace heddle::driver
