#include "process.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

namespace heddle::tests {
namespace {

std::string content(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

[[noreturn]] void become(const std::vector<std::string>& words, const std::string& out, const std::string& err,
                         long file_bytes_max) {
  dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
  dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
  if (file_bytes_max >= 0) {
    const rlimit limit = {.rlim_cur = static_cast<rlim_t>(file_bytes_max),
                          .rlim_max = static_cast<rlim_t>(file_bytes_max)};
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_IGN);
  }
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

ended_process run_process(const std::vector<std::string>& words, const process_options& options) {
  const temporary_folder folder;
  const std::string out = options.out_file.empty() ? (folder.path() / "out").string() : options.out_file;
  const std::string err = (folder.path() / "err").string();
  const pid_t child = fork();
  if (child == 0) become(words, out, err, options.file_bytes_max);
  const auto send_after = [child](int signal, int milliseconds) {
    if (milliseconds < 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    kill(child, signal);
  };
  send_after(options.interrupt_by, options.interrupt_after_ms);
  send_after(SIGKILL, options.kill_after_ms);
  int status = 0;
  waitpid(child, &status, 0);
  return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .out = options.out_file.empty() ? content(out) : "",
          .err = content(err)};
}

ended_process run_in_terminal(const std::vector<std::string>& words, const std::vector<std::string>& environment) {
  winsize size{};
  size.ws_row = 24;
  size.ws_col = 80;
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    for (const std::string& each : environment)
      setenv(each.substr(0, each.find('=')).c_str(), each.substr(each.find('=') + 1).c_str(), 1);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  ended_process ended;
  char part[4096];
  // Reading fails with EIO when no process has the other end any more.
  for (ssize_t got; (got = read(terminal, part, sizeof part)) > 0;) ended.out.append(part, static_cast<size_t>(got));
  close(terminal);
  int status = 0;
  waitpid(child, &status, 0);
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  for (size_t at = 0; (at = ended.out.find("\r\n", at)) != std::string::npos;) ended.out.erase(at, 1);
  return ended;
}

size_t line_count(const std::string& text) { return static_cast<size_t>(std::count(text.begin(), text.end(), '\n')); }

temporary_folder::temporary_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "heddle-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) std::abort();
  path_ = name;
}

temporary_folder::~temporary_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string own_file(const std::string& name) {
  static const temporary_folder folder;
  return (folder.path() / name).string();
}

}  // namespace heddle::tests
