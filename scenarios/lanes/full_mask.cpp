// A collective of the whole wave inside an arm that half of it takes.
#include "lanes.h"

namespace heddle::tests::lanes {
namespace {

HEDDLE_FUNCTION uint64_t all_lanes() { return ~uint64_t{0} >> (64 - target::lane_count()); }

template <typename Collective>
struct arm_kernel {
  HEDDLE_FUNCTION void operator()(uint32_t* words, waiting wait) const {
    if (target::lane_id() % 2 == 0) {
      Collective()();
      device_word<uint32_t>(words[0]).store(1, memory_order::release);
    }
    while (device_word<uint32_t>(words[0]).load(memory_order::acquire) == 0) wait();
  }
};

struct ballot_of_all {
  HEDDLE_FUNCTION void operator()() const { (void)target::ballot(all_lanes(), true); }
};
struct broadcast_to_all {
  HEDDLE_FUNCTION void operator()() const { (void)target::broadcast(all_lanes(), target::lane_id()); }
};

void run_ballot(const parameters& set) {
  run_wave(set, arm_kernel<ballot_of_all>{}, [](uint32_t) {});
}
void run_broadcast(const parameters& set) {
  run_wave(set, arm_kernel<broadcast_to_all>{}, [](uint32_t) {});
}

// Lanes that are scheduled on their own wait for the others; those that have one program counter know that they are not there.
verdict verdict_of_full_mask(const parameters& set) { return in_lockstep(set) ? verdict::mask : verdict::deadlock; }

}  // namespace

HEDDLE_SCENARIO(run_ballot, {.name = "lanes.ballot-of-all",
                             .summary = "half of a wave asks all of it for a ballot",
                             .parameters = wave_of(4),
                             .expected = verdict_of_full_mask});

HEDDLE_SCENARIO(run_broadcast, {.name = "lanes.broadcast-to-all",
                                .summary = "half of a wave broadcasts to all of it",
                                .parameters = wave_of(4),
                                .expected = verdict_of_full_mask});

}  // namespace heddle::tests::lanes
