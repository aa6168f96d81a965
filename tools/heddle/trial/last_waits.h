// What the threads of a recorded run wait for in the end, and what they looked at and took before.
#pragma once

#include <heddle/sim/observe/run_record.h>
#include <heddle/tools/trial/step_words.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace heddle::tools {

/// What a wait graph calls what a thread waits for.
enum class wait_sort : uint8_t { memory, mutex, end, place, turn, siblings, other };
wait_sort sort_of(const std::string& over);

/// Whether a wait at that place ends by bytes: "pipe", "eventfd #2".
bool is_file_place(std::string_view place);

/// The last step of the wave at that place of memory; 0: there is none.
uint64_t last_look_of(const sim::run_record& of, const step_words& words, uint32_t wave, const std::string& over);

/// The wait that the wave, or one of its lanes, is in at the end; null: it is in none.
const sim::run_record::wait* last_wait_of(const sim::run_record& of, uint32_t wave);

/// Whether that wait ends by notice that another host thread gives.
inline bool waits_for_notice(const sim::run_record& of, uint32_t wave) {
  const sim::run_record::wait* const last = last_wait_of(of, wave);
  return last != nullptr && last->why == sim::wait_reason::notice;
}

/// The step in which the wave has taken a mutex that it holds in the end; 0: none is known.
uint64_t mutex_held_by(const sim::run_record& of, uint32_t wave);

/// Of a read-modify-write that changes nothing: that by which the wave has made the word so, as one takes a lock. To do it again would end no wait.
const sim::run_record::step* lock_taken_before(const sim::run_record& of, const step_words& words,
                                               const sim::run_record::step& tried, uint32_t wave);

}  // namespace heddle::tools
