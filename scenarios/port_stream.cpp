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

}  // namespace

HEDDLE_SCENARIO(run_stream, {.name = "port.stream",
                             .summary = "send_n and recv_n with another size for each lane, over several packets",
                             .parameters = stream_parameters(),
                             .expected = needs_fair_clients});

}  // namespace heddle::tests
