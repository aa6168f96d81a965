// A stranger's scenario: every lane of a grid adds one to a counter that the host reads.
#include <heddle/tools/scenario.h>

#include <cstdint>

namespace {

using counter = heddle::target::atomic_ref<uint32_t, heddle::scope::system>;

struct count_lanes {
  uint32_t* lanes;
  void operator()() const { counter(*lanes).fetch_add(1, heddle::memory_order::relaxed); }
};

void every_lane_counts(const heddle::parameters&) {
  heddle::device device;
  uint32_t* lanes = device.allocate_shared<uint32_t>(1, "lanes");
  device.launch({.blocks = 2, .waves = 1, .lanes = 2}, count_lanes{lanes});
  device.synchronize();
  HEDDLE_CHECK(counter(*lanes).load(heddle::memory_order::relaxed) == 4, "a lane was not counted");
}
HEDDLE_SCENARIO(every_lane_counts,
                {.name = "mine.every_lane_counts", .summary = "each lane of a grid is counted once"});

}  // namespace
