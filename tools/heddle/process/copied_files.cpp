#include <heddle/tools/process/copied_process.h>
#include <unistd.h>

#include <vector>

namespace heddle::tools {
namespace {

std::vector<int>& closed_in_copies() {
  static std::vector<int> all;
  return all;
}

}  // namespace

void close_in_copies(int file) { closed_in_copies().push_back(file); }

void forget_file(int file) { std::erase(closed_in_copies(), file); }

void close_files_of_the_parent() {
  for (const int each : closed_in_copies()) close(each);
  closed_in_copies().clear();
}

}  // namespace heddle::tools
