// The wire of LLVM's libc for GPUs: where its parts lie, and what its opcodes are.
//
// Offsets and sizes are those that `Process` of libc/shared/rpc.h computes (llvm-project 039da685, 329eca02), with the server's outbox in
// front; and those of 2026, which have a doorbell before it. A mailbox holds 0 or 1: equal words, the client owns the packet; different
// words, the server does.
#pragma once

#include <heddle/rpc/target.h>

#include <stddef.h>

namespace heddle::rpc::llvm {

/// What one lane sends or receives in one hand-over.
struct packet {
  uint64_t words[8];
};
static_assert(sizeof(packet) == 64);

/// Written by the client before its first hand-over.
struct header {
  uint64_t mask;    ///< the lanes that opened the port
  uint32_t opcode;  ///< what is asked
  uint32_t unused;
};
static_assert(sizeof(header) == 16);

/// Which header a client was built with. Nothing in memory says so: both ends must be told.
enum class revision : uint8_t {
  of_2025,  ///< 039da685 and before: mailboxes in front
  of_2026,  ///< since 4961700c (#188067): a doorbell in front, and more ports
};

/// In the line in front of the revision of 2026, rpc::Doorbell: fields of AMD's signal structure, by which a kernel interrupts the host. The host
/// writes it before the first call.
struct doorbell_words {
  /// Of calls: a client adds 1 when it opens a port, the server takes it off when it closes the port. Null: there is no doorbell.
  uint64_t* count = nullptr;
  /// Where a client that finds the count at 0 stores `event`, before it interrupts the host.
  uint64_t* mailbox = nullptr;
  uint32_t event = 0;
};
inline constexpr size_t doorbell_bytes = 64;

/// The bits of the client's locks, MAX_PORT_COUNT of rpc.h.
inline constexpr uint32_t max_ports = 4096;
inline constexpr uint32_t max_ports_of_2026 = 16384;
HEDDLE_FUNCTION constexpr uint32_t max_ports_of(revision header) {
  return header == revision::of_2026 ? max_ports_of_2026 : max_ports;
}
inline constexpr uint32_t max_lanes = 64;

/// Offsets in bytes for `ports` ports of `lanes` lanes each; ports in [1, max_ports_of(header)], lanes in [1, max_lanes].
struct layout {
  uint32_t ports;
  uint32_t lanes;
  revision header = revision::of_2025;

  HEDDLE_FUNCTION static constexpr size_t doorbell_offset() { return 0; }
  HEDDLE_FUNCTION constexpr size_t server_outbox_offset() const {
    return header == revision::of_2026 ? doorbell_bytes : 0;
  }
  HEDDLE_FUNCTION constexpr size_t client_outbox_offset() const {
    return server_outbox_offset() + ports * sizeof(uint32_t);
  }
  /// Two mailboxes a port are whole words of 8 bytes, so that no padding is needed.
  HEDDLE_FUNCTION constexpr size_t header_offset() const {
    return server_outbox_offset() + 2 * ports * sizeof(uint32_t);
  }
  HEDDLE_FUNCTION constexpr size_t packet_offset() const { return header_offset() + ports * sizeof(llvm::header); }
  /// The size of the shared allocation, which must be zeroed and aligned to 8, to 64 where it begins with a doorbell.
  HEDDLE_FUNCTION constexpr size_t size_bytes() const {
    return packet_offset() + size_t{ports} * lanes * sizeof(packet);
  }
};

/// rpc::Client of the revision of 2025, byte by byte: what a host copies to where `__llvm_libc_rpc_client` of the device points.
struct client_image {
  uint32_t ports = 0;
  void* server_outbox = nullptr;  ///< the client's inbox
  void* client_outbox = nullptr;
  void* headers = nullptr;
  void* packets = nullptr;
  uint32_t locks[max_ports / 32] = {};

  client_image() = default;
  client_image(void* shared, const layout& shape)
      : ports(shape.ports),
        server_outbox(static_cast<unsigned char*>(shared) + shape.server_outbox_offset()),
        client_outbox(static_cast<unsigned char*>(shared) + shape.client_outbox_offset()),
        headers(static_cast<unsigned char*>(shared) + shape.header_offset()),
        packets(static_cast<unsigned char*>(shared) + shape.packet_offset()) {}
};

/// The first packet of a stream has its size in front, every later one has data alone.
inline constexpr uint64_t first_packet_bytes = 56;
inline constexpr uint64_t packet_bytes = 64;

/// Hand-overs of a stream of `size_bytes`, at least one.
HEDDLE_FUNCTION constexpr uint64_t packets_for(uint64_t size_bytes) {
  if (size_bytes <= first_packet_bytes) return 1;
  // Rounds up after subtracting, so that no size wraps.
  return 2 + (size_bytes - first_packet_bytes - 1) / packet_bytes;
}

/// Numbers of libc/shared/rpc_opcodes.h: a letter for whose they are, 'c' of libc, and an index.
HEDDLE_FUNCTION constexpr uint32_t opcode_of(char whose, uint32_t index) {
  return static_cast<uint32_t>(whose) << 24 | index;
}

/// The opcodes of libc, in the order of rpc_opcodes.h (845d195c). Comments: what the client sends (C) and the server (S), as
/// libc/shared/rpc_server.h (29c2389c) and the functions of libc/src/stdio/gpu and libc/src/stdlib/gpu have it. `stream()` is a stream of
/// bytes, [n] is word n of a packet.
enum class opcode : uint32_t {
  noop = opcode_of('c', 0),                     ///< C packet
  exit = opcode_of('c', 1),                     ///< C packet, S packet, C [0] code
  write_to_stdout = opcode_of('c', 2),          ///< C stream(data), S [0] bytes written
  write_to_stderr = opcode_of('c', 3),          ///< the same
  write_to_stream = opcode_of('c', 4),          ///< C [0] FILE, stream(data), S [0] bytes written
  write_to_stdout_newline = opcode_of('c', 5),  ///< as write_to_stdout; one byte more is written
  read_from_stream = opcode_of('c', 6),         ///< C [0] bytes wanted [1] stream, S stream(data), S [0] bytes read
  read_fgets = opcode_of('c', 7),  ///< C [0] size of the buffer [1] stream, S stream(text), empty at the end
  open_file = opcode_of('c', 8),   ///< C stream(path), C mode as a text in the packet, S [0] FILE, or 0
  close_file = opcode_of('c', 9),  ///< C [0] FILE, S [0] result
  malloc = opcode_of('c', 10),     ///< C [0] bytes, S [0] address, or 0
  free = opcode_of('c', 11),       ///< C [0] address; not answered
  host_call = opcode_of('c', 12),  ///< C stream(argument), C [0] function, S [0] result
  abort = opcode_of('c', 13),      ///< C packet, S packet, C packet
  feof = opcode_of('c', 14),       ///< C [0] stream, S [0] result
  ferror = opcode_of('c', 15),     ///< C [0] stream, S [0] result
  clearerr = opcode_of('c', 16),   ///< C [0] stream, S packet
  fseek = opcode_of('c', 17),      ///< C [0] stream [1] offset [2] origin, S [0] result
  ftell = opcode_of('c', 18),      ///< C [0] stream, S [0] position, or -1
  fflush = opcode_of('c', 19),     ///< C [0] stream, or 0 for all, S [0] result
  ungetc = opcode_of('c', 20),     ///< C [0] character [1] stream, S [0] character, or -1
  // C [0] FILE where it is to a stream; C stream(format), S [0] bytes of arguments, C stream(arguments); then as often as any lane has a
  // text left: S [1] its address at the client, C stream(text); S [0] result [1] 0.
  printf_to_stdout = opcode_of('c', 21),
  printf_to_stderr = opcode_of('c', 22),
  printf_to_stream = opcode_of('c', 23),
  printf_to_stdout_packed = opcode_of('c', 24),  ///< arguments lie without padding, as on AMD's GPUs
  printf_to_stderr_packed = opcode_of('c', 25),
  printf_to_stream_packed = opcode_of('c', 26),
  remove = opcode_of('c', 27),  ///< C stream(path), S [0] result
  rename = opcode_of('c', 28),  ///< C stream(old path), stream(new path), S [0] result
  system = opcode_of('c', 29),  ///< C stream(command), S [0] result
};

// What a client has for a FILE*, or sends for one. The two lowest bits name a standard stream, whatever is above them (from_stream() of
// libc/src/stdio/gpu/file.h); a file that was opened has 0 there: LLVM's server sends its own pointer, this one an index and a generation.

inline constexpr uint64_t no_file = ~uint64_t{0};
inline constexpr uint32_t max_files = 1u << 22;

/// A handle of the service's table of files as a client sees it; the table has at most max_files entries.
constexpr uint64_t stream_of(uint64_t handle) { return handle >> 32 << 24 | (handle & 0xffffffffu) << 2; }

/// The handle that a client's value names; `no_file`, which the table has not, where it names none.
constexpr uint64_t handle_of(uint64_t stream) {
  constexpr uint64_t standard_streams = 3;
  if ((stream & 3) != 0) return (stream & 3) - 1;
  const uint64_t index = stream >> 2 & (max_files - 1);
  const uint64_t generation = stream >> 24;
  if (index < standard_streams || generation >> 32 != 0) return no_file;
  return generation << 32 | index;
}

}  // namespace heddle::rpc::llvm
