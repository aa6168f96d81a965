// What C++ that was made from PTX calls (tools/ptx/): the instructions of the table, on the simulator's front end.
#pragma once

#include <heddle/sim/compat/ptx/floats.h>
#include <heddle/sim/compat/ptx/integers.h>
#include <heddle/sim/compat/ptx/lanes.h>
#include <heddle/sim/compat/ptx/memory.h>
#include <heddle/sim/compat/ptx/module.h>
#include <heddle/sim/compat/ptx/types.h>
