#include <heddle/scheduler/printable.h>
#include <heddle/tools/process/complaint.h>
#include <heddle/tools/process/copied_process.h>
#include <heddle/tools/process/kept_output.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string_view>
#include <vector>

namespace heddle::tools {
namespace {

int kept = -1;           // a file in memory
off_t looked_up_to = 0;  // for complaints

void flush() {
  std::cout.flush();
  std::fflush(stdout);
}

void forget() {
  // A program under test may have closed the file, or moved about in it: then less is told.
  if (ftruncate(kept, 0) == 0) lseek(kept, 0, SEEK_SET);
  looked_up_to = 0;
}

}  // namespace

kept_output::kept_output() {
  if (care_of_runs().shows_output || kept >= 0) return;
  const int memory = memfd_create("what a program has printed", MFD_CLOEXEC);
  if (memory < 0) return;
  flush();
  // No descriptor of the standard three, which may be closed.
  shown_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (shown_ < 0 || dup2(memory, STDOUT_FILENO) < 0) {
    close(memory);
    return;
  }
  kept = memory;
  looked_up_to = 0;
}

kept_output::~kept_output() {
  if (shown_ < 0) return;
  if (kept >= 0) {
    flush();
    dup2(shown_, STDOUT_FILENO);
    close(kept);
    kept = -1;
  }
  close(shown_);
}

void kept_output::begin_run() {
  if (kept < 0) return;
  flush();
  forget();
}

void kept_output::bound() {
  constexpr off_t much_bytes = 1 << 20;
  if (kept >= 0 && lseek(kept, 0, SEEK_END) > much_bytes) forget();
}

std::string kept_output::complaint() {
  if (kept < 0) return {};
  flush();
  constexpr off_t most_bytes = 16384;
  const off_t end = lseek(kept, 0, SEEK_END);
  const off_t from = std::max(looked_up_to, end - most_bytes);
  looked_up_to = std::max<off_t>(end, 0);
  if (from >= end) return {};
  std::string text(static_cast<size_t>(end - from), '\0');
  const ssize_t got = pread(kept, text.data(), text.size(), from);
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  for (size_t begin = 0; begin < text.size();) {
    const size_t newline = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, newline - begin);
    if (is_complaint(line)) return std::string(line);
    begin = newline + 1;
  }
  return {};
}

std::string kept_output::paragraph() {
  if (kept < 0) return {};
  flush();
  constexpr off_t most_bytes = 4096;
  constexpr size_t most_lines = 5;
  constexpr size_t most_in_line = 160;
  const off_t end = lseek(kept, 0, SEEK_END);
  const off_t from = std::max<off_t>(end - most_bytes, 0);
  std::string text(static_cast<size_t>(std::max<off_t>(end - from, 0)), '\0');
  const ssize_t got = pread(kept, text.data(), text.size(), from);
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  std::vector<std::string_view> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t newline = std::min(text.find('\n', begin), text.size());
    if (newline != begin) lines.push_back(std::string_view(text).substr(begin, newline - begin));
    begin = newline + 1;
  }
  if (lines.empty()) return {};
  const size_t shown = std::min(lines.size(), most_lines);
  std::string made = shown < lines.size() || from > 0 ? "it printed, among more:\n" : "it printed:\n";
  for (const std::string_view each : std::vector(lines.end() - static_cast<ptrdiff_t>(shown), lines.end()))
    made += "  " + scheduler::printable(each.substr(0, most_in_line)) + (each.size() > most_in_line ? "...\n" : "\n");
  return made;
}

}  // namespace heddle::tools
