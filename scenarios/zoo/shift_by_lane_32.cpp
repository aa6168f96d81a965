// A lane's bit of a mask is made by a shift of 32 bits: lanes from 32 on are lost, or taken for those of the lower half. Smallest: 1 wave of
// 64 lanes, of which the last one calls.
//
// LLVM rpc.h of 2026 (from reading): masks are tested with `1ul << lane`, and `unsigned long` has 32 bits on some hosts. A shifter of 32
// bits takes the lane modulo 32. The twin shifts 64 bits.
#include <cstdio>

#include "../ports.h"
#include "zoo.h"

namespace heddle::tests {
namespace {

using scheduler::verdict;

struct shifting_kernel {
  uint64_t* met;
  uint32_t caller;  ///< the only lane that calls
  bool wide;

  HEDDLE_FUNCTION uint64_t bit_of(uint32_t lane) const {
    return wide ? uint64_t{1} << lane : uint64_t{uint32_t{1} << lane % 32};
  }
  HEDDLE_FUNCTION void operator()() const {
    const uint32_t lane = target::lane_id();
    // Where each lane is a wave of its own, the last wave is the caller's.
    const uint32_t number = target::lane_count() == 1 ? target::wave_id() : lane;
    if (number != caller) return;
    *met = target::ballot(bit_of(lane), true);
  }
};

void run_shifted(const parameters& set) {
  device on;
  auto* const met = on.allocate_shared<uint64_t>(1, "lanes that met");
  const uint32_t lanes = set.count("lanes");
  if (lanes > on.max_lanes()) {
    std::fprintf(stderr, "left out: a wave of this device has %u lanes, and not %u\n", on.max_lanes(), lanes);
    return;
  }
  on.launch({.blocks = 1, .waves = 1, .lanes = lanes}, shifting_kernel{met, lanes - 1, zoo::is_fixed(set)});
  on.synchronize();
  HEDDLE_CHECK(*met != 0, "a lane has not met itself");
}

verdict shifted_verdict(const parameters& set) {
  return !zoo::is_fixed(set) && set.count("lanes") > 32 ? verdict::mask : verdict::ok;
}

}  // namespace

HEDDLE_ZOO(run_shifted, {.name = "zoo.shift-by-lane-32",
                         .summary = "the bit of a lane is made by a shift of 32 bits",
                         .parameters = zoo::with_twin({
                             parameter::number("lanes", 64, 1, 64, "", "lanes of the wave, of which the last calls"),
                         }),
                         .expected = shifted_verdict});

}  // namespace heddle::tests
