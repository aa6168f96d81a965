// A hostcall, as a kernel makes it.
#include <heddle/rpc/rpc.h>

namespace rpc = heddle::rpc;

/// Pop, fill, push, ring, wait, use, push.
extern "C" __global__ void call(rpc::hostcall_client client, uint64_t* words) {
  uint64_t& word = words[threadIdx.x];
  client.call(
      1, [&](rpc::packet& line, uint32_t) { line.words[0] = word; },
      [&](rpc::packet& line, uint32_t) { word = line.words[0]; });
}

/// The same; gives up by an exchange of the packet's control word.
extern "C" __global__ void bounded_call(rpc::hostcall_client client, uint64_t* words) {
  uint64_t& word = words[threadIdx.x];
  client.call(
      1, [&](rpc::packet& line, uint32_t) { line.words[0] = word; },
      [&](rpc::packet& line, uint32_t) { word = line.words[0]; }, 1000);
}
