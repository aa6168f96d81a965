// Behaviours between the processes of a campaign, and in its journal.
#pragma once

#include <heddle/scheduler/behaviours.h>

#include <nlohmann/json_fwd.hpp>

namespace heddle::tools {

/// [[BEHAVIOUR, LOWEST SEED, RUNS]...], with `true` behind them where there are more.
nlohmann::ordered_json json_of(const scheduler::behaviours& seen);
/// Throws what nlohmann::json throws where it is something else.
scheduler::behaviours behaviours_of(const nlohmann::ordered_json& list);

}  // namespace heddle::tools
