#include <heddle/tools/hardware/child.h>
#include <heddle/tools/process/seconds_text.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <thread>

namespace heddle::tools {
namespace {

using std::chrono::steady_clock;

[[noreturn]] void run_and_exit(const std::function<void()>& function) {
  int status = 0;
  try {
    function();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    status = 1;
  }
  std::cout.flush();
  std::fflush(nullptr);
  _exit(status);  // not exit(): what the parent set up is not the child's to tear down
}

std::string reason_of(int status) {
  if (WIFEXITED(status)) return "ended the program with status " + std::to_string(WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  return "killed by signal " + std::to_string(number) + " (" + strsignal(number) + ")";
}

}  // namespace

child_message::child_message()
    : shared_(static_cast<char*>(mmap(nullptr, bytes_max, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
  if (shared_ == MAP_FAILED) throw std::bad_alloc();
}

child_message::~child_message() { munmap(shared_, bytes_max); }

void child_message::write(const std::string& text) {
  // The last byte stays 0.
  std::memcpy(shared_, text.data(), std::min(text.size(), bytes_max - 1));
}

std::string child_message::read() const { return shared_; }

child_result run_in_child(const std::function<void()>& function, double seconds_max) {
  const auto start = steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(steady_clock::now() - start).count(); };
  std::cout.flush();
  std::fflush(nullptr);  // else the child would print the parent's buffer again
  const pid_t child = fork();
  if (child < 0) return {.ok = false, .reason = std::string("cannot start a process: ") + std::strerror(errno)};
  if (child == 0) run_and_exit(function);

  int status = 0;
  auto wait_time = std::chrono::microseconds(100);
  for (;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) break;
    if (ended < 0 && errno != EINTR) return {.ok = false, .reason = "lost the process", .seconds = seconds()};
    if (seconds() > seconds_max) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return {.ok = false, .reason = "no end after " + seconds_text(seconds_max), .seconds = seconds()};
    }
    std::this_thread::sleep_for(wait_time);
    wait_time = std::min(wait_time * 2, std::chrono::microseconds(20'000));
  }
  const bool ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return {.ok = ok, .reason = ok ? "" : reason_of(status), .seconds = seconds()};
}

}  // namespace heddle::tools
