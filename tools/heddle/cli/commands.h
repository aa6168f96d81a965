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
int run_command(invocation asked);

// `verify` with --save or --resume.

bool saves_search(const invocation& asked);
/// Becomes the process in which it is searched, and returns where that cannot be. The arguments are those of main().
int begin_saved_verify(const invocation& asked, char* const* arguments);
/// Whether this process is that one; then what it was asked for.
bool take_saved_verify(int argument_count, char* const* arguments, invocation& into);
/// The command in that process.
int run_saved_verify(invocation asked, char* const* arguments);

}  // namespace heddle::tools
