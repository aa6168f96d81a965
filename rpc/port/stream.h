// Streams: buffers of a size of its own for each lane, over as many packets as the largest of them needs.
//
// The first packet of a lane carries the size in its first 8 bytes and up to 56 bytes of data, every later one 64 bytes. All
// lanes make the same number of hand-overs, or a wave would come apart. A size above the bound travels as it is, without data:
// both ends hold the same bound and so count the same packets, and nothing is allocated or read for such a lane.
#pragma once

#include <heddle/rpc/port/port.h>

namespace heddle::rpc {

/// What one lane streams.
struct bytes_view {
  const void* data = nullptr;
  uint64_t size_bytes = 0;
};

namespace detail {

inline constexpr uint64_t word_bytes = sizeof(uint64_t);
inline constexpr uint64_t first_packet_bytes = packet_bytes - word_bytes;

/// Hand-overs that `size_bytes` needs, at least one.
HEDDLE_FUNCTION constexpr uint64_t packets_for(uint64_t size_bytes) {
  if (size_bytes <= first_packet_bytes) return 1;
  // Rounds up after subtracting, so that no size wraps: a bound may be anything.
  return 2 + (size_bytes - first_packet_bytes - 1) / packet_bytes;
}

/// Which part of a buffer lies in packet number `n` of its stream.
struct piece {
  uint64_t offset_bytes;
  uint64_t size_bytes;
  uint32_t first_word;  ///< of the packet

  HEDDLE_FUNCTION static constexpr piece of(uint64_t n, uint64_t buffer_bytes) {
    const uint64_t offset = n == 0 ? 0 : first_packet_bytes + (n - 1) * packet_bytes;
    const uint64_t room = n == 0 ? first_packet_bytes : packet_bytes;
    const uint64_t left = offset < buffer_bytes ? buffer_bytes - offset : 0;
    return {offset, left < room ? left : room, n == 0 ? 1u : 0u};
  }
};

// The packet is written and read by whole words: over the link a store of one byte takes as long as a store of eight
// (ROCm rocm-xio, docs/reference/performance.rst). Whole words of the buffer are copied by a constant size, which is a
// load and a store; only the last few bytes are worth a call.

HEDDLE_FUNCTION inline void write_piece(packet& to, const void* buffer, const piece& part) {
  const auto* from = static_cast<const unsigned char*>(buffer) + part.offset_bytes;
  uint64_t left = part.size_bytes;
  uint32_t n = part.first_word;
  for (; left >= word_bytes; ++n) {
    uint64_t word;
    __builtin_memcpy(&word, from, word_bytes);
    to.words[n] = word;
    from += word_bytes;
    left -= word_bytes;
  }
  if (left == 0) return;
  uint64_t word = 0;
  __builtin_memcpy(&word, from, left);
  to.words[n] = word;
}

HEDDLE_FUNCTION inline void read_piece(const packet& from, void* buffer, const piece& part) {
  auto* to = static_cast<unsigned char*>(buffer) + part.offset_bytes;
  uint64_t left = part.size_bytes;
  uint32_t n = part.first_word;
  for (; left >= word_bytes; ++n) {
    const uint64_t word = from.words[n];
    __builtin_memcpy(to, &word, word_bytes);
    to += word_bytes;
    left -= word_bytes;
  }
  if (left == 0) return;
  const uint64_t word = from.words[n];
  __builtin_memcpy(to, &word, left);
}

/// One value per lane that the caller acts for: its own on a device, where one slot is all that remains after
/// optimisation; one slot a lane where one thread runs the wave.
template <typename Target, typename Value>
class per_lane {
 public:
  HEDDLE_FUNCTION Value& operator[](uint32_t lane) { return values_[Target::is_device() ? 0 : lane]; }

 private:
  Value values_[max_lanes];
};

/// The lanes of `mask` for which `holds(lane)`, in every lane.
template <typename Target, typename Predicate>
HEDDLE_FUNCTION inline uint64_t lanes_where(uint64_t mask, Predicate&& holds) {
  if (Target::is_device()) return Target::ballot(mask, holds(Target::lane_id()));
  uint64_t found = 0;
  for_each_lane<Target>(mask, [&](uint32_t lane) { found |= uint64_t{holds(lane)} << lane; });
  return found;
}

/// Keeps what `source(lane)` names.
template <typename Target, typename Source>
struct source_reader {
  per_lane<Target, bytes_view>& buffers;
  Source& source;
  HEDDLE_CALLS_BACK
  HEDDLE_FUNCTION void operator()(uint32_t lane) const { buffers[lane] = source(lane); }
};

/// Where a lane's stream goes.
struct stream_sink {
  void* data;
  uint64_t size_bytes;  ///< that the other end streams: 0 above the bound
  bool refused;
};

/// Takes packet number `received` of a lane's stream.
template <typename Target, typename Allocate>
struct stream_receiver {
  per_lane<Target, stream_sink>& sinks;
  Allocate& allocate;
  uint64_t bound_bytes;
  uint64_t received;

  HEDDLE_CALLS_BACK
  HEDDLE_FUNCTION void operator()(packet& from, uint32_t lane) const {
    stream_sink& mine = sinks[lane];
    if (received == 0) {
      uint64_t named_bytes = 0;
      // A host reads it once: its client may be hostile, and must not name another size behind the check.
      if (Target::is_device())
        named_bytes = from.words[0];
      else
        named_bytes = *static_cast<const volatile uint64_t*>(&from.words[0]);
      const bool too_large = named_bytes > bound_bytes;
      mine.data = nullptr;
      if (!too_large) mine.data = allocate(lane, named_bytes);
      mine.size_bytes = too_large ? 0 : named_bytes;
      mine.refused = too_large || (mine.data == nullptr && named_bytes != 0);
    }
    if (mine.data != nullptr) read_piece(from, mine.data, piece::of(received, mine.size_bytes));
  }
};

}  // namespace detail

HEDDLE_CALLS_BACK
template <typename Target, side Side, typename Check>
template <typename Source>
  requires(!std::convertible_to<Source, const void*>)
HEDDLE_FUNCTION stream_result basic_port<Target, Side, Check>::send_n(Source&& source, uint64_t bound_bytes) {
  detail::per_lane<Target, bytes_view> buffers;
  for_each_lane<Target>(mask_, detail::source_reader<Target, Source>{buffers, source});

  stream_result result;
  result.refused =
      detail::lanes_where<Target>(mask_, [&](uint32_t lane) { return buffers[lane].size_bytes > bound_bytes; });
  const auto streamed_bytes = [&](uint32_t lane) {
    return buffers[lane].size_bytes > bound_bytes ? 0 : buffers[lane].size_bytes;
  };

  uint64_t sent = 0;
  do {
    send([&](packet& to, uint32_t lane) {
      if (sent == 0) to.words[0] = buffers[lane].size_bytes;
      detail::write_piece(to, buffers[lane].data, detail::piece::of(sent, streamed_bytes(lane)));
    });
    ++sent;
  } while (!ended_ && detail::lanes_where<Target>(
                          mask_, [&](uint32_t lane) { return sent < detail::packets_for(streamed_bytes(lane)); }) != 0);
  return result;
}

template <typename Target, side Side, typename Check>
HEDDLE_FUNCTION stream_result basic_port<Target, Side, Check>::send_n(const void* data, uint64_t size_bytes,
                                                                      uint64_t bound_bytes) {
  return send_n([&](uint32_t) { return bytes_view{data, size_bytes}; }, bound_bytes);
}

HEDDLE_CALLS_BACK
template <typename Target, side Side, typename Check>
template <typename Allocate>
HEDDLE_FUNCTION stream_result basic_port<Target, Side, Check>::recv_n(Allocate&& allocate, uint64_t bound_bytes) {
  detail::per_lane<Target, detail::stream_sink> sinks;
  for_each_lane<Target>(mask_, [&](uint32_t lane) { sinks[lane] = {nullptr, 0, false}; });
  uint64_t received = 0;
  do {
    recv(detail::stream_receiver<Target, Allocate>{sinks, allocate, bound_bytes, received});
    ++received;
  } while (!ended_ && detail::lanes_where<Target>(mask_, [&](uint32_t lane) {
                        return received < detail::packets_for(sinks[lane].size_bytes);
                      }) != 0);

  stream_result result;
  result.refused = detail::lanes_where<Target>(mask_, [&](uint32_t lane) { return sinks[lane].refused; });
  return result;
}

}  // namespace heddle::rpc
