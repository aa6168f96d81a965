// A program run to its end, for tests of what it prints and ends with.
#pragma once

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

namespace heddle::tests {

struct ended_process {
  int status = -1;  ///< exit status; 128 + number when a signal killed it
  std::string out;
  std::string err;
};

struct process_options {
  int interrupt_after_ms = -1;  ///< send `interrupt_by` then; negative: never
  int interrupt_by = SIGINT;
  int kill_after_ms = -1;     ///< send SIGKILL then; negative: never
  std::string out_file = {};  ///< stdout goes there instead
  long file_bytes_max = -1;   ///< the largest file that it may write (RLIMIT_FSIZE); negative: any
};

/// Runs words[0] with the other words as arguments.
ended_process run_process(const std::vector<std::string>& words, const process_options& options = {});

/// The same on a terminal of 80 columns that is stdin, stdout and stderr: all that it shows, line ends as "\n". `environment` are "NAME=value"; TERM
/// is xterm unless it is among them, and NO_COLOR is not set.
ended_process run_in_terminal(const std::vector<std::string>& words, const std::vector<std::string>& environment = {});

size_t line_count(const std::string& text);

/// A folder that is gone after the test.
class temporary_folder {
 public:
  temporary_folder();
  ~temporary_folder();
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A file of this name that no other process has: several run the tests at a time. It is gone when this process ends.
std::string own_file(const std::string& name);

}  // namespace heddle::tests
