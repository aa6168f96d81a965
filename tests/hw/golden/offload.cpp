// One request of reverse offload, as a kernel makes it, through one mailbox and through a ring.
#include <heddle/rpc/rpc.h>

namespace rpc = heddle::rpc;

/// lock, fill, post, wait, use, give the lock back.
extern "C" __global__ void single_call(rpc::offload_client<rpc::single_mailbox> client, uint64_t* words) {
  uint64_t& word = words[threadIdx.x];
  client.call(
      3, [&](rpc::offload_line& line, uint32_t) { line.words[0] = word; },
      [&](rpc::offload_line& line, uint32_t) { word = line.words[0]; });
}

/// ticket, wait for the entry, fill, post, wait, use, give the entry back.
extern "C" __global__ void ring_call(rpc::offload_client<rpc::offload_ring> client, uint64_t* words) {
  uint64_t& word = words[threadIdx.x];
  client.call(
      3, [&](rpc::offload_line& line, uint32_t) { line.words[0] = word; },
      [&](rpc::offload_line& line, uint32_t) { word = line.words[0]; });
}
