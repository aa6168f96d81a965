// The settings of the driver and of the devices under it.
#pragma once

#include <heddle/driver/ids.h>
#include <heddle/driver/split.h>
#include <heddle/scheduler/parameters.h>

#include <cstdint>
#include <vector>

namespace heddle::driver {

class middleware_maker;

enum class copy_model : uint8_t {
  timed,    ///< page by page over the link, each copy after its fixed part
  instant,  ///< at once, and without virtual time
};

/// Where a device puts its next work-group.
enum class dispatch_policy : uint8_t {
  greedy,       ///< on the first compute unit that has room
  round_robin,  ///< on the next one that has
  partition,    ///< each unit has a share of the work-groups of its own, by share_of()
};

/// What a driver may have wrong.
enum class driver_fault : uint8_t {
  none,
  late_flush,        ///< a flush counts as over when it has been sent
  one_flag,          ///< one dirty mark for all queues, which a flush takes off when it is enqueued
  own_flush,         ///< a flush is of the caches of the queue's own device alone
  early_end,         ///< a launch counts as over when its last work-group has begun
  early_copy,        ///< a page is copied when its owner has been told to stand still, not when it does
  kept_translation,  ///< a device that is told to forget the translations of a page keeps them
};

/// Times are those of real machines only as far as they have been published, and a model in any case: they make likely
/// orders likely and give virtual times a scale. What has no published value is 0. Posted writes: half of a ping-pong
/// over a BAR (gdrcopy); reads: reads of a BAR (gdrcopy, uccl); fences: rocm-xio; launches and the fixed part of copies:
/// the runtimes' own overheads as reported for CUDA and HIP. All of them estimates for PCIe of the fourth generation.
struct driver_settings {
  unsigned page_bits = 12;                 ///< a page has 2^page_bits bytes; 8 to 24
  uint64_t cpu_bytes = uint64_t{4} << 30;  ///< of the memory of device 0
  picoseconds cycle = 1000;                ///< of driver and devices
  copy_model copies = copy_model::timed;
  bool flush_before_copy = true;   ///< off is a fault: what is copied back may be stale
  picoseconds posted = 450'000;    ///< from one side of the link to the other
  picoseconds read = 1'100'000;    ///< there and back
  picoseconds fence = 500'000;     ///< until a cache has been written back
  picoseconds launch = 5'000'000;  ///< from the launch to the first work-group
  picoseconds copy = 6'000'000;    ///< the fixed part of each copy
  picoseconds copy_byte = 0;       ///< for each byte on the link; not published
  uint32_t compute_units = 64;     ///< of a GPU
  uint32_t groups_per_unit = 8;    ///< that are on one unit at a time
  uint32_t groups_per_cycle = 8;   ///< that a device starts in one cycle
  dispatch_policy dispatch = dispatch_policy::round_robin;
  uint32_t port_requests = 64;  ///< that wait to be sent; there is back pressure beyond
  /// A queue goes on when its owner says so (gpu_driver::begin_next), and not in each cycle.
  bool paced = false;
  /// Code objects, arguments and packets lie in the CPU's memory, which devices read over the link; otherwise, in the device's.
  bool launches_from_host = false;
  const split_rule* split = &even_split();  ///< of pages and work-groups, to the GPUs of a unified device
  driver_fault fault = driver_fault::none;
  const middleware_maker* middleware = nullptr;  ///< of the user's, in front of the chain; null for none

  /// Reads the keys of driver_parameters(), and of link_parameters() those times that the two have in common.
  static driver_settings from(const parameters& values);
};

/// The key `driver.middleware`, with those of the user's that there are by now.
parameter middleware_parameter();

/// The key `driver.split`, with the rules that there are by now.
parameter split_parameter();

/// The keys `driver.*`.
std::vector<parameter> driver_parameters();

}  // namespace heddle::driver
