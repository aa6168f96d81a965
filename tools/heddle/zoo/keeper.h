// Planted bugs and their twins, put to the test: found as what they are, played again, made small; and nothing found in the twins.
#pragma once

#include <heddle/scheduler/shrink.h>
#include <heddle/scheduler/strategy.h>
#include <heddle/sim/simulation.h>
#include <heddle/tools/registry.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heddle::tools {

/// A bug, and the same program without it: the scenarios NAME and NAME.fixed.
struct zoo_entry {
  const scenario* bug = nullptr;
  const scenario* twin = nullptr;
};

/// All of this program, by name.
std::vector<zoo_entry> zoo_entries();

struct zoo_options {
  uint64_t first_seed = 1;
  uint64_t schedules = 10'000;        ///< in which the bug must be found
  uint64_t twin_schedules = 50'000;   ///< in which nothing may be found in the twin
  uint64_t ordinary_schedules = 500;  ///< in which a larger program must show the bug, or a less large one is taken
  uint64_t shrink_runs = 2'000;
  std::string strategy = "mix";
  std::vector<std::string> settings = {};   ///< "key=value", for both
  const std::atomic<bool>* stop = nullptr;  ///< looked at before each run
};

/// What was found in the bug, and what became of it.
struct zoo_search {
  bool found = false;              ///< something, and that within the schedules
  scheduler::trace first = {};     ///< of what was found
  uint64_t schedules_to_find = 0;  ///< all of them where nothing was found
  bool replayed = false;           ///< from its token, to the same digest
  scheduler::run_size size_found = {};
  scheduler::run_size size_shrunk = {};
  std::string shrunk_token = {};

  /// Found as what it is, repeated and shrunk.
  bool ok(const scheduler::verdict_set& expected) const {
    return found && expected.contains(first.outcome) && replayed && !shrunk_token.empty();
  }
};

/// A search in a program of ordinary size: defaults of the zoo are the smallest that show the bug, and leave little to shrink.
struct zoo_ordinary {
  std::vector<scheduler::changed_setting> raised = {};
  zoo_search search = {};
};

/// What came of an entry.
struct zoo_result : zoo_search {
  scheduler::verdict_set expected = scheduler::verdict::ok;
  std::optional<zoo_ordinary> ordinary = {};  ///< nothing where the bug was not found in any larger program
  uint64_t twin_schedules = 0;
  std::optional<scheduler::finding> twin_finding = {};
  bool begun = false;         ///< nothing is known of an entry that was never begun
  bool interrupted = false;   ///< before its end
  std::string ended_by = {};  ///< one line, of an entry that could not be looked after to its end

  bool twin_ok() const { return twin_schedules > 0 && !twin_finding; }
  /// Of an entry that expects `ok`, because what it does was once taken for a bug and is none, nothing may be found.
  bool ok() const {
    if (!ended_by.empty()) return false;
    if (expected.contains(scheduler::verdict::ok) && !found) return schedules_to_find > 0 && twin_ok();
    return zoo_search::ok(expected) && (!ordinary || ordinary->search.ok(expected)) && twin_ok();
  }
};

/// One line when an entry does not take these settings.
std::optional<std::string> refused_by(const zoo_entry& entry, const zoo_options& options);

/// The settings must be taken by both.
zoo_result look_after(sim::simulation& machine, const zoo_entry& entry, const zoo_options& options);

/// How many schedules `strategy` needs to find the entry's bug, for each of `trials` ranges of seeds that do not
/// overlap; 0: more than options.schedules.
std::vector<uint64_t> schedules_to_find(sim::simulation& machine, const zoo_entry& entry, const zoo_options& options,
                                        const std::string& strategy, uint32_t trials);

// What a copy of the process says of an entry of the zoo, as text between the two.

std::string text_of(const zoo_result& result);

/// The result that text_of() has written, of an entry with these expected verdicts. Throws what the JSON library does where it is none.
zoo_result result_in(const std::string& sent, const scheduler::verdict_set& expected);

}  // namespace heddle::tools
