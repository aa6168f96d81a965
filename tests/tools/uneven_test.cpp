// A variable that the lanes of a wave do not agree on: `mend` finds which one is to be broadcast, and a run may assume that it is.
#include <fstream>

#include "command.h"

namespace heddle::tests {
namespace {

using nlohmann::json;

json told(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), MOVED);
  arguments.emplace_back("--json");
  return json::parse(run_process(arguments).out, nullptr, false);
}

/// "FILE:LINE" of the look at which lanes are together.
std::string meeting() {
  std::ifstream file(UNEVEN_SOURCE);
  int number = 1;
  for (std::string line; std::getline(file, line) && line.find("target::lane_mask()") == std::string::npos;) ++number;
  return std::string("tests/tools/uneven_scenarios.cpp:") + std::to_string(number);
}

TEST(uneven, mend_names_the_variable_that_is_to_be_broadcast) {
  const json found = told({"fuzz", "uneven.lanes", "--schedules", "500", "--set", "calls=1"});
  ASSERT_EQ(found["scenarios"][0]["verdict"], "race") << found.dump(2);
  const json mended = told({"mend", found["scenarios"][0]["findings"][0]["token"], "--schedules", "1000"});
  ASSERT_EQ(mended["ok"], true) << mended.dump(2);
  // With one call each lane, a barrier of all lanes keeps the variable alike, too.
  bool is_answer = false;
  for (const json& each : mended["answers"])
    is_answer = is_answer || (each["changes"].size() == 1 && each["changes"][0]["change"] == "after:broadcast.index" &&
                              each["proof"]["result"] == "proved");
  EXPECT_TRUE(is_answer) << mended.dump(2);
}

TEST(uneven, a_run_may_assume_that_a_variable_is_broadcast) {
  const std::string assume = meeting() + "=after:broadcast.";
  for (const char* const convergence : {"convergence=independent", "convergence=lockstep"}) {
    const json silent = told({"fuzz", "uneven.lanes", "--schedules", "2000", "--set", "lanes=4", "--set", convergence,
                              "--assume", assume + "index"});
    EXPECT_EQ(silent["scenarios"][0]["verdict"], "ok") << silent.dump(2);
  }
  // Another variable does not help, and one that is not there is refused where it is needed.
  EXPECT_NE(told({"fuzz", "uneven.lanes", "--schedules", "200", "--assume", assume + "n"})["scenarios"][0]["verdict"],
            "ok");
  const ended_process refused =
      run_process({MOVED, "fuzz", "uneven.lanes", "--schedules", "20", "--assume", assume + "nothing"});
  EXPECT_NE(refused.out.find("after:broadcast.nothing: no integer of that name has a register or a place"),
            std::string::npos)
      << refused.out;
  EXPECT_NE(refused.out.find("index"), std::string::npos) << refused.out;
}

}  // namespace
}  // namespace heddle::tests
