// One scenario's part of a campaign, worked on by several threads or processes: it deals out seeds, keeps the findings, and adds up.
#pragma once

#include <heddle/scheduler/campaign.h>
#include <heddle/tools/fuzz/campaign/journal.h>
#include <heddle/tools/fuzz/campaign/seeds.h>
#include <heddle/tools/trial/trial.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>

namespace heddle::tools {

/// What a worker needs of its own: a machine and a strategy. Not for several threads at a time.
struct campaign_worker {
  sim::simulation machine;
  std::unique_ptr<scheduler::strategy> deciding;
};

/// After so many runs that were ended because they stood still no more schedules of the scenario are run: each takes as long as `--stuck` says.
inline constexpr uint64_t stuck_runs_max = 3;

/// Where so many schedules have all ended as `unsupported` in one way, and none otherwise, no more are run.
inline constexpr uint64_t alike_runs_max = 300;

/// Any thread may call any function.
class scenario_campaign {
 public:
  struct options {
    std::string strategy = "mix";
    seed_range seeds = {};   ///< count 0: without an end
    uint32_t workers = 1;    ///< that will work on it at a time
    double seconds_max = 0;  ///< from now on; no run begins after that, but the first always does; 0: no limit
    double seconds_end =
        0;  ///< from now on; a run that is under way then is ended, in work in other processes; 0: no limit
    const std::atomic<bool>* stop = nullptr;  ///< looked at before each run
    std::filesystem::path folder = {};        ///< where findings are written; empty: nowhere
    journal* kept_in = nullptr;               ///< null: in none
    bool folder_may_fail = false;             ///< the campaign goes on where a finding cannot be written
    bool stops_at_first = false;              ///< behind a finding that the scenario does not expect
    bool resumed = false;                     ///< traces in the folder may be this campaign's own
    scenario_record before = {};              ///< what has been run already
    /// Of a part of a campaign that another process leads: is given each finding, and says whether to go on. Groups in
    /// `known` need no explanation. Null: this is the whole campaign.
    std::function<bool(const scheduler::finding&)> keeps_elsewhere = nullptr;
    std::vector<scheduler::finding> known = {};
    /// Called by one thread at a time, now and then, with what there is so far.
    std::function<void(const scheduler::campaign_result&)> progress = nullptr;
  };

  /// What must be known to run seeds elsewhere.
  const scenario& tested() const { return tested_; }
  const parameters& settings() const { return settings_; }
  const std::string& strategy() const { return options_.strategy; }
  /// How long a piece that is dealt out now may be worked on; 0: as long as it takes.
  double seconds_left() const;
  /// Of each group that has been found, the lowest seed; the findings have nothing else.
  std::vector<scheduler::finding> known() const;

  /// `tested` and `settings` must outlive it.
  scenario_campaign(const scenario& tested, const parameters& settings, options asked);

  /// Seeds to run, as many as take about a tenth of a second; nothing when all are dealt out, when the time is over, or
  /// when the campaign was stopped.
  std::optional<seed_range> next();

  /// Whether next() has held seeds back until what is under way has been added up.
  bool holds_back() const;

  /// Runs them all, or those before the time is over or the campaign is stopped. `after_run` is called after each run.
  scheduler::campaign_result run(campaign_worker& with, seed_range seeds,
                                 const std::function<void()>& after_run = nullptr);

  /// Takes in what came of seeds that next() dealt out; those that were not run are dealt out again. Written into the journal.
  void add(seed_range dealt, scheduler::campaign_result result);

  /// Whether a run that ended so has to be explained and handed to keep(): its group was not found with this or a lower seed.
  bool is_news(const scheduler::failure& how, uint64_t seed) const;

  /// Writes a finding, unless its group was found with a lower seed meanwhile. False when it cannot be written; the
  /// campaign is stopped then.
  bool keep(const scheduler::finding& found);

  /// Explains again what a journal only names. After work has ended.
  void complete(campaign_worker& with);

  /// For work in other processes: runs that have been made and are not added up yet, or, below 0, that are to be made again.
  void made_runs(int64_t more);
  /// Runs of a piece have ended well and have printed that something failed.
  void complained(const complaints& more);
  /// So many runs have been ended because they stood still.
  void stood_still(uint64_t more);
  /// Whether runs that are under way are to be ended.
  bool is_late() const { return options_.seconds_end > 0 && seconds() >= options_.seconds_end; }
  /// A run of this seed was under way then, behind so many steps.
  void cut_short(uint64_t seed, uint64_t steps);
  /// The findings that a journal only names, after work has ended, and one of them with its explanation.
  std::vector<scheduler::finding> unexplained() const;
  void explained(const scheduler::finding& named, scheduler::finding whole);
  /// It cannot go on, for a reason that is no finding.
  void give_up(std::string why);

  /// What came of it; for one thread, after work has ended.
  trial take();

  /// One line when something could not be written.
  std::string error() const;
  /// One line when a finding could not be written, and the campaign has gone on.
  std::string not_kept() const;

  /// For work in other processes: how many steps the run has made that is under way; shown as long as none has ended.
  void made_steps(uint64_t steps);

  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

 private:
  /// A group whose first run has been explained, and perhaps written.
  struct kept_finding {
    scheduler::failure how;
    uint64_t seed;
    std::string file;
    /// Found in the folder, and not by a piece that has been added up: its run will be made again.
    bool from_folder = false;
    bool own = false;  ///< this campaign wrote the file, so that it may take it away again
  };

  double seconds() const;
  bool all_unsupported() const;
  std::shared_ptr<const scheduler::estimate> estimate_with(campaign_worker& with);
  kept_finding* kept(const scheduler::failure& how);
  void look_into_folder();
  std::string write(const scheduler::trace& found, bool& written);
  void stop_with(std::string why);
  void show();

  const scenario& tested_;
  const parameters& settings_;
  const options options_;
  scheduler::trace header_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();

  mutable std::mutex lock_;
  std::once_flag estimated_;
  std::shared_ptr<const scheduler::estimate> estimate_;  ///< one for all workers; null where the strategy wants none
  seed_dealer dealer_;
  bool dealt_any_ = false;
  bool holds_back_ = false;
  bool ended_alike_ = false;
  std::optional<cut_schedule> cut_;
  double seconds_per_run_ = 0;  ///< of one worker; 0: not known
  scheduler::campaign_result sum_;
  std::vector<kept_finding> kept_;
  std::string error_;
  std::string not_kept_;
  uint64_t stood_still_ = 0;
  complaints complaints_;
  std::atomic<uint64_t> steps_under_way_ = 0;
  std::atomic<bool> stopped_ = false;    ///< by itself
  std::atomic<uint64_t> under_way_ = 0;  ///< runs of pieces that have not been added up
  std::mutex showing_;
  std::chrono::steady_clock::time_point shown_ = start_;
};

}  // namespace heddle::tools
