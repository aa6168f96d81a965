// What the operating system has given to the host threads of a run, and the simulator has no part in: files, streams of the C library, mapped memory. A
// program that ends leaves the rest to the system; one that is run again in the same process must not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

namespace heddle::sim {

class left_open {
 public:
  ~left_open() { clear(); }
  bool empty() const { return opened_by_.empty() && streams_.empty() && mappings_.empty(); }
  /// Gives back what the run has left. A stream is written out, as at the end of a process.
  void clear();

  void opened(int file, uint32_t lane) { files_.push_back({file, uint64_t{lane} << 32 | ++opened_by_[lane]}); }
  void closed(int file) {
    std::erase_if(files_, [&](const open_file& each) { return each.number == file; });
  }
  /// What the file is known by in each run of one schedule: the lane that has opened it, and as which of its files; 0: the run has not.
  uint64_t opening_of(int file) const {
    for (const open_file& each : files_)
      if (each.number == file) return each.opening;
    return 0;
  }
  void opened(std::FILE* stream) { streams_.push_back(stream); }
  void closed(std::FILE* stream) { std::erase(streams_, stream); }
  void mapped(const void* memory, size_t size_bytes);
  /// All of it, or a part; of several mappings too.
  void unmapped(const void* memory, size_t size_bytes);

 private:
  struct open_file {
    int number = -1;
    uint64_t opening = 0;
  };
  std::vector<open_file> files_;
  std::map<uint32_t, uint32_t> opened_by_;  ///< how many, by lane
  std::vector<std::FILE*> streams_;
  std::vector<std::pair<uintptr_t, uintptr_t>> mappings_;  ///< [first, end)
};

}  // namespace heddle::sim
