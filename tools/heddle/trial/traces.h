// Traces on disk: where they are kept, what they name in this program, and what is printed of how to play them.
#pragma once

#include <heddle/scheduler/trace.h>
#include <heddle/tools/registry.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::tools {

// Traces in folders in which there may be others.

inline constexpr std::string_view trace_ending = ".heddle.json";
/// What `heddle mend` has answered for the trace beside it.
inline constexpr std::string_view mended_ending = ".mend.json";

/// "SCENARIO-VERDICT-SEED.heddle.json" with another ending, or none: nothing in it that a file system or a shell minds.
std::string file_name_of(const scheduler::trace& recorded, std::string_view ending);

struct kept_trace {
  std::string file = {};
  bool fresh = false;      ///< it was not there before
  std::string error = {};  ///< one line when it could not be written
};

/// Writes the trace into a folder, which is made if need be. Where another trace has its name, a number comes before the ending,
/// and where `beside` is not empty, also where a file with that ending stands in the place; a trace that is there
/// already is not written again. Processes that do the same at the same time do not write over each other's.
kept_trace keep_trace(const scheduler::trace& recorded, const std::filesystem::path& folder,
                      std::string_view beside = {});

// What a trace is of, in this program.

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

// What is printed with a trace, wherever one is found.

/// The token of a run of this program: of its settings only those that are not as by default. find_recorded() fills the others in.
std::string token_of(const scheduler::trace& recorded);

/// Where a run was written, and what is asked for beside that.
struct kept_in_files {
  std::string trace = {};   ///< empty: nowhere
  std::string page = {};    ///< empty: nowhere
  bool with_token = false;  ///< the token is to be told although there is a file
};

/// The commands that play the run again and make a page of it: of its file or, where it has none, of the token, which is told
/// then, where it fits a command line. Where there is a page already, where it is.
std::string how_to_play(const scheduler::trace& recorded, const std::string& program, const kept_in_files& kept);

/// Where findings are kept where no folder is named: what the environment's HEDDLE_FINDINGS names, else heddle-findings.
std::filesystem::path findings_folder();

/// One line about how to look past it, behind a race that has ended its run; else empty.
std::string_view past_races(const scheduler::trace& found);

/// The first paragraph of a report and the others: what happened, and where each actor stands.
std::pair<std::string_view, std::string_view> paragraphs(std::string_view report);

}  // namespace heddle::tools
