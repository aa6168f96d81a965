// What a person needs to see of a run that went wrong: who stands where, what each waits for, and who could end the wait.
#pragma once

#include <heddle/sim/recorder.h>
#include <heddle/sim/source_line.h>

#include <string>
#include <vector>

namespace heddle::sim {

class world;

/// Reads the machine as the run left it; to be used before the next run starts, on a run that was recorded.
class hang_report {
 public:
  explicit hang_report(const world& of) : world_(of) {}

  /// Several lines: every lane that has not ended, in groups that stand alike, with the calls that led there, what it reads and
  /// who changed that last; then who waits for whom.
  std::string text() const;

 private:
  struct edge {
    std::string from;
    std::string to;
    std::string over;
    friend bool operator==(const edge&, const edge&) = default;
  };

  std::vector<source_line> calls(const lane& who) const;
  std::string standing(const lane& who) const;
  std::string watching(const lane& who, std::vector<edge>& edges) const;
  std::string who_could_change(const lane& who, const watched& entry) const;
  void add_edges(const lane& who, const watched& entry, const std::string& location, std::vector<edge>& edges) const;
  std::string state_of(const lane& who) const;
  static std::string missing_lanes(const lane& who);

  const world& world_;
};

}  // namespace heddle::sim
