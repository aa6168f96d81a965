#include <heddle/tools/commands.h>
#include <heddle/tools/common.h>
#include <heddle/tools/main.h>
#include <heddle/tools/trial.h>

#include <exception>
#include <iostream>
#include <new>

namespace heddle {
namespace {

int run(const tools::invocation& asked) {
  if (asked.command == "list") return tools::list(asked);
  if (asked.command == "fuzz") return tools::fuzz(asked);
  if (asked.command == "replay") return tools::replay(asked);
  if (asked.command == "shrink") return tools::shrink(asked);
  if (asked.command == "import") return tools::import_dump(asked);
  if (asked.command == "litmus") return tools::litmus(asked);
  if (asked.command == "progress") return tools::progress(asked);
  if (asked.command == "help") return tools::help(asked);
  std::cout << "heddle " << tools::version() << '\n';
  return tools::as_expected;
}

}  // namespace

int main(int argument_count, char** arguments) {
  try {
    const tools::invocation_or_error read = tools::parse_command_line(argument_count, arguments);
    if (!read.error.empty()) return tools::fail(tools::wrong_input, read.error);
    return tools::finish_output(run(read.value));
  } catch (const std::bad_alloc&) {
    return tools::fail(tools::cannot_go_on, "out of memory");
  } catch (const std::exception& error) {
    return tools::fail(tools::cannot_go_on, error.what());
  }
}

}  // namespace heddle
