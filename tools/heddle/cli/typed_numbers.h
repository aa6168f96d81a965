// Numbers as they were typed, and read.
#pragma once

#include <heddle/tools/cli/command_line.h>
#include <heddle/tools/cli/common.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace heddle::tools {

inline constexpr uint64_t schedules_default = 1'000;
inline constexpr uint64_t litmus_schedules_default = 20'000;
inline constexpr uint64_t zoo_schedules_default = 10'000;
inline constexpr uint64_t zoo_twin_schedules_default = 50'000;
inline constexpr uint64_t zoo_compare_schedules_default = 1'000;
inline constexpr uint64_t jobs_max = 1024;
inline constexpr uint64_t shrink_runs_default = 20'000;
inline constexpr uint64_t mend_schedules_default = 10'000;
inline constexpr uint64_t mend_changes_default = 3, mend_changes_max = 16;
inline constexpr uint64_t verify_memory_mib_default = 8192;

/// Numbers as they were typed: CLI11's own messages about them do not name the range.
struct typed_numbers {
  std::string schedules;
  std::string time;
  std::string seed;
  std::string repeat;
  std::string jobs;
  std::string runs;
  std::string shard;
  std::string twin_schedules;
  std::string states;
  std::string memory;
  std::string changes;
  std::string stuck;
};

/// Reads one typed number into `value`; false, with a line in `error`, when it is none in the range.
inline bool read_number(const std::string& option, const std::string& typed, uint64_t minimum, uint64_t maximum,
                        uint64_t& value, std::string& error) {
  if (typed.empty()) return true;
  const auto number = parse_number(typed, minimum, maximum);
  if (!number) {
    error = option + " cannot be \"" + typed.substr(0, 64) + "\"; it must be a whole number from " +
            std::to_string(minimum) + " to " + std::to_string(maximum);
    return false;
  }
  value = *number;
  return true;
}

inline std::string read_numbers(const typed_numbers& typed, invocation& into) {
  std::string error;
  if (!typed.time.empty()) {
    const auto seconds = parse_seconds(typed.time);
    if (!seconds)
      return "--time cannot be \"" + typed.time.substr(0, 64) + "\"; it must be a time such as 30, 45s, 5m or 2h";
    into.seconds_max = *seconds;
  }
  if (!typed.stuck.empty()) {
    const auto seconds = parse_stuck(typed.stuck);
    if (!seconds) return "--stuck cannot be \"" + typed.stuck.substr(0, 64) + "\"; " + std::string(stuck_is);
    into.stuck_seconds = *seconds;
  }
  uint64_t schedules = schedules_default;
  if (into.command == "litmus") schedules = litmus_schedules_default;
  if (into.command == "run") schedules = 1;
  if (into.command == "zoo") schedules = into.zoo.compare ? zoo_compare_schedules_default : zoo_schedules_default;
  if (into.command == "mend" || into.command == "slack") schedules = mend_schedules_default;
  into.change.most = mend_changes_default;
  if (!read_number("--changes", typed.changes, 1, mend_changes_max, into.change.most, error)) return error;
  into.zoo.twin_schedules = zoo_twin_schedules_default;
  if (!read_number("--twin", typed.twin_schedules, 1, uint64_t{1} << 62, into.zoo.twin_schedules, error)) return error;
  into.schedules = typed.time.empty() ? schedules : 0;
  if (!read_number("--schedules", typed.schedules, 1, uint64_t{1} << 62, into.schedules, error)) return error;
  if (!read_number("--seed", typed.seed, 0, ~uint64_t{0}, into.seed, error)) return error;
  if (!read_number("--repeat", typed.repeat, 1, 1'000'000'000, into.repeat, error)) return error;
  if (!read_number("--states", typed.states, 1, uint64_t{1} << 32, into.verify.states_max, error)) return error;
  into.verify.memory_mib = verify_memory_mib_default;
  if (!read_number("--memory", typed.memory, 1, uint64_t{1} << 32, into.verify.memory_mib, error)) return error;
  into.runs = shrink_runs_default;
  if (!read_number("--runs", typed.runs, 1, uint64_t{1} << 62, into.runs, error)) return error;
  uint64_t jobs = into.jobs;
  if (!read_number("--jobs", typed.jobs, into.command == "litmus" ? 1 : 0, jobs_max, jobs, error)) return error;
  into.jobs = static_cast<uint32_t>(jobs);
  if (!typed.shard.empty()) {
    const auto part = shard::parse(typed.shard);
    if (!part)
      return "--shard cannot be \"" + typed.shard.substr(0, 64) +
             "\"; it must be two whole numbers such as 1/4, the first part of four";
    into.part = *part;
  }
  return error;
}

/// One line when the seeds that were asked for go beyond the last one there is.
inline std::string seeds_wrap(const invocation& asked) {
  constexpr uint64_t trials_of_comparison = 20;
  __extension__ using wide = unsigned __int128;
  wide seeds = std::max(asked.schedules, asked.command == "zoo" ? asked.zoo.twin_schedules : 1);
  if (asked.zoo.compare) seeds *= trials_of_comparison;
  if (asked.schedules == 0) seeds = wide{uint64_t{1} << 40} * asked.part.parts;
  if (asked.seed + seeds - 1 <= ~uint64_t{0}) return {};
  return "--seed cannot be " + std::to_string(asked.seed) + " for so many schedules: the last seed is " +
         std::to_string(~uint64_t{0});
}

}  // namespace heddle::tools
