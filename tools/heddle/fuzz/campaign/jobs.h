// The workers of a campaign: threads of this process, or something else.
#pragma once

#include <heddle/tools/fuzz/campaign/scenario_campaign.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

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

}  // namespace heddle::tools
