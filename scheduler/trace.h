// The trace of a run: all that is needed to make the same run again, as a file or as one line of text.
#pragma once

#include <heddle/scheduler/choice.h>
#include <heddle/scheduler/verdict.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::scheduler {

struct trace {
  std::string version;   ///< heddle's
  std::string build_id;  ///< of the binary that recorded it
  std::string scenario;
  std::vector<std::pair<std::string, std::string>> parameters;  ///< key, value; all of them
  std::string strategy;
  uint64_t seed = 0;
  verdict outcome = verdict::ok;
  std::string where;    ///< what the finding is about, e.g. "rpc/port/mailbox.h:71"
  uint64_t digest = 0;  ///< of the run, see sim/digest.h
  uint64_t steps = 0;
  std::vector<answer> answers;
  friend bool operator==(const trace&, const trace&) = default;
};

/// A trace, or one line that says what is wrong with its text.
struct trace_or_error {
  std::optional<trace> value;
  std::string error;
};

/// One line of text: "heddle1." and base64url of the zlib-compressed trace, with a checksum.
std::string to_token(const trace& recorded);
trace_or_error from_token(std::string_view token);

/// JSON, readable and diffable; the answers run-length encoded with their kinds.
std::string to_json(const trace& recorded);
trace_or_error from_json(std::string_view text);

/// Writes NAME.heddle.json whole and synced, or not at all: to a temporary name, synced, then renamed.
/// Nothing on success, otherwise one line.
std::optional<std::string> write_trace(const trace& recorded, const std::filesystem::path& file);

/// Reads a token or the file of that name, whichever the text is.
trace_or_error read_trace(std::string_view file_or_token);

}  // namespace heddle::scheduler
