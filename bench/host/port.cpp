// What a call over a port costs on host threads, beside a bare exchange of two cache lines between the same two threads.
//
// The two are measured in turns within one benchmark, a batch of some 100 us each, so that both see the same machine.
// `ratio` is the median of the ratios of neighbouring batches; `best_ratio` compares the fastest batch of either, which
// another program on the same cores disturbs least. Take the median of several repetitions:
//   bench_host --benchmark_repetitions=9 --benchmark_report_aggregates_only=true
#include <heddle/hw/host/target.h>
#include <heddle/rpc/port/client.h>
#include <heddle/rpc/port/server.h>
#include <heddle/rpc/ring/fifo.h>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace heddle::bench {
namespace {

using clock_type = std::chrono::steady_clock;

double nanoseconds_since(clock_type::time_point start) {
  return std::chrono::duration<double, std::nano>(clock_type::now() - start).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// -- how a thread waits -----------------------------------------------------------------------------------------------------

/// As protocol code does: it may give the core away.
struct pausing : host::target {};

/// Nothing but loads: the least that a wait can cost, where each thread has a core of its own.
struct spinning : host::target {
  static void pause() noexcept {}
};

// -- the bare exchange ------------------------------------------------------------------------------------------------------

/// Two words on lines of their own; each thread writes one of them and waits for the other.
template <typename Machine>
class ping_pong {
 public:
  void ping(uint32_t round) {
    there_.word.store(round, std::memory_order_release);
    while (back_.word.load(std::memory_order_acquire) != round) Machine::pause();
  }
  /// Answers the next ping; false when none has come yet.
  bool pong() {
    const uint32_t round = there_.word.load(std::memory_order_acquire);
    if (round == answered_) return false;
    answered_ = round;
    back_.word.store(round, std::memory_order_release);
    return true;
  }

 private:
  struct alignas(128) line {
    std::atomic<uint32_t> word{0};
  };
  line there_;
  line back_;
  alignas(128) uint32_t answered_ = 0;
};

// -- ports ------------------------------------------------------------------------------------------------------------------

constexpr uint16_t echo = rpc::user_opcode(1);
constexpr uint16_t upload = rpc::user_opcode(2);

/// Shared memory and locks of both ends.
template <typename Machine>
class port_set {
 public:
  using client_type = rpc::basic_client<Machine>;
  using server_type = rpc::basic_server<Machine>;

  explicit port_set(uint32_t ports, uint32_t stage_bytes = 0)
      : shape_{ports, 1, stage_bytes},
        shared_(lines_for(shape_.size_bytes())),
        client_locks_(lines_for(shape_.own_words() * sizeof(uint32_t))),
        server_locks_(lines_for(shape_.own_words() * sizeof(uint32_t))) {}

  client_type client() { return {shared_.data(), words(client_locks_), shape_}; }
  server_type server(uint32_t start) { return {shared_.data(), words(server_locks_), shape_, start}; }

 private:
  /// Two cache lines: processors fetch them in pairs.
  struct alignas(128) line {
    unsigned char bytes[128];
  };
  static size_t lines_for(size_t bytes) { return (bytes + sizeof(line) - 1) / sizeof(line); }
  static uint32_t* words(std::vector<line>& lines) { return reinterpret_cast<uint32_t*>(lines.data()); }

  rpc::layout shape_;
  std::vector<line> shared_;
  std::vector<line> client_locks_;
  std::vector<line> server_locks_;
};

uint64_t answer_to(uint64_t question) { return question * 3 + 1; }

template <typename Client>
void call(const Client& client, uint64_t question) {
  uint64_t answer = 0;
  auto port = client.template open<echo>();
  port.send_and_recv([&](rpc::packet& to, uint32_t) { to.words[0] = question; },
                     [&](rpc::packet& from, uint32_t) { answer = from.words[0]; });
  if (answer != answer_to(question)) std::abort();
}

constexpr uint64_t largest_buffer_bytes = 1 << 20;
constexpr uint32_t stage_bytes = 1 << 18;

/// Serves one call if there is one.
template <typename Server>
bool serve(Server& server, unsigned char* buffer) {
  auto port = server.try_open();
  if (!port) return false;
  if (port.opcode() == echo) {
    port.recv_and_send([](rpc::packet& both, uint32_t) { both.words[0] = answer_to(both.words[0]); });
  } else {
    port.recv_n([buffer](uint32_t, uint64_t) -> void* { return buffer; }, largest_buffer_bytes);
    port.send([](rpc::packet&, uint32_t) {});
  }
  return true;
}

// -- one client, one server -------------------------------------------------------------------------------------------------

/// A thread that does the second half of what the measuring thread does.
template <typename Machine>
class second_thread {
 public:
  explicit second_thread(port_set<Machine>& ports, ping_pong<Machine>& balls)
      : thread_([this, server = ports.server(0), &balls]() mutable {
          const std::unique_ptr<unsigned char[]> buffer(new unsigned char[largest_buffer_bytes]);
          // Which half it is alternates; a look at the other one would add a cache line to both.
          while (!over_.load(std::memory_order_relaxed)) {
            const bool serving = serving_.load(std::memory_order_relaxed);
            for (uint32_t turns = 0; turns < 64; ++turns)
              if (!(serving ? serve(server, buffer.get()) : balls.pong())) Machine::pause();
          }
        }) {}
  ~second_thread() {
    over_.store(true, std::memory_order_relaxed);
    thread_.join();
  }
  second_thread(const second_thread&) = delete;
  second_thread& operator=(const second_thread&) = delete;

  void serve_ports() { serving_.store(true, std::memory_order_relaxed); }
  void play_ping_pong() { serving_.store(false, std::memory_order_relaxed); }

 private:
  alignas(128) std::atomic<bool> over_{false};
  std::atomic<bool> serving_{false};
  alignas(128) std::thread thread_;
};

/// A call and its answer of one packet; the counters tell the bare exchange, and how many of them a call costs.
template <typename Machine>
void round_trip(benchmark::State& state) {
  constexpr uint32_t batch = 500;
  port_set<Machine> ports(static_cast<uint32_t>(state.range(0)));
  ping_pong<Machine> balls;
  second_thread<Machine> other(ports, balls);
  const auto client = ports.client();
  uint32_t round = 0;
  uint64_t question = 0;
  std::vector<double> calls_ns;
  std::vector<double> exchanges_ns;
  std::vector<double> ratios;
  for (auto _ : state) {
    // The first exchanges after a switch wait for the other thread to notice it.
    other.play_ping_pong();
    for (uint32_t n = 0; n < 100; ++n) balls.ping(++round);
    auto start = clock_type::now();
    for (uint32_t n = 0; n < batch; ++n) balls.ping(++round);
    exchanges_ns.push_back(nanoseconds_since(start) / batch);

    other.serve_ports();
    for (uint32_t n = 0; n < 100; ++n) call(client, ++question);
    start = clock_type::now();
    for (uint32_t n = 0; n < batch; ++n) call(client, ++question);
    const double batch_ns = nanoseconds_since(start);
    calls_ns.push_back(batch_ns / batch);
    ratios.push_back(calls_ns.back() / exchanges_ns.back());
    state.SetIterationTime(batch_ns * 1e-9 / batch);
  }
  state.counters["call_ns"] = median(calls_ns);
  state.counters["ping_pong_ns"] = median(exchanges_ns);
  state.counters["ratio"] = median(ratios);
  const double best_call_ns = *std::min_element(calls_ns.begin(), calls_ns.end());
  const double best_exchange_ns = *std::min_element(exchanges_ns.begin(), exchanges_ns.end());
  state.counters["best_call_ns"] = best_call_ns;
  state.counters["best_ping_pong_ns"] = best_exchange_ns;
  state.counters["best_ratio"] = best_call_ns / best_exchange_ns;
}
BENCHMARK(round_trip<pausing>)->Name("round_trip/pausing/ports")->Arg(1)->Arg(64)->UseManualTime()->Iterations(300);
BENCHMARK(round_trip<spinning>)->Name("round_trip/spinning/ports")->Arg(1)->UseManualTime()->Iterations(300);

/// What a buffer of so many bytes takes to the server and back to its answer, in packets of 64 or through a staging area, beside a memcpy of as
/// many. `of_memcpy` is its share of memcpy's bandwidth, the median of neighbouring pairs, and best_of_memcpy compares the fastest of
/// either; it copies twice. `hand_overs`: of the buffer.
template <typename Machine>
void stream(benchmark::State& state) {
  const auto staged = static_cast<uint32_t>(state.range(1));
  port_set<Machine> ports(1, staged);
  ping_pong<Machine> balls;
  second_thread<Machine> other(ports, balls);
  other.serve_ports();
  const auto client = ports.client();
  const auto bytes = static_cast<uint64_t>(state.range(0));
  const std::vector<unsigned char> buffer(bytes, 7);
  std::vector<unsigned char> copy(bytes, 8);
  std::vector<double> streams_ns;
  std::vector<double> copies_ns;
  std::vector<double> shares;
  for (auto _ : state) {
    auto start = clock_type::now();
    std::memcpy(copy.data(), buffer.data(), bytes);
    benchmark::DoNotOptimize(copy.data());
    benchmark::ClobberMemory();
    copies_ns.push_back(nanoseconds_since(start));
    start = clock_type::now();
    {
      auto port = client.template open<upload>();
      port.send_n(buffer.data(), bytes, largest_buffer_bytes);
      port.recv([](rpc::packet&, uint32_t) {});
    }
    streams_ns.push_back(nanoseconds_since(start));
    shares.push_back(copies_ns.back() / streams_ns.back());
    state.SetIterationTime(streams_ns.back() * 1e-9);
  }
  state.counters["stream_ns"] = median(streams_ns);
  state.counters["of_memcpy"] = median(shares);
  const double best_stream_ns = *std::min_element(streams_ns.begin(), streams_ns.end());
  state.counters["best_stream_ns"] = best_stream_ns;
  state.counters["best_of_memcpy"] = *std::min_element(copies_ns.begin(), copies_ns.end()) / best_stream_ns;
  state.counters["hand_overs"] = static_cast<double>(rpc::detail::stream_cut{staged}.hand_overs(bytes));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(stream<pausing>)
    ->Name("stream/bytes_and_staged")
    ->Args({1 << 10, 0})
    ->Args({1 << 16, 0})
    ->Args({1 << 16, stage_bytes})
    ->Args({1 << 20, 0})
    ->Args({1 << 20, 1 << 16})
    ->Args({1 << 20, stage_bytes})
    ->UseManualTime();
BENCHMARK(stream<spinning>)
    ->Name("stream/spinning/bytes_and_staged")
    ->Args({1 << 16, 0})
    ->Args({1 << 16, stage_bytes})
    ->Args({1 << 20, 0})
    ->Args({1 << 20, 1 << 16})
    ->Args({1 << 20, stage_bytes})
    ->UseManualTime();

// -- a FIFO -----------------------------------------------------------------------------------------------------------------

/// Entries of 16 bytes from one thread to another: `entries/s`, the best of the batches and their median.
template <typename Entry, typename Form>
void fifo(benchmark::State& state) {
  constexpr uint32_t batch = 1 << 16;
  using layout = rpc::fifo_layout<Entry>;
  const layout shape{1 << 12};
  std::vector<unsigned char> memory(shape.size_bytes() + rpc::line_bytes);
  const auto misplaced = reinterpret_cast<uintptr_t>(memory.data()) % rpc::line_bytes;
  unsigned char* const shared = memory.data() + (rpc::line_bytes - misplaced);
  alignas(128) rpc::fifo_counters counters;
  const rpc::basic_fifo_producer<spinning, Entry, Form> producer(shared, &counters, shape);
  alignas(128) std::atomic<bool> over{false};
  std::thread consuming([&over, consumer = rpc::basic_fifo_consumer<spinning, Entry, Form>(shared, shape)] {
    uint64_t sum = 0;
    // A few at a time: credit comes back before the ring is empty. And a pause where there is none, as servers make it: a consumer that looks all
    // the time takes the line away from the producer that is filling it.
    const auto add = [&sum](const Entry& one) { sum += one.words[0]; };
    while (!over.load(std::memory_order_relaxed))
      if (consumer.consume(add, 256) == 0) pausing::pause();
    benchmark::DoNotOptimize(sum);
  });
  std::vector<double> entry_ns;
  for (auto _ : state) {
    const auto start = clock_type::now();
    for (uint64_t n = 0; n < batch; ++n) producer.push([n](Entry& to, uint32_t) { to = {{n, n + 1}}; });
    producer.flush();
    entry_ns.push_back(nanoseconds_since(start) / batch);
    state.SetIterationTime(entry_ns.back() * 1e-9 * batch);
  }
  over.store(true, std::memory_order_relaxed);
  consuming.join();
  state.counters["entries/s"] = 1e9 / median(entry_ns);
  state.counters["best_entries/s"] = 1e9 / *std::min_element(entry_ns.begin(), entry_ns.end());
}
struct two_words {
  uint64_t words[2];
};
BENCHMARK(fifo<two_words, rpc::lap_parity>)->Name("fifo/flag_beside")->UseManualTime()->Iterations(100);
BENCHMARK(fifo<rpc::fifo_pair, rpc::flag_inside>)->Name("fifo/flag_inside")->UseManualTime()->Iterations(100);

// -- many threads -----------------------------------------------------------------------------------------------------------

/// Calls per second of four clients to two servers. More threads than most small machines have cores: it measures their waiting too.
void throughput(benchmark::State& state) {
  constexpr uint32_t clients = 4;
  constexpr uint32_t servers = 2;
  constexpr uint32_t calls_each = 5000;
  port_set<pausing> ports(static_cast<uint32_t>(state.range(0)));
  std::atomic<bool> over{false};
  std::vector<std::thread> serving;
  for (uint32_t n = 0; n < servers; ++n)
    serving.emplace_back([&, server = ports.server(n)]() mutable {
      unsigned char none[1];
      while (!over.load(std::memory_order_relaxed))
        if (!serve(server, none)) pausing::pause();
    });
  for (auto _ : state) {
    std::vector<std::thread> calling;
    for (uint32_t n = 0; n < clients; ++n)
      calling.emplace_back([&, n] {
        host::this_position.wave = n;
        const auto client = ports.client();
        for (uint64_t id = 0; id < calls_each; ++id) call(client, id);
      });
    for (std::thread& each : calling) each.join();
  }
  over.store(true, std::memory_order_relaxed);
  for (std::thread& each : serving) each.join();
  state.counters["calls/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * clients * calls_each, benchmark::Counter::kIsRate);
}
BENCHMARK(throughput)->Name("throughput/ports")->Arg(4)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace heddle::bench
