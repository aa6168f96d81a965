#include <heddle/tools/commands.h>
#include <heddle/tools/common.h>
#include <heddle/tools/main.h>
#include <heddle/tools/trial.h>

#include <exception>
#include <iostream>
#include <new>

namespace heddle {

int tools::run_command(const invocation& asked) {
  if (asked.command == "list") return list(asked);
  if (asked.command == "fuzz") return fuzz(asked);
  if (asked.command == "replay") return replay(asked);
  if (asked.command == "shrink") return shrink(asked);
  if (asked.command == "report") return report(asked);
  if (asked.command == "import") return import_dump(asked);
  if (asked.command == "zoo") return zoo(asked);
  if (asked.command == "verify") return verify(asked);
  if (asked.command == "litmus") return litmus(asked);
  if (asked.command == "progress") return progress(asked);
  if (asked.command == "completion") return completion(asked);
  if (asked.command == "__complete") return complete(asked);
  if (asked.command == "help") return help(asked);
  std::cout << "heddle " << version() << '\n';
  return as_expected;
}

int main(int argument_count, char** arguments) {
  try {
    const tools::invocation_or_error read = tools::parse_command_line(argument_count, arguments);
    if (!read.error.empty()) return tools::fail(tools::wrong_input, read.error);
    return tools::finish_output(tools::run_command(read.value));
  } catch (const std::bad_alloc&) {
    return tools::fail(tools::cannot_go_on, "out of memory");
  } catch (const std::exception& error) {
    return tools::fail(tools::cannot_go_on, error.what());
  }
}

}  // namespace heddle
