// The thread that launches takes a record for each operation that a kernel needs from a pool, and waits when there is none. Records come
// back from a proxy that has carried the operation out, and that waits for the kernel, which is not launched yet. Smallest: 2 host threads,
// 1 record, 2 operations.
//
// NCCL #2353 (the cause is from reading). The twin launches before it takes the first record that it may have to wait for.
#include "../ports.h"
#include "zoo.h"

namespace heddle::tests {
namespace {

using scheduler::verdict;

/// Waits for each operation to have been begun by the proxy, and ends it.
struct operated_kernel {
  uint32_t* begun;
  uint32_t* ended;
  uint32_t operations;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t n = 0; n < operations; ++n) {
      // Acquire pairs with the proxy's release.
      while (shared_word<uint32_t>(begun[n]).load(memory_order::acquire) == 0) target::pause();
      shared_word<uint32_t>(ended[n]).store(1, memory_order::release);
    }
  }
};

void run_op_pool(const parameters& set) {
  device on;
  const uint32_t operations = set.count("operations");
  auto* const begun = on.allocate_shared<uint32_t>(operations, "operations begun");
  auto* const ended = on.allocate_shared<uint32_t>(operations, "operations ended");
  auto* const words = on.allocate_shared<uint32_t>(2, "free records, operations given");
  uint32_t& free_records = words[0];
  uint32_t& given = words[1];
  free_records = set.count("pool");
  auto proxy = on.spawn_host("proxy", [=, &free_records, &given] {
    for (uint32_t n = 0; n < operations; ++n) {
      // Acquire pairs with main's release.
      while (shared_word<uint32_t>(given).load(memory_order::acquire) <= n) target::pause();
      shared_word<uint32_t>(begun[n]).store(1, memory_order::release);
      // Acquire pairs with the kernel's release.
      while (shared_word<uint32_t>(ended[n]).load(memory_order::acquire) == 0) target::pause();
      shared_word<uint32_t>(free_records).fetch_add(1, memory_order::release);
    }
  });
  const operated_kernel kernel{begun, ended, operations};
  const launch_shape one_wave{.blocks = 1, .waves = 1, .lanes = 1};
  const bool launches_first = zoo::is_fixed(set);
  if (launches_first) on.launch(one_wave, kernel);
  for (uint32_t n = 0; n < operations; ++n) {
    // Acquire pairs with the proxy's release of a record. No other thread takes one.
    while (shared_word<uint32_t>(free_records).load(memory_order::acquire) == 0) target::pause();
    shared_word<uint32_t>(free_records).fetch_sub(1, memory_order::relaxed);
    shared_word<uint32_t>(given).store(n + 1, memory_order::release);
  }
  if (!launches_first) on.launch(one_wave, kernel);
  on.synchronize();
  proxy.join();
}

verdict op_pool_verdict(const parameters& set) {
  return !zoo::is_fixed(set) && set.count("operations") > set.count("pool") ? verdict::deadlock : verdict::ok;
}

}  // namespace

HEDDLE_ZOO(run_op_pool, {.name = "zoo.op-pool-exhausted",
                         .summary = "a launch waits for a record that comes back when the kernel has run",
                         .parameters = zoo::with_twin({
                             parameter::number("operations", 2, 1, 1000, "", "operations that the kernel needs"),
                             parameter::number("pool", 1, 1, 1000, "", "records that there are"),
                         }),
                         .expected = op_pool_verdict});

}  // namespace heddle::tests
