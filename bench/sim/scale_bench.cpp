// What size costs: a whole device at a time, where every wave that fits on it makes one call, and one host thread serves them all; and a step of the
// same by the number of waves and of lanes.
#include <heddle/scheduler/strategy.h>
#include <heddle/sim/simulation.h>
#include <heddle/tools/registry.h>

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace heddle;

/// What a device holds at a time.
struct device_size {
  uint32_t units;  ///< SMs or CUs
  uint32_t waves_per_unit;
  uint32_t lanes;
};
constexpr device_size h200 = {132, 64, 32};
constexpr device_size mi300x = {304, 32, 64};

/// The most memory that the process has had resident since reset_peak, in MiB; 0 where the system does not tell.
double peak_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  return 0;
}
/// What earlier benchmarks have given back goes to the system first.
void reset_peak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";
}

const scenario* scenario_of_name(const std::string& name) {
  for (const scenario& known : scenarios())
    if (known.name == name) return &known;
  return nullptr;
}

/// Each of the waves makes one call, over a port of its own. Null, with what is wrong told to the benchmark, where that cannot be.
std::unique_ptr<parameters> one_call_each(benchmark::State& state, const scenario* tested, uint64_t waves,
                                          uint64_t lanes, const std::string& fidelity) {
  if (tested == nullptr) {
    state.SkipWithError("no such scenario");
    return nullptr;
  }
  std::vector<parameter> definitions = sim::machine_parameters();
  definitions.insert(definitions.end(), tested->parameters.begin(), tested->parameters.end());
  auto settings = std::make_unique<parameters>(std::move(definitions));
  const std::string count = std::to_string(waves);
  for (const std::string& assignment : {"fidelity=" + fidelity, std::string("convergence=independent"),
                                        std::string("calls=1"), std::string("budget=1000000000"), "resident=" + count,
                                        "waves=" + count, "ports=" + count, "lanes=" + std::to_string(lanes)})
    if (const auto wrong = settings->set(assignment)) {
      state.SkipWithError(wrong->c_str());
      return nullptr;
    }
  return settings;
}

/// Time that this thread has run, so that another program on the machine does not count.
double thread_time_s() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// A step, in schedules one after another on one machine.
void step(benchmark::State& state, const std::string& fidelity) {
  const scenario* const tested = scenario_of_name("port.echo");
  const auto settings = one_call_each(state, tested, static_cast<uint64_t>(state.range(0)),
                                      static_cast<uint64_t>(state.range(1)), fidelity);
  if (settings == nullptr) return;
  std::string error;
  const std::unique_ptr<scheduler::strategy> deciding = scheduler::make_strategy("round-robin:1", error);
  scheduler::choice_source choices;
  sim::simulation machine;
  uint64_t seed = 0;
  uint64_t steps = 0;
  double time_s = 0;
  const auto run = [&] {
    choices.begin(*deciding, ++seed);
    const double start = thread_time_s();
    const sim::outcome& ended = machine.run(*settings, [&] { tested->body(*settings); }, choices, false);
    time_s += thread_time_s() - start;
    steps += ended.steps;
    return ended.verdict == scheduler::verdict::ok;
  };
  reset_peak();
  // The first one takes the memory that the others have.
  if (!run()) return state.SkipWithError("a schedule does not end well");
  constexpr double long_enough_s = 0.1;
  for (auto _ : state) {
    steps = 0;
    time_s = 0;
    while (time_s < long_enough_s)
      if (!run()) return state.SkipWithError("a schedule does not end well");
    state.SetIterationTime(time_s);
  }
  state.counters["step_ns"] = 1e9 * time_s / static_cast<double>(steps);
  state.counters["peak_MiB"] = peak_mib();
}
void interleaving_step(benchmark::State& state) { step(state, "interleaving"); }
void scoped_step(benchmark::State& state) { step(state, "scoped"); }
BENCHMARK(interleaving_step)
    ->ArgsProduct({{1, 8, 64, 512, 2048, 8448}, {1, 4, 16, 32, 64}})
    ->ArgNames({"waves", "lanes"})
    ->UseManualTime()
    ->Iterations(1);
BENCHMARK(scoped_step)
    ->ArgsProduct({{1, 8, 64, 512}, {1, 4, 16, 32, 64}})
    ->ArgNames({"waves", "lanes"})
    ->UseManualTime()
    ->Iterations(1);

void whole_device(benchmark::State& state, const device_size& size) {
  const scenario* const tested = scenario_of_name("port.echo");
  const auto made = one_call_each(state, tested, size.units * size.waves_per_unit, size.lanes, "interleaving");
  if (made == nullptr) return;
  const parameters& settings = *made;
  // In turns of one step the lanes of a wave keep together, and call as one.
  std::string error;
  const std::unique_ptr<scheduler::strategy> deciding = scheduler::make_strategy("round-robin:1", error);
  scheduler::choice_source choices;
  uint64_t seed = 0;
  uint64_t steps = 0;
  reset_peak();
  for (auto _ : state) {
    // A machine that is used for the first time, with the memory that it takes.
    sim::simulation machine;
    choices.begin(*deciding, ++seed);
    const sim::outcome& ended = machine.run(settings, [&] { tested->body(settings); }, choices, false);
    if (ended.verdict != scheduler::verdict::ok) return state.SkipWithError(ended.message.c_str());
    steps += ended.steps;
  }
  state.counters["lanes"] = static_cast<double>(size.units * size.waves_per_unit * size.lanes);
  state.counters["steps"] = benchmark::Counter(static_cast<double>(steps), benchmark::Counter::kAvgIterations);
  state.counters["steps/s"] = benchmark::Counter(static_cast<double>(steps), benchmark::Counter::kIsRate);
  state.counters["peak_MiB"] = peak_mib();
}
BENCHMARK_CAPTURE(whole_device, H200, h200)->Unit(benchmark::kSecond)->Iterations(1)->MeasureProcessCPUTime();
BENCHMARK_CAPTURE(whole_device, MI300X, mi300x)->Unit(benchmark::kSecond)->Iterations(1)->MeasureProcessCPUTime();

}  // namespace

BENCHMARK_MAIN();
