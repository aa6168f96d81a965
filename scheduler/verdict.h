// What a run can end with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::scheduler {

enum class verdict : uint8_t {
  ok,
  deadlock,    ///< no actor can ever go on
  progress,    ///< an actor that the progress model guarantees a turn waits for one that it does not
  livelock,    ///< actors run for ever and nothing is done
  starvation,  ///< an actor with a guaranteed turn is passed over too often
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

/// Verdicts of which any will do: many a bug shows as a deadlock or as a race, as the schedule has it.
class verdict_set {
 public:
  constexpr verdict_set(verdict only) : bits_(bit(only)) {}  // NOLINT(google-explicit-constructor): one is a set
  constexpr verdict_set(std::initializer_list<verdict> any) {
    for (const verdict each : any) bits_ |= bit(each);
  }
  /// All that show a bug: neither `ok` nor what proves nothing, `budget`, `stuck` and `unsupported`.
  static constexpr verdict_set any_violation() {
    verdict_set all{};
    for (size_t index = 0; index < verdict_count; ++index) all.bits_ |= uint32_t{1} << index;
    for (const verdict none : {verdict::ok, verdict::budget, verdict::stuck, verdict::unsupported})
      all.bits_ &= ~bit(none);
    return all;
  }

  constexpr bool contains(verdict one) const { return (bits_ & bit(one)) != 0; }
  friend constexpr bool operator==(const verdict_set&, const verdict_set&) = default;

 private:
  constexpr verdict_set() = default;
  static constexpr uint32_t bit(verdict one) { return uint32_t{1} << static_cast<uint32_t>(one); }
  static_assert(verdict_count <= 32);

  uint32_t bits_ = 0;
};

/// "deadlock", "race or deadlock", "any violation".
std::string to_string(const verdict_set& any);

}  // namespace heddle::scheduler
