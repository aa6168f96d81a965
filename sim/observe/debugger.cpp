#include <heddle/sim/code/source_line.h>
#include <heddle/sim/observe/debugger.h>
#include <heddle/sim/observe/recorder.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdio>

namespace heddle::sim {
namespace {

// Read by OS threads that were started after it was written, if by others at all.
std::atomic<const debugger_stops*> stops = nullptr;

template <typename Number>
bool read_number(std::string_view text, Number& into) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), into);
  return failed == std::errc() && end == text.data() + text.size() && into >= 1;
}

void say(const std::string& what) { std::fprintf(stderr, "stopped: %s\n", what.c_str()); }

}  // namespace

std::string debugger_stops::add(const std::string& text) {
  const std::string shown = '"' + text.substr(0, 200) + '"';
  if (text == "end") {
    at_end_ = true;
    return {};
  }
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) {
    uint64_t step = 0;
    if (!read_number(text, step)) return shown + " is no step, no FILE:LINE and not \"end\"";
    steps_.push_back(step);
    return {};
  }
  line added{.file = text.substr(0, colon)};
  if (added.file.empty() || !read_number(std::string_view(text).substr(colon + 1), added.number))
    return shown + " is no FILE:LINE, as in rpc/mailbox.h:75";
  if (!has_code(added.file, added.number))
    return "there is no code of " + text.substr(0, 200) +
           " in this program; take a line that reports or replay --trace name";
  lines_.push_back(std::move(added));
  return {};
}

bool debugger_stops::tell_step(const recorder& of, const heap& memory, uint64_t step) const {
  bool stops_here = std::find(steps_.begin(), steps_.end(), step) != steps_.end();
  if (const recorder::taken* const one = of.taken_in(step); !stops_here && !lines_.empty() && one != nullptr)
    for (const source_line& at : lines_of(one->calls))
      stops_here = stops_here || std::any_of(lines_.begin(), lines_.end(), [&](const line& each) {
                     return each.number == at.line && is_in_file(at, each.file);
                   });
  if (stops_here) say(of.describe(memory, step));
  return stops_here;
}

bool debugger_stops::tell_end(const std::string& how) const {
  if (at_end_) say("the run has ended: " + how);
  return at_end_;
}

void stop_runs_at(const debugger_stops* where) { stops = where; }
const debugger_stops* stops_of_runs() { return stops; }
void stop_for_debugger() {
#if defined(__x86_64__)
  asm volatile("int3");  // no frames of the C library above the lane's
#else
  std::raise(SIGTRAP);
#endif
}

}  // namespace heddle::sim
