// <gpuintrin.h> of a source that heddle_simulate_cuda() or heddle_simulate_hip() compiles.
#pragma once

#include <heddle/sim/compat/clang_gpu.h>
