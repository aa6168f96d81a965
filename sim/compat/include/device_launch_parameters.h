// <device_launch_parameters.h> of a source that heddle_simulate_cuda() compiles.
#pragma once

#include <heddle/sim/compat/cuda.h>
