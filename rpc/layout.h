// Where mailboxes, headers and packets lie in the allocation that client and server share, or in the two that they share.
//
// In this order, each part on a cache line of its own: doorbell, the client's outbox, the server's outbox, headers,
// packets, and staging areas. In two allocations each side writes one of them alone, the client that of the requests, with the doorbell, and the
// server that of the answers: its outbox, headers, packets, and staging areas. So each can lie near the side that reads it. A side stores only to its own outbox and loads only from the other's, so that no read-modify-write of the
// base protocol crosses the link (PCIe offers few of them, and many GPUs none on host memory).
#pragma once

#include <heddle/rpc/target.h>

#include <stddef.h>

namespace heddle::rpc {

/// What one lane sends or receives in one hand-over.
struct packet {
  uint64_t words[8];

  /// The same as bytes.
  HEDDLE_FUNCTION unsigned char* bytes() { return reinterpret_cast<unsigned char*>(words); }
  HEDDLE_FUNCTION const unsigned char* bytes() const { return reinterpret_cast<const unsigned char*>(words); }
  /// The same as a value that is copied byte by byte, in its first bytes; the rest stays as it is.
  template <typename T>
  HEDDLE_FUNCTION void put(const T& value) {
    static_assert(__is_trivially_copyable(T) && sizeof(T) <= sizeof words,
                  "a value of at most 64 bytes that is copied byte by byte");
    __builtin_memcpy(words, &value, sizeof value);
  }
  template <typename T>
  HEDDLE_FUNCTION T get() const {
    static_assert(__is_trivially_copyable(T) && sizeof(T) <= sizeof words,
                  "a value of at most 64 bytes that is copied byte by byte");
    T value;
    __builtin_memcpy(&value, words, sizeof value);
    return value;
  }
};
static_assert(sizeof(packet) == 64);

/// A packet whose words lie `lanes` words from each other: a view of it, for ports whose packets lie by word (by_word_and). What a packet has, but
/// for its bytes.
class word_packet {
 public:
  struct strided {
    uint64_t* first;
    uint32_t step;
    HEDDLE_FUNCTION uint64_t& operator[](uint32_t n) const { return first[size_t{n} * step]; }
  };
  HEDDLE_FUNCTION word_packet(uint64_t* first, uint32_t lanes) : words{first, lanes} {}

  template <typename T>
  HEDDLE_FUNCTION void put(const T& value) const {
    packet whole;
    constexpr uint32_t count = (sizeof(T) + sizeof(uint64_t) - 1) / sizeof(uint64_t);
    // The rest of the last word stays as it is.
    whole.words[count - 1] = words[count - 1];
    whole.put(value);
    for (uint32_t n = 0; n < count; ++n) words[n] = whole.words[n];
  }
  template <typename T>
  HEDDLE_FUNCTION T get() const {
    packet whole;
    constexpr uint32_t count = (sizeof(T) + sizeof(uint64_t) - 1) / sizeof(uint64_t);
    for (uint32_t n = 0; n < count; ++n) whole.words[n] = words[n];
    return whole.template get<T>();
  }

  strided words;
};
inline constexpr uint64_t packet_bytes = sizeof(packet);

/// Written by the client's first lane while the client owns the port, but for `step`, which the owner writes at each
/// hand-over of a checked build.
struct header {
  uint64_t mask;    ///< the lanes that opened the port
  uint16_t opcode;  ///< what is asked
  uint16_t unused;
  uint32_t step;  ///< hand-overs since the port was opened and what the last one was, see port.h
};
static_assert(sizeof(header) == 16);

inline constexpr uint32_t max_ports = 16384;
inline constexpr uint32_t max_lanes = 64;
inline constexpr size_t line_bytes = 64;
inline constexpr uint32_t max_stage_bytes = uint32_t{1} << 24;

/// Offsets in bytes for `ports` ports of `lanes` lanes each; ports in [1, max_ports], lanes in [1, max_lanes]. Behind the packets each port may
/// have a staging area of `stage_bytes`, which the lanes of a call share: streams then take what fits there in one hand-over. At most
/// max_stage_bytes; both ends must name the same.
struct layout {
  uint32_t ports;
  uint32_t lanes;
  uint32_t stage_bytes = 0;
  bool apart = false;  ///< in two allocations
  bool words = false;  ///< with a place for an answer of one word of each lane (port/words.h); unused where `apart`

  HEDDLE_FUNCTION constexpr bool is_valid() const {
    return ports != 0 && ports <= max_ports && lanes != 0 && lanes <= max_lanes && stage_bytes <= max_stage_bytes;
  }
  HEDDLE_FUNCTION static constexpr size_t doorbell_offset() { return 0; }
  HEDDLE_FUNCTION static constexpr size_t client_outbox_offset() { return line_bytes; }
  /// In the answers' allocation, where there are two.
  HEDDLE_FUNCTION constexpr size_t server_outbox_offset() const {
    return apart ? 0 : client_outbox_offset() + outbox_bytes();
  }
  HEDDLE_FUNCTION constexpr size_t header_offset() const {
    return client_outbox_offset() + (apart ? 1 : 2) * outbox_bytes();
  }
  HEDDLE_FUNCTION constexpr size_t packet_offset() const {
    return header_offset() + whole_lines(ports * sizeof(header));
  }
  HEDDLE_FUNCTION constexpr size_t stage_offset() const {
    return packet_offset() + size_t{ports} * lanes * sizeof(packet);
  }
  /// Of what the server writes, in the answers' allocation where there are two, and otherwise the same as of what the client writes.
  HEDDLE_FUNCTION constexpr size_t answer_header_offset() const { return apart ? outbox_bytes() : header_offset(); }
  HEDDLE_FUNCTION constexpr size_t answer_packet_offset() const {
    return answer_header_offset() + whole_lines(ports * sizeof(header));
  }
  HEDDLE_FUNCTION constexpr size_t answer_stage_offset() const {
    return answer_packet_offset() + size_t{ports} * lanes * sizeof(packet);
  }
  /// Of the answers of one word, behind all else: 16 bytes for each lane of each port.
  HEDDLE_FUNCTION constexpr size_t word_offset() const { return stage_offset() + ports * stage_step(); }
  /// From one port's staging area to the next.
  HEDDLE_FUNCTION constexpr size_t stage_step() const { return whole_lines(stage_bytes); }
  /// The size of the shared allocation, or of the requests', which must be zeroed and aligned to line_bytes.
  HEDDLE_FUNCTION constexpr size_t size_bytes() const {
    return word_offset() + (words ? whole_lines(size_t{ports} * lanes * 2 * sizeof(uint64_t)) : 0);
  }
  /// The size of the answers' allocation, likewise; 0 where there is none.
  HEDDLE_FUNCTION constexpr size_t answer_bytes() const {
    return apart ? answer_stage_offset() + ports * stage_step() : 0;
  }
  /// Words of 32 bits that each side keeps in memory of its own: what it knows of its ports, eight to a word (rpc/own.h), then one in which
  /// a client counts rings, and a server is told to give up.
  HEDDLE_FUNCTION constexpr size_t own_words() const { return last_own_index() + 1; }
  HEDDLE_FUNCTION constexpr size_t last_own_index() const { return (size_t{ports} + 7) / 8; }

 private:
  HEDDLE_FUNCTION constexpr size_t outbox_bytes() const { return whole_lines(ports * sizeof(uint32_t)); }
  HEDDLE_FUNCTION static constexpr size_t whole_lines(size_t bytes) {
    return (bytes + line_bytes - 1) / line_bytes * line_bytes;
  }
};

/// The memory of a layout: one allocation, or two where it is `apart`.
struct port_memory {
  HEDDLE_FUNCTION constexpr port_memory(void* both)
      : requests(both) {}  // NOLINT(google-explicit-constructor): most have one
  HEDDLE_FUNCTION constexpr port_memory(void* of_requests, void* of_answers)
      : requests(of_requests), answers(of_answers) {}

  void* requests;
  void* answers = nullptr;
};

}  // namespace heddle::rpc
