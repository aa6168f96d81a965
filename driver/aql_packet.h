// The packet by which a kernel is launched, as a device reads it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::driver {

/// hsa_kernel_dispatch_packet_t of the HSA runtime (HSA Platform System Architecture Specification 1.2, section 2.9.6).
struct aql_packet {
  uint16_t header = 0;
  uint16_t setup = 0;  ///< how many dimensions
  uint16_t group_x = 0;
  uint16_t group_y = 0;
  uint16_t group_z = 0;
  uint16_t reserved = 0;
  uint32_t grid_x = 0;
  uint32_t grid_y = 0;
  uint32_t grid_z = 0;
  uint32_t private_bytes = 0;
  uint32_t group_bytes = 0;
  uint64_t code_object = 0;
  uint64_t arguments = 0;
  uint64_t reserved_too = 0;
  uint64_t completion_signal = 0;  ///< the driver's number for the launch, never 0

  /// A kernel's dispatch, behind a barrier; acquire and release fences of system scope around it.
  static constexpr uint16_t dispatch_header = 2 | 1 << 8 | 2 << 9 | 2 << 11;
};

static_assert(sizeof(aql_packet) == 64);
static_assert(offsetof(aql_packet, header) == 0 && offsetof(aql_packet, setup) == 2);
static_assert(offsetof(aql_packet, group_x) == 4 && offsetof(aql_packet, group_y) == 6);
static_assert(offsetof(aql_packet, group_z) == 8 && offsetof(aql_packet, reserved) == 10);
static_assert(offsetof(aql_packet, grid_x) == 12 && offsetof(aql_packet, grid_y) == 16);
static_assert(offsetof(aql_packet, grid_z) == 20 && offsetof(aql_packet, private_bytes) == 24);
static_assert(offsetof(aql_packet, group_bytes) == 28 && offsetof(aql_packet, code_object) == 32);
static_assert(offsetof(aql_packet, arguments) == 40 && offsetof(aql_packet, reserved_too) == 48);
static_assert(offsetof(aql_packet, completion_signal) == 56);

}  // namespace heddle::driver
