// Schedules per second of the mailbox, heddle's by Relacy's: batches take turns, so that all see the same machine.
#include "../sim/programs.h"
#include "relacy_mailbox.h"

#include <heddle/scheduler/strategy.h>
#include <heddle/sim/simulation.h>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

namespace {

using namespace heddle;

/// Time that this thread has run, so that another program on the machine does not count.
double thread_time_s() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// The mailbox in one fidelity.
class heddle_mailbox {
 public:
  heddle_mailbox(const char* fidelity, uint32_t rounds) : settings_(sim::machine_parameters()), rounds_(rounds) {
    std::string error;
    strategy_ = scheduler::make_strategy("random", error);
    if (settings_.set(std::string("fidelity=") + fidelity)) std::abort();
  }
  bool run(uint64_t schedules) {
    for (uint64_t n = 0; n < schedules; ++n) {
      choices_.begin(*strategy_, ++seed_);
      if (machine_.run(
                      settings_, [this] { bench::mailbox(rounds_); }, choices_, false)
              .verdict != scheduler::verdict::ok)
        return false;
    }
    return true;
  }

 private:
  parameters settings_;
  uint32_t rounds_;
  std::unique_ptr<scheduler::strategy> strategy_;
  scheduler::choice_source choices_;
  sim::simulation machine_;
  uint64_t seed_ = 0;
};

void mailbox(benchmark::State& state) {
  const auto rounds = static_cast<uint32_t>(state.range(0));
  const uint64_t schedules = 40'000 / rounds;
  heddle_mailbox interleaving("interleaving", rounds);
  heddle_mailbox scoped("scoped", rounds);
  uint64_t first = 0;
  std::vector<double> of_relacy;
  std::vector<double> of_interleaving;
  std::vector<double> of_scoped;
  for (auto _ : state) {
    const double start = thread_time_s();
    if (!bench::run_relacy_mailbox(rounds, first, schedules)) return state.SkipWithError("Relacy: a schedule failed");
    const double relacy = thread_time_s();
    if (!interleaving.run(schedules)) return state.SkipWithError("interleaving: a schedule failed");
    const double plain = thread_time_s();
    if (!scoped.run(schedules)) return state.SkipWithError("scoped: a schedule failed");
    const double end = thread_time_s();
    first += schedules;
    state.SetIterationTime(end - start);
    const auto count = static_cast<double>(schedules);
    of_relacy.push_back(count / (relacy - start));
    of_interleaving.push_back(count / (plain - relacy));
    of_scoped.push_back(count / (end - plain));
  }
  const auto by_relacy = [&](const std::vector<double>& ours) {
    std::vector<double> ratios(ours.size());
    for (size_t n = 0; n < ours.size(); ++n) ratios[n] = ours[n] / of_relacy[n];
    return median(ratios);
  };
  state.counters["relacy_schedules/s"] = median(of_relacy);
  state.counters["interleaving_schedules/s"] = median(of_interleaving);
  state.counters["scoped_schedules/s"] = median(of_scoped);
  state.counters["interleaving/relacy"] = by_relacy(of_interleaving);
  state.counters["scoped/relacy"] = by_relacy(of_scoped);
}
BENCHMARK(mailbox)->Arg(1)->Arg(4)->Arg(16)->ArgName("rounds")->UseManualTime();

}  // namespace

BENCHMARK_MAIN();
