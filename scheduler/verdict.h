// What a run can end with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace heddle::scheduler {

enum class verdict : uint8_t {
  ok,
  deadlock,    ///< nobody can ever move
  progress,    ///< whom the progress model guarantees a turn waits for somebody whom it does not
  livelock,    ///< they move for ever and nothing is done
  starvation,  ///< somebody with a right to a turn is passed over too often
  race,
  scope_race,   ///< a race that a wider scope would have ordered
  protocol,     ///< an invariant of the protocol broke
  mask,         ///< a collective's mask and the lanes that came disagree
  memory,       ///< out of bounds, after free, wrong size or alignment, another lane's stack
  assertion,    ///< a check of the program under test failed
  budget,       ///< the step budget ran out without proof: inconclusive, never called a bug
  crash,        ///< the program under test would have ended its process: a signal, abort, _exit
  stuck,        ///< no scheduling point came for too long: a loop without accesses, a call that blocks
  unsupported,  ///< the program does what the simulator cannot see: nothing is known of this run, never called ok
};

/// How many there are.
constexpr size_t verdict_count = static_cast<size_t>(verdict::unsupported) + 1;

/// The verdict in the words of reports and JSON, e.g. "scope race".
std::string_view to_string(verdict value);

/// The inverse of to_string; nothing when the text names no verdict.
std::optional<verdict> parse_verdict(std::string_view text);

}  // namespace heddle::scheduler
