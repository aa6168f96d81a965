// Pushes into a FIFO, as a kernel makes them, and the end that consumes.
#include <heddle/rpc/rpc.h>

namespace rpc = heddle::rpc;

struct trigger {
  uint64_t words[2];
};

/// Reserve, wait for credit, write, publish.
extern "C" __global__ void unbounded_push(rpc::fifo_producer<trigger> producer, const uint64_t* words) {
  const uint64_t word = words[threadIdx.x];
  producer.push([&](trigger& to, uint32_t) { to.words[0] = word; });
}

/// Credit first, then reserve.
extern "C" __global__ void bounded_push(rpc::fifo_producer<trigger> producer, const uint64_t* words, uint32_t* late) {
  const uint64_t word = words[threadIdx.x];
  if (!producer.push([&](trigger& to, uint32_t) { to.words[0] = word; }, 1000)) late[threadIdx.x] = 1;
}

/// What the consumer has read may be written again.
extern "C" __global__ void flush(rpc::fifo_producer<trigger> producer, uint64_t* words) {
  producer.flush();
  words[threadIdx.x] = 0;
}

/// A lane of this device consumes.
extern "C" __global__ void consume(rpc::fifo_consumer<trigger> consumer, uint64_t* sum) {
  consumer.consume([&](const trigger& from) { *sum += from.words[0]; });
}

/// An entry of 16 bytes with its flag inside: nothing but the ring orders anything.
extern "C" __global__ void push_pair(rpc::fifo_producer<rpc::fifo_pair, rpc::flag_inside> producer,
                                     const uint64_t* words) {
  const uint64_t word = words[threadIdx.x];
  producer.push([&](rpc::fifo_pair& to, uint32_t) { to.words[0] = word; });
}
