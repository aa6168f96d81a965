// What a call costs, beside the least that it can cost, by Google Benchmark: one program for each machine.
//
//   latency_host [--device=N] [--rounds=N] [--round-ms=N] [options of Google Benchmark]
//
// `real_time` is the median of the calls, and the counters are named after what they are, in nanoseconds: min, p50, p99, p99.9, max;
// ratio compares with the bare exchange, measured in turns: the median of the rounds' ratios, and best_ratio that of the fastest rounds,
// which other programs disturb least. Exit status 3: no device answers, and a line says why.
#include "meter.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace heddle::bench {
namespace {

constexpr int wrong_input = 2;
constexpr int no_device = 3;

struct options {
  uint32_t device = 0;
  effort how;
};

std::string name_of(const point& at) {
  return at.protocol + "/waves:" + std::to_string(at.waves) + "/lanes:" + std::to_string(at.lanes) +
         "/bytes:" + std::to_string(at.bytes) + "/servers:" + std::to_string(at.servers) +
         (at.mailbox == placement::host ? "/mailbox:host" : "/mailbox:device") +
         (at.sleeps ? "/rings:" + std::to_string(at.rings.every) + (at.rings.coalesced ? "-coalesced" : "") : "");
}

void report(benchmark::State& state, const point& at, const measured& found) {
  auto& counters = state.counters;
  counters["waves"] = at.waves;
  counters["lanes"] = at.lanes;
  counters["bytes"] = static_cast<double>(at.bytes);
  counters["servers"] = at.servers;
  counters["samples"] = static_cast<double>(found.call_ns.size());
  counters["min"] = found.call_ns.front();
  counters["p50"] = percentile(found.call_ns, 0.5);
  counters["p99"] = percentile(found.call_ns, 0.99);
  counters["p99.9"] = percentile(found.call_ns, 0.999);
  counters["max"] = found.call_ns.back();
  counters["calls/s"] = found.calls_per_second;
  counters["payload_bytes/s"] =
      found.calls_per_second * static_cast<double>(at.bytes) * (found.payload_is_of_wave ? 1 : at.lanes);
  if (found.rounds.empty()) return;
  counters["server_ns/call"] = found.server_ns_per_call;
  counters["sleeps/call"] = found.sleeps_per_call;
  counters["exchange_p50"] = percentile(found.exchange_ns, 0.5);
  std::vector<double> ratios;
  round_medians best = found.rounds.front();
  for (const round_medians& each : found.rounds) {
    ratios.push_back(each.call / each.exchange);
    best = {std::min(best.exchange, each.exchange), std::min(best.call, each.call)};
  }
  std::sort(ratios.begin(), ratios.end());
  counters["ratio"] = percentile(ratios, 0.5);
  counters["best_p50"] = best.call;
  counters["best_ratio"] = best.call / best.exchange;
}

void measure_point(benchmark::State& state, meter& by, const point& at, const effort& how) {
  for (auto _ : state) {
    result<measured> found = by.measure(at, how);
    if (!found) {
      state.SkipWithError(found.why().line().c_str());
      return;
    }
    if (found.value().call_ns.empty()) {
      state.SkipWithError("no call was made");
      return;
    }
    report(state, at, found.value());
    state.SetIterationTime(1e-9 * percentile(found.value().call_ns, 0.5));
  }
}

/// The points of one protocol: from a plain call along each of its axes, and along waves with all lanes too.
std::vector<point> points_of(const std::string& protocol, const meter_facts& on) {
  std::vector<point> points;
  for (const uint32_t lanes : {1U, on.lanes_max}) {
    for (uint32_t waves = 1; waves < on.waves_max; waves *= 2)
      points.push_back({.protocol = protocol, .waves = waves, .lanes = lanes});
    points.push_back({.protocol = protocol, .waves = on.waves_max, .lanes = lanes});
  }
  for (const uint32_t lanes : {8U, 32U, 64U})
    if (lanes <= on.lanes_max) points.push_back({.protocol = protocol, .lanes = lanes});
  for (const uint64_t bytes : {64U, 512U, 4U << 10, 32U << 10, 256U << 10, 1U << 20})
    points.push_back({.protocol = protocol, .bytes = bytes});
  for (const uint32_t servers : {1U, 2U, 4U})
    if (const uint32_t waves = 4 * servers; waves <= on.waves_max)
      points.push_back({.protocol = protocol, .waves = std::min(on.waves_max, 16U), .servers = servers});
  // How many calls, and how many bytes, a GPU's waves and several servers make together.
  if (on.waves_max >= 64) {
    for (const uint32_t lanes : {1U, on.lanes_max})
      for (const uint32_t waves : {64U, 1024U, on.waves_max})
        for (const uint32_t servers : {1U, 2U, 4U, 8U})
          points.push_back({.protocol = protocol, .waves = waves, .lanes = lanes, .servers = servers});
    for (const uint32_t waves : {1U, 8U, 64U})
      for (const uint32_t servers : {1U, 8U})
        if (servers <= waves)
          points.push_back({.protocol = protocol,
                            .waves = waves,
                            .lanes = on.lanes_max,
                            .bytes = uint64_t{64} << 10,
                            .servers = servers});
  }
  if (!on.memory_is_one) points.push_back({.protocol = protocol, .mailbox = placement::device});
  return points;
}

/// Servers that sleep, and clients that ring for each call, for each n-th, for none, or not while a ring is unanswered.
std::vector<point> points_of_rings(const std::string& protocol, const meter_facts& on) {
  std::vector<point> points;
  for (const uint32_t waves : {1U, 4U, 16U, 64U})
    for (const rpc::ringing rings :
         {rpc::ringing(1), rpc::ringing(1, true), rpc::ringing(8), rpc::ringing(64), rpc::ringing(0)})
      if (waves <= on.waves_max)
        points.push_back({.protocol = protocol, .waves = waves, .sleeps = true, .rings = rings});
  return points;
}

void add_benchmarks(meter& by, const meter_facts& on, const effort& how) {
  std::vector<point> points;
  for (const std::string& baseline : on.baselines) {
    if (baseline == "copy") {
      for (const uint32_t kib : {64U, 256U, 1024U, 16U << 10})
        points.push_back({.protocol = baseline, .bytes = uint64_t{kib} << 10});
      continue;
    }
    points.push_back({.protocol = baseline});
    if (!on.memory_is_one && (baseline == "exchange" || baseline == "store"))
      points.push_back({.protocol = baseline, .mailbox = placement::device});
  }
  for (const std::string& protocol : on.protocols)
    for (const point& at : points_of(protocol, on)) points.push_back(at);
  for (const char* const protocol : {"ports", "slots"})
    for (const point& at : points_of_rings(protocol, on)) points.push_back(at);
  std::vector<std::string> names;
  for (const point& at : points) {
    const std::string name = name_of(at);
    // Axes cross: what is measured once need not be measured twice.
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    names.push_back(name);
    benchmark::RegisterBenchmark(name.c_str(),
                                 [&by, at, how](benchmark::State& state) { measure_point(state, by, at, how); })
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kNanosecond);
  }
}

/// The number in [least, most] behind "--name=", if that is what the argument is; a line when it is no such number.
std::optional<uint32_t> number_of(const char* argument, const char* name, uint32_t least, uint32_t most,
                                  std::string& wrong) {
  const size_t length = std::strlen(name);
  if (std::strncmp(argument, name, length) != 0) return std::nullopt;
  const char* const text = argument + length;
  const char* const end = text + std::strlen(text);
  uint32_t number = 0;
  const auto [stopped, status] = std::from_chars(text, end, number);
  if (status != std::errc() || stopped != end || number < least || number > most)
    wrong = std::string(name) + text + " must be a whole number from " + std::to_string(least) + " to " +
            std::to_string(most);
  return number;
}

/// Reads the arguments that Google Benchmark has left; a line about one that is unknown.
std::string parse(int count, char** arguments, options& into) {
  std::string wrong;
  for (int n = 1; n < count && wrong.empty(); ++n) {
    if (const auto device = number_of(arguments[n], "--device=", 0, 1023, wrong))
      into.device = *device;
    else if (const auto rounds = number_of(arguments[n], "--rounds=", 1, 10'000, wrong))
      into.how.rounds = *rounds;
    else if (const auto round_ms = number_of(arguments[n], "--round-ms=", 1, 100'000, wrong))
      into.how.round_seconds = 1e-3 * *round_ms;
    else
      wrong = std::string("there is no option ") + arguments[n] +
              "; there are --device=N, --rounds=N, --round-ms=N and those of Google Benchmark (--help)";
  }
  return wrong;
}

int run(int count, char** arguments) {
  std::string command;
  for (int n = 0; n < count; ++n) command += std::string(n == 0 ? "" : " ") + arguments[n];
  benchmark::Initialize(&count, arguments);
  options asked;
  if (const std::string wrong = parse(count, arguments, asked); !wrong.empty()) {
    std::fprintf(stderr, "latency: %s\n", wrong.c_str());
    return wrong_input;
  }
  result<std::unique_ptr<meter>> opened = open_meter(asked.device);
  if (!opened) {
    std::printf("no device answers: %s\n", opened.why().line().c_str());
    return no_device;
  }
  const meter_facts on = opened.value()->facts();
  benchmark::AddCustomContext("machine", on.machine);
  benchmark::AddCustomContext("device", on.device);
  if (!on.driver.empty()) benchmark::AddCustomContext("driver", on.driver);
  benchmark::AddCustomContext("command", command);
#ifdef __clang__
  benchmark::AddCustomContext("host compiler", __VERSION__);
#else
  benchmark::AddCustomContext("host compiler", "g++ " __VERSION__);
#endif
  add_benchmarks(*opened.value(), on, asked.how);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace heddle::bench

int main(int count, char** arguments) { return heddle::bench::run(count, arguments); }
