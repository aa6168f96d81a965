// Campaigns over MPI ranks: what is found does not depend on how many there are.
#include "command.h"

namespace heddle::tests {
namespace {

ended_process on_ranks(const char* ranks, std::vector<std::string> words) {
  // Open MPI refuses to start as root, and more ranks than cores, unless it is told twice.
  std::vector<std::string> command = {"/usr/bin/env",
                                      "OMPI_ALLOW_RUN_AS_ROOT=1",
                                      "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                                      "OMPI_MCA_rmaps_base_oversubscribe=1",
                                      MPIEXEC,
                                      MPIEXEC_NUMPROC_FLAG,
                                      ranks};
  command.insert(command.end(), words.begin(), words.end());
  return run_process(command);
}

nlohmann::json essence(const std::string& text) {
  nlohmann::json kept;
  const nlohmann::json all = nlohmann::json::parse(text);
  for (const nlohmann::json& scenario : all["scenarios"]) {
    nlohmann::json findings;
    for (const nlohmann::json& each : scenario["findings"])
      findings.push_back({each["verdict"], each["where"], each["seed"], each["token"], each["count"], each["message"]});
    kept.push_back({scenario["name"], scenario["schedules"], scenario["digest"], scenario["verdict"], findings});
  }
  return kept;
}

TEST(ranks, find_what_one_process_finds) {
  const std::vector<std::string> words = {"fuzz",      "fake.racy",   "fake.hangs", "zoo.crossed-calls",
                                          "port.echo", "--schedules", "3000",       "--json"};
  const auto with = [&](const char* program) {
    std::vector<std::string> more = words;
    more.insert(more.begin(), program);
    return more;
  };
  const nlohmann::json expected = essence(run_process(with(FAKE_HEDDLE_MPI)).out);
  EXPECT_EQ(essence(heddle(words).out)[0][1], expected[0][1]);
  for (const char* const ranks : {"2", "3"}) {
    const ended_process ended = on_ranks(ranks, with(FAKE_HEDDLE_MPI));
    ASSERT_EQ(ended.status, 1) << ended.err;
    EXPECT_EQ(essence(ended.out), expected) << ranks << " ranks";
  }
}

TEST(ranks, write_into_one_folder_and_go_on) {
  const temporary_folder folder;
  const std::string out = folder.path().string();
  const ended_process first =
      on_ranks("2", {FAKE_HEDDLE_MPI, "fuzz", "fake.racy", "--schedules", "3000", "--json", "--out", out});
  const ended_process again = on_ranks("2", {FAKE_HEDDLE_MPI, "fuzz", "--resume", out, "--json"});
  EXPECT_EQ(essence(first.out), essence(again.out));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "campaign.jsonl"));
  const nlohmann::json found = nlohmann::json::parse(first.out)["scenarios"][0]["findings"][0];
  EXPECT_TRUE(std::filesystem::exists(found["file"].get<std::string>()));
}

TEST(ranks, say_what_is_wrong_once) {
  const ended_process ended = on_ranks("2", {FAKE_HEDDLE_MPI, "fuzz", "port.ecko"});
  EXPECT_NE(ended.err.find("unknown scenario"), std::string::npos) << ended.err;
  EXPECT_EQ(ended.err.find("unknown scenario"), ended.err.rfind("unknown scenario"));
  const ended_process jobs = on_ranks("2", {FAKE_HEDDLE_MPI, "fuzz", "port.echo", "--jobs", "2"});
  EXPECT_NE(jobs.err.find("start one rank for each core"), std::string::npos) << jobs.err;
}

TEST(ranks, leave_other_commands_to_the_first) {
  const ended_process ended = on_ranks("2", {FAKE_HEDDLE_MPI, "--version"});
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(line_count(ended.out), 1u) << ended.out;
}

}  // namespace
}  // namespace heddle::tests
