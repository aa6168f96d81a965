// What a search that was cut leaves to a later process, beside the states that it has met.
#pragma once

#include <heddle/sim/memory/late_memory.h>
#include <heddle/sim/verify/explorer.h>
#include <heddle/sim/verify/saved_bytes.h>
#include <heddle/sim/verify/shared_states.h>

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::sim {

struct saved_search {
  uint64_t executions = 0;
  uint64_t depth_max = 0;
  uint64_t restarts = 0;
  double seconds = 0;
  std::string left_out;  ///< as explorer::left_out(), which no going on mends
  explorer::frontier left;
  state_samples samples;
  std::vector<uint64_t> notes;  ///< as tell() has them

  void save(bytes_out& to) const;
  /// False where it is damaged.
  bool load(bytes_in& from);
  /// Whether its states are among those that are known.
  bool is_of(const shared_states& known) const;
};

/// What a search has noted of all of its runs, as numbers behind those that are there.
void tell(const search_notes& notes, std::vector<uint64_t>& into);
/// Adds it to what has been noted here; the numbers begin at `at`.
void learn(const std::vector<uint64_t>& told, size_t at, search_notes& notes);

}  // namespace heddle::sim
