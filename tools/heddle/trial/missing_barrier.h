// Lanes that tell others of what lanes of their block have stored, and have not met these before.
#pragma once

#include <heddle/sim/observe/run_record.h>
#include <heddle/tools/trial/step_words.h>

#include <string>
#include <string_view>

namespace heddle::tools {

/// "a barrier of block 0 between a.cu:21 and a.cu:25, where wave 0 lane 0 stores ready = 1, which wave 1 has read": where another lane of the
/// block of one access has told the block or the host thread of the other one to go on, and has not met the lane of the first at anything in between; or where a
/// lane of the other's block was told, and the other has not met it. Else empty. `edge`: what the race's text says of the edge that is missing, which may
/// name the lane that was told.
std::string missing_barrier(const sim::run_record& of, const step_words& words, const sim::run_record::step& earlier,
                            const sim::run_record::step& later, std::string_view edge);

}  // namespace heddle::tools
