// Variables of the device that a program declares (`__device__ int count = 0;`): they begin anew with each run.
#pragma once

namespace heddle::sim {

/// Gives them all the values that they had before the first run. They are in the section `heddle_device`, where tools/rewrite/ puts
/// them; a program without any has no such section.
[[gnu::hot]] void reset_device_variables();

/// Whether this is in one of them.
bool is_device_variable(const void* address);

}  // namespace heddle::sim
