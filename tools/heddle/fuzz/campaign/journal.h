// The journal of a campaign: which seeds have been run and what came of them, so that a campaign that was ended at any
// moment goes on where it was.
#pragma once

#include <heddle/scheduler/campaign.h>
#include <heddle/tools/fuzz/campaign/seeds.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// What a campaign was asked for; the first line of its journal.
struct campaign_plan {
  std::string version = {};
  std::string build_id = {};
  std::vector<std::string> scenarios = {};  ///< names
  std::vector<std::string> settings = {};   ///< "key=value", as given
  std::string strategy = {};
  uint64_t seed = 1;
  uint64_t schedules = 0;  ///< for each scenario, over all shards; 0: as many as the time allows
  double seconds_max = 0;  ///< for all scenarios together; 0: no limit
  shard part = {};
  friend bool operator==(const campaign_plan&, const campaign_plan&) = default;
};

/// What is known of one scenario's runs. The findings have neither answers nor a report: verdict, place, lowest seed and count.
struct scenario_record {
  std::vector<seed_range> done = {};
  scheduler::campaign_result sum = {};
};

struct campaign_record {
  campaign_plan plan = {};
  std::map<std::string, scenario_record> scenarios = {};  ///< by name
};

/// Reads the text of a journal; `file` is for the message. One line when it is damaged. `whole` becomes the number of
/// its bytes up to the end of the last line that is whole.
std::optional<std::string> read_journal(std::string_view text, const std::filesystem::path& file,
                                        campaign_record& record, size_t& whole);

/// A file of lines, each with a checksum, to which lines are only ever added; each is on the disk when add() is back. A
/// last line that is not whole, because the machine stopped or the disk was full, counts as not written.
class journal {
 public:
  journal() = default;
  journal(const journal&) = delete;
  journal& operator=(const journal&) = delete;
  ~journal();

  /// The journal of a shard in a folder of findings.
  static std::filesystem::path file_in(const std::filesystem::path& folder, const shard& part);

  /// Begins a journal. One that is there is set aside, under a name with a number. One line when that fails.
  std::optional<std::string> begin(const std::filesystem::path& file, const campaign_plan& plan);

  /// Reads a journal, and goes on with it. One line when there is none, when it is damaged, or when another process has it open.
  std::optional<std::string> resume(const std::filesystem::path& file, campaign_record& record);

  /// One piece of a scenario's seeds, which have been run. `elapsed` is how long the scenario has been worked on in
  /// all, in seconds. One line when it cannot be written. Of no effect before begin or resume.
  std::optional<std::string> add(const std::string& scenario, seed_range ran, const scheduler::campaign_result& result,
                                 double elapsed);

 private:
  std::optional<std::string> open(const std::filesystem::path& file, int flags);
  void close();
  std::optional<std::string> append(const std::string& line);

  std::filesystem::path file_;
  int opened_ = -1;
};

}  // namespace heddle::tools
