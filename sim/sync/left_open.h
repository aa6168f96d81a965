// What the operating system has given to the host threads of a run, and the simulator has no part in: files, streams of the C library, mapped memory. A
// program that ends leaves the rest to the system; one that is run again in the same process must not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

namespace heddle::sim {

class left_open {
 public:
  ~left_open() { clear(); }
  bool empty() const { return files_.empty() && streams_.empty() && mappings_.empty(); }
  /// Gives back what the run has left. A stream is written out, as at the end of a process.
  void clear();

  void opened(int file) { files_.push_back(file); }
  void closed(int file) { std::erase(files_, file); }
  void opened(std::FILE* stream) { streams_.push_back(stream); }
  void closed(std::FILE* stream) { std::erase(streams_, stream); }
  void mapped(const void* memory, size_t size_bytes);
  /// All of it, or a part; of several mappings too.
  void unmapped(const void* memory, size_t size_bytes);

 private:
  std::vector<int> files_;
  std::vector<std::FILE*> streams_;
  std::vector<std::pair<uintptr_t, uintptr_t>> mappings_;  ///< [first, end)
};

}  // namespace heddle::sim
