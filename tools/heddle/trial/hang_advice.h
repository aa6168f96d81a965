// What would end a hang, as far as the run shows it.
#pragma once

#include <heddle/sim/observe/run_record.h>
#include <heddle/tools/trial/last_waits.h>
#include <heddle/tools/trial/step_words.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace heddle::tools {

/// "to change: host server gives back the mutex, taken at a.cpp:12, before it waits at b.cpp:3; or wave 0 ..."; empty where the run does not show
/// what could be done. `round`: so many steps in the end are repeated for ever; 0: it is no livelock of that kind.
std::string advice_on_hang(const sim::run_record& of, const step_words& words, uint64_t round);

/// The same of a word that counts those that come, as a barrier does, where too few come.
std::string advice_on_arrivals(const sim::run_record& of, const step_words& words);

/// The same where some waves have no place on the device. `report`: how many, as the run's report has it.
std::string advice_on_places(const sim::run_record& of, const step_words& words, std::string_view report);

/// Of host threads that wait for notice at one object: notice that has gone to one that waits again, and not to one that it would have let go on.
struct wrong_notice {
  uint64_t given = 0;  ///< the step; 0: there is none
  std::string advice;
};
wrong_notice wrong_notice_in(const sim::run_record& of, const step_words& words);

/// Of a thread that has looked at a word before another one changed it, and waits for the notice of that, which came before the wait.
std::string advice_on_lost_notice(const sim::run_record& of, const step_words& words);

/// Of a thread that has ended and would have stored what another waits for.
std::string advice_on_ended(const sim::run_record& of, const step_words& words);

/// The same where all that the progress model promises a turn waits for what it does not.
std::string advice_on_promise(const sim::run_record& of, const step_words& words);

}  // namespace heddle::tools
