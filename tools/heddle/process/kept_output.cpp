#include <heddle/scheduler/own_errors.h>
#include <heddle/scheduler/printable.h>
#include <heddle/tools/process/complaint.h>
#include <heddle/tools/process/copied_process.h>
#include <heddle/tools/process/kept_output.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string_view>
#include <vector>

// Of the sanitizers' common interface; there where the program has one of them.
extern "C" [[gnu::weak]] void __sanitizer_set_report_fd(void* file);

namespace heddle::tools {
namespace {

void flush() {
  std::cout.flush();
  std::clog.flush();
  std::fflush(stdout);
  std::fflush(stderr);
}

/// One of the standard streams, whose text goes to a file in memory.
class kept_stream {
 public:
  kept_stream(int number, const char* heading) : number_(number), heading_(heading) {}

  bool is_kept() const { return kept_ >= 0; }
  /// The descriptor that shows it, of its own; negative where it stays as it is.
  int keep() {
    const int memory = memfd_create("what a program has printed", MFD_CLOEXEC);
    if (memory < 0) return -1;
    // No descriptor of the standard three, which may be closed.
    shown_ = fcntl(number_, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (shown_ < 0 || dup2(memory, number_) < 0) {
      close(memory);
      if (shown_ >= 0) close(shown_);
      return -1;
    }
    kept_ = memory;
    looked_up_to_ = 0;
    return shown_;
  }
  void show_again() {
    if (!is_kept()) return;
    dup2(shown_, number_);
    close(shown_);
    close(kept_);
    kept_ = shown_ = -1;
  }

  void forget() {
    // A program under test may have closed the file, or moved about in it: then less is told.
    if (is_kept() && ftruncate(kept_, 0) == 0) lseek(kept_, 0, SEEK_SET);
    looked_up_to_ = 0;
  }
  void bound() {
    constexpr off_t much_bytes = 1 << 20;
    if (is_kept() && lseek(kept_, 0, SEEK_END) > much_bytes) forget();
  }
  std::string complaint();
  std::string paragraph() const;

 private:
  /// The end of what was printed behind there, or some of it.
  std::string text_behind(off_t from, off_t most_bytes) const {
    const off_t end = lseek(kept_, 0, SEEK_END);
    from = std::max(from, end - most_bytes);
    std::string text(static_cast<size_t>(std::max<off_t>(end - from, 0)), '\0');
    const ssize_t got = pread(kept_, text.data(), text.size(), from);
    text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    return text;
  }

  int number_;
  const char* heading_;
  int kept_ = -1;           // the file in memory
  int shown_ = -1;          // where the stream went before
  off_t looked_up_to_ = 0;  // for complaints
};

/// The lines that are not empty.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t newline = std::min(text.find('\n', begin), text.size());
    if (newline != begin) lines.push_back(text.substr(begin, newline - begin));
    begin = newline + 1;
  }
  return lines;
}

std::string kept_stream::complaint() {
  if (!is_kept()) return {};
  constexpr off_t most_bytes = 16384;
  const std::string text = text_behind(looked_up_to_, most_bytes);
  looked_up_to_ = std::max<off_t>(lseek(kept_, 0, SEEK_END), 0);
  for (const std::string_view line : lines_of(text))
    if (is_complaint(line)) return std::string(line);
  return {};
}

std::string kept_stream::paragraph() const {
  if (!is_kept()) return {};
  constexpr off_t most_bytes = 4096;
  constexpr size_t most_lines = 5;
  constexpr size_t most_in_line = 160;
  const std::string text = text_behind(0, most_bytes);
  const std::vector<std::string_view> lines = lines_of(text);
  if (lines.empty()) return {};
  const size_t shown = std::min(lines.size(), most_lines);
  const bool are_more = shown < lines.size() || lseek(kept_, 0, SEEK_END) > most_bytes;
  std::string made = heading_;
  made += are_more ? ", among more:\n" : ":\n";
  for (const std::string_view each : std::vector(lines.end() - static_cast<ptrdiff_t>(shown), lines.end()))
    made += "  " + scheduler::printable(each.substr(0, most_in_line)) + (each.size() > most_in_line ? "...\n" : "\n");
  return made;
}

kept_stream output(STDOUT_FILENO, "it printed");
kept_stream errors(STDERR_FILENO, "it printed to standard error");

/// Where heddle tells of errors, and a sanitizer that the program has, too.
void tell_errors_to(int file) {
  scheduler::own_errors = file;
  if (&__sanitizer_set_report_fd != nullptr) __sanitizer_set_report_fd(reinterpret_cast<void*>(intptr_t{file}));
}

}  // namespace

kept_output::kept_output() {
  if (care_of_runs().shows_output || output.is_kept()) return;
  flush();
  keeps_ = output.keep() >= 0;
  if (!keeps_) return;
  if (const int shown = errors.keep(); shown >= 0) tell_errors_to(shown);
}

kept_output::~kept_output() {
  if (!keeps_) return;
  flush();
  output.show_again();
  tell_errors_to(STDERR_FILENO);
  errors.show_again();
}

void kept_output::begin_run() {
  if (!output.is_kept()) return;
  flush();
  output.forget();
  errors.forget();
}

void kept_output::bound() {
  output.bound();
  errors.bound();
}

std::string kept_output::complaint() {
  if (!output.is_kept()) return {};
  flush();
  const std::string of_output = output.complaint();
  const std::string of_errors = errors.complaint();
  return of_output.empty() ? of_errors : of_output;
}

std::string kept_output::paragraph() {
  if (!output.is_kept()) return {};
  flush();
  return output.paragraph() + errors.paragraph();
}

}  // namespace heddle::tools
