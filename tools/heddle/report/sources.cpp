#include <heddle/tools/report/sources.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

namespace heddle::tools {
namespace {

namespace fs = std::filesystem;

constexpr int lines_around = 12;
constexpr size_t line_length_max = 400;

fs::path program_file() {
  std::error_code failed;
  return fs::read_symlink("/proc/self/exe", failed);
}

fs::path find_file(const std::string& name) {
  std::error_code failed;
  if (fs::path(name).is_absolute()) return fs::is_regular_file(name, failed) ? fs::path(name) : fs::path{};
  if (const fs::path folder = sim::source_folder(); !folder.empty() && fs::is_regular_file(folder / name, failed))
    return folder / name;
  if (fs::is_regular_file(name, failed)) return name;
  for (fs::path folder = program_file().parent_path(); folder.has_relative_path(); folder = folder.parent_path())
    if (fs::is_regular_file(folder / name, failed)) return folder / name;
  return {};
}

std::vector<std::string> lines_of_file(const fs::path& file) {
  std::vector<std::string> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(line.substr(0, line_length_max));
  return lines;
}

source_excerpt excerpt_of(const std::string& name, const std::set<int>& wanted) {
  source_excerpt made;
  made.file = name;
  const fs::path file = find_file(name);
  if (file.empty()) return made;
  made.found = true;
  std::error_code failed;
  const auto program = fs::last_write_time(program_file(), failed);
  made.newer = !failed && fs::last_write_time(file, failed) > program && !failed;
  const std::vector<std::string> lines = lines_of_file(file);
  const int last = static_cast<int>(lines.size());
  int told = 0;  // the last line that is in a range
  for (const int line : wanted) {
    const int from = std::max({1, line - lines_around, told + 1});
    const int to = std::min(last, line + lines_around);
    if (from > to) continue;
    if (made.ranges.empty() || from != told + 1) made.ranges.push_back({.first = from, .lines = {}});
    auto& into = made.ranges.back().lines;
    into.insert(into.end(), lines.begin() + from - 1, lines.begin() + to);
    told = to;
  }
  return made;
}

}  // namespace

std::string place_in_source(const sim::source_line& line) {
  if (!line.file.empty()) return line.file + ":" + std::to_string(line.line);
  if (!line.function.empty()) return line.function;
  return line.module.empty() ? "code without a name" : line.module;
}

std::vector<source_excerpt> excerpts_of(const sim::run_record& of) {
  std::map<std::string, std::set<int>> wanted;
  for (const auto& chain : of.call_chains)
    for (const sim::source_line& line : chain)
      if (!line.file.empty()) wanted[line.file].insert(line.line);
  std::vector<source_excerpt> made;
  for (const auto& [file, lines] : wanted) made.push_back(excerpt_of(file, lines));
  return made;
}

}  // namespace heddle::tools
