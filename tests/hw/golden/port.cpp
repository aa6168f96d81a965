// One call over a port, as a kernel makes it: *.required says which orders and scopes the hand-overs must come out with.
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
