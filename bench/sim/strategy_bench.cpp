// What a step costs under each strategy, beside `random` in the same run.
#include "programs.h"

#include <heddle/scheduler/estimate.h>
#include <heddle/scheduler/strategy.h>
#include <heddle/sim/simulation.h>
#include <heddle/tools/registry.h>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace heddle;

/// Time that this thread has run, so that another program on the machine does not count.
double thread_time_ns() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// One strategy, with a machine and seeds of its own.
class strategy_under_test {
 public:
  strategy_under_test(const std::string& name, parameters settings, const std::function<void()>& body)
      : settings_(std::move(settings)), body_(body) {
    std::string error;
    deciding_ = scheduler::make_strategy(name, error);
    if (deciding_ == nullptr) std::abort();
    deciding_->estimated(scheduler::estimate_for(
        *deciding_, [&](scheduler::choice_source& choices) { machine_.run(settings_, body_, choices, false); }));
  }

  /// Time per step over at least so many of them, in ns.
  double batch(uint64_t steps_wanted) {
    uint64_t steps = 0;
    const double start_ns = thread_time_ns();
    while (steps < steps_wanted) {
      choices_.begin(*deciding_, ++seed_);
      steps += machine_.run(settings_, body_, choices_, false).steps;
    }
    return (thread_time_ns() - start_ns) / static_cast<double>(steps);
  }

 private:
  parameters settings_;
  std::function<void()> body_;
  std::unique_ptr<scheduler::strategy> deciding_;
  sim::simulation machine_;
  scheduler::choice_source choices_;
  uint64_t seed_ = 0;
};

/// Batches that alternate with those of `random`, so that both see the same machine. Reports medians over the batches.
void measure(benchmark::State& state, const std::string& name, const parameters& settings,
             const std::function<void()>& body) {
  constexpr uint64_t steps_per_batch = 20'000;
  strategy_under_test random("random", settings, body);
  strategy_under_test other(name, settings, body);
  std::vector<double> random_ns, other_ns, ratios;
  for (auto _ : state) {
    random_ns.push_back(random.batch(steps_per_batch));
    other_ns.push_back(other.batch(steps_per_batch));
    ratios.push_back(other_ns.back() / random_ns.back());
    state.SetIterationTime(other_ns.back() * 1e-9 * steps_per_batch);
  }
  state.counters["step_ns"] = median(other_ns);
  state.counters["random_step_ns"] = median(random_ns);
  state.counters["to_random"] = median(ratios);
}

/// Waves that do nothing but steps.
void busy(benchmark::State& state, const std::string& name) {
  parameters settings(sim::machine_parameters());
  if (settings.set("fidelity=interleaving")) std::abort();
  const auto waves = static_cast<uint32_t>(state.range(0));
  measure(state, name, settings, [=] { bench::busy_waves(waves, 200); });
}

/// Calls that wait for each other, as they ship, with so many lanes in each of two waves.
void echo(benchmark::State& state, const std::string& name, const std::string& fidelity) {
  for (const scenario& known : scenarios()) {
    if (known.name != "port.echo") continue;
    std::vector<parameter> definitions = sim::machine_parameters();
    definitions.insert(definitions.end(), known.parameters.begin(), known.parameters.end());
    parameters settings(std::move(definitions));
    for (const std::string& each : {"fidelity=" + fidelity, std::string("waves=2"), std::string("ports=2"),
                                    "lanes=" + std::to_string(state.range(0))})
      if (settings.set(each)) std::abort();
    measure(state, name, settings, [&] { known.body(settings); });
    return;
  }
  state.SkipWithError("no such scenario");
}

}  // namespace

int main(int count, char** arguments) {
  for (const scheduler::strategy_help& each : scheduler::strategies()) {
    const std::string name(each.name);
    if (name == "random" || name == "mix") continue;
    benchmark::RegisterBenchmark(("busy/" + name).c_str(), [=](benchmark::State& state) { busy(state, name); })
        ->Arg(2)
        ->Arg(4)
        ->Arg(32)
        ->ArgName("waves")
        ->UseManualTime();
    for (const std::string fidelity : {"interleaving", "scoped"})
      benchmark::RegisterBenchmark(("echo_" + fidelity + "/" + name).c_str(),
                                   [=](benchmark::State& state) { echo(state, name, fidelity); })
          ->Arg(1)
          ->Arg(2)
          ->Arg(32)
          ->ArgName("lanes")
          ->UseManualTime();
  }
  benchmark::Initialize(&count, arguments);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
