#include <heddle/tools/cli/as_called.h>
#include <heddle/tools/registry.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string_view>

namespace heddle::tools {
bool is_one_main() {
  const std::vector<scenario>& all = scenarios();
  return all.size() == 1 &&
         std::ranges::any_of(all.front().parameters, [](const parameter& each) { return each.key == "args"; });
}

void take_call(std::vector<std::string>& words, invocation& into) {
  const char* const asked = std::getenv("HEDDLE_AS");
  if (asked == nullptr || *asked == '\0' || !is_one_main()) return;
  if (!words.empty() &&
      (words.front() == "__complete" || std::ranges::find(command_names(), words.front()) != command_names().end()))
    return;
  std::vector<std::string> made;
  if (std::string_view(asked) == "itself") {
    into.tells.nothing = true;
    made.emplace_back("run");
  } else {
    std::istringstream text(asked);
    for (std::string word; text >> word;) made.push_back(word);
  }
  made.emplace_back("--");
  words.insert(words.begin(), made.begin(), made.end());
}

}  // namespace heddle::tools
