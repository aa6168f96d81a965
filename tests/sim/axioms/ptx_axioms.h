// An oracle for simulated memory that shares nothing with it: the axioms of the PTX memory model, version 6.0, decided for one
// small program by looking at all of its candidate executions.
//
// Source of the axioms: "Parallel Thread Execution ISA", chapter "Memory Consistency Model", and Lustig, Sahasrabuddhe, Giroux,
// "A Formal Analysis of the NVIDIA PTX Memory Consistency Model", ASPLOS 2019. The host is one more device.
#pragma once

#include <heddle/tools/litmus/program.h>

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace heddle::sim::tests::axioms {

/// The registers of each thread in turn, then the locations: a final state that can be ordered.
using flat_state = std::vector<uint32_t>;
flat_state flatten(const litmus::final_state& seen);
litmus::final_state unflatten(const litmus::program& from, const flat_state& state);

struct model {
  /// Plain and relaxed accesses of host threads are MOV of an x86 processor: stores release and loads acquire at system scope,
  /// and a read-modify-write does both.
  bool x86_host = false;
  /// Without executions in which a load returns what is stored only because the load was made: program order and reads-from
  /// together have no cycle. A machine whose loads return when they are issued shows none of these.
  bool no_load_buffering = false;
};

/// All final states that the model allows; nothing when more than `checks_max` sets of choices, whole or in part, would have to
/// be looked at. The work grows exponentially with the number of accesses to one location. Throws std::invalid_argument for an
/// instruction that PTX does not have, or for more than relation::events_max events.
std::optional<std::set<flat_state>> allowed_states(const litmus::program& from, const model& rules,
                                                   uint64_t checks_max);

}  // namespace heddle::sim::tests::axioms
