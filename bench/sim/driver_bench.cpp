// What the driver of the simulated devices costs: allocations, page walks, queued commands, launches.
#include <heddle/driver/gpu_driver.h>
#include <heddle/scheduler/random_stream.h>

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

namespace {

using namespace heddle::driver;

constexpr uint64_t page_bytes = 4096;
constexpr uint64_t gigabyte = uint64_t{1} << 30;

/// GPUs with a gigabyte each, and a context on the last device: a unified one where there are several.
struct machine {
  explicit machine(uint32_t gpus = 1, const driver_settings& settings = {}, work_group_runner* runner = nullptr)
      : driver(settings, runner) {
    std::vector<device_id> all;
    for (uint32_t n = 0; n < gpus; ++n) all.push_back(driver.register_gpu(gigabyte).value());
    context = driver.contexts().create_context();
    process = driver.contexts().process_of(context).value();
    if (gpus > 1) driver.contexts().select_device(context, driver.create_unified_device(context, all).value()).value();
  }
  gpu_driver driver;
  context_id context = 0;
  process_id process = 0;
};

void per_second(benchmark::State& state, const char* what, double each) {
  state.counters[what] =
      benchmark::Counter(each * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

/// A buffer of so many pages, allocated and freed, among a thousand others.
void allocate_and_free(benchmark::State& state) {
  machine on(static_cast<uint32_t>(state.range(1)));
  const auto bytes = static_cast<uint64_t>(state.range(0)) * page_bytes;
  std::vector<uint64_t> live;
  for (int n = 0; n < 1000; ++n) live.push_back(on.driver.contexts().allocate(on.context, bytes).value());
  size_t oldest = 0;
  for (auto _ : state) {
    on.driver.contexts().free(on.context, live[oldest]).value();
    live[oldest] = on.driver.contexts().allocate(on.context, bytes).value();
    oldest = (oldest + 1) % live.size();
  }
  per_second(state, "allocations", 1);
}
BENCHMARK(allocate_and_free)->ArgNames({"pages", "gpus"})->Args({1, 1})->Args({16, 1})->Args({16, 4});

/// Entries of random pages of a large buffer, forwards and backwards.
void page_walk(benchmark::State& state) {
  machine on;
  const auto pages = static_cast<uint32_t>(state.range(0));
  const uint64_t buffer = on.driver.contexts().allocate(on.context, pages * page_bytes).value();
  const page_table& table = on.driver.allocator().pages();
  heddle::scheduler::random_stream random(1);
  std::vector<uint64_t> addresses(4096);
  for (uint64_t& each : addresses) each = buffer + random.below(pages) * page_bytes + random.below(page_bytes);
  if (state.range(1) != 0)
    for (uint64_t& each : addresses) each = table.find(on.process, each)->entry.physical_address;
  size_t next = 0;
  for (auto _ : state) {
    const uint64_t address = addresses[next++ % addresses.size()];
    benchmark::DoNotOptimize(state.range(1) != 0 ? table.find_physical(address) : table.find(on.process, address));
  }
  per_second(state, "walks", 1);
}
BENCHMARK(page_walk)->ArgNames({"pages", "backwards"})->Args({1000, 0})->Args({250000, 0})->Args({250000, 1});

/// Commands that do nothing, enqueued and drained a thousand at a time.
void queued_commands(benchmark::State& state) {
  machine on;
  std::vector<queue_id> queues;
  for (int64_t n = 0; n < state.range(0); ++n) queues.push_back(on.driver.queues().create_queue(on.context).value());
  constexpr int commands = 1000;
  for (auto _ : state) {
    for (int n = 0; n < commands; ++n)
      on.driver.queues().enqueue_no_op(queues[static_cast<size_t>(n) % queues.size()]).value();
    for (const queue_id queue : queues) on.driver.drain(queue).value();
  }
  per_second(state, "commands", commands);
}
BENCHMARK(queued_commands)->ArgName("queues")->Arg(1)->Arg(16);

/// Copies of 64 bytes, timed or instant, in one queue.
void queued_copies(benchmark::State& state) {
  driver_settings settings;
  settings.copies = state.range(0) == 0 ? copy_model::timed : copy_model::instant;
  machine on(1, settings);
  const uint64_t buffer = on.driver.contexts().allocate(on.context, page_bytes).value();
  const queue_id queue = on.driver.queues().create_queue(on.context).value();
  const std::vector<std::byte> bytes(64);
  constexpr int commands = 100;
  for (auto _ : state) {
    for (int n = 0; n < commands; ++n) on.driver.queues().enqueue_copy_to_device(queue, buffer, bytes).value();
    on.driver.drain(queue).value();
  }
  per_second(state, "copies", commands);
}
BENCHMARK(queued_copies)->ArgName("instant")->Arg(0)->Arg(1);

class timed_groups final : public work_group_runner {
 public:
  explicit timed_groups(picoseconds duration) : duration_(duration) {}
  execution execute(const work_group&, group_memory_port&) override {
    ++executed;
    return {.duration = duration_};
  }
  uint64_t executed = 0;

 private:
  picoseconds duration_;
};

/// 100,000 work-groups: of no duration, or of a microsecond each, which makes an event of each end.
void launch_of_100000_work_groups(benchmark::State& state) {
  timed_groups runner(static_cast<picoseconds>(state.range(1)));
  machine on(static_cast<uint32_t>(state.range(0)), {}, &runner);
  const std::vector<std::byte> code(64);
  for (auto _ : state)
    on.driver.launch(on.context, {.code = code, .grid = {100'000 * 64, 1, 1}, .group = {64, 1, 1}}).value();
  if (runner.executed != 100'000u * static_cast<uint64_t>(state.iterations())) std::abort();
  per_second(state, "groups", 100'000);
}
BENCHMARK(launch_of_100000_work_groups)
    ->ArgNames({"gpus", "duration_ps"})
    ->Args({1, 0})
    ->Args({1, 1'000'000})
    ->Args({4, 1'000'000})
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
