// The settings of the link between host and device, and of what the two sides may do before it (fidelity `link`).
#pragma once

#include <heddle/scheduler/parameters.h>

#include <cstdint>
#include <vector>

namespace heddle::sim {

/// What becomes of a read-modify-write of memory that lies behind the link.
enum class rmw_capability : uint8_t {
  all,      ///< each is performed at the memory, as one
  pcie,     ///< so are fetch_add, exchange and compare_exchange, which PCIe has AtomicOps for; others are refused
  split,    ///< a read, and then a write: what comes in between is lost
  refused,  ///< none is possible
  dropped,  ///< a read alone: the old value comes back as if the write had been made
};

enum class latency_model : uint8_t {
  off,    ///< what is under way arrives when the schedule says so
  fixed,  ///< after the times below
  heavy,  ///< after the times below, now and then multiplied by a draw from a distribution with a heavy tail
};

struct link_settings {
  bool pool = true;                    ///< requests leave the device in any order; off: in program order
  bool relaxed_ordering = false;       ///< posted writes of the device carry Relaxed Ordering
  bool host_relaxed_ordering = false;  ///< so do those of the host, as behind a bridge that reorders them
  bool completions_pass = false;       ///< completions may pass posted writes
  bool drain = true;                   ///< fences of the device wait until its writes are performed, not only sent
  bool write_combining = false;        ///< the host maps device memory write-combining; off: uncached
  bool same_address = true;            ///< the device keeps accesses to one address in order
  rmw_capability rmw = rmw_capability::all;
  bool lulls = true;          ///< when nothing arrives, that may last for some turns; off: each turn asks again
  uint32_t oldest_turns = 0;  ///< a store that has been under way for so many turns arrives
  latency_model latency = latency_model::off;
  uint32_t posted_ns = 0;         ///< a posted write, from one side to the other's memory
  uint32_t read_ns = 0;           ///< a read, until its completion is back
  uint32_t fence_ns = 0;          ///< a fence of system scope on the device
  uint32_t launch_ns = 0;         ///< until the first wave of a kernel runs
  bool shared_on_device = false;  ///< memory that both sides use lies in the device's; off: in the host's

  /// Reads the keys of link_parameters().
  static link_settings from(const parameters& values);
};

/// The keys `link.*`, and `buffer`: where memory that both sides use lies.
std::vector<parameter> link_parameters();

}  // namespace heddle::sim
