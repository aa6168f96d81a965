// Assembly of AMD's GPUs in a source for hipcc: `asm volatile("s_waitcnt vmcnt(0)" ::: "memory")`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace heddle::rewrite {

/// What stands in the place of the statement, or none where no instruction of it is one of AMD's GPUs. Hints and waits for what is under way are
/// simulated, and order nothing; `unknown` gets the first instruction that is none of these, which ends a run that comes to it.
std::optional<std::string> gcn_assembly(std::string_view text, std::string& unknown);

}  // namespace heddle::rewrite
