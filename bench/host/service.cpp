// What a service costs on host threads: a call while its server is awake, a call that has to wake it, and what it burns while there is no call.
#include <heddle/hw/host/device.h>
#include <heddle/hw/host/target.h>
#include <heddle/rpc/service/server.h>

#include <benchmark/benchmark.h>
#include <time.h>

#include <chrono>
#include <cstdint>
#include <thread>

namespace heddle::bench {
namespace {

using service = rpc::basic_service<host::target, host::device>;

double processor_seconds() {
  timespec spent{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
}

class one_server {
 public:
  explicit one_server(rpc::service_shape shape = {.ports = 4, .lanes = 1})
      : host_(on_, shape), client_(host_.client()) {
    if (!host_.add<uint64_t(uint64_t)>(1, [](uint64_t n) { return n + 1; })) std::abort();
    host_.start();
  }
  void call() {
    if (!client_.call<uint64_t(uint64_t)>(1, 1).ok()) std::abort();
  }
  void wait_until_asleep() {
    while (host_.counts().sleeps == slept_) std::this_thread::yield();
    slept_ = host_.counts().sleeps;
    // It has said so just before it does it.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  host::device on_;
  service host_;
  service::client_type client_;
  uint64_t slept_ = 0;
};

/// A registered function of the host, called again and again.
void call(benchmark::State& state) {
  one_server server;
  for (auto _ : state) server.call();
}
BENCHMARK(call)->Name("service/call")->UseRealTime();

/// A call when the server sleeps on its doorbell: the ring, the wake-up, the call.
void wake_up(benchmark::State& state) {
  one_server server({.ports = 4, .lanes = 1, .polls = 16});
  for (auto _ : state) {
    server.wait_until_asleep();
    const auto start = std::chrono::steady_clock::now();
    server.call();
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
}
BENCHMARK(wake_up)->Name("service/wake_up")->UseManualTime()->Iterations(500);

/// `core_percent`: how much of a core a service without calls takes.
void idle(benchmark::State& state) {
  one_server server;
  server.wait_until_asleep();
  double burnt = 0;
  double seconds = 0;
  for (auto _ : state) {
    const double before = processor_seconds();
    const auto start = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const double lasted = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    burnt += processor_seconds() - before;
    seconds += lasted;
    state.SetIterationTime(lasted);
  }
  state.counters["core_percent"] = 100 * burnt / seconds;
}
BENCHMARK(idle)->Name("service/idle")->UseManualTime()->Iterations(5);

}  // namespace
}  // namespace heddle::bench
