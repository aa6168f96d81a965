// A kernel whose call stands in another file, compiled twice: with CALLED the function, without it the kernel. link.sh links the two.
#include <heddle/rpc/rpc.h>

namespace rpc = heddle::rpc;

__device__ uint64_t ask(rpc::client client, uint64_t question);

#ifdef CALLED
__device__ uint64_t ask(rpc::client client, uint64_t question) {
  uint64_t answer = 0;
  auto port = client.open<rpc::user_opcode(7)>();
  port.send([&](rpc::packet& packet, uint32_t) { packet.words[0] = question; });
  port.recv([&](rpc::packet& packet, uint32_t) { answer = packet.words[0]; });
  return answer;
}
#else
/// As one_call of port.cpp, where the call is inlined.
extern "C" __global__ void one_call(rpc::client client, uint64_t* words) {
  words[threadIdx.x] = ask(client, words[threadIdx.x]);
}
#endif
