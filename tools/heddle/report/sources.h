// The lines of source that a run went through.
#pragma once

#include <heddle/sim/observe/run_record.h>

#include <string>
#include <vector>

namespace heddle::tools {

struct source_excerpt {
  struct range {
    int first = 1;  ///< number of lines[0]
    std::vector<std::string> lines;
  };
  std::string file;  ///< as source_line::file
  bool found = false;
  bool newer = false;  ///< than the program: its lines may not be those that were compiled
  std::vector<range> ranges;
};

/// "rpc/mailbox.h:52"; the function where there is no line, and without that the program and the offset in it.
std::string place_in_source(const sim::source_line& line);

/// Of every file that has a line in the record: those lines with some around each. Relative names are looked for in
/// sim::source_folder(), in the current folder, and in those above the program.
std::vector<source_excerpt> excerpts_of(const sim::run_record& of);

}  // namespace heddle::tools
