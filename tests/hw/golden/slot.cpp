// One call through a slot, as a kernel makes it, with mailboxes of either kind.
#include <heddle/rpc/rpc.h>

namespace rpc = heddle::rpc;

/// fill, post, wait, use, post, give back; mailboxes are words.
extern "C" __global__ void word_call(rpc::slot_client<rpc::word_a_slot> client, uint64_t* words) {
  uint64_t& word = words[threadIdx.x];
  client.invoke([&](rpc::packet& line, uint32_t) { line.words[0] = word; },
                [&](rpc::packet& line, uint32_t) { word = line.words[0]; });
}

/// The same; mailboxes are bits of a word.
extern "C" __global__ void bit_call(rpc::slot_client<rpc::bit_a_slot> client, uint64_t* words) {
  uint64_t& word = words[threadIdx.x];
  client.invoke([&](rpc::packet& line, uint32_t) { line.words[0] = word; },
                [&](rpc::packet& line, uint32_t) { word = line.words[0]; });
}

/// The same; a neighbour's bit is kept by compare-and-swap.
extern "C" __global__ void compare_call(rpc::slot_client<rpc::bit_by_compare> client, uint64_t* words) {
  uint64_t& word = words[threadIdx.x];
  client.invoke([&](rpc::packet& line, uint32_t) { line.words[0] = word; },
                [&](rpc::packet& line, uint32_t) { word = line.words[0]; });
}

/// A call without an answer gives its slot back at once, and collects those of others when it finds none.
extern "C" __global__ void asynchronous_word_call(rpc::slot_client<rpc::word_a_slot> client, const uint64_t* words) {
  const uint64_t word = words[threadIdx.x];
  client.invoke([&](rpc::packet& line, uint32_t) { line.words[0] = word; });
}

/// A wave of this device serves.
extern "C" __global__ void served_word_call(rpc::slot_server<rpc::word_a_slot> server) {
  server.handle([](rpc::packet& line, uint32_t) { line.words[0] = line.words[0] * 3 + 1; },
                [](rpc::packet& line, uint32_t) { line.words[0] = 0; });
}
