// A campaign over the ranks of an MPI program: rank 0 deals out the seeds, works itself, and alone writes; the others run what they get.
#pragma once

#include <heddle/tools/fuzz/campaign/jobs.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace heddle::tools {

/// Rank 0's side. A rank that cannot be reached, or has not answered for a long time while there is nothing else to do, is left out, and
/// its seeds are run by others. Whether a program lives on when one of its ranks has died is up to the MPI library and its options.
class rank_leader final : public campaign_crew {
 public:
  explicit rank_leader(const std::string& strategy);
  /// Has the other ranks end.
  ~rank_leader() override;

  uint32_t size() const override;
  void work_on(scenario_campaign& campaign) override;

  /// Whether a rank was left out: MPI_Finalize would wait for it.
  bool lost_any() const;

 private:
  /// What a rank is at.
  struct member {
    bool idle = false;  ///< has asked for work
    bool lost = false;
    uint64_t piece = 0;  ///< 0: none
    seed_range seeds = {};
    std::chrono::steady_clock::time_point since = {};
  };

  bool poll();
  void take_message(int rank, int tag, const std::string& text);
  void deal();
  void send(int rank, int tag, const std::string& text);
  bool somebody_works() const;
  void leave_out(int rank);
  void leave_out_the_slow();

  std::unique_ptr<campaign_worker> own_;
  std::unique_ptr<copied_jobs> copies_;  ///< null where schedules run in this process
  std::string strategy_;
  std::vector<member> members_;            ///< by rank; the first is this one and stays as it is
  scenario_campaign* campaign_ = nullptr;  ///< that is worked on
  uint64_t pieces_ = 0;
  double longest_ = 0;  ///< seconds of a piece
  bool any_left_ = true;
};

/// The other ranks' side: runs what it is sent until it is told to end.
void follow_leader();

}  // namespace heddle::tools
