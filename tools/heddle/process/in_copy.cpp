// One piece of work in a copy, and what that tells its parent.
#include <heddle/tools/process/copied_process.h>

#include <unistd.h>

namespace heddle::tools {
namespace {

const message_line* to_caller = nullptr;

// The first letter of what the copy sends.
constexpr char says_result = 'R';
constexpr char says_note = 'N';

}  // namespace

std::string in_copy(const std::function<std::string()>& work, const in_copy_options& otherwise) {
  if (care_of_runs().in_process || this_copy() != nullptr) return work();
  copied_process copy(
      [&](const message_line& line) {
        to_caller = &line;
        line.send(says_result + work());
      },
      {.survives_damage = true, .seconds_to_stop = otherwise.seconds_to_stop});
  std::string told;
  while (true) {
    const bool over = copy.has_ended();
    while (std::optional<std::string> said = copy.receive()) {
      if (said->front() == says_result) return said->substr(1);
      told = said->substr(1);
    }
    if (over) return copy.was_stopped() ? otherwise.stopped : otherwise.ended(copy.how_it_ended(), told);
    wait_for_any({&copy});
  }
}

void end_copy(const std::string& result) {
  if (to_caller == nullptr) return;
  to_caller->send(says_result + result);
  _exit(0);
}

void tell_parent(const std::string& text) {
  if (to_caller != nullptr) to_caller->send(says_note + text);
}

}  // namespace heddle::tools
