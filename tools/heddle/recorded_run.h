// What a trace is of, in this program.
#pragma once

#include <heddle/scheduler/trace.h>
#include <heddle/tools/registry.h>

#include <string>
#include <string_view>

namespace heddle::tools {

/// What the file of a trace, or a token, holds, with the scenario and settings that it names in this program; or why it cannot be run here.
struct recorded_run {
  scheduler::trace recorded;
  const scenario* tested = nullptr;
  parameters settings;
  std::string error;  ///< one line
};
recorded_run find_recorded(const std::string& file_or_token, const std::string& program);

/// Where what is made of a trace goes by default: NAME and the ending, beside NAME.heddle.json; of a token, SCENARIO-VERDICT and the ending
/// in the current folder.
std::string file_beside(const std::string& file_or_token, const scheduler::trace& recorded, std::string_view ending);

}  // namespace heddle::tools
