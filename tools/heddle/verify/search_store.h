// The file that a search is saved to and goes on from, and what is handed to the process in which it is searched (process/fixed_process.h).
#pragma once

#include <heddle/scheduler/digest.h>
#include <heddle/sim/verify/saved_bytes.h>
#include <heddle/sim/verify/search.h>
#include <heddle/tools/cli/command_line.h>
#include <heddle/tools/process/fixed_process.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace heddle::tools {

/// Which of the searches that verify_all_runs() makes.
struct search_stage {
  bool behind_weighed = false;  ///< with races=weigh: the one that looks for races
  bool with_points = false;     ///< with plain accesses as points
  uint64_t with_frames = 0;     ///< with so many bytes of the frames of host threads watched from the beginning
  // Of the search before that one, where it is behind one.
  bool weighed_complete = false;
  uint64_t states = 0, transitions = 0, executions = 0, runs = 0, depth_max = 0;
  double seconds = 0;
  std::array<char, 256> left_out = {};
};

/// All that differs from process to process, in one size: it must not move what comes behind it in memory.
struct search_request {
  static constexpr size_t name_bytes = 4096;
  bool json = false;
  bool in_process = false;
  bool goes_on = false;     ///< from the file; else it begins
  bool next_stage = false;  ///< the process is to become one of the next stage
  double stuck_seconds = 0;
  double seconds_max = 0;
  uint64_t states_max = 0;
  uint64_t memory_mib = 0;
  uint32_t jobs = 0;
  search_stage stage;
  fixed_layout layout;
  fixed_marks marks;         ///< where it was saved
  uint64_t searched_at = 0;  ///< in the file
  uint64_t searched_bytes = 0;
  std::array<char, name_bytes> program = {};
  std::array<char, name_bytes> file = {};
  std::array<char, name_bytes> out_file = {};
};

/// What is told of a search at the beginning of its file.
struct saved_header {
  std::string scenario;
  std::vector<std::string> settings;  ///< "key=value", as given
  search_request of;                  ///< its stage, layout, marks and place
};
/// The header, or one line that says why the file cannot be gone on from: it is no such file, damaged, or of another program.
struct header_or_error {
  saved_header value;
  std::string error;
};
header_or_error read_saved(const std::string& file);

/// Takes what is in a file, a part at a time.
class saved_in final : public sim::bytes_in {
 public:
  /// False where it cannot be read.
  bool open(const char* name, uint64_t from, uint64_t size_bytes);
  ~saved_in() override;
  bool take(void* to, size_t size_bytes) override;
  uint64_t left_bytes() const override { return left_bytes_; }
  /// Of all that was taken, in steps of the buffer's size.
  uint64_t checksum() const { return sum_.value(); }

 private:
  int file_ = -1;
  uint64_t left_bytes_ = 0;  ///< with what is in the buffer
  uint64_t unread_bytes_ = 0;
  size_t at_ = 0;
  size_t end_ = 0;
  scheduler::digest sum_;
  std::array<char, 65536> buffer_;
};

/// Writes a file under another name, and gives it its name when it is whole. Nothing is done before the first part is put there.
class saved_out final : public sim::bytes_out {
 public:
  saved_out(const char* name, std::function<std::string()> header) : name_(name), header_(std::move(header)) {}
  ~saved_out() override;
  saved_out(const saved_out&) = delete;
  saved_out& operator=(const saved_out&) = delete;
  void put(const void* from, size_t size_bytes) override;
  /// One line when it could not be written; then what had the name before is as it was.
  std::string finish();

 private:
  void open();
  void flush();
  void write_out(const char* from, size_t size_bytes);
  const char* name_;
  std::function<std::string()> header_;
  std::string part_;
  bool is_open_ = false;
  int file_ = -1;
  int failed_ = 0;  ///< an errno
  size_t used_ = 0;
  scheduler::digest sum_;
  std::array<char, 65536> buffer_;
};

/// In the process in which it is searched: what it was asked for, in memory that its copies share. Null in all others.
search_request* searched_here();

/// The header of a file with this search, as text.
std::string header_of(const std::string& scenario, const std::vector<std::string>& settings, const search_request& of);

}  // namespace heddle::tools
