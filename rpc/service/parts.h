// Streams made of several buffers: what a client sends and receives without first putting it together anywhere.
//
// On the wire a gathered stream is a stream as of send_n and recv_n (port/stream.h), of the buffers one behind the
// other, each padded to whole words; the server sees one block. Of an answer the last one is not padded.
#pragma once

#include <heddle/rpc/port/stream.h>
#include <heddle/rpc/service/request.h>

namespace heddle::rpc::detail {

HEDDLE_FUNCTION constexpr uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/// Where a part of an answer goes. What is longer than that is dropped.
struct part_sink {
  void* data = nullptr;
  uint64_t size_bytes = 0;
};

/// Reads the buffers of one lane word by word; the last word of each is filled up with zeros.
template <uint32_t Count>
class gathered_words {
 public:
  HEDDLE_FUNCTION uint64_t next(const bytes_view (&parts)[Count]) {
    while (part_ < Count && offset_ >= parts[part_].size_bytes) {
      ++part_;
      offset_ = 0;
    }
    uint64_t word = 0;
    if (part_ == Count) return word;
    const uint64_t left = parts[part_].size_bytes - offset_;
    const auto* const from = static_cast<const unsigned char*>(parts[part_].data) + offset_;
    if (left >= word_bytes)
      __builtin_memcpy(&word, from, word_bytes);
    else
      __builtin_memcpy(&word, from, left);
    offset_ += word_bytes;
    return word;
  }

 private:
  uint32_t part_ = 0;
  uint64_t offset_ = 0;
};

/// Writes a stream into the buffers of one lane, word by word.
template <uint32_t Count>
class scattered_words {
 public:
  /// `valid_bytes`, 1 to 8, of the word are part of the stream.
  HEDDLE_FUNCTION void next(const part_sink (&parts)[Count], uint64_t word, uint64_t valid_bytes) {
    while (part_ < Count && offset_ >= parts[part_].size_bytes) {
      ++part_;
      offset_ = 0;
    }
    if (part_ == Count) return;
    const uint64_t left = least(parts[part_].size_bytes - offset_, valid_bytes);
    auto* const to = static_cast<unsigned char*>(parts[part_].data) + offset_;
    if (left >= word_bytes)
      __builtin_memcpy(to, &word, word_bytes);
    else
      __builtin_memcpy(to, &word, left);
    offset_ += word_bytes;
  }

 private:
  uint32_t part_ = 0;
  uint64_t offset_ = 0;
};

/// Fills packet number `sent` of each lane's stream. All lanes that one thread runs send the same.
template <typename Target, uint32_t Count>
struct part_sender {
  per_lane<Target, gathered_words<Count>>& words;
  const bytes_view (&parts)[Count];
  const stage& area;
  uint64_t size_bytes;
  uint64_t sent;
  bool too_large;

  template <typename Packet>
  HEDDLE_FUNCTION void operator()(Packet& to, uint32_t lane) const {
    if (sent == 0) to.words[0] = size_bytes;
    const uint64_t streamed_bytes = too_large ? 0 : size_bytes;
    const piece part = area.cut.in_packet(sent, streamed_bytes);
    const uint64_t count = part.size_bytes < packet_bytes ? part.size_bytes : packet_bytes;
    for (uint32_t n = 0; n < count / word_bytes; ++n) to.words[part.first_word + n] = words[lane].next(parts);
    const uint64_t staged = area.cut.in_stage(sent, streamed_bytes).size_bytes / word_bytes;
    uint64_t* at = staged == 0 ? nullptr : area.of(lane);
    for (uint64_t n = 0; n < staged; ++n, at += area.lanes) *at = words[lane].next(parts);
  }
};

template <typename Target, uint32_t Count>
struct part_receiver {
  per_lane<Target, scattered_words<Count>>& words;
  per_lane<Target, uint64_t>& size_bytes;
  const part_sink (&parts)[Count];
  const stage& area;
  uint64_t received;
  uint64_t bound_bytes;

  template <typename Packet>
  HEDDLE_FUNCTION void operator()(Packet& from, uint32_t lane) const {
    if (received == 0) {
      const uint64_t named_bytes = from.words[0];
      size_bytes[lane] = named_bytes > bound_bytes ? 0 : named_bytes;
    }
    const piece part = area.cut.in_packet(received, size_bytes[lane]);
    for (uint32_t n = 0; n < (part.size_bytes + word_bytes - 1) / word_bytes && part.first_word + n < 8; ++n)
      words[lane].next(parts, from.words[part.first_word + n], least(word_bytes, part.size_bytes - n * word_bytes));
    const uint64_t staged_bytes = area.cut.in_stage(received, size_bytes[lane]).size_bytes;
    const uint64_t* at = staged_bytes == 0 ? nullptr : area.of(lane);
    for (uint64_t done = 0; done < staged_bytes; done += word_bytes, at += area.lanes)
      words[lane].next(parts, *at, least(word_bytes, staged_bytes - done));
  }
};

/// What the stream of these parts takes, or more than the bound.
template <uint32_t Count>
HEDDLE_FUNCTION uint64_t bytes_of_parts(const bytes_view (&parts)[Count], uint64_t bound_bytes) {
  uint64_t size_bytes = 0;
  bool too_large = false;
  for (uint32_t n = 0; n < Count; ++n) {
    // Each by itself first: a sum of sizes may wrap.
    if (parts[n].size_bytes > bound_bytes) too_large = true;
    size_bytes += whole_words(parts[n].size_bytes);
  }
  return too_large || size_bytes > bound_bytes ? bound_bytes + 1 : size_bytes;
}

/// Streams `parts` of each lane of the port's mask; the server's recv_n has the same bound. A lane with more than that
/// sends its size and nothing else.
template <typename Target, typename Port, uint32_t Count>
HEDDLE_FUNCTION void send_parts(Port& port, const bytes_view (&parts)[Count], uint64_t bound_bytes) {
  const uint64_t size_bytes = bytes_of_parts(parts, bound_bytes);
  const bool too_large = size_bytes > bound_bytes;
  const stage area = port.template stage<Port::here>();
  const uint64_t hand_overs = area.cut.hand_overs(too_large ? 0 : size_bytes);
  per_lane<Target, gathered_words<Count>> words;
  uint64_t sent = 0;
  do {
    port.send(part_sender<Target, Count>{words, parts, area, size_bytes, sent, too_large});
    ++sent;
  } while (!port.ended() && lanes_where<Target>(port.mask(), [&](uint32_t) { return sent < hand_overs; }) != 0);
}

/// Receives a stream into `parts` of each lane; where one thread runs the wave, each lane's is written over the one before.
template <typename Target, typename Port, uint32_t Count>
HEDDLE_FUNCTION void recv_parts(Port& port, const part_sink (&parts)[Count], uint64_t bound_bytes) {
  per_lane<Target, scattered_words<Count>> words;
  per_lane<Target, uint64_t> size_bytes;
  const stage area = port.template stage<other(Port::here)>();
  uint64_t received = 0;
  do {
    port.recv(part_receiver<Target, Count>{words, size_bytes, parts, area, received, bound_bytes});
    ++received;
  } while (!port.ended() && lanes_where<Target>(port.mask(), [&](uint32_t lane) {
                              return received < area.cut.hand_overs(size_bytes[lane]);
                            }) != 0);
}

}  // namespace heddle::rpc::detail
