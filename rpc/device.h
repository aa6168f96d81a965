// What a program may ask of the host side of a machine: memory, launches, and host threads beside them.
//
// The second half of the seam: target.h is for code that runs on the machine, this file for code that drives it. The
// simulator, host threads, CUDA and HIP each provide a class `device` (sim/device.h, hw/*/device.h).
#pragma once

#include <concepts>
#include <stddef.h>
#include <stdint.h>

namespace heddle {

/// The shape of a launch. `lanes` may be less than the machine's wave: the rest of each wave then does not take part.
struct launch_shape {
  uint32_t blocks = 1;
  uint32_t waves = 1;  ///< per block
  uint32_t lanes = 1;  ///< per wave
};

namespace detail {
struct empty_kernel {
  void operator()() const {}
};
}  // namespace detail

/// The host side of a machine.
///
///   Device device;                            the machine's first device; in the simulator, the one of the current run
///   device.max_lanes()                        the widest wave that launch_shape::lanes may name
///   device.allocate_shared<T>(n, name)        n zeroed elements that host and device both reach; never null
///   device.allocate_device<T>(n, name)        n zeroed elements in device memory; never null; host code must use copy()
///   device.free(pointer)                      gives either kind back, null does nothing; the destructor gives back what is left
///   device.copy(to, from, bytes)              between any two of host, shared and device memory; has happened on return
///   device.launch(shape, kernel)              runs `kernel()` once per lane; `kernel` is copied byte by byte; in order with
///                                             earlier launches; does not wait
///   device.query()                            whether all launches have ended; a server loop must call it, because a GPU
///                                             need not start a kernel while its host never asks (CUDA execution model)
///   device.synchronize()                      returns when all launches have ended
///   device.spawn_host(name, function)         a host thread that runs `function()`; the result is movable, its join()
///                                             waits, its destructor joins
/// `name` is a string that outlives the device; reports use it. Errors of the machine end the program with the runtime's
/// own message; in the simulator they are a verdict.
template <typename Device>
concept host_side = requires(Device& device, void* memory, size_t bytes, const char* name, void (*function)()) {
  { device.max_lanes() } -> std::same_as<uint32_t>;
  { device.template allocate_shared<uint32_t>(bytes, name) } -> std::same_as<uint32_t*>;
  { device.template allocate_device<uint32_t>(bytes, name) } -> std::same_as<uint32_t*>;
  { device.free(memory) } -> std::same_as<void>;
  { device.copy(memory, memory, bytes) } -> std::same_as<void>;
  { device.launch(launch_shape{}, detail::empty_kernel{}) } -> std::same_as<void>;
  { device.query() } -> std::same_as<bool>;
  { device.synchronize() } -> std::same_as<void>;
  { device.spawn_host(name, function).join() } -> std::same_as<void>;
};

}  // namespace heddle
