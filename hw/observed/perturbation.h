// Pauses at visible operations, drawn from a seed: another seed is another timing, and the same seed can be tried again.
#pragma once

#include <heddle/rpc/target.h>
#include <stdint.h>

namespace heddle::observed {

/// A pause before an operation: none, or one of 16 lengths.
struct pause_draw {
  bool pauses;
  uint32_t exponent;  ///< in [0, 16); longer is larger
  uint64_t rest;      ///< more random bits
};

/// A function of (seed, actor, number of the operation) alone: no state is shared, and an actor's draws do not depend on what others do.
/// One operation in eight is put off. Mixing as in D. Stafford, "Better bit mixing" (2011), variant 13.
HEDDLE_FUNCTION constexpr pause_draw draw_pause(uint64_t seed, uint32_t actor, uint64_t number) {
  uint64_t word = (seed + 0x9e3779b97f4a7c15) * 0xd6e8feb86659fd93 + actor;
  for (int round = 0; round < 2; ++round) {
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    word = (word ^ (word >> 31)) + number;
  }
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
  word ^= word >> 27;
  return {.pauses = (word & 7) == 0, .exponent = static_cast<uint32_t>(word >> 3) & 15, .rest = word >> 7};
}

}  // namespace heddle::observed
