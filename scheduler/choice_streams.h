// What a choice decides, and a stream of random numbers for each kind.
#pragma once

#include <heddle/scheduler/random_stream.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace heddle::scheduler {

/// What a choice decides. Each kind draws from its own random stream, so that a new kind does not shift the others.
/// For every kind but `actor`, answer 0 is what the machine does by default.
enum class choice_kind : uint8_t {
  actor,        ///< which actor takes the next step
  active_mask,  ///< which lanes are converged when a lane asks for its active mask
  wake,         ///< whether a wait ends although nothing changed
  visible,      ///< which of the values visible to a load it returns; 0 is the newest
  place,        ///< where in its location's modification order a store stands; 0 is the end
  arrive,       ///< what is in flight and arrives now; 0 is nothing
  start,        ///< which of the blocks that have not started starts next; 0 is that of the lowest number
  end,          ///< when the end game begins, and how many turns in a row each actor has in it
  arm,          ///< which arm runs next where the lanes of a wave have diverged; 0 is the one written first
  spurious,     ///< whether a weak compare-exchange fails that found what it expected
  part,         ///< when lanes that stand together are parted, and which of them; 0 is never
  lane,         ///< which lane goes first of those that touch the same bytes in one step of their wave; 0 is the lowest
  evict,        ///< when what has a place on the device is taken off it early, and what; 0 is never
};
inline constexpr uint32_t choice_kind_count = 13;

/// The kind as traces spell it: "actor", "mask", "wake", "visible", "place", "arrive",
/// "start", "end", "arm", "spurious", "part", "lane", "evict".
std::string_view to_string(choice_kind kind);

/// The inverse of to_string; nothing when the text names no kind.
std::optional<choice_kind> parse_choice_kind(std::string_view text);

/// A random stream for each kind of choice, so that a machine which asks one kind more often still gets the same
/// answers to the others. All but one are seeded when they are first asked for: most runs need two of them.
class choice_streams {
 public:
  void begin(uint64_t seed) {
    seed_ = seed;
    seeded_ = 0;
    constexpr auto index = static_cast<uint32_t>(first);
    constexpr uint64_t mixed = random_stream::mixed(index);
    streams_[index].begin(seed_, mixed);
  }
  random_stream& of(choice_kind kind) {
    const auto index = static_cast<uint32_t>(kind);
    if (kind != first && (seeded_ >> index & 1) == 0) [[unlikely]]
      begin_stream(index);
    return streams_[index];
  }

 private:
  [[gnu::hot]] void begin_stream(uint32_t index);

  /// Every run asks which actor takes the next step.
  static constexpr choice_kind first = choice_kind::actor;

  uint64_t seed_ = 0;
  uint32_t seeded_ = 0;  ///< one bit for each other kind
  std::array<random_stream, choice_kind_count> streams_;
};

}  // namespace heddle::scheduler
