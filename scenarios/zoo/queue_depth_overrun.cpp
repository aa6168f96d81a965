// A proxy hands on more than the queue below it holds, and never looks whether that took it. Smallest: 1 wave, 1 lane, 1 entry below,
// 2 calls.
//
// MSCCL++ #415 (80abce59): the proxy posted work requests without a look at how many were outstanding. The twin waits for room.
#include "small_fifo.h"

namespace heddle::tests {
namespace {

using scheduler::verdict;

/// What a proxy hands on to.
struct posted {
  fifo_message message;
};

/// The proxy's consumer: hands each entry on to a queue that holds fewer.
template <typename Consumer>
struct forwarding_consumer {
  Consumer consumer;
  rpc::fifo_producer<posted> below;
  bool waits;

  template <typename Handle>
  uint32_t consume(Handle&& handle, uint32_t most) const {
    return consumer.consume(
        [&](const fifo_message& message) {
          handle(message);
          const auto fill = [&](posted& to, uint32_t) { to.message = message; };
          // The bug is to look for room once and never to ask whether there was any.
          if (waits)
            below.push(fill);
          else
            below.push(fill, 0);
        },
        most);
  }
};

void run_overrun(const parameters& set) {
  device on;
  fifo_test<rpc::lap_parity> test(on, set, set.count("calls"));
  const rpc::fifo_layout<posted> shape{1};
  auto* const memory = on.allocate_shared<unsigned char>(shape.size_bytes(), "queue below");
  auto* const counters = on.allocate_shared<rpc::fifo_counters>(1, "counters of the queue below");
  const uint64_t all = all_calls(set);
  auto* const seen = on.allocate_shared<uint32_t>(all, "entries at the end");
  auto* const stop = on.allocate_shared<uint32_t>(1, "proxy has ended");
  auto last =
      on.spawn_host("network", [=, end = rpc::fifo_consumer<posted>(memory, shape), calls = set.count("calls")] {
        for (;;) {
          const bool ends = shared_word<uint32_t>(*stop).load(memory_order::acquire) != 0;
          if (end.consume([&](const posted& entry) {
                ++seen[uint64_t{entry.message.producer} * calls + entry.message.call];
              }) != 0)
            continue;
          if (ends) return;
          target::pause();
        }
      });
  const forwarding_consumer<decltype(test.consumer())> proxy{
      test.consumer(), rpc::fifo_producer<posted>(memory, counters, shape), zoo::is_fixed(set)};
  zoo::run_flushing(test, set, test.producer(), proxy);
  shared_word<uint32_t>(*stop).store(1, memory_order::release);
  last.join();
  for (uint64_t n = 0; n < all; ++n)
    if (seen[n] != 1) target::trap(fault::protocol, "an entry that was handed on has not come to the end");
}

verdict overrun_verdict(const parameters& set) {
  const verdict sound = zoo::flushed_fifo(set);
  return zoo::is_fixed(set) || sound != verdict::ok ? sound : verdict::protocol;
}

}  // namespace

HEDDLE_ZOO(run_overrun, {.name = "zoo.queue-depth-overrun",
                         .summary = "a proxy hands on more than the queue below it holds",
                         .parameters = zoo::small_fifo(0),
                         .expected = overrun_verdict});

}  // namespace heddle::tests
