#include <heddle/tools/cli/common.h>
#include <heddle/tools/replay/debugger.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// lanes.py; CMakeLists.txt makes the file that holds it.
extern const std::string_view lanes_of_gdb;

namespace {

bool is_debugged() {
  constexpr std::string_view tracer = "TracerPid:";
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(tracer)) return line.find_first_not_of("0 \t", tracer.size()) != std::string::npos;
  return false;
}

/// A file without a name that holds the text, for the program that this one becomes; -1 when there is none to be had.
int nameless_file(std::string_view text) {
  const int file = memfd_create("lanes.py", 0);
  for (size_t written = 0; file >= 0 && written < text.size();) {
    const ssize_t more = write(file, text.data() + written, text.size() - written);
    if (more < 0 && errno != EINTR) return -1;
    if (more > 0) written += static_cast<size_t>(more);
  }
  if (file >= 0) lseek(file, 0, SEEK_SET);
  return file;
}

std::string own_program(const std::string& typed) {
  std::array<char, 4096> name{};
  const ssize_t size = readlink("/proc/self/exe", name.data(), name.size());
  return size > 0 ? std::string(name.data(), static_cast<size_t>(size)) : typed;
}

}  // namespace

stops_of_command::stops_of_command(const invocation& asked) {
  for (const std::string& each : asked.replays.stops)
    if (const std::string wrong = stops_.add(each); error_.empty() && !wrong.empty())
      error_ = "replay: --break: " + wrong;
  if (error_.empty() && any() && !asked.replays.gdb && !is_debugged())
    error_ = "replay: --break is for a debugger, and none is attached; --gdb starts one";
  if (error_.empty() && any()) sim::stop_runs_at(&stops_);
}

stops_of_command::~stops_of_command() { sim::stop_runs_at(nullptr); }

int become_gdb(const invocation& asked) {
  const int script = nameless_file(lanes_of_gdb);
  if (script < 0)
    return fail(cannot_go_on, std::string("replay: --gdb: no memory for a file: ") + std::strerror(errno));
  std::vector<std::string> words = {"gdb",    "-q",
                                    "-iex",   "set debuginfod enabled off",
                                    "-ex",    "python exec(open(" + std::to_string(script) + ").read())",
                                    "-ex",    "run",
                                    "--args", own_program(asked.program),
                                    "replay", asked.file_or_token};
  const auto add = [&](const char* option, const std::vector<std::string>& values) {
    for (const std::string& each : values) words.insert(words.end(), {option, each});
  };
  add("--break", asked.replays.stops.empty() ? std::vector<std::string>{"end"} : asked.replays.stops);
  add("--assume", asked.change.assumed);
  if (!asked.replays.dot_file.empty()) add("--dot", {asked.replays.dot_file});
  if (asked.try_it) words.emplace_back("--try");
  if (asked.show_steps) words.emplace_back("--trace");
  if (asked.json) words.emplace_back("--json");
  std::vector<char*> arguments;
  for (std::string& each : words) arguments.push_back(each.data());
  arguments.push_back(nullptr);
  execvp("gdb", arguments.data());
  return fail(cannot_go_on, errno == ENOENT ? "replay: --gdb: there is no gdb on the path; install it"
                                            : std::string("replay: --gdb: ") + std::strerror(errno));
}

}  // namespace heddle::tools
