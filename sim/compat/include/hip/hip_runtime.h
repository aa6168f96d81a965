// <hip/hip_runtime.h> of a source that heddle_simulate_hip() compiles.
#pragma once

#include <heddle/sim/compat/hip.h>
