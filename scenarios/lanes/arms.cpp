// What lanes of one wave wait for in one arm of a branch, and what they do to it in the other.
#include "lanes.h"

namespace heddle::tests::lanes {

// One lane waits for what the others of its wave do in the other arm. With one program counter it depends on which arm runs first.
namespace {

HEDDLE_FUNCTION void wait_for(uint32_t& flag, waiting wait) {
  while (device_word<uint32_t>(flag).load(memory_order::acquire) == 0) wait();
}

HEDDLE_FUNCTION void set_flag(uint32_t& flag) { device_word<uint32_t>(flag).store(1, memory_order::release); }

struct flag_then_kernel {
  HEDDLE_FUNCTION void operator()(uint32_t* words, waiting wait) const {
    if (target::lane_id() == 0) {
      wait_for(words[0], wait);
    } else {
      set_flag(words[0]);
    }
  }
};

struct flag_else_kernel {
  HEDDLE_FUNCTION void operator()(uint32_t* words, waiting wait) const {
    if (target::lane_id() != 0) {
      set_flag(words[0]);
    } else {
      wait_for(words[0], wait);
    }
  }
};

void run_flag_then(const parameters& set) {
  run_wave(set, flag_then_kernel{}, [](uint32_t) {});
}
void run_flag_else(const parameters& set) {
  run_wave(set, flag_else_kernel{}, [](uint32_t) {});
}

// With `any`, some schedules hang.
verdict verdict_then(const parameters& set) {
  return in_lockstep(set) && set.text("arms") != "else-first" ? verdict::deadlock : verdict::ok;
}
verdict verdict_else(const parameters& set) {
  return in_lockstep(set) && set.text("arms") != "then-first" ? verdict::deadlock : verdict::ok;
}

}  // namespace

HEDDLE_SCENARIO(run_flag_then, {.name = "lanes.flag-then",
                                .summary = "the first lane waits in the then-arm for what the else-arm does",
                                .parameters = wave_of(4),
                                .expected = verdict_then});

HEDDLE_SCENARIO(run_flag_else, {.name = "lanes.flag-else",
                                .summary = "the first lane waits in the else-arm for what the then-arm does",
                                .parameters = wave_of(4),
                                .expected = verdict_else});

// A collective of the whole wave inside an arm that half of it takes.
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
