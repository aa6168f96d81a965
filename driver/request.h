// What the driver asks of a device, over the link between them; the same comes back as the answer.
#pragma once

#include <heddle/driver/command.h>
#include <heddle/driver/ids.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::driver {

enum class request_kind : uint8_t {
  write,         ///< `bytes` from the host to one page of the device's memory
  read,          ///< `bytes` of one page to the host
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
  uint64_t from = 0;
  uint64_t bytes = 0;
  std::byte* to_host = nullptr;
  const std::byte* from_host = nullptr;
  launch_part part;
  const std::vector<uint64_t>* pages = nullptr;  ///< virtual addresses; lives until the answer
  uint64_t poisoned_bytes = 0;                   ///< in the answer: of those read
};

}  // namespace heddle::driver
