#include <heddle/scheduler/estimate.h>
#include <heddle/scheduler/own_errors.h>
#include <heddle/tools/fuzz/campaign/jobs.h>
#include <heddle/tools/fuzz/campaign/messages.h>
#include <heddle/tools/mpi/ranks.h>
#include <heddle/tools/process/copied_process.h>
#include <heddle/tools/process/interrupt.h>
#include <heddle/tools/trial/explain.h>

// The bindings for C++ are gone from the standard, and from newer libraries.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <thread>

namespace heddle::tools {
namespace {

/// Tags of messages.
enum tag : int {
  tag_ready,  ///< to the leader: nothing to do. Empty
  tag_done,   ///< to the leader: piece_done; nothing to do
  tag_found,  ///< to the leader: piece_found; waits for tag_kept
  tag_piece,  ///< from the leader: piece_to_run
  tag_kept,   ///< from the leader: "1", or "0" to stop
  tag_end,    ///< from the leader. Empty
};

/// A rank that has not answered for so many times the longest piece, and for so many seconds, is taken for dead.
constexpr double patience_in_pieces = 20;
constexpr double patience_seconds = 30;

std::string received(int from, int kind, int size) {
  std::string text(static_cast<size_t>(size), '\0');
  MPI_Recv(text.data(), size, MPI_BYTE, from, kind, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return text;
}

int size_of(const MPI_Status& status) {
  int size = 0;
  MPI_Get_count(&status, MPI_BYTE, &size);
  return size;
}

bool sent(int to, int kind, const std::string& text) {
  return MPI_Send(text.data(), static_cast<int>(text.size()), MPI_BYTE, to, kind, MPI_COMM_WORLD) == MPI_SUCCESS;
}

}  // namespace

// -- the leader -----------------------------------------------------------------------------------------------------------------

rank_leader::rank_leader(const std::string& strategy) : own_(make_worker(strategy)), strategy_(strategy) {
  if (!care_of_runs().in_process) copies_ = std::make_unique<copied_jobs>(1, strategy);
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  members_.resize(static_cast<size_t>(ranks));
}

rank_leader::~rank_leader() {
  for (size_t rank = 1; rank < members_.size(); ++rank)
    if (!members_[rank].lost) send(static_cast<int>(rank), tag_end, "");
}

uint32_t rank_leader::size() const { return static_cast<uint32_t>(members_.size()); }

bool rank_leader::lost_any() const {
  return std::any_of(members_.begin(), members_.end(), [](const member& each) { return each.lost; });
}

bool rank_leader::somebody_works() const {
  return std::any_of(members_.begin(), members_.end(), [](const member& each) { return each.piece != 0; });
}

void rank_leader::send(int rank, int kind, const std::string& text) {
  if (!sent(rank, kind, text)) leave_out(rank);
}

void rank_leader::leave_out(int rank) {
  member& lost = members_[static_cast<size_t>(rank)];
  if (lost.lost) return;
  lost.lost = true;
  lost.idle = false;
  dprintf(scheduler::own_errors, "heddle: rank %d is lost; others run its seeds\n", rank);
  if (lost.piece != 0 && campaign_ != nullptr) campaign_->add(lost.seeds, {});  // none of them has been run
  lost.piece = 0;
  any_left_ = true;
}

void rank_leader::leave_out_the_slow() {
  const auto now = std::chrono::steady_clock::now();
  for (size_t rank = 1; rank < members_.size(); ++rank) {
    const member& each = members_[rank];
    if (each.piece == 0) continue;
    const double waited = std::chrono::duration<double>(now - each.since).count();
    if (waited > patience_seconds && waited > patience_in_pieces * longest_) leave_out(static_cast<int>(rank));
  }
}

void rank_leader::take_message(int rank, int kind, const std::string& text) {
  member& from = members_[static_cast<size_t>(rank)];
  if (from.lost) return;  // its seeds are run by other ranks; what it says now would count twice
  from.since = std::chrono::steady_clock::now();
  if (kind == tag_found) {
    const piece_found found = piece_found_of(text);
    const bool goes_on = campaign_ != nullptr && found.number == from.piece && campaign_->keep(found.found);
    send(rank, tag_kept, goes_on ? "1" : "0");
    return;
  }
  if (kind == tag_done) {
    piece_done done = piece_done_of(text);
    if (campaign_ != nullptr && done.number == from.piece) {
      longest_ = std::max(longest_, done.result.seconds);
      campaign_->add(from.seeds, std::move(done.result));
    }
    from.piece = 0;
  }
  from.idle = true;
}

/// Takes in what has come; whether something has.
bool rank_leader::poll() {
  bool any = false;
  while (true) {
    int there = 0;
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status) != MPI_SUCCESS || there == 0) break;
    take_message(status.MPI_SOURCE, status.MPI_TAG, received(status.MPI_SOURCE, status.MPI_TAG, size_of(status)));
    any = true;
  }
  deal();
  return any;
}

void rank_leader::deal() {
  if (campaign_ == nullptr) return;
  for (size_t rank = 1; rank < members_.size(); ++rank) {
    member& to = members_[rank];
    if (!to.idle || to.lost || !any_left_) continue;
    const std::optional<seed_range> seeds = campaign_->next();
    any_left_ = seeds.has_value();
    if (!seeds) return;
    to.idle = false;
    to.piece = ++pieces_;
    to.seeds = *seeds;
    to.since = std::chrono::steady_clock::now();
    send(static_cast<int>(rank), tag_piece,
         to_text(piece_to_run{.number = to.piece,
                              .scenario = campaign_->tested().name,
                              .settings = campaign_->settings().values(),
                              .strategy = strategy_,
                              .seeds = *seeds,
                              .seconds_max = campaign_->seconds_left(),
                              .known = campaign_->known()}));
  }
}

void rank_leader::work_on(scenario_campaign& campaign) {
  campaign_ = &campaign;
  any_left_ = true;
  while (true) {
    poll();
    if (copies_ != nullptr) copies_->run_all(campaign, [this] { poll(); });
    const std::optional<seed_range> seeds = copies_ != nullptr ? std::nullopt : campaign.next();
    if (seeds) {
      scheduler::campaign_result made = campaign.run(*own_, *seeds, [this] { poll(); });
      longest_ = std::max(longest_, made.seconds);
      campaign.add(*seeds, std::move(made));
      any_left_ = true;  // it may have given some back
      continue;
    }
    if (!somebody_works()) break;
    // All is dealt out.
    if (!poll()) std::this_thread::sleep_for(std::chrono::microseconds(100));
    leave_out_the_slow();
  }
  if (copies_ != nullptr)
    copies_->complete(campaign);
  else
    campaign.complete(*own_);
  campaign_ = nullptr;
}

// -- the others -----------------------------------------------------------------------------------------------------------------

namespace {

/// What a rank keeps from piece to piece.
class follower {
 public:
  /// Runs a piece, and tells the leader.
  void run(const piece_to_run& asked) {
    if (asked.scenario != scenario_ || asked.strategy != strategy_ || asked.settings != values_) prepare(asked);
    piece_done done{.number = asked.number, .result = {}};
    if (is_ready_) done.result = care_of_runs().in_process ? run_piece(asked) : run_in_copies(asked);
    sent(0, tag_done, to_text(done));
  }

 private:
  void prepare(const piece_to_run& asked) {
    scenario_ = asked.scenario;
    strategy_ = asked.strategy;
    values_ = asked.settings;
    known_ = {};
    worker_ = make_worker(strategy_);
    const selection selected = select_scenarios({scenario_});
    std::vector<std::string> assignments;
    for (const auto& [key, value] : values_) {
      assignments.push_back(key);
      assignments.back() += '=';
      assignments.back() += value;
    }
    tested_ = selected.chosen.empty() ? nullptr : selected.chosen.front();
    settings_or_error settings;
    if (tested_ != nullptr) settings = simulator_settings(*tested_, assignments);
    if (!settings.value) worker_ = nullptr;  // another program than the leader's: it gets nothing back
    settings_ = settings.value.value_or(parameters());
    is_ready_ = worker_ != nullptr && worker_->deciding != nullptr;
    if (!is_ready_ || !care_of_runs().in_process) return;
    estimate_ = scheduler::estimate_for(*worker_->deciding, [&](scheduler::choice_source& choices) {
      run_scenario(worker_->machine, *tested_, settings_, choices, false);
    });
  }

  scheduler::campaign_result run_in_copies(const piece_to_run& asked) {
    const auto keep = [&](const scheduler::finding& found) { return told_leader(asked, found); };
    scenario_campaign part(*tested_, settings_,
                           {.strategy = strategy_,
                            .seeds = asked.seeds,
                            .stop = &interrupt_flag(),
                            .keeps_elsewhere = keep,
                            .known = asked.known});
    copied_jobs(1, strategy_).work_on(part);
    trial made = part.take();
    // Of a piece that was cut short it is not known which seeds have been run.
    return made.runs.schedules == asked.seeds.count ? std::move(made.runs) : scheduler::campaign_result();
  }

  /// Whether to go on.
  static bool told_leader(const piece_to_run& asked, const scheduler::finding& found) {
    sent(0, tag_found, to_text(piece_found{.number = asked.number, .found = found}));
    // The next seed is started when this one's trace is on the disk.
    MPI_Status status;
    MPI_Probe(0, tag_kept, MPI_COMM_WORLD, &status);
    return received(0, tag_kept, size_of(status)) == "1";
  }

  scheduler::campaign_result run_piece(const piece_to_run& asked) {
    for (const scheduler::finding& each : asked.known) learn(each.first);
    scheduler::campaign_options piece;
    piece.first_seed = asked.seeds.first;
    piece.schedules = asked.seeds.count;
    piece.seconds_max = asked.seconds_max;
    piece.stop = &interrupt_flag();
    piece.known_estimate = estimate_;
    piece.header = trace_header(*tested_, settings_, strategy_);
    piece.is_news = [&](const scheduler::failure& how, uint64_t seed) {
      const scheduler::finding* const same = known_.find(how);
      return same == nullptr || seed < same->first.seed;
    };
    piece.found = [&](const scheduler::finding& found) {
      learn(found.first);
      return told_leader(asked, found);
    };
    return scheduler::run_campaign(piece, *worker_->deciding, [&](scheduler::choice_source& choices, bool explain) {
      return run_or_explain(worker_->machine, *tested_, settings_, choices, explain);
    });
  }

  void learn(const scheduler::trace& found) {
    scheduler::campaign_result one;
    one.findings.emplace_back();
    scheduler::failure::of(found).note_in(one.findings[0].first);
    one.findings[0].first.seed = found.seed;
    known_.add(std::move(one));
  }

  std::string scenario_;
  std::string strategy_;
  std::vector<std::pair<std::string, std::string>> values_;
  bool is_ready_ = false;
  const scenario* tested_ = nullptr;
  parameters settings_;
  std::unique_ptr<campaign_worker> worker_;
  std::shared_ptr<const scheduler::estimate>
      estimate_;                      ///< as the leader's: it is a function of the program and its settings
  scheduler::campaign_result known_;  ///< the groups that have been found, with their lowest seeds
};

}  // namespace

void follow_leader() {
  follower mine;
  sent(0, tag_ready, "");
  while (true) {
    MPI_Status status;
    if (MPI_Probe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &status) != MPI_SUCCESS) return;
    const std::string text = received(0, status.MPI_TAG, size_of(status));
    if (status.MPI_TAG == tag_end) return;
    if (status.MPI_TAG == tag_piece) mine.run(piece_to_run_of(text));
  }
}

}  // namespace heddle::tools
