// One call over a port, as a kernel makes it: *.expected says which orders and scopes the hand-overs must come out with.
#include <heddle/rpc/rpc.h>

namespace rpc = heddle::rpc;

/// open, send, receive, close.
extern "C" __global__ void one_call(rpc::client client, uint64_t* words) {
  uint64_t& word = words[threadIdx.x];
  auto port = client.open<rpc::user_opcode(7)>();
  port.send([&](rpc::packet& packet, uint32_t) { packet.words[0] = word; });
  port.recv([&](rpc::packet& packet, uint32_t) { word = packet.words[0]; });
}

/// The same without an answer: closes while the server owns the packet.
extern "C" __global__ void asynchronous_call(rpc::client client, const uint64_t* words) {
  const uint64_t word = words[threadIdx.x];
  auto port = client.open<rpc::user_opcode(7)>();
  port.send([&](rpc::packet& packet, uint32_t) { packet.words[0] = word; });
}

/// Buffers of any size, there and back: the hand-overs are made in loops.
extern "C" __global__ void streamed_call(rpc::client client, const unsigned char* data, uint64_t size_bytes,
                                         unsigned char* into) {
  auto port = client.open<rpc::user_opcode(8)>();
  port.send_n(data, size_bytes);
  port.recv_n([&](uint32_t, uint64_t) -> void* { return into; });
}

/// A wave of this device serves a call of another.
extern "C" __global__ void served_call(rpc::server server) {
  if (auto port = server.try_open())
    port.recv_and_send([](rpc::packet& both, uint32_t) { both.words[0] = both.words[0] * 3 + 1; });
}
