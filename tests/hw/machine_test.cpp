// What a program may rely on, whichever machine it was built for: one source for host threads, CUDA and HIP.
//
// Exit status 0: as promised; 1: not, and a line for each broken promise; 77: there is no such machine here.
#include <heddle/rpc/device.h>
#include <heddle/rpc/target.h>
#if defined(__CUDACC__)
#include <heddle/hw/cuda/device.h>
namespace machine = heddle::cuda;
#elif defined(__HIPCC__)
#include <heddle/hw/hip/device.h>
namespace machine = heddle::hip;
#else
#include <heddle/hw/host/device.h>
#include <heddle/hw/host/target.h>
namespace machine = heddle::host;
#endif

#include <stdint.h>
#include <stdio.h>

using heddle::memory_order;
using heddle::scope;
using target = machine::target;
using word = target::atomic_ref<uint32_t, scope::system>;

static_assert(heddle::target_machine<target>);
static_assert(heddle::host_side<machine::device>);

namespace {

int broken_promises = 0;

void promise(bool kept, const char* what) {
  if (kept) return;
  fprintf(stderr, "machine: %s\n", what);
  ++broken_promises;
}

/// Counts lanes, waves and what their collectives say.
struct count_lanes {
  uint32_t* lanes;
  uint32_t* leaders;
  uint32_t* wrong;

  HEDDLE_FUNCTION void operator()() const {
    const uint64_t mask = target::lane_mask();
    word(*lanes).fetch_add(1, memory_order::relaxed);
    if (target::is_first_lane(mask)) word(*leaders).fetch_add(1, memory_order::relaxed);
    const uint32_t of_first = target::broadcast(mask, target::lane_id());
    const uint64_t wide = target::broadcast(mask, uint64_t{of_first} << 40);
    const bool same = target::ballot(mask, true) == mask && target::ballot(mask, false) == 0;
    target::sync_lanes(mask);
    if (wide != uint64_t{of_first} << 40 || !same || target::lane_count() > 64 || (mask >> of_first & 1) == 0)
      word(*wrong).fetch_add(1, memory_order::relaxed);
  }
};

void lanes_run_once(machine::device& device) {
  uint32_t* const counts = device.allocate_shared<uint32_t>(3, "counts");
  const uint32_t lanes = device.max_lanes() < 4 ? device.max_lanes() : 3;
  device.launch({.blocks = 2, .waves = 2, .lanes = lanes}, count_lanes{&counts[0], &counts[1], &counts[2]});
  device.synchronize();
  promise(counts[0] == 4 * lanes, "every lane of a launch runs once");
  promise(counts[1] >= 4 && counts[1] <= counts[0], "every group of lanes has one first lane");
  promise(counts[2] == 0, "collectives agree with their mask");
  device.free(counts);
}

/// Multiplies by ten and adds a digit, so that the result tells the order.
struct append_digit {
  uint32_t* number;
  uint32_t digit;
  HEDDLE_FUNCTION void operator()() const { *number = *number * 10 + digit; }
};

void launches_keep_their_order(machine::device& device) {
  uint32_t* const number = device.allocate_device<uint32_t>(1, "number");
  for (uint32_t digit = 1; digit <= 4; ++digit) device.launch({}, append_digit{number, digit});
  device.synchronize();
  uint32_t result = 0;
  device.copy(&result, number, sizeof result);
  promise(result == 1234, "launches run in order");
  device.free(number);
}

/// Sends a number to a host thread, rings, and waits for the answer.
struct ask {
  heddle::doorbell* bell;
  uint32_t* words;  ///< payload, request flag, answer flag, result
  HEDDLE_FUNCTION void operator()() const {
    words[0] = 20;
    word(words[1]).store(1, memory_order::release);  // pairs with the acquire in the host thread
    target::notify(*bell);
    while (word(words[2]).load(memory_order::acquire) == 0)
      target::pause();  // pairs with the release in the host thread
    words[3] = words[0] + 1;
  }
};

void a_kernel_asks_a_host_thread(machine::device& device) {
  auto* const bell = device.allocate_shared<heddle::doorbell>(1, "bell");
  uint32_t* const words = device.allocate_shared<uint32_t>(4, "words");
  auto server = device.spawn_host("server", [&] {
    for (;;) {
      const uint32_t seen = word(*bell).load(memory_order::acquire);
      if (word(words[1]).load(memory_order::acquire) != 0) break;
      target::wait(*bell, seen, 10'000'000);
    }
    words[0] += 21;
    word(words[2]).store(1, memory_order::release);
  });
  device.launch({}, ask{bell, words});
  while (!device.query()) target::pause();
  server.join();
  promise(words[3] == 42, "a host thread serves a running kernel");
  promise(word(*bell).load(memory_order::acquire) == 1, "a ring counts once");
}

void memory_is_zeroed(machine::device& device) {
  const uint64_t* const memory = device.allocate_device<uint64_t>(1000, "zeroes");
  uint64_t copied[1000];
  device.copy(copied, memory, sizeof copied);
  uint64_t any = 0;
  for (const uint64_t each : copied) any |= each;
  promise(any == 0, "memory is zeroed");
}

}  // namespace

int main() {
  if (!machine::device::present()) {
    printf("SKIP: there is no such device here\n");
    return 77;
  }
  machine::device device;
  lanes_run_once(device);
  launches_keep_their_order(device);
  memory_is_zeroed(device);
  a_kernel_asks_a_host_thread(device);
  if (broken_promises == 0) printf("the machine keeps its promises\n");
  return broken_promises == 0 ? 0 : 1;
}
