// The races of a run: counted, gone on behind and listed, or the one that ended it, in words.
#pragma once

#include <heddle/sim/core/run_core.h>
#include <heddle/sim/memory/race.h>
#include <heddle/sim/observe/run_record.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heddle::sim {

/// What would have ordered two accesses that race; the lightest race first.
enum class race_weight : uint8_t {
  scope,       ///< a wider scope
  acquire,     ///< an acquire by the lane that made the second one
  after_read,  ///< nothing that is there; the first one is a plain load, and the second one stores
  release,     ///< a release by the lane that made the first one
  nothing,     ///< nothing that is there
};

class race_log {
 public:
  explicit race_log(run_core& core) : core_(core) {}

  void reset() {
    races_ = scope_races_ = excused_ = 0;
    if (!listed_.empty()) [[unlikely]]
      listed_.clear();
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
  };

  /// The lane's pending operation races with an earlier access. Does not return when the race ends the run.
  void found(lane& self, const access_record& earlier, const reason& why);
  /// Nothing else has ended the run, whose last lane this is. Does not return where it went on behind a race.
  void end_run(lane& self);

  uint64_t races() const { return races_; }
  uint64_t scope_races() const { return scope_races_; }
  /// What a report tells of the race that ended the run: both accesses, and the edge that is missing.
  std::string text() const;
  /// The race that ended the run, as records have it.
  std::optional<run_record::race> steps() const;
  /// The races that the run went on behind, each place once, and how many were excused; empty when there was none.
  std::string listed() const;

 private:
  struct finding {
    race_weight weight = race_weight::nothing;
    access_record earlier;
    uint64_t second_step = 0;
    const lane* second = nullptr;
    std::optional<race_finder::edge> missing;
    const lane* knows = nullptr;
    std::string message;
    call_chain calls{};
  };

  bool is_excused(race_weight weight) const;
  finding finding_of(lane& self, const access_record& earlier, const reason& why) const;
  std::string accesses_of(const finding& one) const;

  static constexpr size_t most_listed = 32;
  run_core& core_;
  std::optional<finding> ended_;
  std::vector<finding> listed_;
  uint64_t races_ = 0;
  uint64_t scope_races_ = 0;
  uint64_t excused_ = 0;
};

}  // namespace heddle::sim
