// What a program may ask of the host side of a machine: memory, launches, streams and events, and host threads beside them.
//
// The second half of the seam: target.h is for code that runs on the machine, this file for code that drives it. The
// simulator, host threads, CUDA and HIP each provide a class `device` (sim/device.h, hw/*/device.h).
#pragma once

#include <heddle/rpc/device_memory.h>
#include <heddle/rpc/launch.h>
#include <heddle/rpc/link.h>
#include <heddle/rpc/result.h>

#include <concepts>
#include <memory>
#include <span>
#include <stddef.h>
#include <stdint.h>

namespace heddle {

namespace detail {

struct empty_kernel {
  void operator()() const {}
};

template <typename Device>
concept has_memory_calls = requires(Device& device, void* memory, size_t bytes, const char* name) {
  { device.template allocate_shared<uint32_t>(bytes, name) } -> std::same_as<uint32_t*>;
  { device.template allocate_device<uint32_t>(bytes, name) } -> std::same_as<uint32_t*>;
  { device.template try_allocate_shared<uint32_t>(bytes, name) } -> std::same_as<result<uint32_t*>>;
  { device.template try_allocate_device<uint32_t>(bytes, name) } -> std::same_as<result<uint32_t*>>;
  { device.template try_allocate_mapped<uint32_t>(bytes, name) } -> std::same_as<result<uint32_t*>>;
  { device.template try_allocate_fine<uint32_t>(bytes, name) } -> std::same_as<result<uint32_t*>>;
  { device.free(memory) } -> std::same_as<void>;
  { device.try_free(memory) } -> std::same_as<result<void>>;
  { device.copy(memory, memory, bytes) } -> std::same_as<void>;
  { device.try_copy(memory, memory, bytes) } -> std::same_as<result<void>>;
};

template <typename Device>
concept has_stream_copies = requires(Device& device, void* memory, size_t bytes, typename Device::stream in) {
  { device.copy(memory, memory, bytes, in) } -> std::same_as<void>;
  { device.try_copy(memory, memory, bytes, in) } -> std::same_as<result<void>>;
};

template <typename Device>
concept has_launches = requires(Device& device, typename Device::stream in) {
  { device.launch(launch_shape{}, empty_kernel{}) } -> std::same_as<void>;
  { device.launch(launch_shape{}, empty_kernel{}, in) } -> std::same_as<void>;
  { device.try_launch(launch_shape{}, empty_kernel{}) } -> std::same_as<result<void>>;
  { device.try_launch(launch_shape{}, empty_kernel{}, in) } -> std::same_as<result<void>>;
};

/// `place` is a stream, an event, or nothing for the whole device.
template <typename Device, typename... Place>
concept can_wait_for = requires(Device& device, Place... place) {
  { device.query(place...) } -> std::same_as<bool>;
  { device.try_query(place...) } -> std::same_as<result<bool>>;
  { device.synchronize(place...) } -> std::same_as<void>;
  { device.try_synchronize(place...) } -> std::same_as<result<void>>;
};

template <typename Device>
concept has_streams = requires(Device& device, typename Device::stream stream, typename Device::event event) {
  { device.create_stream() } -> std::same_as<typename Device::stream>;
  { device.try_create_stream() } -> std::same_as<result<typename Device::stream>>;
  { device.destroy(stream) } -> std::same_as<void>;
  { device.create_event() } -> std::same_as<typename Device::event>;
  { device.try_create_event() } -> std::same_as<result<typename Device::event>>;
  { device.destroy(event) } -> std::same_as<void>;
  { device.record(event, stream) } -> std::same_as<void>;
  { device.try_record(event, stream) } -> std::same_as<result<void>>;
  { device.wait(stream, event) } -> std::same_as<void>;
  { device.try_wait(stream, event) } -> std::same_as<result<void>>;
};

}  // namespace detail

/// The host side of a machine.
///
///   Device::count()                           how many such devices this computer has; 0 is no error
///   Device device;  Device device(n);         the n-th of them, n in [0, count()); in the simulator, that of the current run
///   Device::open(n)                           the same as a result<std::unique_ptr<Device>>
///   Device::open_unified(indices)             one device that is these, in this order; a span of numbers. An error on hardware: no
///                                             runtime has such a device. On it the blocks of a launch, and the pages of an allocation, are
///                                             dealt out evenly, neighbours together; `device` scope does not reach from one to another
///   Device::open_process(n)                   the n-th device as another process has it, with an address space of its own: what one
///                                             process has allocated on the device, kernels and copies of another have no access
///                                             to. An error on hardware, where a program is one process
///   device.max_lanes()                        the widest wave that launch_shape::lanes may name
/// Memory
///   device.allocate_shared<T>(n, name)        n zeroed elements that host and device both reach; never null
///   device.allocate_device<T>(n, name)        n zeroed elements in device memory; never null; host code must use copy()
///   device.try_allocate_mapped<T>(n, name)    n zeroed elements in device memory that host code reaches by the same pointer,
///                                             both sides at a time; a machine on which that is not safe says why
///   device.try_allocate_fine<T>(n, name)      n zeroed elements in device memory in which a kernel that runs sees what the host copies there,
///                                             and the host's copies what it stores; elsewhere either may be as it was at the launch
///   device.try_allocate_moving<T>(n, name)    the same as allocate_device, whose pages move to the device whose kernels use them first;
///                                             device.page_of(pointer) says where a byte is, and device.at(address) what the process
///                                             has at a virtual address. Errors on hardware: page tables cannot be looked at
///   device.memory()                           how much of its own memory the device has, and how much of that is free
///   device.free(pointer)                      gives any kind back, null does nothing; the destructor gives back what is left
///   device.copy(to, from, bytes)              between any two of host, shared and device memory, of any devices; has happened on return; waits
///                                             for no launch. Beside a kernel that stores there atomically each aligned word of 8
///                                             bytes is copied whole, and in any order with the other words of the same copy
///   device.link()                             what the link to the host can do (link.h); protocols say what they need of it
/// Launches
///   device.launch(shape, kernel)              runs `kernel()` once per lane; `kernel` is copied byte by byte; in order with
///                                             earlier launches; does not wait
///   device.launch(shape, kernel, stream)      the same, in order with the launches of that stream only
///   device.copy(to, from, bytes, stream)      a copy as a launch of that stream: in its order, and does not wait. The bytes must stay
///                                             until it has ended. On no thread's stack; other host memory than the device's
///                                             own is allowed, but a runtime may then wait
///   device.query()                            whether all launches of all streams have ended; never waits
///   device.synchronize()                      returns when they have
///   device.query(stream), synchronize(stream) the same of one stream
/// A GPU need not start a kernel while its host never asks: until a launch has ended some host thread must stay in
/// synchronize(), or in a loop that calls query() (CUDA C++ execution model, Execution.Model.API).
/// Streams and events: Device::stream and Device::event are small values. They belong to the device and end with it.
///   device.create_stream(), destroy(stream)   what a destroyed stream was given goes on
///   device.create_event(), destroy(event)
///   device.record(event, stream)              the event is now the place behind the stream's last launch
///   device.wait(stream, event)                later launches of the stream begin after that place, as it is recorded now
///   device.query(event), synchronize(event)   whether that place has been reached; true of an event never recorded
/// Threads
///   device.spawn_host(name, function)         a host thread that runs `function()`; the result is movable, its join()
///                                             waits, its destructor joins
///
/// `name` is a string that outlives the device; reports use it. Any thread may call any member. A call that fails ends
/// the program with the runtime's own message; its twin `try_...` answers with a `result` instead (result.h). In the
/// simulator errors are a verdict, and the twins succeed wherever they return.
template <typename Device>
concept host_side =
    detail::has_memory_calls<Device> && detail::has_stream_copies<Device> && detail::has_launches<Device> &&
    detail::has_streams<Device> && detail::can_wait_for<Device> &&
    detail::can_wait_for<Device, typename Device::stream> && detail::can_wait_for<Device, typename Device::event> &&
    requires(Device& device, uint32_t index, std::span<const uint32_t> indices, const char* name, void (*function)()) {
      { Device::count() } -> std::same_as<uint32_t>;
      { Device::open(index) } -> std::same_as<result<std::unique_ptr<Device>>>;
      { Device(index) };
      { Device::open_unified(indices) } -> std::same_as<result<std::unique_ptr<Device>>>;
      { Device::open_process(index).why() } -> std::same_as<const error&>;
      { device.page_of(name) } -> std::same_as<result<device_page>>;
      { device.at(uint64_t{}) } -> std::same_as<result<void*>>;
      { device.template try_allocate_moving<uint32_t>(size_t{}, name) } -> std::same_as<result<uint32_t*>>;
      { device.memory() } -> std::same_as<device_memory>;
      { device.try_memory() } -> std::same_as<result<device_memory>>;
      { device.max_lanes() } -> std::same_as<uint32_t>;
      { device.link() } -> std::same_as<link_properties>;
      { device.try_link() } -> std::same_as<result<link_properties>>;
      { device.spawn_host(name, function).join() } -> std::same_as<void>;
    };

}  // namespace heddle
