// In which phase a run is: chosen by the strategy, in the fair tail, or under the check for quiescence.
#pragma once

#include <cstdint>

namespace heddle::sim {

/// While it is not `none`: runs each blocked spin loop of these lanes again, on memory that does not change and without the strategy. A lane
/// that returns to its registers and live stack is blocked for ever.
enum class quiescence_check : uint8_t {
  none,
  of_guaranteed,  ///< lanes that the progress model guarantees a turn
  of_all,
};

struct run_phase {
  quiescence_check checks = quiescence_check::none;
  bool in_tail = false;         ///< the fair tail has begun
  bool all_take_turns = false;  ///< in the fair tail no spin loop blocks: each iterates when its lane has a turn
  /// A hang that the progress model allows has been found; all lanes run on in turn, to learn whether a stronger model avoids it.
  bool denied = false;
  bool places_lifted = false;  ///< and all blocks have a place on the device
  bool in_rounds = false;      ///< lockstep waves: which lanes of a wave go next is decided after each step

  bool is_checking() const { return checks != quiescence_check::none; }
  /// Whether what the machine leaves open is chosen. When it is not, each choice is answered by 0, what the machine does by default.
  bool is_open() const { return checks == quiescence_check::none && !in_tail; }
};

}  // namespace heddle::sim
