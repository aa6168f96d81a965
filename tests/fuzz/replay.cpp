// Stands in for libFuzzer: runs the fuzz target once for each file that is named, or lies in a folder that is named.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

void replay(const std::filesystem::path& file) {
  std::ifstream from(file, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(from), std::istreambuf_iterator<char>()};
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int count, char** arguments) {
  size_t replayed = 0;
  for (int n = 1; n < count; ++n) {
    const std::filesystem::path named = arguments[n];
    if (!std::filesystem::is_directory(named)) {
      replay(named);
      ++replayed;
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(named)) {
      replay(entry.path());
      ++replayed;
    }
  }
  std::fprintf(stderr, "%zu inputs replayed\n", replayed);
  // A corpus that is not there is no success.
  return replayed == 0 ? 1 : 0;
}
