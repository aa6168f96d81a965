#include <heddle/scheduler/own_errors.h>
#include <heddle/scheduler/printable.h>
#include <heddle/tools/process/complaint.h>
#include <heddle/tools/process/copied_process.h>
#include <heddle/tools/process/kept_output.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
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

  int number() const { return number_; }
  bool is_kept() const { return kept_ >= 0; }
  /// Keeps it in that file; false where it cannot be.
  bool begin(int memory) {
    if (memory < 0 || dup2(memory, number_) < 0) return false;
    kept_ = memory;
    looked_up_to_ = 0;
    return true;
  }
  /// It goes to that descriptor again.
  void end(int shown) {
    if (!is_kept()) return;
    dup2(shown, number_);
    kept_ = -1;
  }
  /// Writes what was kept to the descriptor, and forgets it.
  void show(int shown) {
    char part[4096];
    for (off_t at = 0; is_kept();) {
      const ssize_t got = pread(kept_, part, sizeof part, at);
      if (got <= 0 || !is_written(shown, std::string_view(part, static_cast<size_t>(got)))) break;
      at += got;
    }
    forget();
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

  static bool is_written(int file, std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = write(file, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      text.remove_prefix(static_cast<size_t>(written));
    }
    return true;
  }

  int number_;
  const char* heading_;
  int kept_ = -1;           // the file in memory
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
  constexpr off_t most_bytes = 16384;
  constexpr size_t last_lines = 5;
  constexpr size_t lines_of_complaint = 6;
  constexpr size_t most_in_line = 160;
  const std::string text = text_behind(0, most_bytes);
  const std::vector<std::string_view> lines = lines_of(text);
  if (lines.empty()) return {};
  // What it complains of first, and the lines behind that, which tell more of it; then the end.
  const size_t last = lines.size() - std::min(lines.size(), last_lines);
  const auto complains =
      std::find_if(lines.begin(), lines.begin() + static_cast<ptrdiff_t>(last), is_complaint) - lines.begin();
  const size_t first = std::min<size_t>(static_cast<size_t>(complains), last);
  const size_t behind = std::min(first + lines_of_complaint, last);
  const bool are_more = first != 0 || behind != last || lseek(kept_, 0, SEEK_END) > most_bytes;
  std::string made = heading_;
  made += are_more ? ", among more:\n" : ":\n";
  for (size_t n = first; n < lines.size(); n = n + 1 == behind ? last : n + 1)
    made += "  " + scheduler::printable(lines[n].substr(0, most_in_line)) +
            (lines[n].size() > most_in_line ? "...\n" : "\n");
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
  if (care_of_runs().shows_output) return;
  prepare();
  begin();
}

kept_output::kept_output(from when) {
  prepare();
  if (when == from::now) begin();
}

// What a run opens is closed behind it: what begin() needs is there before.
void kept_output::prepare() {
  if (output.is_kept()) return;
  for (files* const each : {&of_output_, &of_errors_}) {
    each->memory = memfd_create("what a program has printed", MFD_CLOEXEC);
    // No descriptor of the standard three, which may be closed.
    if (each->memory >= 0)
      each->shown = fcntl((each == &of_output_ ? output : errors).number(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  }
}

void kept_output::begin() {
  if (output.is_kept() || of_output_.shown < 0) return;
  flush();
  keeps_ = output.begin(of_output_.memory);
  if (keeps_ && of_errors_.shown >= 0 && errors.begin(of_errors_.memory)) tell_errors_to(of_errors_.shown);
}

void kept_output::show() {
  if (!keeps_) return;
  flush();
  output.show(of_output_.shown);
  errors.show(of_errors_.shown);
  end();
}

void kept_output::end() {
  if (!keeps_) return;
  flush();
  output.end(of_output_.shown);
  tell_errors_to(STDERR_FILENO);
  errors.end(of_errors_.shown);
  keeps_ = false;
}

kept_output::~kept_output() {
  end();
  for (const files& each : {of_output_, of_errors_}) {
    if (each.shown >= 0) close(each.shown);
    if (each.memory >= 0) close(each.memory);
  }
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
