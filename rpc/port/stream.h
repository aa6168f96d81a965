// Streams: buffers of a size of its own for each lane, over as many packets as the largest of them needs.
//
// The first packet of a lane carries the size in its first 8 bytes and up to 56 bytes of data, every later one 64 bytes. Where the port has a
// staging area, what follows the first 56 bytes goes there, from the first hand-over on, and later packets stay empty. All
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

/// How one lane's stream is cut, the same in all lanes of a call: into packets, or, where each has a part of the port's staging area, into
/// hand-overs of that size.
struct stream_cut {
  uint64_t staged_bytes = 0;  ///< of one lane: a multiple of 8, or 0 where there is no staging area

  /// At least one.
  HEDDLE_FUNCTION constexpr uint64_t hand_overs(uint64_t size_bytes) const {
    if (staged_bytes == 0 || size_bytes <= first_packet_bytes) return packets_for(size_bytes);
    return 1 + (size_bytes - first_packet_bytes - 1) / staged_bytes;
  }
  /// What of hand-over number `n` is in the packet, and what in the staging area.
  HEDDLE_FUNCTION constexpr piece in_packet(uint64_t n, uint64_t buffer_bytes) const {
    return staged_bytes == 0 || n == 0 ? piece::of(n, buffer_bytes) : piece{0, 0, 0};
  }
  HEDDLE_FUNCTION constexpr piece in_stage(uint64_t n, uint64_t buffer_bytes) const {
    const uint64_t offset = first_packet_bytes + n * staged_bytes;
    const uint64_t left = offset < buffer_bytes ? buffer_bytes - offset : 0;
    return {offset, left < staged_bytes ? left : staged_bytes, 0};
  }
};

/// The staging area of a port, shared out evenly among the lanes of its mask. Their words lie in turns, so that lanes which write their n-th
/// word together write neighbours: whole lines cross the link.
struct stage {
  uint64_t* words = nullptr;
  uint64_t mask = 0;
  uint64_t lanes = 1;  ///< of the mask
  stream_cut cut;

  /// The first word of a lane; its next ones follow `lanes` words behind each other.
  HEDDLE_FUNCTION uint64_t* of(uint32_t lane) const { return words + lanes_in(mask & ((uint64_t{1} << lane) - 1)); }
  HEDDLE_FUNCTION static constexpr uint64_t lanes_in(uint64_t mask) {
    uint64_t count = 0;
    for (; mask != 0; mask &= mask - 1) ++count;
    return count;
  }
};

// The packet is written and read by whole words: over the link a store of one byte takes as long as a store of eight
// (ROCm rocm-xio, docs/reference/performance.rst). Whole words of the buffer are copied by a constant size, which is a
// load and a store; only the last few bytes are worth a call.

template <typename Packet>
HEDDLE_FUNCTION inline void write_piece(Packet& to, const void* buffer, const piece& part) {
  if (part.size_bytes == 0) return;  // an empty buffer may be null
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

template <typename Packet>
HEDDLE_FUNCTION inline void read_piece(const Packet& from, void* buffer, const piece& part) {
  if (part.size_bytes == 0) return;
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

// Staging areas likewise. A buffer whose words are aligned is read and written by words on a GPU too, where a copy from anywhere goes byte by
// byte; and one thread that has the area for itself copies all at once.

template <typename Target>
HEDDLE_FUNCTION inline void write_stage(const stage& to, uint32_t lane, const void* buffer, const piece& part) {
  if (part.size_bytes == 0) return;
  const auto* from = static_cast<const unsigned char*>(buffer) + part.offset_bytes;
  uint64_t* words = to.of(lane);
  if (!Target::is_device() && to.lanes == 1) {
    if constexpr (requires { Target::copy_past_caches(words, from, part.size_bytes); })
      Target::copy_past_caches(words, from, part.size_bytes);
    else
      __builtin_memcpy(words, from, part.size_bytes);
    return;
  }
  uint64_t left = part.size_bytes;
  uint64_t word = 0;
  if (reinterpret_cast<uintptr_t>(from) % word_bytes == 0)
    for (; left >= word_bytes; left -= word_bytes, from += word_bytes, words += to.lanes) {
      __builtin_memcpy(&word, __builtin_assume_aligned(from, word_bytes), word_bytes);
      *words = word;
    }
  for (; left >= word_bytes; left -= word_bytes, from += word_bytes, words += to.lanes) {
    __builtin_memcpy(&word, from, word_bytes);
    *words = word;
  }
  if (left == 0) return;
  word = 0;
  __builtin_memcpy(&word, from, left);
  *words = word;
}

template <typename Target>
HEDDLE_FUNCTION inline void read_stage(const stage& from, uint32_t lane, void* buffer, const piece& part) {
  if (part.size_bytes == 0) return;
  auto* to = static_cast<unsigned char*>(buffer) + part.offset_bytes;
  const uint64_t* words = from.of(lane);
  if (!Target::is_device() && from.lanes == 1) {
    __builtin_memcpy(to, words, part.size_bytes);
    return;
  }
  uint64_t left = part.size_bytes;
  if (reinterpret_cast<uintptr_t>(to) % word_bytes == 0)
    for (; left >= word_bytes; left -= word_bytes, to += word_bytes, words += from.lanes) {
      const uint64_t word = *words;
      __builtin_memcpy(__builtin_assume_aligned(to, word_bytes), &word, word_bytes);
    }
  for (; left >= word_bytes; left -= word_bytes, to += word_bytes, words += from.lanes) {
    const uint64_t word = *words;
    __builtin_memcpy(to, &word, word_bytes);
  }
  if (left == 0) return;
  const uint64_t word = *words;
  __builtin_memcpy(to, &word, left);
}

/// One value per lane that the caller acts for: its own on a device, where one slot is all that remains after
/// optimisation; one slot a lane where one thread runs the wave.
template <typename Target, typename Value>
class per_lane {
 public:
  HEDDLE_FUNCTION Value& operator[](uint32_t lane) { return values_[Target::is_device() ? 0 : lane]; }
  HEDDLE_FUNCTION Value* values() { return values_; }

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
  const stage& area;
  uint64_t bound_bytes;
  uint64_t received;

  HEDDLE_CALLS_BACK
  template <typename Packet>
  HEDDLE_FUNCTION void operator()(Packet& from, uint32_t lane) const {
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
    if (mine.data == nullptr) return;
    read_piece(from, mine.data, area.cut.in_packet(received, mine.size_bytes));
    read_stage<Target>(area, lane, mine.data, area.cut.in_stage(received, mine.size_bytes));
  }
};

}  // namespace detail

template <typename Target, side Side, typename Check>
template <side Writer>
HEDDLE_FUNCTION detail::stage basic_port<Target, Side, Check>::stage() const {
  const uint64_t lanes = detail::stage::lanes_in(mask_);
  const uint64_t each_bytes = lanes == 0 ? 0 : end_.stage_bytes() / detail::word_bytes / lanes * detail::word_bytes;
  // Not worth it where a packet holds as much.
  if (each_bytes <= packet_bytes) return {};
  return {end_.template stage_of<Writer>(index_), mask_, lanes, {each_bytes}};
}

HEDDLE_CALLS_BACK
template <typename Target, side Side, typename Check>
template <typename Source>
  requires(!convertible_to<Source, const void*>)
HEDDLE_FUNCTION stream_result basic_port<Target, Side, Check>::send_n(Source&& source, uint64_t bound_bytes) {
  detail::per_lane<Target, bytes_view> buffers;
  for_each_lane<Target>(mask_, detail::source_reader<Target, Source>{buffers, source});

  stream_result result;
  result.refused =
      detail::lanes_where<Target>(mask_, [&](uint32_t lane) { return buffers[lane].size_bytes > bound_bytes; });
  const auto streamed_bytes = [&](uint32_t lane) {
    return buffers[lane].size_bytes > bound_bytes ? 0 : buffers[lane].size_bytes;
  };

  const detail::stage area = stage<Side>();
  uint64_t sent = 0;
  do {
    send([&](auto& to, uint32_t lane) {
      if (sent == 0) to.words[0] = buffers[lane].size_bytes;
      detail::write_piece(to, buffers[lane].data, area.cut.in_packet(sent, streamed_bytes(lane)));
      detail::write_stage<Target>(area, lane, buffers[lane].data, area.cut.in_stage(sent, streamed_bytes(lane)));
    });
    ++sent;
  } while (!ended_ && detail::lanes_where<Target>(
                          mask_, [&](uint32_t lane) { return sent < area.cut.hand_overs(streamed_bytes(lane)); }) != 0);
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
  const detail::stage area = stage<other(Side)>();
  uint64_t received = 0;
  do {
    recv(detail::stream_receiver<Target, Allocate>{sinks, allocate, area, bound_bytes, received});
    ++received;
  } while (!ended_ && detail::lanes_where<Target>(mask_, [&](uint32_t lane) {
                        return received < area.cut.hand_overs(sinks[lane].size_bytes);
                      }) != 0);

  stream_result result;
  result.refused = detail::lanes_where<Target>(mask_, [&](uint32_t lane) { return sinks[lane].refused; });
  return result;
}

}  // namespace heddle::rpc

#include <heddle/rpc/port/words.h>
