// When a run's fair tail begins, where a strategy draws that (judge::draw_end_game).
#pragma once

#include <array>
#include <cstdint>

namespace heddle::sim {

/// After 2^n steps and some, of which the second draw says how many, below 2^n: the first draw is the place of n in here. Programs of a few
/// steps have ended by chance after a few more, so that short stretches are the likelier.
inline constexpr std::array<uint8_t, 16> end_game_octaves = {0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 8, 10, 13};

}  // namespace heddle::sim
