// What a search through all runs says of a change that no schedule has found fault with.
#pragma once

#include <heddle/tools/mend/attempts.h>
#include <heddle/tools/trial/trial.h>
#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>

namespace heddle::tools {

/// Goes through all runs of the attempt, with its settings, for at most 10 s; nothing where no search can tell. Where that has no answer and
/// `or_smaller`, the same of the scenario as small as it can be, if without the attempt something is found there.
std::optional<proof_attempt> proof_of(const attempt& assumed, const trying& how, bool or_smaller = false);

/// "proved, 123 states with waves=1, lanes=1", "not proved: the time was used up".
std::string in_words(const proof_attempt& proof);

nlohmann::ordered_json to_json(const proof_attempt& proof);

/// So many processes; 0: one for each core.
uint32_t jobs_of(uint32_t asked);

}  // namespace heddle::tools
