// The subcommands. Each prints to stdout and gives the exit status.
#pragma once

#include <heddle/tools/command_line.h>

namespace heddle::tools {

int list(const invocation& asked);
int fuzz(const invocation& asked);
int replay(const invocation& asked);
int shrink(const invocation& asked);
int import_dump(const invocation& asked);
int litmus(const invocation& asked);
int progress(const invocation& asked);
int help(const invocation& asked);

}  // namespace heddle::tools
