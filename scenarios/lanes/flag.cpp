// One lane waits for what the others of its wave do in the other arm. With one program counter it depends on which arm runs first.
#include "lanes.h"

namespace heddle::tests::lanes {
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

}  // namespace heddle::tests::lanes
