// The commands `mend` and `slack` on the real simulator: of planted bugs of orders and scopes `mend` names the line that was broken.
#include <heddle/sim/base/sanitizers.h>

#include "command.h"

#include <filesystem>
#include <fstream>

namespace heddle::tests {
namespace {

using nlohmann::json;

class mend_command : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(REAL_HEDDLE)) GTEST_SKIP() << REAL_HEDDLE << " is not built";
  }

  static ended_process heddle(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), REAL_HEDDLE);
    return run_process(arguments);
  }
  static json json_of(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    return json::parse(heddle(std::move(arguments)).out, nullptr, false);
  }
  static std::string finding_of(const std::string& scenario, const std::vector<std::string>& settings = {}) {
    std::vector<std::string> arguments = {"fuzz", scenario, "--schedules", "100"};
    arguments.insert(arguments.end(), settings.begin(), settings.end());
    return json_of(arguments)["scenarios"][0]["findings"][0]["token"];
  }
  /// What stands at "FILE:LINE" of this tree.
  static std::string text_of(const std::string& site) {
    const size_t colon = site.rfind(':');
    std::ifstream file(std::string(SOURCE_FOLDER) + "/" + site.substr(0, colon));
    std::string line;
    for (int n = std::stoi(site.substr(colon + 1)); n > 0; --n) std::getline(file, line);
    return line;
  }
  /// "FILE:LINE" of the first line of a file of this tree that has the text.
  static std::string site_of(const std::string& name, const std::string& text) {
    std::ifstream file(std::string(SOURCE_FOLDER) + "/" + name);
    int number = 1;
    for (std::string line; std::getline(file, line) && line.find(text) == std::string::npos;) ++number;
    return name + ":" + std::to_string(number);
  }
};

struct planted {
  const char* entry;
  const char* change;  ///< of the first answer
  const char* text;    ///< of its line
  /// Of those whose proof would not end, and be given up after 10 s: less of them.
  std::vector<std::string> settings = {};
};

// The whole zoo is in docs/mend.md; these are one of each kind.
const planted sample[] = {
    {"zoo.no-release-before-toggle",
     "release",
     "store(value, Scope == scope::system ? memory_order::relaxed",
     {"--set", "lanes=1", "--set", "calls=1"}},
    {"zoo.fill-without-acquire", "acquire", "load(Scope == scope::system ? memory_order::relaxed"},
    {"zoo.plain-mailbox-store", "plain.release", "plain_ = value", {"--set", "lanes=1", "--set", "calls=1"}},
    {"zoo.no-fence-at-lock", "acquire", "fetch_or(bits, memory_order::relaxed)"},
    {"zoo.lock-without-acquire", "acquire", "exchange(1, at_lock)", {"--set", "calls=1"}},
    {"zoo.reader-scope-too-narrow", "acquire+system", "(word_).load(order)"},
};

TEST_F(mend_command, names_the_line_that_was_broken) {
  for (const planted& each : sample) {
    SCOPED_TRACE(each.entry);
    const std::string token = finding_of(each.entry, each.settings);
    const json mended = json_of({"mend", token, "--schedules", "500"});
    ASSERT_TRUE(mended.is_object());
    EXPECT_EQ(mended["ok"], true);
    const json& first = mended["answers"][0];
    ASSERT_EQ(first["changes"].size(), 1u) << first.dump(2);
    EXPECT_EQ(first["changes"][0]["change"], each.change);
    const std::string line = text_of(first["changes"][0]["site"]);
    EXPECT_NE(line.find(each.text), std::string::npos) << line;
    EXPECT_EQ(first["schedules"], 500);
    EXPECT_EQ(first["proof"]["result"], "proved");
    // What it says can be repeated.
    const std::string assume = first["assume"];
    EXPECT_EQ(heddle({"replay", token, "--assume", assume}).status, 0);
    EXPECT_EQ(heddle({"replay", token}).status, 1);
  }
}

// Each side needs a full fence between its store and its load; one alone ends nothing.
TEST_F(mend_command, puts_full_fences_on_both_sides_where_loads_overtake_stores) {
  const std::string token = finding_of("zoo.sleeps-behind-its-look");
  const json mended = json_of({"mend", token, "--schedules", "500"});
  ASSERT_TRUE(mended.is_object());
  ASSERT_EQ(mended["ok"], true) << mended.dump(2);
  const json& first = mended["answers"][0];
  ASSERT_EQ(first["changes"].size(), 2u) << first.dump(2);
  std::string lines;
  for (const json& each : first["changes"]) {
    EXPECT_EQ(each["change"], "before:fence.seq_cst.system");
    lines += text_of(each["site"]);
  }
  EXPECT_NE(lines.find("words->asleep).load"), std::string::npos) << lines;
  EXPECT_NE(lines.find("words->posted).load"), std::string::npos) << lines;
  // A wave may read each store of a flag that is set and cleared again and again: a proof is one for so many.
  std::vector<std::string> proof = {"verify", "zoo.sleeps-behind-its-look", "history=3"};
  for (const json& each : first["changes"]) {
    proof.emplace_back("--assume");
    proof.push_back(each["site"].get<std::string>() + "=" + each["change"].get<std::string>());
  }
  EXPECT_NE(heddle(proof).out.find(": proved under "), std::string::npos);
  for (const json& each : first["changes"]) {
    const std::string one = each["site"].get<std::string>() + "=" + each["change"].get<std::string>();
    EXPECT_EQ(heddle({"fuzz", "zoo.sleeps-behind-its-look", "--assume", one}).status, 0) << one << " is enough";
  }
}

// What no search goes through as a whole is proved for the history of the finding, and the answer says for which.
TEST_F(mend_command, proves_within_the_history_of_the_finding_and_names_it) {
  const std::string token = finding_of("zoo.sleeps-behind-its-look", {"--set", "history=3"});
  const json mended = json_of({"mend", token, "--schedules", "200"});
  ASSERT_EQ(mended["ok"], true) << mended.dump(2);
  const json& proof = mended["answers"][0]["proof"];
  EXPECT_EQ(proof["result"], "proved") << proof;
  EXPECT_NE(proof["words"].get<std::string>().find(", history=3"), std::string::npos) << proof;
  // A proof of all is none of a bound.
  const std::string whole = finding_of("zoo.lock-without-acquire", {"--set", "calls=1", "--set", "history=3"});
  const json of_all = json_of({"mend", whole, "--schedules", "200"})["answers"][0]["proof"];
  EXPECT_EQ(of_all["result"], "proved") << of_all;
  EXPECT_EQ(of_all["words"].get<std::string>().find("history"), std::string::npos) << of_all;
}

// A page that is made meanwhile reads the answers whole, old or new.
TEST_F(mend_command, keeps_answers_whole_beside_a_finding) {
  const temporary_folder out;
  heddle({"fuzz", "zoo.lock-without-acquire", "--set", "calls=1", "--schedules", "100", "--out", out.path()});
  std::string finding;
  for (const auto& each : std::filesystem::directory_iterator(out.path())) finding = each.path();
  ASSERT_TRUE(finding.ends_with(".heddle.json")) << finding;
  const std::string kept = finding.substr(0, finding.size() - std::string(".heddle.json").size()) + ".mend.json";
  std::ofstream(kept) << "of before";
  std::ifstream reader(kept);
  ASSERT_EQ(heddle({"mend", finding, "--schedules", "200"}).status, 0);
  std::string before;
  std::getline(reader, before);
  EXPECT_EQ(before, "of before");
  std::ifstream now(kept);
  EXPECT_TRUE(json::parse(now)["ok"]);
}

TEST_F(mend_command, has_no_answer_where_orders_are_not_the_matter) {
  const ended_process ended = heddle({"mend", finding_of("zoo.crossed-calls"), "--schedules", "500"});
  EXPECT_EQ(ended.status, 1) << ended.err;
  EXPECT_NE(ended.out.find("no change that was tried ends it"), std::string::npos) << ended.out;
}

TEST_F(mend_command, refuses_a_run_that_ended_well) {
  const ended_process ended = heddle({"mend", "heddle1.x"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_NE(ended.err.find("this token is damaged"), std::string::npos) << ended.err;
}

TEST_F(mend_command, assumptions_are_recorded_and_repeated) {
  const std::vector<std::string> found = {
      "fuzz", "port.echo", "--schedules",
      "200",  "--assume",  site_of("rpc/mailbox.h", "store(~outbox, memory_order::release)") + "=relaxed"};
  const json fuzzed = json_of(found);
  const json& finding = fuzzed["scenarios"][0]["findings"][0];
  ASSERT_EQ(fuzzed["scenarios"][0]["verdict"], "race") << fuzzed.dump(2);
  EXPECT_EQ(finding["reproducible"], true);
  const ended_process again = heddle({"replay", finding["token"]});
  EXPECT_EQ(again.status, 1) << again.err;
  EXPECT_NE(again.out.find("port.echo: race"), std::string::npos);
  const ended_process refused = heddle({"fuzz", "port.echo", "--assume", "rpc/mailbox.h:1=relaxed"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("there is no code of rpc/mailbox.h:1 "), std::string::npos) << refused.err;
}

TEST_F(mend_command, slack_tells_what_is_needed_from_what_is_not) {
  const json found = json_of({"slack", "port.echo", "--schedules", "300", "--set", "waves=1", "--set", "lanes=1",
                              "--set", "ports=1", "--set", "calls=1"});
  ASSERT_TRUE(found.is_object());
  size_t needed = 0;
  for (const json& each : found["sites"]) {
    EXPECT_TRUE(has_keys(each, {"site", "is", "change", "advice", "slack", "schedules", "proof"}));
    if (each["slack"] == true) {
      EXPECT_EQ(each["schedules"], 300);
      continue;
    }
    ++needed;
  }
  EXPECT_NE(needed, 0u) << found.dump(2);
  EXPECT_EQ(heddle({"slack", "zoo.no-fence-at-lock"}).status, 1);
}

}  // namespace
}  // namespace heddle::tests
