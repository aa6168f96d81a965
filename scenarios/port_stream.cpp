// Buffers of another size for each lane, over more than one packet, there and back; and sizes above the bound.
#include "ports.h"

namespace heddle::tests {
namespace {

constexpr uint16_t stream_opcode = rpc::user_opcode(2);
constexpr uint64_t bound_bytes = 184;
constexpr uint32_t buffer_bytes = 192;

/// Around every edge of the wire format: empty, the first packet's 56 bytes, whole packets behind it, the bound, above it.
HEDDLE_FUNCTION constexpr uint64_t size_of_request(uint32_t id) {
  constexpr uint64_t sizes[] = {
      0, 1, 55, 56, 57, 64, 119, 120, 121, bound_bytes - 1, bound_bytes, bound_bytes + 1, uint64_t{1} << 63};
  return sizes[id % (sizeof sizes / sizeof sizes[0])];
}

HEDDLE_FUNCTION constexpr unsigned char byte_of(uint32_t id, uint64_t n) {
  return static_cast<unsigned char>(uint64_t{id} * 31 + n * 7 + 1);
}

struct stream_kernel {
  rpc::client client;
  callers who;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint32_t id = who.request(call);
      const uint64_t size_bytes = size_of_request(id);
      const bool too_large = size_bytes > bound_bytes;
      const uint64_t filled_bytes = too_large ? 0 : size_bytes;
      unsigned char buffer[buffer_bytes];
      for (uint64_t n = 0; n < filled_bytes; ++n) buffer[n] = byte_of(id, n);

      auto port = client.open<stream_opcode>();
      port.send([&](rpc::packet& to, uint32_t) { to.words[0] = id; });
      const rpc::stream_result sent = port.send_n(buffer, size_bytes, bound_bytes);
      HEDDLE_CHECK(((sent.refused >> target::lane_id()) & 1) == (too_large ? 1 : 0),
                   "refused lanes are not those above the bound");

      for (uint64_t n = 0; n < filled_bytes; ++n) buffer[n] = 0;
      uint64_t answered_bytes = ~uint64_t{0};
      port.recv_n(
          [&](uint32_t, uint64_t bytes) -> void* {
            answered_bytes = bytes;
            return buffer;
          },
          bound_bytes);
      HEDDLE_CHECK(answered_bytes == filled_bytes, "the answer has another size than the request");
      for (uint64_t n = 0; n < filled_bytes; ++n)
        HEDDLE_CHECK(buffer[n] == static_cast<unsigned char>(~byte_of(id, n)),
                     "the answer has another byte than it should");
    }
  }
};

/// What a server thread keeps of a call, for each lane.
struct served_buffers {
  unsigned char bytes[rpc::max_lanes][buffer_bytes];
  uint64_t size_bytes[rpc::max_lanes];
};

template <typename Port, typename Account>
void serve_stream(Port& port, const Account& account) {
  served_buffers held = {};
  port.recv([&](rpc::packet& from, uint32_t) { account(from.words[0]); });
  port.recv_n(
      [&](uint32_t lane, uint64_t bytes) -> void* {
        HEDDLE_CHECK(bytes <= bound_bytes, "memory is asked for above the bound");
        held.size_bytes[lane] = bytes;
        return held.bytes[lane];
      },
      bound_bytes);
  port.send_n(
      [&](uint32_t lane) {
        for (uint64_t n = 0; n < held.size_bytes[lane]; ++n)
          held.bytes[lane][n] = static_cast<unsigned char>(~held.bytes[lane][n]);
        return rpc::bytes_view{held.bytes[lane], held.size_bytes[lane]};
      },
      bound_bytes);
}

void run_stream(const parameters& set) {
  device on;
  port_test test(on, set);
  test.run(
      stream_kernel{test.client(), test.who()}, [](auto& port, const auto& account) { serve_stream(port, account); },
      all_calls(set));
}

std::vector<parameter> stream_parameters() {
  std::vector<parameter> all = port_parameters(2, 2, 2, 3);
  all.push_back(
      parameter::number("stage", 0, 0, rpc::max_stage_bytes, "bytes", "of the staging area of each port; 0: none"));
  return all;
}

// One buffer of a whole wave there and back.

/// The least request of the call: the buffer's number.
HEDDLE_FUNCTION uint32_t buffer_of(const callers& all, uint32_t call) {
  return target::lane_count() == 1 ? all.request(call) : target::wave_id() * all.lanes * all.calls + call;
}

struct whole_buffer_kernel {
  rpc::client client;
  callers who;
  unsigned char* buffers;  ///< of the device, one for each lane's calls

  HEDDLE_FUNCTION void operator()() const {
    const uint64_t mask = target::lane_count() == 1 ? 1 : ~uint64_t{0} >> (rpc::max_lanes - who.lanes);
    for (uint32_t call = 0; call < who.calls; ++call) {
      const uint32_t id = buffer_of(who, call);
      const uint64_t size_bytes = size_of_request(id);
      const bool too_large = size_bytes > bound_bytes;
      const uint64_t filled_bytes = too_large ? 0 : size_bytes;
      // Not aligned to 16 bytes in each second call.
      unsigned char* const buffer = buffers + uint64_t{id} * room_bytes + id % 2;
      if (target::is_first_lane(mask))
        for (uint64_t n = 0; n < filled_bytes; ++n) buffer[n] = byte_of(id, n);
      target::sync_lanes(mask);

      auto port = client.open<bulk_opcode>(mask);
      port.send([&](rpc::packet& to, uint32_t) { to.words[0] = who.request(call); });
      HEDDLE_CHECK(port.send_all(buffer, size_bytes, bound_bytes).ok() != too_large,
                   "a refused buffer is not one above the bound");
      uint64_t answered_bytes = 0;
      bool same = true;
      port.recv_all(
          [&](const rpc::bytes_piece& piece) {
            answered_bytes += piece.size_bytes;
            const auto* const bytes = static_cast<const unsigned char*>(piece.data);
            for (uint64_t n = 0; n < piece.size_bytes; ++n)
              same &= bytes[n] == static_cast<unsigned char>(~byte_of(id, piece.offset_bytes + n));
          },
          bound_bytes);
      HEDDLE_CHECK(answered_bytes == filled_bytes, "the answer has another size than the request");
      HEDDLE_CHECK(same, "the answer has another byte than it should");
    }
  }

  static constexpr uint16_t bulk_opcode = rpc::user_opcode(3);
  static constexpr uint32_t room_bytes = 208;
};

template <typename Port, typename Account>
void serve_whole_buffer(Port& port, const Account& account) {
  unsigned char kept[buffer_bytes];
  port.recv([&](rpc::packet& from, uint32_t) { account(from.words[0]); });
  uint64_t size_bytes = 0;
  port.recv_all(
      [&](const rpc::bytes_piece& piece) {
        HEDDLE_CHECK(piece.total_bytes <= bound_bytes && piece.offset_bytes == size_bytes, "a piece is out of place");
        for (uint64_t n = 0; n < piece.size_bytes; ++n)
          kept[size_bytes + n] = static_cast<unsigned char>(~static_cast<const unsigned char*>(piece.data)[n]);
        size_bytes += piece.size_bytes;
      },
      bound_bytes);
  port.send_all(kept, size_bytes, bound_bytes);
}

void run_whole_buffer(const parameters& set) {
  device on;
  port_test test(on, set);
  const uint64_t rooms = all_calls(set);
  unsigned char* const buffers = on.allocate_device<unsigned char>(rooms * whole_buffer_kernel::room_bytes, "buffers");
  test.run(
      whole_buffer_kernel{test.client(), test.who(), buffers},
      [](auto& port, const auto& account) { serve_whole_buffer(port, account); }, all_calls(set));
}

std::vector<parameter> whole_buffer_parameters() {
  std::vector<parameter> all = port_parameters(2, 2, 2, 3);
  all.push_back(parameter::number("stage", 64, 16, rpc::max_stage_bytes, "bytes", "of the staging area of each port"));
  return all;
}

}  // namespace

HEDDLE_SCENARIO(run_stream, {.name = "port.stream",
                             .summary = "send_n and recv_n with another size for each lane, over several packets",
                             .parameters = stream_parameters(),
                             .expected = needs_fair_clients});

HEDDLE_SCENARIO(run_whole_buffer,
                {.name = "port.bulk",
                 .summary = "send_all and recv_all: one buffer of all lanes, through the staging area",
                 .parameters = whole_buffer_parameters(),
                 .expected = needs_fair_clients});

}  // namespace heddle::tests
