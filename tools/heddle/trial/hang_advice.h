// What would end a hang, as far as the run shows it.
#pragma once

#include <heddle/sim/observe/run_record.h>
#include <heddle/tools/trial/last_waits.h>
#include <heddle/tools/trial/step_words.h>

#include <cstdint>
#include <string>

namespace heddle::tools {

/// "to change: host server gives back the mutex, taken at a.cpp:12, before it waits at b.cpp:3; or wave 0 ..."; empty where the run does not show
/// what could be done. `round`: so many steps in the end are repeated for ever; 0: it is no livelock of that kind.
std::string advice_on_hang(const sim::run_record& of, const step_words& words, uint64_t round);

/// The same of a word that counts those that come, as a barrier does, where too few come.
std::string advice_on_arrivals(const sim::run_record& of, const step_words& words);

/// The same where all that the progress model promises a turn waits for what it does not.
std::string advice_on_promise(const sim::run_record& of, const step_words& words);

}  // namespace heddle::tools
