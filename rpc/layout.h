// Where mailboxes, headers and packets lie in the one allocation that client and server share.
//
// In this order, each part on a cache line of its own: doorbell, the client's outbox, the server's outbox, headers,
// packets, and staging areas. A side stores only to its own outbox and loads only from the other's, so that no read-modify-write of the
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

  HEDDLE_FUNCTION static constexpr size_t doorbell_offset() { return 0; }
  HEDDLE_FUNCTION static constexpr size_t client_outbox_offset() { return line_bytes; }
  HEDDLE_FUNCTION constexpr size_t server_outbox_offset() const {
    return client_outbox_offset() + whole_lines(ports * sizeof(uint32_t));
  }
  HEDDLE_FUNCTION constexpr size_t header_offset() const {
    return server_outbox_offset() + whole_lines(ports * sizeof(uint32_t));
  }
  HEDDLE_FUNCTION constexpr size_t packet_offset() const {
    return header_offset() + whole_lines(ports * sizeof(header));
  }
  HEDDLE_FUNCTION constexpr size_t stage_offset() const {
    return packet_offset() + size_t{ports} * lanes * sizeof(packet);
  }
  /// From one port's staging area to the next.
  HEDDLE_FUNCTION constexpr size_t stage_step() const { return whole_lines(stage_bytes); }
  /// The size of the shared allocation, which must be zeroed and aligned to line_bytes.
  HEDDLE_FUNCTION constexpr size_t size_bytes() const { return stage_offset() + ports * stage_step(); }
  /// Words of 32 bits that each side keeps in memory of its own: what it knows of its ports, eight to a word (rpc/port/process.h), then one in which
  /// a client counts rings, and a server is told to give up.
  HEDDLE_FUNCTION constexpr size_t own_words() const { return last_own_index() + 1; }
  HEDDLE_FUNCTION constexpr size_t last_own_index() const { return (size_t{ports} + 7) / 8; }

 private:
  HEDDLE_FUNCTION static constexpr size_t whole_lines(size_t bytes) {
    return (bytes + line_bytes - 1) / line_bytes * line_bytes;
  }
};

}  // namespace heddle::rpc
