// Allocation, copies and streams, as the runtimes of CUDA and HIP have them: what runtime_api.h spells.
#pragma once

#include <heddle/sim/compat/launch.h>
#include <heddle/sim/compat/pools.h>

#include <stddef.h>
#include <stdint.h>

// What handles of streams and events point to, by the name that programs may declare themselves.
#ifndef HEDDLE_GPU_STREAM
#define HEDDLE_GPU_STREAM CUstream_st
#define HEDDLE_GPU_EVENT CUevent_st
#endif

namespace heddle::compat {

using sim::runtime::memory_place;

inline memory_place place_on_host(bool combines) {
  return combines ? memory_place::host_combining : memory_place::host;
}

template <typename T>
void allocate(T** memory, size_t bytes, memory_place what, const char* call) {
  *memory = static_cast<T*>(sim::runtime::allocate_unnamed(bytes, what, call));
}

/// Waits for the device first, as the real ones may: a host thread that frees memory while a kernel waits for it hangs.
inline void release(void* memory) {
  if (memory == nullptr) return;
  sim::runtime::synchronize(sim::runtime::device_of(memory));
  note_released(memory);
  sim::runtime::release(memory);
}

enum class direction : uint8_t { host_to_host, host_to_device, device_to_host, device_to_device, by_pointers };

inline void check_direction(const void* to, const void* from, direction which) {
  const bool to_device = which == direction::host_to_device || which == direction::device_to_device;
  const bool from_device = which == direction::device_to_host || which == direction::device_to_device;
  if ((to_device && !sim::runtime::is_allocated(to)) || (from_device && !sim::runtime::is_allocated(from)))
    sim::runtime::trap(fault::assertion, "a copy from or to device memory is given a pointer to other memory");
}

/// One lane of the device, in its place in the stream.
inline sim::grid_shape one_lane(const void* stream, const char* named) {
  sim::grid_shape how;
  how.named = named;
  how.wave_lanes = 1;
  how.stream = stream_number(stream);
  return how;
}

inline void fill_in_stream(void* to, int value, size_t bytes, const void* stream) {
  launch_body(sim::runtime::stream_fill(to, value, bytes), one_lane(stream, "memset"));
}

/// The same with words of 2 or 4 bytes.
template <typename Word>
void fill_words_in_stream(void* to, Word value, size_t count, const void* stream) {
  Word of_one_byte = 0;
  __builtin_memset(&of_one_byte, static_cast<int>(value & 0xff), sizeof value);
  if (of_one_byte == value) return fill_in_stream(to, static_cast<int>(value & 0xff), count * sizeof value, stream);
  launch_body(
      [=] {
        for (size_t n = 0; n < count; ++n) static_cast<Word*>(to)[n] = value;
      },
      one_lane(stream, "memset"));
}

/// Behind a call that has given the default stream a copy or a fill, and may return: not where the memory says otherwise. (CUDA Driver API,
/// "cuPointerSetAttribute".)
inline void complete(const void* to, const void* from = nullptr) {
  const uint32_t stream = stream_number(nullptr);
  if (sim::runtime::waits_for_copies(to) || sim::runtime::waits_for_copies(from))
    sim::runtime::synchronize_stream(stream);
  else
    sim::runtime::note_left_to_stream(stream);
}
inline void fill(void* to, int value, size_t bytes) {
  fill_in_stream(to, value, bytes, nullptr);
  complete(to);
}

/// Of the driver's attributes of pointers, which HIP numbers alike, the one that can be set: calls that copy or fill the memory, and that may return before
/// that has ended, wait for it from now on. (CUDA Driver API, "cuPointerSetAttribute".)
inline bool set_pointer_attribute(const void* value, int attribute, const void* pointer) {
  constexpr int sync_memops = 6;
  if (value == nullptr || attribute != sync_memops || sim::runtime::allocation_of(pointer).address == nullptr)
    return false;
  sim::runtime::set_waits_for_copies(pointer, *static_cast<const unsigned int*>(value) != 0);
  return true;
}

// (CUDA Runtime API, "cudaPos", "cudaExtent", "cudaPitchedPtr".)
struct memory_position {
  size_t x, y, z;
};
struct memory_extent {
  size_t width, height, depth;
};
struct pitched_memory {
  void* ptr;
  size_t pitch, xsize, ysize;
};
inline char* row_at(const pitched_memory& of, const memory_position& from, size_t row, size_t slice) {
  return static_cast<char*>(of.ptr) + ((from.z + slice) * of.ysize + from.y + row) * of.pitch + from.x;
}

/// By one lane, in the default stream. Elements of 1, 2 or 4 bytes.
inline void fill_rows(void* to, size_t pitch, uint32_t value, size_t element_bytes, size_t width, size_t height) {
  const bool same_bytes = element_bytes == 1 || value == (value & 0xff) * 0x01010101U || value == 0;
  if (!same_bytes) sim::runtime::refuse_call("a fill of a graph", "its elements must have the same byte throughout");
  const size_t bytes = width * element_bytes;
  launch_body(
      [=] {
        for (size_t row = 0; row < height; ++row)
          sim::runtime::fill(static_cast<char*>(to) + row * pitch, static_cast<int>(value & 0xff), bytes);
      },
      one_lane(nullptr, "memset"));
}

struct given_in_stream {
  memory_place what;
  const char* call;
  uint32_t stream;
};
/// In its place in the stream, which may be another device's than the pool. Memory that a graph uses is there from the capture on, and stays.
template <typename T>
call_answer allocate_from(memory_pool* pool, T** memory, size_t bytes, const given_in_stream& how) {
  if (memory == nullptr) return call_answer::invalid_value;
  *memory = nullptr;
  const uint32_t of_pool = device_of(pool), current = sim::runtime::current_device();
  if (!has_room_for(pool, bytes)) return call_answer::no_memory;
  sim::runtime::set_current_device(of_pool);
  void* const made = is_capturing(how.stream) ? sim::runtime::allocate_unnamed(bytes, how.what, how.call)
                                              : sim::runtime::allocate_in_stream(bytes, how.what, how.call, how.stream);
  sim::runtime::set_current_device(current);
  note_allocated(pool, made, bytes);
  *memory = static_cast<T*>(made);
  return made == nullptr ? call_answer::no_memory : call_answer::done;
}
/// What memory of the stream is taken from.
inline memory_pool* pool_of_stream(const void* stream) {
  return pool_of(sim::runtime::device_of_stream(stream_number(stream)));
}
inline void release_in_stream(void* memory, const void* stream) {
  const uint32_t number = stream_number(stream);
  if (is_capturing(number)) return;
  note_released(memory);
  sim::runtime::release_in_stream(memory, number);
}

/// A call of the host, in its place in the stream.
inline void call_in_stream(void (*function)(void*), void* given, uint32_t stream) {
  if (!captures(stream, {.kind = node_kind::call, .to = given, .function = function}))
    sim::runtime::call_in_stream(function, given, stream);
}

/// Memory of the host that no copy needs a buffer for, from here on. False where some of it is that already.
bool register_host(const void* memory, size_t bytes);
/// False where none is registered that begins there.
bool unregister_host(const void* memory);
bool is_registered(const void* address);

/// What the driver cannot reach itself, pageable memory, goes through a buffer of its own; and what comes back to such memory is there
/// when the call returns. (CUDA Runtime API, "API synchronization behavior".)
inline void copy_in_stream(void* to, const void* from, size_t bytes, direction which, const void* stream) {
  if (bytes == 0) return;
  check_direction(to, from, which);
  const uint32_t number = stream_number(stream);
  if (captures(number, {.kind = node_kind::copy, .to = to, .from = from, .size_bytes = bytes})) return;
  if (!sim::runtime::is_allocated(to) && !is_registered(to)) {
    sim::runtime::synchronize_stream_to_copy(number, to, bytes);
    return sim::runtime::copy(to, from, bytes);
  }
  if (!sim::runtime::is_allocated(from) && !is_registered(from)) {
    void* const staged = sim::runtime::allocate_unnamed(bytes, memory_place::host, "staging buffer");
    sim::runtime::copy(staged, from, bytes);
    from = staged;
  }
  sim::runtime::copy_in_stream(to, from, bytes, number);
}

/// Behind all that the default streams of the devices that have the memory come behind, and before what comes behind them later. The host goes on.
inline void copy_between_devices(void* to, const void* from, size_t bytes) {
  const uint32_t stream = stream_number(nullptr);
  const uint32_t devices[] = {sim::runtime::device_of(to), sim::runtime::device_of(from)};
  const auto for_each_other = [&](auto&& visit) {
    for (size_t n = 0; n < 2; ++n) {
      if (devices[n] == sim::runtime::device_of_stream(stream) || (n == 1 && devices[1] == devices[0])) continue;
      const uint32_t event = sim::runtime::create_event();
      visit(sim::runtime::default_stream_of(devices[n]), event);
      sim::runtime::destroy_event(event);
    }
  };
  for_each_other([&](uint32_t other, uint32_t event) {
    sim::runtime::record_event(event, other);
    sim::runtime::wait_event(stream, event);
  });
  sim::runtime::copy_in_stream(to, from, bytes, stream);
  for_each_other([&](uint32_t other, uint32_t event) {
    sim::runtime::record_event(event, stream);
    sim::runtime::wait_event(other, event);
    // Blocking streams come behind work of the default stream, and not behind what that waits for.
    sim::grid_shape nothing;
    nothing.wave_lanes = 1;
    nothing.stream = other;
    launch_body([] {}, nothing);
  });
}

/// The driver's own buffer of the calling thread and its default stream, for the bytes of one copy. Another copy may take it when the stream is idle.
void* staging_buffer(size_t bytes, uint32_t stream);

/// As cudaMemcpy: a copy between devices does not wait, and one from pageable memory may return when the driver has read that, where it
/// `stages`; all others end before the call returns. (CUDA Runtime API, "API synchronization behavior".)
inline void copy(void* to, const void* from, size_t bytes, direction which, bool stages) {
  if (bytes == 0) return;
  check_direction(to, from, which);
  const bool to_device = sim::runtime::is_on_device(to);
  if (to_device && sim::runtime::is_on_device(from)) {
    copy_between_devices(to, from, bytes);
    return complete(to, from);
  }
  const uint32_t stream = stream_number(nullptr);
  sim::runtime::synchronize_stream_to_copy(stream, to, bytes);
  if (!stages || !to_device || sim::runtime::is_allocated(from) || is_registered(from))
    return sim::runtime::copy(to, from, bytes);
  void* const staged = staging_buffer(bytes, stream);
  sim::runtime::copy(staged, from, bytes);
  sim::runtime::copy_in_stream(to, staged, bytes, stream);
  complete(to);
}

}  // namespace heddle::compat
