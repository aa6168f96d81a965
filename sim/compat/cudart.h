// The CUDA runtime as runtime_api.h has it, under names that NVIDIA's library does not have: what NVIDIA's names are made of for host code that
// nvcc has compiled (cudart.cpp).
#pragma once

#include <heddle/sim/compat/launch.h>
#include <heddle/sim/compat/memory.h>

// NOLINTBEGIN(modernize-macro-to-enum): as those of cuda.h and hip.h
#define HEDDLE_GPU_PREFIX simulated
#define HEDDLE_GPU_VERSION 13000
#define HEDDLE_GPU_ATTRIBUTE(name) simulatedDevAttr##name
#define HEDDLE_GPU_ATTRIBUTE_TYPE simulatedDeviceAttr
#define HEDDLE_GPU_PROPERTIES simulatedDeviceProp
#define HEDDLE_GPU_POINTER_ATTRIBUTES simulatedPointerAttributes
#define HEDDLE_GPU_LEAST_PRIORITY 0
#define HEDDLE_GPU_MEMORY device_alone
#define HEDDLE_COMPAT_FIRST_P2P_ATTRIBUTE 1
#define HEDDLE_GPU_STAGES true
// NOLINTEND(modernize-macro-to-enum)
#define HEDDLE_GPU_GREATEST_PRIORITY (-5)
#include <heddle/sim/compat/runtime_api.h>
