// What a trace is of, in this program.
#pragma once

#include <heddle/scheduler/trace.h>
#include <heddle/tools/registry.h>

#include <string>

namespace heddle::tools {

/// The scenario and settings that a trace names, in this program; or why it cannot be run here.
struct recorded_run {
  const scenario* tested = nullptr;
  parameters settings;
  std::string error;  ///< one line
};
recorded_run find_recorded(const scheduler::trace& recorded, const std::string& program);

}  // namespace heddle::tools
