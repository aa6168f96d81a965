// What is watched in this process, in the words of a dump.
#pragma once

#include <heddle/tools/hardware/dump.h>

namespace heddle::tools {

/// Adds the state of the ports, the actors and their events. `with_device_memory` as session::take_picture.
void add_picture(dump& to, bool with_device_memory);

/// The dump for people: a line for each actor that has not ended, and for each port that is not idle.
std::string summary_of(const dump& left);

}  // namespace heddle::tools
