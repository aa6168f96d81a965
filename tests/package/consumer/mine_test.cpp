// A stranger's tests: of the scenario of mine.cpp, and of one with a bug.
#include <heddle/tools/gtest.h>
#include <heddle/tools/gtest_main.h>
#include <heddle/tools/scenario.h>

#include <cstdint>

namespace {

using counter = heddle::target::atomic_ref<uint32_t, heddle::scope::system>;

struct lose_updates {
  uint32_t* lanes;
  void operator()() const {
    const uint32_t before = counter(*lanes).load(heddle::memory_order::relaxed);
    counter(*lanes).store(before + 1, heddle::memory_order::relaxed);
  }
};

void an_update_is_lost(const heddle::parameters&) {
  heddle::device device;
  uint32_t* lanes = device.allocate_shared<uint32_t>(1, "lanes");
  device.launch({.waves = 2, .lanes = 1}, lose_updates{lanes});
  device.synchronize();
  HEDDLE_CHECK(counter(*lanes).load(heddle::memory_order::relaxed) == 2, "an update was lost");
}
HEDDLE_SCENARIO(an_update_is_lost, {.name = "mine.an_update_is_lost", .summary = "two waves count"});

HEDDLE_TEST(passing, "mine.every_lane_counts", 50);
HEDDLE_TEST(failing, "mine.an_update_is_lost", 50);

}  // namespace
