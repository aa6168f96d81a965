#include <fcntl.h>
#include <heddle/tools/trial/kept_trace.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace heddle::tools {
namespace {

/// A process's own name for the file until it is there.
std::string unfinished(const std::string& file) { return file + ".new" + std::to_string(::getpid()); }

/// Gives the file a name that nothing has, in whatever process; 0, or what is wrong.
int name_file(const std::string& from, const std::string& to) {
  const int wrong = ::link(from.c_str(), to.c_str()) == 0 ? 0 : errno;
  // There are file systems without links.
  if (wrong != 0 && wrong != EEXIST) return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
  if (wrong == 0) ::unlink(from.c_str());
  return wrong;
}

void sync(const std::filesystem::path& folder) {
  const int opened = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return;
  ::fsync(opened);
  ::close(opened);
}

}  // namespace

std::string file_name_of(const scheduler::trace& recorded, std::string_view ending) {
  std::string name =
      recorded.scenario + "-" + std::string(to_string(recorded.outcome)) + "-" + std::to_string(recorded.seed);
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  for (char& letter : name)
    if (plain.find(letter) == std::string_view::npos) letter = '-';
  return name + std::string(ending);
}

kept_trace keep_trace(const scheduler::trace& recorded, const std::filesystem::path& folder, std::string_view beside) {
  const std::string plain = (folder / file_name_of(recorded, {})).string();
  std::error_code ignored;
  for (uint64_t number = 1;; ++number) {
    const std::string stem = number == 1 ? plain : plain + "." + std::to_string(number);
    const std::string file = stem + std::string(trace_ending);
    if (std::filesystem::exists(file, ignored)) {
      const scheduler::trace_or_error there = scheduler::read_trace(file);
      if (there.value && *there.value == recorded) return {.file = file};
      continue;
    }
    if (!beside.empty() && std::filesystem::exists(stem + std::string(beside), ignored)) continue;
    if (const auto failed = scheduler::write_trace(recorded, unfinished(file))) return {.error = *failed};
    const int wrong = name_file(unfinished(file), file);
    if (wrong != 0) ::unlink(unfinished(file).c_str());
    if (wrong == EEXIST) continue;
    if (wrong != 0) return {.error = "cannot write \"" + file + "\": " + std::strerror(wrong)};
    sync(folder);
    return {.file = file, .fresh = true};
  }
}

}  // namespace heddle::tools
