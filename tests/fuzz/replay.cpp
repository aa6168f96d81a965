// Stands in for libFuzzer: runs the fuzz target once for each file that is named, or lies in a folder that is named.
// A file that cannot be read, and a folder that holds none, is an error.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

/// False where the file cannot be read.
bool replay_file(const std::filesystem::path& file) {
  std::ifstream from(file, std::ios::binary);
  if (std::filesystem::is_directory(file) || !from) {
    std::fprintf(stderr, "%s: cannot be read\n", file.c_str());
    return false;
  }
  const std::vector<char> bytes{std::istreambuf_iterator<char>(from), std::istreambuf_iterator<char>()};
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  return true;
}

/// The number of inputs that were run, and 0 where there is none, or one cannot be read.
size_t replay(const std::filesystem::path& named) {
  if (!std::filesystem::is_directory(named)) return replay_file(named) ? 1 : 0;
  size_t replayed = 0;
  for (const auto& entry : std::filesystem::directory_iterator(named)) {
    if (!replay_file(entry.path())) return 0;
    ++replayed;
  }
  if (replayed == 0) std::fprintf(stderr, "%s: holds no input\n", named.c_str());
  return replayed;
}

}  // namespace

int main(int count, char** arguments) {
  size_t replayed = 0;
  for (int n = 1; n < count; ++n) {
    const size_t more = replay(arguments[n]);
    // A part of the corpus that is not there is no success.
    if (more == 0) return 1;
    replayed += more;
  }
  std::fprintf(stderr, "%zu inputs replayed\n", replayed);
  return replayed == 0 ? 1 : 0;
}
