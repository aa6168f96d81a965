// What stories call memory: by members, elements and enumerators where there is debug information, by offsets without.
#include <filesystem>

#include "command.h"

namespace heddle::tests {
namespace {

namespace fs = std::filesystem;

std::string story_of(const std::string& program, int way) {
  const temporary_folder out;
  const ended_process ended = run_process({program, "fuzz", "typed.hangs", "--set", "way=" + std::to_string(way),
                                           "--schedules", "5", "--out", out.path(), "--json"});
  const nlohmann::json all = nlohmann::json::parse(ended.out);
  std::string text;
  for (const nlohmann::json& each : all["scenarios"][0]["findings"][0]["story"]) text += each.get<std::string>() + "\n";
  return text;
}

void expect_told(const std::string& story, const std::vector<std::string>& parts) {
  for (const std::string& each : parts) EXPECT_NE(story.find(each), std::string::npos) << each << " in\n" << story;
}

TEST(typed, a_story_names_members_and_enumerators) {
  expect_told(story_of(MOVED, 0), {"requests->tail = 2", "requests->slots[1].is = taken",
                                   "wave 0 reads requests->slots[1].is: taken (step"});
  expect_told(story_of(MOVED, 1), {"rings[2].tail = 2", "wave 0 reads rings[2].slots[1].is: taken (step"});
  expect_told(story_of(MOVED, 2), {"the_ring.tail = 2", "wave 0 reads the_ring.slots[1].is: taken (step"});
  expect_told(story_of(MOVED, 3), {"bytes+0x40->tail = 2", "wave 0 reads bytes+0x40->slots[1].is: taken (step"});
}

TEST(typed, without_debug_information_it_names_offsets) {
  if (std::string(STRIP).empty() || !fs::exists(STRIP)) GTEST_SKIP() << "there is no strip";
  const temporary_folder out;
  const std::string stripped = out.path() / "stripped";
  ASSERT_EQ(run_process({STRIP, "-g", "-o", stripped, MOVED}).status, 0);
  expect_told(story_of(stripped, 0), {"requests+0x4 = 2", "wave 0 reads requests+0x1c: 200 (step"});
  expect_told(story_of(stripped, 1), {"rings+0x44 = 2", "wave 0 reads rings+0x5c: 200 (step"});
  expect_told(story_of(stripped, 3), {"bytes+0x44 = 2", "wave 0 reads bytes+0x5c: 200 (step"});
}

}  // namespace
}  // namespace heddle::tests
