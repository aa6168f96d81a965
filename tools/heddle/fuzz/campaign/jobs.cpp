#include <heddle/tools/fuzz/campaign/jobs.h>

#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <utility>

namespace heddle::tools {

struct campaign_jobs::threads {
  threads(uint32_t count, const std::string& strategy)
      : allowed(tbb::global_control::max_allowed_parallelism, count),
        arena(static_cast<int>(count)),
        workers([strategy] { return make_worker(strategy); }) {}

  tbb::global_control allowed;  // also more threads than there are cores
  tbb::task_arena arena;
  tbb::enumerable_thread_specific<std::unique_ptr<campaign_worker>> workers;
};

std::unique_ptr<campaign_worker> make_worker(const std::string& strategy) {
  auto made = std::make_unique<campaign_worker>();
  std::string error;
  made->deciding = scheduler::make_strategy(strategy, error);
  return made;
}

campaign_jobs::campaign_jobs(uint32_t count, const std::string& strategy)
    : count_(count), threads_(std::make_unique<threads>(count, strategy)) {}

campaign_jobs::~campaign_jobs() = default;

void campaign_jobs::work_on(scenario_campaign& campaign) {
  using piece = std::pair<seed_range, scheduler::campaign_result>;
  threads_->arena.execute([&] {
    tbb::parallel_pipeline(
        size_t{count_},
        tbb::make_filter<void, seed_range>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control& control) {
          const std::optional<seed_range> dealt = campaign.next();
          if (!dealt) control.stop();
          return dealt.value_or(seed_range{});
        }) & tbb::make_filter<seed_range, piece>(tbb::filter_mode::parallel, [&](seed_range dealt) {
          return piece{dealt, campaign.run(*threads_->workers.local(), dealt)};
        }) & tbb::make_filter<piece, void>(tbb::filter_mode::serial_out_of_order, [&](piece made) {
          campaign.add(made.first, std::move(made.second));
        }));
  });
  campaign.complete(*threads_->workers.local());
}

}  // namespace heddle::tools
