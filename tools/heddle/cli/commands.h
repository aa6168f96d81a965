// The subcommands. Each prints to stdout and gives the exit status.
#pragma once

#include <heddle/tools/cli/command_line.h>

#include <functional>
#include <memory>
#include <string>

namespace heddle::tools {

class campaign_crew;

int list(const invocation& asked);
int fuzz(const invocation& asked);
int run(const invocation& asked);
int replay(const invocation& asked);
int shrink(const invocation& asked);
int report(const invocation& asked);
int mend(const invocation& asked);
int slack(const invocation& asked);
int import_dump(const invocation& asked);
int zoo(const invocation& asked);
int verify(const invocation& asked);
int litmus(const invocation& asked);
int progress(const invocation& asked);
int completion(const invocation& asked);
int complete(const invocation& asked);
int help(const invocation& asked);

/// `fuzz` with other workers than the threads of this process.
using crew_maker = std::function<std::unique_ptr<campaign_crew>(const invocation& asked, const std::string& strategy)>;
int fuzz_with(const invocation& asked, const crew_maker& hire);

/// The command that was asked for.
int run_command(const invocation& asked);

}  // namespace heddle::tools
