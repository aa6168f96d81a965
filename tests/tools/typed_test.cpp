// What stories call memory: by members, elements and enumerators where there is debug information, by offsets without.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>

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
  expect_told(story_of(MOVED, 4), {"bytes+0x40->tail = 2", "wave 0 reads bytes+0x40->slots[1].is: taken (step"});
}

TEST(typed, a_story_names_variables_of_a_frame) {
  expect_told(story_of(MOVED, 6),
              {"host main stores counts.tail of host main = 2", "host worker reads counts.head of host main: 0 (step"});
}

TEST(typed, steps_at_one_line_are_told_apart_by_the_calls_that_led_there) {
  const std::string story = story_of(MOVED, 5);
  const std::regex look(
      R"(reads requests->(\w+): .*typed_scenarios\.cpp:(\d+) from [^ ]*typed_scenarios\.cpp:(\d+)\))");
  std::map<std::string, std::pair<std::string, std::string>> looks;
  for (std::sregex_iterator each(story.begin(), story.end(), look), end; each != end; ++each)
    looks[(*each)[1]] = {(*each)[2], (*each)[3]};
  ASSERT_TRUE(looks.contains("tail") && looks.contains("head")) << story;
  EXPECT_EQ(looks["tail"].first, looks["head"].first) << story;
  EXPECT_EQ(std::stoi(looks["tail"].second) + 1, std::stoi(looks["head"].second)) << story;
  EXPECT_EQ(story_of(MOVED, 0).find(" from "), std::string::npos);
}

TEST(typed, a_list_of_steps_names_members_and_enumerators_beside_offsets) {
  const temporary_folder out;
  const std::string file = out.path() / "hang.heddle.json";
  ASSERT_EQ(run_process({MOVED, "run", "typed.hangs", "-o", file}).status, 1);
  const std::string table = run_process({MOVED, "replay", file, "--trace"}).out;
  for (const char* const each :
       {"requests->slots[1].is (+0x1c, 1 bytes)", "requests->tail (+0x4, 4 bytes)", " taken (0xc8) "})
    EXPECT_NE(table.find(each), std::string::npos) << each << " in\n" << table;
  const nlohmann::json all = nlohmann::json::parse(run_process({MOVED, "replay", file, "--trace", "--json"}).out);
  std::set<std::string> told;
  for (const nlohmann::json& each : all["trace"])
    told.insert(each["location"].get<std::string>() + ": " + each["part"].get<std::string>() + " = " +
                each["value"].get<std::string>() + ' ' + each["value_name"].get<std::string>());
  EXPECT_TRUE(told.contains("requests+0x1c (1 bytes): requests->slots[1].is = 0xc8 taken")) << nlohmann::json(told);
  EXPECT_TRUE(told.contains("requests+0x4 (4 bytes): requests->tail = 0x2 ")) << nlohmann::json(told);
}

TEST(typed, the_wait_graph_and_what_lanes_read_name_members_and_enumerators) {
  const temporary_folder out;
  const std::string file = out.path() / "hang.heddle.json";
  const std::string graph = out.path() / "hang.dot";
  ASSERT_EQ(run_process({MOVED, "run", "typed.hangs", "-o", file}).status, 1);
  const std::string text = run_process({MOVED, "replay", file, "--dot", graph}).out;
  expect_told(text,
              {"wave 0 -> ?  (requests->slots[1].is, ", "reads requests->slots[1].is (+0x1c, 1 byte) = taken (0xc8)"});
  std::ifstream made(graph);
  expect_told({std::istreambuf_iterator<char>(made), {}}, {"requests->slots[1].is"});
  const nlohmann::json all = nlohmann::json::parse(run_process({MOVED, "replay", file, "--json"}).out);
  const nlohmann::json& wait = all["waits_for"]["unknown"][0];
  EXPECT_EQ(wait["over"], "requests+0x1c");
  EXPECT_EQ(wait["name"], "requests->slots[1].is");
}

TEST(typed, the_page_names_members_and_enumerators) {
  const temporary_folder out;
  const std::string file = out.path() / "hang.heddle.json";
  const std::string page = out.path() / "hang.html";
  ASSERT_EQ(run_process({MOVED, "run", "typed.hangs", "-o", file}).status, 1);
  ASSERT_EQ(run_process({MOVED, "report", file, "-o", page}).status, 0);
  std::ifstream made(page);
  const std::string text{std::istreambuf_iterator<char>(made), {}};
  const std::string opening = R"(<script type="application/json" id="data">)";
  const size_t begin = text.find(opening) + opening.size();
  const nlohmann::json data = nlohmann::json::parse(text.substr(begin, text.find("</script>", begin) - begin));
  const auto text_of = [&](const nlohmann::json& number) {
    return number.is_null() ? std::string() : data["texts"][number.get<size_t>()].get<std::string>();
  };
  std::set<std::string> accesses;
  for (const nlohmann::json& each : data["sorts"])
    accesses.insert(text_of(each[3]) + ": " + text_of(each[7]) + " = " + text_of(each[5]));
  EXPECT_TRUE(accesses.contains("requests+0x1c: requests->slots[1].is = taken (0xc8)")) << nlohmann::json(accesses);
  std::set<std::string> columns;
  for (const nlohmann::json& each : data["strips"]) columns.insert(each["name"].get<std::string>());
  EXPECT_TRUE(columns.contains("requests->tail")) << nlohmann::json(columns);
  EXPECT_NE(text.find("requests+0x1c (requests-&gt;slots[1].is)"), std::string::npos) << "the sentences of the page";
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
