#include <heddle/tools/cli/common.h>
#include <heddle/tools/trial/how_to_play.h>
#include <heddle/tools/trial/trial.h>

namespace heddle::tools {

std::string how_to_play(const scheduler::trace& recorded, const std::string& program, const std::string& file,
                        const std::string& page) {
  const std::string token = scheduler::to_token(recorded);
  const bool short_enough = token.size() <= token_on_command_line_max;
  const std::string text = short_enough ? token + '\n' : "";
  if (file.empty() && !short_enough)
    return "  Its token is too long for a command line. This writes it to a file:\n  " +
           search_again_command(program, recorded) +
           (recorded.strategy == verifying_strategy ? " --out trace.heddle.json\n" : " --out .\n");
  // The token has a line of its own, so that the screen has room for what happened.
  const std::string named = file.empty() ? "TOKEN" : shell_word(file);
  return text + "  replay it: " + shell_word(program) + " replay " + named +
         "\n  as a page: " + (page.empty() ? shell_word(program) + " report " + named : page) + '\n';
}

std::string_view past_races(scheduler::verdict found) {
  const bool race = found == scheduler::verdict::race || found == scheduler::verdict::scope_race;
  return race ? "  a race ends its run: to look past races, --set races=count\n" : "";
}

std::pair<std::string_view, std::string_view> paragraphs(std::string_view report) {
  const size_t end = report.find("\n\n");
  if (end == std::string_view::npos) return {report, {}};
  return {report.substr(0, end + 1), report.substr(end + 2)};
}

}  // namespace heddle::tools
