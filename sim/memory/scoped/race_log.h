// The races of a run: counted, gone on behind and listed, or the one that ended it, in words.
#pragma once

#include <heddle/sim/core/run_core.h>
#include <heddle/sim/memory/race.h>
#include <heddle/sim/observe/run_record.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace heddle::sim {

/// The low half of an address of code, as records of accesses keep it.
[[gnu::always_inline]] inline uint32_t low_half(const void* place) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(place));
}

class race_log {
 public:
  explicit race_log(run_core& core) : core_(core) {}

  void reset() {
    races_ = scope_races_ = 0;
    undecided_.clear();
    if (any_excused_ || !listed_.empty()) [[unlikely]]
      forget_listed();
  }
  /// Of what ended the run before.
  void forget_finding() {
    listed_.clear();
    ended_.reset();
  }

  /// Why two accesses race.
  struct reason {
    race_weight weight = race_weight::nothing;
    const race_finder::edge* missing = nullptr;  ///< the edge that would order them, if one is known
    const lane* knows = nullptr;                 ///< a lane of the second one's wave that comes after the first access
    bool under_way = false;                      ///< the first one is a copy that its lane has not waited for
    /// The bytes of the second one; `later`: both are stores, and the code under test has still to make this one.
    struct bytes {
      const std::byte* granule = nullptr;
      uint8_t mask = 0;
      bool later = false;
    } stored_to = {};
  };

  /// The lane's pending operation races with an earlier access. Does not return when the race ends the run.
  void found(lane& self, const access_record& earlier, const reason& why);
  /// The lane has made the plain store that it had announced. Does not return when a race ends the run.
  [[gnu::always_inline]] void stored(lane& self) {
    if (!undecided_.empty()) [[unlikely]]
      decide(self);
  }
  /// Nothing else has ended the run, whose last lane this is. Does not return where it went on behind a race.
  void end_run(lane& self);

  uint64_t races() const { return races_; }
  uint64_t scope_races() const { return scope_races_; }
  /// What a report tells of the race that ended the run: both accesses, and the edge that is missing.
  std::string text() const;
  /// The race that ended the run, as records have it.
  std::optional<run_record::race> steps() const;
  /// How many were left alone, by what excuses them, as outcome::excused has it.
  std::map<std::string, uint64_t> excused() const;
  bool any_excused() const { return any_excused_; }
  /// The races that the run went on behind, each place once, and how many were excused; empty when there was none.
  std::string listed() const;

 private:
  struct finding {
    race_weight weight = race_weight::nothing;
    access_record earlier;
    uint64_t second_step = 0;
    const lane* second = nullptr;
    std::optional<race_finder::edge> missing;
    scope includes_both = scope::system;  ///< the narrowest that does
    const lane* knows = nullptr;
    bool under_way = false;
    std::string message;
    call_chain calls{};
  };

  /// A race with a store that is still to be made: it may change nothing.
  struct open_race {
    const lane* by = nullptr;
    access_record earlier;
    race_weight weight = race_weight::nothing;
    std::optional<race_finder::edge> missing;
    const lane* knows = nullptr;
    bool under_way = false;
    call_chain calls{};
    uint64_t step = 0;
    reason::bytes to;
    uint64_t before = 0;
  };

  bool leaves_alone(lane& self, const access_record& earlier, race_weight weight);
  bool is_known(lane& self, const access_record& earlier);
  const std::vector<source_line>& lines_at(lane& self, const void* place);
  void decide(lane& self);
  void conclude(lane& self, finding&& made, bool is_made);
  void forget_listed();
  finding finding_of(lane& self, const open_race& race) const;
  uint64_t last_read_of(const race_finder::edge& edge, const finding& of) const;
  std::string accesses_of(const finding& one) const;

  static constexpr size_t most_listed = 32;
  run_core& core_;
  std::optional<finding> ended_;
  std::vector<finding> listed_;
  uint64_t races_ = 0;
  uint64_t scope_races_ = 0;
  bool any_excused_ = false;
  std::array<uint64_t, race_weights> excused_{};  ///< by their weight
  std::vector<uint64_t> known_;                   ///< by the excuse
  std::vector<open_race> undecided_;
  std::unordered_map<const void*, std::vector<source_line>> lines_;  ///< of places that race
};

}  // namespace heddle::sim
