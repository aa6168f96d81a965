// What a scheduled operation and a whole schedule cost, beside the cost of a bare fiber round trip in the same run.
#include "programs.h"

#include <heddle/scheduler/strategy.h>
#include <heddle/sim/simulation.h>
#include <heddle/tools/registry.h>

#include <benchmark/benchmark.h>
#include <boost/context/fiber.hpp>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace heddle;

/// One fiber that is entered and left again: the least that a switch to another lane and back can cost.
class bare_fiber {
 public:
  bare_fiber()
      : fiber_([](boost::context::fiber&& back) {
          while (true) back = std::move(back).resume();
          return std::move(back);
        }) {}
  void round_trip() { fiber_ = std::move(fiber_).resume(); }

 private:
  boost::context::fiber fiber_;
};

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

void bare_fiber_round_trip(benchmark::State& state) {
  bare_fiber fiber;
  for (auto _ : state) fiber.round_trip();
}
BENCHMARK(bare_fiber_round_trip);

/// Runs the body under schedules of the random strategy, each iteration a batch of them, and after each batch as many bare fiber
/// round trips as there were operations: both see the same machine. Reports medians over the batches.
void measure(benchmark::State& state, const parameters& settings, const std::function<void()>& body) {
  constexpr uint64_t operations_per_batch = 20000;
  sim::simulation machine;
  std::string error;
  const auto strategy = scheduler::make_strategy("random", error);
  scheduler::choice_source choices;
  bare_fiber fiber;
  std::vector<double> operation_ns;
  std::vector<double> fiber_ns;
  uint64_t seed = 0;
  uint64_t steps = 0;
  for (auto _ : state) {
    uint64_t batch = 0;
    double start_ns = thread_time_ns();
    while (batch < operations_per_batch) {
      choices.begin(*strategy, ++seed);
      const sim::outcome result = machine.run(settings, body, choices, false);
      if (result.verdict != scheduler::verdict::ok) return state.SkipWithError(result.message.c_str());
      batch += result.steps;
    }
    const double simulated_ns = thread_time_ns() - start_ns;
    state.SetIterationTime(simulated_ns * 1e-9);
    operation_ns.push_back(simulated_ns / static_cast<double>(batch));
    steps += batch;
    start_ns = thread_time_ns();
    for (uint64_t n = 0; n < batch; ++n) fiber.round_trip();
    fiber_ns.push_back((thread_time_ns() - start_ns) / static_cast<double>(batch));
  }
  std::vector<double> ratio(operation_ns.size());
  for (size_t n = 0; n < ratio.size(); ++n) ratio[n] = operation_ns[n] / fiber_ns[n];
  state.counters["operations/s"] = benchmark::Counter(static_cast<double>(steps), benchmark::Counter::kIsRate);
  state.counters["schedules/s"] = benchmark::Counter(static_cast<double>(seed), benchmark::Counter::kIsRate);
  state.counters["operations/schedule"] = static_cast<double>(steps) / static_cast<double>(seed);
  state.counters["operation_ns"] = median(operation_ns);
  state.counters["fiber_round_trip_ns"] = median(fiber_ns);
  state.counters["operation/fiber_round_trip"] = median(ratio);
}

void mailbox(benchmark::State& state) {
  measure(state, parameters(sim::machine_parameters()),
          [rounds = static_cast<uint32_t>(state.range(0))] { bench::mailbox(rounds); });
}
BENCHMARK(mailbox)->Arg(1)->Arg(4)->Arg(16)->ArgName("rounds")->UseManualTime();

void busy_waves(benchmark::State& state) {
  measure(state, parameters(sim::machine_parameters()),
          [waves = static_cast<uint32_t>(state.range(0))] { bench::busy_waves(waves, 1000); });
}
BENCHMARK(busy_waves)->Arg(2)->Arg(8)->Arg(64)->ArgName("waves")->UseManualTime();

/// A scenario that ships, with its defaults but for the lanes.
void scenario_of_name(benchmark::State& state, const char* name) {
  for (const scenario& known : scenarios()) {
    if (known.name != name) continue;
    std::vector<parameter> definitions = sim::machine_parameters();
    definitions.insert(definitions.end(), known.parameters.begin(), known.parameters.end());
    parameters settings(std::move(definitions));
    if (settings.set("lanes=" + std::to_string(state.range(0)))) std::abort();
    measure(state, settings, [&] { known.body(settings); });
    return;
  }
  state.SkipWithError("no such scenario");
}
BENCHMARK_CAPTURE(scenario_of_name, port_echo, "port.echo")->Arg(1)->Arg(2)->Arg(32)->ArgName("lanes")->UseManualTime();
BENCHMARK_CAPTURE(scenario_of_name, port_stream, "port.stream")->Arg(2)->ArgName("lanes")->UseManualTime();

}  // namespace

BENCHMARK_MAIN();
