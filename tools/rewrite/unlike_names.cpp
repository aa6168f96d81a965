#include "unlike_names.h"

#include <algorithm>

#include "tokens.h"

namespace heddle::rewrite {

std::vector<std::string> unlike_names(std::string_view preprocessed) {
  // (HIP, "Coherence control": such memory is coherent where a kernel begins and ends.)
  constexpr std::string_view name = "hipHostMallocNonCoherent";
  std::vector<std::string> made;
  // It stands in the simulator's own header too.
  if (preprocessed.find(name) == preprocessed.rfind(name)) return made;
  const token_list tokens(preprocessed);
  for (size_t n = 0; n < tokens.size(); ++n) {
    if (!tokens.is(n, name) || tokens.is(n + 1, "=")) continue;
    const token_list::place at = tokens.place_of(tokens[n].begin);
    std::string line = at.file + ":" + std::to_string(at.line) + ": warning: " + std::string(name) +
                       ": simulated as coherent; on a GPU what host and kernel store there reaches the other where the "
                       "kernel begins and ends: hand over by hipHostMallocCoherent";
    if (std::ranges::find(made, line) == made.end()) made.push_back(std::move(line));
  }
  return made;
}

}  // namespace heddle::rewrite
