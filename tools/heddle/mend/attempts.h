// Changes on trial: schedules of the program as it is assumed to be.
#pragma once

#include <heddle/scheduler/trace.h>
#include <heddle/tools/mend/sites.h>
#include <heddle/tools/registry.h>
#include <heddle/tools/trial/trial.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heddle::tools {

/// What is assumed together.
struct attempt {
  std::vector<site_assumption> changes;

  std::string text() const;  ///< as --assume takes it, with commas
  uint32_t cost() const;
  uint32_t rank() const;
  attempt with(const site_assumption& more) const;
  bool has(const site_assumption& one) const;
};

/// What came of it.
struct attempt_result {
  uint64_t schedules = 0;  ///< that were made; the last one ended badly where anything was `found`
  std::optional<scheduler::trace> found =
      {};                    ///< the first run that ended badly; without answers where it ended its process
  std::string message = {};  ///< of that run
  bool is_silent() const { return schedules != 0 && !found; }
};

/// How attempts are tried.
struct trying {
  const scenario* tested = nullptr;
  parameters settings;
  std::string strategy = "mix";
  uint64_t first_seed = 1;
  uint64_t schedules = 0;
  uint32_t jobs = 1;                           ///< processes
  const scheduler::trace* schedule = nullptr;  ///< this run is followed first, as far as it fits; null: none
};

/// What is assumed by the settings, and what the attempt assumes.
parameters assuming(const parameters& settings, const attempt& tried);

/// The result of each, in copies of this process. Where this process is interrupted, some have no schedules.
std::vector<attempt_result> try_all(const std::vector<attempt>& attempts, const trying& how);

/// All ways in which schedules of the attempt end badly, and the first message of each.
std::vector<attempt_result> all_findings(const attempt& tried, const trying& how);

/// The sites of the recorded run, with what is assumed by the attempt; empty where it cannot be run again.
std::vector<site> sites_in(const scheduler::trace& recorded, const attempt& assumed, const trying& how);

/// The sites of some schedules that end well, in the order of their lines.
std::vector<site> sites_in_schedules(const trying& how);

}  // namespace heddle::tools
