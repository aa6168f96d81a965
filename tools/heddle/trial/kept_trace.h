// Traces in folders in which there may be others.
#pragma once

#include <heddle/scheduler/trace.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace heddle::tools {

inline constexpr std::string_view trace_ending = ".heddle.json";

/// "SCENARIO-VERDICT-SEED.heddle.json" with another ending, or none: nothing in it that a file system or a shell minds.
std::string file_name_of(const scheduler::trace& recorded, std::string_view ending);

struct kept_trace {
  std::string file = {};
  bool fresh = false;      ///< it was not there before
  std::string error = {};  ///< one line when it could not be written
};

/// Writes the trace into a folder that is there. Where another trace has its name, a number comes before the ending,
/// and where `beside` is not empty, also where a file with that ending stands in the place; a trace that is there
/// already is not written again. Processes that do the same at the same time do not write over each other's.
kept_trace keep_trace(const scheduler::trace& recorded, const std::filesystem::path& folder,
                      std::string_view beside = {});

}  // namespace heddle::tools
