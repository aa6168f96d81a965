// Runs pieces of a campaign in a process that another process leads.
#pragma once

#include <heddle/tools/fuzz/campaign/jobs.h>
#include <heddle/tools/fuzz/campaign/messages.h>

#include <functional>
#include <memory>
#include <string>

namespace heddle::tools {

/// What a process keeps from piece to piece of one scenario.
class piece_worker {
 public:
  /// `tested` and `settings` must outlive it. `without_estimate`: the strategy must do without, as the run for it cannot be made.
  piece_worker(const scenario& tested, const parameters& settings, const std::string& strategy, bool without_estimate);

  /// Whether there is a strategy of that name.
  bool is_ready() const { return worker_->deciding != nullptr; }

  /// Runs the piece; `found` is asked, as campaign_options::found, when a run was found and explained.
  scheduler::campaign_result run(const piece_to_run& asked,
                                 const std::function<bool(const scheduler::finding&)>& found);

  /// Runs the seed alone and explains it, with the answers logged for the parent; a finding of verdict `ok` when it
  /// ends well. `told` is called with what is known before it is run again.
  scheduler::finding explain(uint64_t seed, const std::function<void(const scheduler::finding&)>& told);

 private:
  void estimate();
  void learn(const scheduler::trace& found);

  const scenario& tested_;
  const parameters& settings_;
  std::string strategy_;
  std::unique_ptr<campaign_worker> worker_;
  bool estimated_ = false;
  std::shared_ptr<const scheduler::estimate>
      estimate_;                      ///< a function of the program and its settings: equal in all processes
  scheduler::campaign_result known_;  ///< the groups that have been found, with their lowest seeds
};

}  // namespace heddle::tools
