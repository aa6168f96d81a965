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
  std::string version = {};   ///< heddle's
  std::string build_id = {};  ///< of the binary that recorded it
  std::string scenario = {};
  std::vector<std::pair<std::string, std::string>> parameters = {};  ///< key, value; all of them
  std::string strategy = {};
  uint64_t seed = 0;
  verdict outcome = verdict::ok;
  std::string where = {};  ///< what the finding is about, e.g. "rpc/port/mailbox.h:71"
  std::string hang = {};   ///< of a hang: run_result::hang
  std::string gist = {};   ///< of what is no hang: gist_of its message; empty also in traces of older versions
  uint64_t digest = 0;     ///< of the run, see digest.h
  uint64_t steps = 0;
  std::vector<answer> answers = {};
  friend bool operator==(const trace&, const trace&) = default;
};

/// More answers than this are neither written nor read: a hostile text must not make the reader allocate without bound.
inline constexpr size_t answers_max = size_t{1} << 24;

/// A trace, or one line that says what is wrong with its text.
struct trace_or_error {
  std::optional<trace> value;
  std::string error;
};

/// One line of text: "heddle2." and base64url (RFC 4648) of a checksum and the compressed trace. A damaged one is recognised before
/// anything is decompressed. Those of older versions, "heddle1.", are read too.
std::string to_token(const trace& recorded);
/// Whether it begins as tokens do.
bool is_token(std::string_view text);
trace_or_error from_token(std::string_view token);

/// JSON, readable and diffable; the answers run-length encoded with their kinds.
std::string to_json(const trace& recorded);
trace_or_error from_json(std::string_view text);

/// Writes NAME.heddle.json whole and synced, or not at all: to a temporary name, synced, then renamed.
/// Nothing on success, otherwise one line (disk full, no such folder, more than answers_max answers).
std::optional<std::string> write_trace(const trace& recorded, const std::filesystem::path& file);

/// Reads a token or the file of that name, whichever the text is. A file may hold either form.
trace_or_error read_trace(std::string_view file_or_token);

namespace detail {

/// All fields but the answers, as one line of JSON: what both forms of a trace share.
std::string head_to_json(const trace& recorded);
/// Reads what head_to_json wrote.
trace_or_error head_from_json(std::string_view text);

}  // namespace detail

}  // namespace heddle::scheduler
