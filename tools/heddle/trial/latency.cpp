#include <heddle/scheduler/estimate.h>
#include <heddle/scheduler/strategy.h>
#include <heddle/sim/call_times.h>
#include <heddle/tools/process/copied_process.h>
#include <heddle/tools/process/interrupt.h>
#include <heddle/tools/trial/latency.h>
#include <heddle/tools/trial/trial.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

namespace heddle::tools {
namespace {

static_assert(std::is_trivially_copyable_v<call_latency>, "a copy sends it as it lies in memory");

constexpr uint64_t schedules_most = 200;
constexpr uint64_t steps_most = 400'000;  // a run more than that is made in any case
constexpr uint64_t schedules_without_call = 4;

/// What a share of them does not exceed; the nearest rank. `sorted` is not empty.
double at_share(const std::vector<uint64_t>& sorted, uint64_t percent) {
  constexpr double ps_per_ns = 1000;
  const size_t rank = (sorted.size() * percent + 99) / 100;
  return static_cast<double>(sorted[rank == 0 ? 0 : rank - 1]) / ps_per_ns;
}

std::optional<call_latency> measured(const scenario& tested, const parameters& settings, const std::string& strategy,
                                     uint64_t first_seed, uint64_t schedules) {
  std::string error;
  const std::unique_ptr<scheduler::strategy> deciding = scheduler::make_strategy(strategy, error);
  if (deciding == nullptr) return std::nullopt;
  sim::simulation machine;
  deciding->estimated(scheduler::estimate_for(
      *deciding, [&](scheduler::choice_source& choices) { run_scenario(machine, tested, settings, choices, false); }));
  sim::call_times times;
  machine.time_calls(&times);
  scheduler::choice_source choices;
  uint64_t steps = 0;
  uint64_t runs = 0;
  const uint64_t most = std::min(schedules, schedules_most);
  for (; runs < most && steps < steps_most && !interrupt_flag(); ++runs) {
    if (times.begun == 0 && (runs == schedules_without_call || times.runs != runs)) return std::nullopt;
    choices.begin(*deciding, first_seed + runs);
    steps += run_scenario(machine, tested, settings, choices, false).steps;
  }
  if (times.took_ps.empty()) return std::nullopt;
  std::sort(times.took_ps.begin(), times.took_ps.end());
  return call_latency{.calls = times.took_ps.size(),
                      .schedules = runs,
                      .median_ns = at_share(times.took_ps, 50),
                      .p99_ns = at_share(times.took_ps, 99),
                      .longest_ns = at_share(times.took_ps, 100)};
}

}  // namespace

std::optional<call_latency> latency_of(const scenario& tested, const parameters& settings, const std::string& strategy,
                                       uint64_t first_seed, uint64_t schedules) {
  // A schedule that ends its process has told nothing of time.
  const std::string told = in_copy(
      [&] {
        const std::optional<call_latency> made = measured(tested, settings, strategy, first_seed, schedules);
        return made ? std::string(reinterpret_cast<const char*>(&*made), sizeof *made) : std::string();
      },
      {.ended = [](const sudden_end&, const std::string&) { return std::string(); }});
  call_latency made{};
  if (told.size() != sizeof made) return std::nullopt;
  std::memcpy(&made, told.data(), sizeof made);
  return made;
}

}  // namespace heddle::tools
