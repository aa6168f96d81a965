// The lines of recorded runs whose operations a run may assume to be otherwise, and what they may be changed to.
#pragma once

#include <heddle/rpc/target.h>
#include <heddle/sim/observe/run_record.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace heddle::tools {

/// A line of the code under test, as reports name it, and its operations of one kind.
struct site {
  std::string where;  ///< "rpc/mailbox.h:75"
  sim::operation_kind kind = sim::operation_kind::none;
  std::string now;                             ///< the operation as the run has it, "load acquire system"
  memory_order order = memory_order::relaxed;  ///< the weakest that was seen
  scope reach = scope::system;                 ///< the narrowest that was seen
  bool on_device = false;     ///< a kernel performs it, and not host threads alone: its scope means something
  bool has_siblings = false;  ///< in waves of several lanes
  bool is_copied = false;     ///< a bulk copy reads or writes its word: a store may need a proxy fence
  bool overtakes =
      false;  ///< a load that comes behind a store of its lane and may be performed in front of it (trial/overtaking.h)
  uint64_t times = 0;  ///< operations of the run
  /// How near it is to the finding: 0 for the edge that is missing, or where none is known for the choices that decided; 1 for the
  /// accesses that race; 2 for others of the same words; 3 for the rest.
  uint32_t rank = 3;
  /// Of a collective, or of a look at which lanes are together, in waves of several lanes: local variables that lanes may have different values of,
  /// each with the line of its function that is under way.
  std::vector<std::pair<std::string, std::string>> variables = {};
};

/// What a run may assume of a site.
struct site_assumption {
  std::string where;
  std::string words;   ///< as --assume takes them: "acquire+system"
  std::string advice;  ///< "make this load acquire, system"
  uint32_t cost = 0;   ///< of the change, to compare it with others: more is dearer
  uint32_t rank = 0;   ///< site::rank
  uint64_t times = 0;  ///< site::times

  std::string text() const { return where + "=" + words; }
  /// Whether it is a full fence in front of a load, which is of no use without another one elsewhere.
  bool is_full_fence() const { return words.starts_with("before:fence.seq_cst."); }
};

/// The sites of a run: of words that several lanes access, of fences, and of what lanes do together. The nearest to the finding first.
std::vector<site> sites_of(const sim::run_record& run);

/// Changes that order more, the cheapest first.
std::vector<site_assumption> stronger(const site& at);

/// Changes by one step that order less.
std::vector<site_assumption> weaker(const site& at);

}  // namespace heddle::tools
