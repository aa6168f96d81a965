// A service must survive whatever a device does. With libFuzzer: service_fuzz CORPUS -max_total_time=600. By itself, it replays the files
// and folders that it is given.
#include "service_input.h"

#include <cstdio>
#include <cstdlib>

namespace {

/// A directory of this process, that is removed in the end.
class own_directory {
 public:
  own_directory() {
    if (mkdtemp(path_.data()) == nullptr) abort();
    // What the device prints is of no interest, and what it reads must not be waited for.
    if (freopen("/dev/null", "r", stdin) == nullptr || freopen("/dev/null", "w", stdout) == nullptr) abort();
  }
  ~own_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() / "heddle-fuzz-XXXXXX").string();
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static own_directory directory;
  heddle::tests::run_service_against({data, size}, directory.path());
  return 0;
}
