// A scenario: one test of a program that talks to its host, with its parameters and the verdict that it expects.
//
//   void echo(const heddle::parameters& set) {
//     heddle::device device;
//     ...
//   }
//   HEDDLE_SCENARIO(echo, {.name = "port.echo", .summary = "...", .parameters = {...}});
#pragma once

#include <heddle/rpc/rpc.h>
#include <heddle/tools/registry.h>

#include <utility>

#define HEDDLE_DEVICE_HEADER_sim <heddle/sim/device.h>
#define HEDDLE_DEVICE_HEADER_host <heddle/hw/host/device.h>
#define HEDDLE_DEVICE_HEADER_cuda <heddle/hw/cuda/device.h>
#define HEDDLE_DEVICE_HEADER_hip <heddle/hw/hip/device.h>
#include HEDDLE_PASTE(HEDDLE_DEVICE_HEADER_, HEDDLE_TARGET)

namespace heddle {

/// The host side of the machine that this build selects.
using device = HEDDLE_TARGET::device;
static_assert(host_side<device>, "the selected machine lacks a member of the Device concept");

}  // namespace heddle

/// Registers `body` as a scenario; the rest are the fields of heddle::scenario but the body.
#define HEDDLE_SCENARIO(function, ...)                                   \
  [[maybe_unused]] static const bool heddle_registered_##function = [] { \
    heddle::scenario added = __VA_ARGS__;                                \
    added.body = function;                                               \
    return heddle::register_scenario(std::move(added));                  \
  }()

/// Ends the run with verdict `assertion` when the condition does not hold. Works in kernels and on the host.
#define HEDDLE_CHECK(condition, message)                                             \
  do {                                                                               \
    if (!(condition)) ::heddle::target::trap(::heddle::fault::assertion, (message)); \
  } while (false)
