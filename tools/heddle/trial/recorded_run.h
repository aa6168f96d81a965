// What a trace is of, in this program.
#pragma once

#include <heddle/scheduler/trace.h>
#include <heddle/tools/registry.h>

#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// What the file of a trace, or a token, holds, with the scenario and settings that it names in this program; or why it cannot be run here.
struct recorded_run {
  scheduler::trace recorded;
  const scenario* tested = nullptr;
  parameters settings;
  std::string error;                 ///< one line
  std::string note;                  ///< one line where another build recorded it
  std::vector<std::string> unknown;  ///< of a trace that is only tried: settings, "key=value", that are not valid here
};
/// A trace of another build is run once: where every choice agrees and the finding is the same, it becomes a trace of this build.
recorded_run find_recorded(const std::string& file_or_token, const std::string& program);

/// As find_recorded(), for a trace that is only to be tried: neither the build nor the settings need be this program's.
recorded_run find_to_try(const std::string& file_or_token);

/// Where what is made of a trace goes by default: NAME and the ending, beside NAME.heddle.json; of a token,
/// SCENARIO-VERDICT and the ending in the current folder.
std::string file_beside(const std::string& file_or_token, const scheduler::trace& recorded, std::string_view ending);

}  // namespace heddle::tools
