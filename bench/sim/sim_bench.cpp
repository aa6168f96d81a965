// What a scheduled operation and a whole schedule cost, beside the cost of a bare fiber round trip in the same run.
#include "programs.h"

#include <heddle/scheduler/strategy.h>
#include <heddle/sim/simulation.h>
#include <heddle/tools/registry.h>

#include <benchmark/benchmark.h>
#include <boost/context/fiber.hpp>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

namespace {

using namespace heddle;
using clock_type = std::chrono::steady_clock;

/// One fiber that is entered and left again: the least that a switch to another lane and back can cost.
class bare_fiber {
 public:
  bare_fiber() : fiber_([](boost::context::fiber&& back) {
    while (true) back = std::move(back).resume();
    return std::move(back);
  }) {}
  void round_trip() { fiber_ = std::move(fiber_).resume(); }

 private:
  boost::context::fiber fiber_;
};

double nanoseconds_since(clock_type::time_point start) {
  return std::chrono::duration<double, std::nano>(clock_type::now() - start).count();
}

void bare_fiber_round_trip(benchmark::State& state) {
  bare_fiber fiber;
  for (auto _ : state) fiber.round_trip();
}
BENCHMARK(bare_fiber_round_trip);

/// Runs the body under schedules of the random strategy, and alternates with bare fiber round trips, so that both see the same
/// machine; reports their ratio for a scheduled operation.
void measure(benchmark::State& state, const parameters& settings, const std::function<void()>& body) {
  constexpr int round_trips = 2000;
  sim::simulation machine;
  std::string error;
  const auto strategy = scheduler::make_strategy("random", error);
  scheduler::choice_source choices;
  bare_fiber fiber;
  double fiber_ns = 0;
  double run_ns = 0;
  uint64_t seed = 0;
  uint64_t steps = 0;
  uint64_t schedules = 0;
  constexpr uint64_t schedules_between = 20;
  for (auto _ : state) {
    if (schedules % schedules_between == 0) {
      state.PauseTiming();
      const auto start = clock_type::now();
      for (int n = 0; n < round_trips; ++n) fiber.round_trip();
      fiber_ns += nanoseconds_since(start) / round_trips;
      state.ResumeTiming();
    }
    const auto start = clock_type::now();
    choices.begin(*strategy, ++seed);
    const sim::outcome result = machine.run(settings, body, choices, false);
    run_ns += nanoseconds_since(start);
    if (result.verdict != scheduler::verdict::ok) {
      state.SkipWithError(result.message.c_str());
      break;
    }
    steps += result.steps;
    ++schedules;
  }
  if (steps == 0) return;
  const double fiber_round_trip_ns = fiber_ns / static_cast<double>((schedules + schedules_between - 1) / schedules_between);
  const double operation_ns = run_ns / static_cast<double>(steps);
  state.counters["operations/s"] = benchmark::Counter(static_cast<double>(steps), benchmark::Counter::kIsRate);
  state.counters["schedules/s"] = benchmark::Counter(static_cast<double>(schedules), benchmark::Counter::kIsRate);
  state.counters["operations/schedule"] = static_cast<double>(steps) / static_cast<double>(schedules);
  state.counters["operation_ns"] = operation_ns;
  state.counters["fiber_round_trip_ns"] = fiber_round_trip_ns;
  state.counters["operation/fiber_round_trip"] = operation_ns / fiber_round_trip_ns;
}

void mailbox(benchmark::State& state) {
  measure(state, parameters(sim::machine_parameters()),
          [rounds = static_cast<uint32_t>(state.range(0))] { bench::mailbox(rounds); });
}
BENCHMARK(mailbox)->Arg(1)->Arg(4)->Arg(16)->ArgName("rounds");

void busy_waves(benchmark::State& state) {
  measure(state, parameters(sim::machine_parameters()),
          [waves = static_cast<uint32_t>(state.range(0))] { bench::busy_waves(waves, 1000); });
}
BENCHMARK(busy_waves)->Arg(2)->Arg(8)->Arg(64)->ArgName("waves");

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
BENCHMARK_CAPTURE(scenario_of_name, port_echo, "port.echo")->Arg(1)->Arg(2)->Arg(32)->ArgName("lanes");
BENCHMARK_CAPTURE(scenario_of_name, port_stream, "port.stream")->Arg(2)->ArgName("lanes");

}  // namespace

BENCHMARK_MAIN();
