// The workers of a campaign: threads of this process, copies of it, or something else.
#pragma once

#include <heddle/tools/fuzz/campaign/scenario_campaign.h>
#include <heddle/tools/process/copied_process.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace heddle::tools {

class campaign_crew {
 public:
  campaign_crew() = default;
  campaign_crew(const campaign_crew&) = delete;
  campaign_crew& operator=(const campaign_crew&) = delete;
  virtual ~campaign_crew() = default;

  /// How many may work at a time.
  virtual uint32_t size() const = 0;

  /// Works until all is dealt out, and the findings are complete.
  virtual void work_on(scenario_campaign& campaign) = 0;
};

/// The threads of this process, each with a machine and a strategy of its own. oneTBB makes them and keeps them.
class campaign_jobs final : public campaign_crew {
 public:
  /// `count` threads, the calling one among them, at least 1. `strategy` is one that make_strategy takes.
  campaign_jobs(uint32_t count, const std::string& strategy);
  ~campaign_jobs() override;

  uint32_t size() const override { return count_; }
  void work_on(scenario_campaign& campaign) override;

 private:
  struct threads;
  uint32_t count_;
  std::unique_ptr<threads> threads_;
};

/// A worker with that strategy.
std::unique_ptr<campaign_worker> make_worker(const std::string& strategy);

// Copies of this process as the workers of a campaign: a schedule that ends its process ends no campaign.

/// Each copy is made of this process, in which no code under test runs, and takes pieces until the scenario's campaign
/// is over or a schedule has ended or damaged it. Then that schedule is a finding with the verdict `crash` or `stuck`,
/// and another copy goes on behind it. What is found is what campaign_jobs would find, where no schedule does that.
class copied_jobs final : public campaign_crew {
 public:
  /// `count` copies at a time, at least 1. `strategy` is one that make_strategy takes.
  copied_jobs(uint32_t count, std::string strategy);

  uint32_t size() const override { return count_; }
  void work_on(scenario_campaign& campaign) override;

  /// Until all is dealt out; `after_look` is called some times in a second.
  void run_all(scenario_campaign& campaign, const std::function<void()>& after_look);
  /// Explains again what a journal only names.
  void complete(scenario_campaign& campaign);

 private:
  struct member {
    std::unique_ptr<copied_process> copy = nullptr;
    bool works = false;
    seed_range seeds = {};                       ///< of its piece
    uint64_t stuck_runs = 0;                     ///< of the copy, that the campaign knows of
    uint64_t runs_shown = 0;                     ///< of the piece
    std::vector<scheduler::finding> found = {};  ///< in the piece
  };

  void start(member& who, const scenario_campaign& campaign);
  bool deal(member& who, scenario_campaign& campaign);
  void take_messages(member& who, scenario_campaign& campaign);
  void look_back(member& who, scenario_campaign& campaign);
  void give_up(member& who, scenario_campaign& campaign);
  void finish_stopped(member& who, scenario_campaign& campaign);
  scheduler::finding explain(uint64_t seed, const sudden_end& seen, scenario_campaign& campaign);

  uint32_t count_;
  std::string strategy_;
  std::vector<member> members_;
  bool without_estimate_ = false;
  std::map<uint64_t, uint32_t> killed_;  ///< seeds in which a copy was killed from outside, and how often
  uint32_t ended_early_ = 0;             ///< copies in a row that ended before they ran anything
};

/// Threads of this process, or copies of it, as care_of_runs() says.
std::unique_ptr<campaign_crew> make_crew(uint32_t jobs, const std::string& strategy);

}  // namespace heddle::tools
