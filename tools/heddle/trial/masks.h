// Collectives whose mask is not that of the lanes that come to them.
#pragma once

#include <heddle/sim/observe/run_record.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace heddle::tools {

/// "to change: the mask has a bit for each lane that comes there, ..."; empty where the message tells of another mistake.
std::string advice_on_mask(std::string_view message);

/// The last step of the lane that the mask names and that has ended, where the message tells of one; 0: it does not, or the record has none.
uint64_t end_of_named_lane(const sim::run_record& of, uint32_t wave, std::string_view message);

}  // namespace heddle::tools
