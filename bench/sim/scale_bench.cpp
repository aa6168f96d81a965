// A whole device at a time: every wave that fits on it makes one call, and one host thread serves them all.
#include <heddle/scheduler/strategy.h>
#include <heddle/sim/simulation.h>
#include <heddle/tools/registry.h>

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
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
void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

const scenario* scenario_of_name(const std::string& name) {
  for (const scenario& known : scenarios())
    if (known.name == name) return &known;
  return nullptr;
}

void whole_device(benchmark::State& state, const device_size& size) {
  const scenario* const tested = scenario_of_name("port.echo");
  if (tested == nullptr) return state.SkipWithError("no such scenario");
  std::vector<parameter> definitions = sim::machine_parameters();
  definitions.insert(definitions.end(), tested->parameters.begin(), tested->parameters.end());
  parameters settings(std::move(definitions));
  const std::string waves = std::to_string(size.units * size.waves_per_unit);
  for (const std::string& assignment : {std::string("fidelity=interleaving"), std::string("convergence=independent"),
                                        std::string("calls=1"), std::string("budget=1000000000"), "resident=" + waves,
                                        "waves=" + waves, "ports=" + waves, "lanes=" + std::to_string(size.lanes)})
    if (const auto wrong = settings.set(assignment)) return state.SkipWithError(wrong->c_str());
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
