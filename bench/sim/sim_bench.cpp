// What a scheduled operation and a whole schedule cost, beside the cost of a bare fiber round trip in the same run.
#include "programs.h"

#include <heddle/scheduler/strategy.h>
#include <heddle/sim/simulation.h>
#include <heddle/tools/registry.h>

#include <benchmark/benchmark.h>
#include <boost/context/fiber.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
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

/// One fidelity of the machine, with a simulation and seeds of its own.
class fidelity_under_test {
 public:
  fidelity_under_test(parameters settings, const char* fidelity) : settings_(std::move(settings)) {
    std::string error;
    strategy_ = scheduler::make_strategy("random", error);
    if (settings_.set(std::string("fidelity=") + fidelity)) std::abort();
  }

  /// Runs at least so many operations; false when a run did not end well, and then message() says why.
  bool run_batch(uint64_t operations, const std::function<void()>& body) {
    uint64_t batch = 0;
    const double start_ns = thread_time_ns();
    while (batch < operations) {
      choices_.begin(*strategy_, ++schedules_);
      const sim::outcome& result = machine_.run(settings_, body, choices_, false);
      if (result.verdict != scheduler::verdict::ok) {
        message_ = result.message;
        return false;
      }
      batch += result.steps;
    }
    batch_ns_ = thread_time_ns() - start_ns;
    batch_ = batch;
    steps_ += batch;
    operation_ns_.push_back(batch_ns_ / static_cast<double>(batch));
    return true;
  }

  const std::string& message() const { return message_; }
  uint64_t schedules() const { return schedules_; }
  uint64_t steps() const { return steps_; }
  uint64_t last_batch() const { return batch_; }
  double last_batch_ns() const { return batch_ns_; }
  const std::vector<double>& operation_ns() const { return operation_ns_; }

 private:
  parameters settings_;
  std::unique_ptr<scheduler::strategy> strategy_;
  sim::simulation machine_;
  scheduler::choice_source choices_;
  uint64_t schedules_ = 0;
  uint64_t steps_ = 0;
  uint64_t batch_ = 0;
  double batch_ns_ = 0;
  std::vector<double> operation_ns_;
  std::string message_;
};

/// Runs the body under schedules of the random strategy, each iteration a batch of them with one memory for all
/// (interleaving), a batch with scoped weak memory, and as many bare fiber round trips as the first had operations: all
/// see the same machine. Reports medians over the batches.
void measure(benchmark::State& state, const parameters& settings, const std::function<void()>& body) {
  constexpr uint64_t operations_per_batch = 20000;
  fidelity_under_test plain(settings, "interleaving");
  fidelity_under_test scoped(settings, "scoped");
  bare_fiber fiber;
  std::vector<double> fiber_ns;
  for (auto _ : state) {
    if (!plain.run_batch(operations_per_batch, body)) return state.SkipWithError(plain.message().c_str());
    state.SetIterationTime(plain.last_batch_ns() * 1e-9);
    if (!scoped.run_batch(operations_per_batch, body)) return state.SkipWithError(scoped.message().c_str());
    const double start_ns = thread_time_ns();
    for (uint64_t n = 0; n < plain.last_batch(); ++n) fiber.round_trip();
    fiber_ns.push_back((thread_time_ns() - start_ns) / static_cast<double>(plain.last_batch()));
  }
  std::vector<double> to_fiber(fiber_ns.size());
  std::vector<double> to_plain(fiber_ns.size());
  for (size_t n = 0; n < fiber_ns.size(); ++n) {
    to_fiber[n] = plain.operation_ns()[n] / fiber_ns[n];
    to_plain[n] = scoped.operation_ns()[n] / plain.operation_ns()[n];
  }
  const auto of_steps = [](const fidelity_under_test& one) {
    return static_cast<double>(one.steps()) / static_cast<double>(one.schedules());
  };
  state.counters["operations/s"] = benchmark::Counter(static_cast<double>(plain.steps()), benchmark::Counter::kIsRate);
  state.counters["schedules/s"] =
      benchmark::Counter(static_cast<double>(plain.schedules()), benchmark::Counter::kIsRate);
  state.counters["operations/schedule"] = of_steps(plain);
  state.counters["scoped_operations/schedule"] = of_steps(scoped);
  state.counters["operation_ns"] = median(plain.operation_ns());
  state.counters["scoped_operation_ns"] = median(scoped.operation_ns());
  state.counters["fiber_round_trip_ns"] = median(fiber_ns);
  state.counters["operation/fiber_round_trip"] = median(to_fiber);
  state.counters["scoped/interleaving"] = median(to_plain);
}

void mailbox(benchmark::State& state) {
  measure(state, parameters(sim::machine_parameters()),
          [rounds = static_cast<uint32_t>(state.range(0))] { bench::mailbox(rounds); });
}
BENCHMARK(mailbox)->Arg(1)->Arg(4)->Arg(16)->ArgName("rounds")->UseManualTime();

/// A program with a std::thread beside the same with device.spawn_host(), batch by batch on the same machine: schedules of each in a second, and the
/// median of how they compare.
void threads(benchmark::State& state) {
  constexpr uint64_t operations_per_batch = 20000;
  const auto rounds = static_cast<uint32_t>(state.range(0));
  fidelity_under_test spawned(parameters(sim::machine_parameters()), "scoped");
  fidelity_under_test threaded(parameters(sim::machine_parameters()), "scoped");
  std::vector<double> ratios;
  double spawned_ns = 0;
  double threaded_ns = 0;
  for (auto _ : state) {
    const uint64_t spawned_before = spawned.schedules(), threaded_before = threaded.schedules();
    if (!spawned.run_batch(operations_per_batch, [=] { bench::mailbox(rounds); }))
      return state.SkipWithError(spawned.message().c_str());
    if (!threaded.run_batch(operations_per_batch, [=] { bench::mailbox_of_threads(rounds); }))
      return state.SkipWithError(threaded.message().c_str());
    state.SetIterationTime(threaded.last_batch_ns() * 1e-9);
    spawned_ns += spawned.last_batch_ns();
    threaded_ns += threaded.last_batch_ns();
    ratios.push_back((threaded.last_batch_ns() / static_cast<double>(threaded.schedules() - threaded_before)) /
                     (spawned.last_batch_ns() / static_cast<double>(spawned.schedules() - spawned_before)));
  }
  state.counters["spawn_host_schedules/s"] = static_cast<double>(spawned.schedules()) / (spawned_ns * 1e-9);
  state.counters["thread_schedules/s"] = static_cast<double>(threaded.schedules()) / (threaded_ns * 1e-9);
  state.counters["thread/spawn_host"] = median(ratios);
}
BENCHMARK(threads)->Arg(1)->Arg(4)->Arg(16)->ArgName("rounds")->UseManualTime();

/// What a fill of 2 MiB takes, beside one of 4 bytes and the C library's own of as many bytes: the difference between programs that make few and
/// many of them, on the same machine. Medians of the iterations.
void fills(benchmark::State& state) {
  constexpr uint32_t few = 1;
  constexpr uint32_t many = 17;
  const char* const fidelity = state.range(0) == 0 ? "interleaving" : "scoped";
  fidelity_under_test machine(parameters(sim::machine_parameters()), fidelity);
  std::vector<unsigned char> bare(bench::most_filled_bytes);
  bool ended_well = true;
  const auto time_of = [&](size_t bytes, uint32_t times) {
    ended_well = ended_well && machine.run_batch(1, [=] { bench::fills(bytes, times); });
    return machine.last_batch_ns();
  };
  const auto fill_ns = [&](size_t bytes) { return (time_of(bytes, many) - time_of(bytes, few)) / (many - few); };
  std::vector<double> large_ns, small_ns, bare_ns, to_bare;
  for (auto _ : state) {
    large_ns.push_back(fill_ns(bench::most_filled_bytes));
    small_ns.push_back(fill_ns(sizeof(int)));
    const double start_ns = thread_time_ns();
    for (uint32_t n = few; n < many; ++n) {
      std::memset(bare.data(), static_cast<int>(n), bare.size());
      benchmark::DoNotOptimize(bare.data());
    }
    bare_ns.push_back((thread_time_ns() - start_ns) / (many - few));
    to_bare.push_back(large_ns.back() / bare_ns.back());
    state.SetIterationTime(large_ns.back() * 1e-9);
    if (!ended_well) return state.SkipWithError(machine.message().c_str());
  }
  state.counters["fill_ns"] = median(large_ns);
  state.counters["fill_of_4_bytes_ns"] = median(small_ns);
  state.counters["memset_ns"] = median(bare_ns);
  state.counters["fill/memset"] = median(to_bare);
}
BENCHMARK(fills)->Arg(0)->Arg(1)->ArgName("scoped")->UseManualTime()->Iterations(100);

void busy_waves(benchmark::State& state) {
  measure(state, parameters(sim::machine_parameters()),
          [waves = static_cast<uint32_t>(state.range(0))] { bench::busy_waves(waves, 1000); });
}
BENCHMARK(busy_waves)->Arg(2)->Arg(8)->Arg(64)->ArgName("waves")->UseManualTime();

/// A scenario that ships, with its defaults but for waves and lanes.
void scenario_of_name(benchmark::State& state, const char* name) {
  for (const scenario& known : scenarios()) {
    if (known.name != name) continue;
    std::vector<parameter> definitions = sim::machine_parameters();
    definitions.insert(definitions.end(), known.parameters.begin(), known.parameters.end());
    parameters settings(std::move(definitions));
    if (settings.set("waves=" + std::to_string(state.range(0)))) std::abort();
    if (settings.set("lanes=" + std::to_string(state.range(1)))) std::abort();
    measure(state, settings, [&] { known.body(settings); });
    return;
  }
  state.SkipWithError("no such scenario");
}
BENCHMARK_CAPTURE(scenario_of_name, port_echo, "port.echo")
    ->ArgNames({"waves", "lanes"})
    ->Args({2, 4})
    ->Args({2, 32})
    ->Args({3, 1})
    ->Args({3, 2})
    ->Args({3, 32})
    ->UseManualTime();
BENCHMARK_CAPTURE(scenario_of_name, port_stream, "port.stream")
    ->ArgNames({"waves", "lanes"})
    ->Args({2, 2})
    ->UseManualTime();

}  // namespace

BENCHMARK_MAIN();
