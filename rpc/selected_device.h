// The host side of the machine that this build selects, as rpc.h has its Target. Like there, a machine is named by the
// file that provides it.
#pragma once

#if !__STDC_HOSTED__
#error "heddle: code for a GPU alone has no host side: compile the program that launches it with HEDDLE_TARGET=host"
#endif

#include <heddle/rpc/device.h>
#include <heddle/rpc/rpc.h>

#define HEDDLE_DEVICE_HEADER_sim <heddle/sim/device.h>
#define HEDDLE_DEVICE_HEADER_host <heddle/hw/host/device.h>
#define HEDDLE_DEVICE_HEADER_cuda <heddle/hw/cuda/device.h>
#define HEDDLE_DEVICE_HEADER_hip <heddle/hw/hip/device.h>
#define HEDDLE_DEVICE_HEADER_hip_signal <heddle/hw/hip_signal/device.h>
#include HEDDLE_PASTE(HEDDLE_DEVICE_HEADER_, HEDDLE_TARGET)

#ifdef HEDDLE_OBSERVED
#include <heddle/hw/observed/device.h>
#endif

namespace heddle {

/// The host side of the machine that this build selects; with HEDDLE_OBSERVED, the same under watch.
#ifdef HEDDLE_OBSERVED
using device = observed::basic_device<HEDDLE_TARGET::device, HEDDLE_TARGET::target>;
#else
using device = HEDDLE_TARGET::device;
#endif
static_assert(host_side<device>, "the selected machine lacks a member of the Device concept");

}  // namespace heddle
