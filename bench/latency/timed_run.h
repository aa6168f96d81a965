// One protocol at one point: waves that call and time each call, host threads that serve them.
//
// A protocol joins by a class such as ports.h has:
//
//   struct client;                         copied to the device; call(mask, number) is one call of the lanes of `mask`; numbers of
//                                          a wave's calls differ from one to the next
//   struct server;                         serve(): does what there is to do, false if there was nothing
//   P(device&, const point&)               and result<void> prepare(), which allocates
//   make_client(), make_server(n)          the n-th of point::servers threads
//   is_served, name                        whether there are servers at all
#pragma once

#include "mailbox_memory.h"
#include "meter.h"

#include <heddle/rpc/selected_device.h>

#include <stdint.h>
#include <time.h>

#include <algorithm>
#include <atomic>

namespace heddle::bench {

/// What a wave has to tell when it has ended.
struct wave_record {
  uint64_t calls;
  uint64_t start;  ///< of its first timed call, in ticks
  uint64_t end;
  uint64_t shared_start;  ///< the same by the clock that all waves share
  uint64_t shared_end;
};

/// The kernel: all waves begin together, then each calls until it has made its calls or its time is over.
template <typename Client>
struct timed_calls {
  Client client;
  uint32_t* arrived;     ///< waves that are ready
  uint64_t* samples;     ///< `calls_max` for each wave, in ticks
  wave_record* records;  ///< one a wave
  uint32_t waves;
  uint32_t warm_up;  ///< calls before those that are timed
  uint32_t calls_max;
  uint64_t ticks_max;
  uint64_t first_number;

  HEDDLE_FUNCTION void operator()() const {
    const uint64_t mask = target::lane_mask();
    const bool leads = target::is_first_lane(mask);
    const uint32_t wave = target::wave_id();
    uint64_t* const mine = samples + uint64_t{wave} * calls_max;
    wait_for_all(mask, leads);

    uint64_t number = first_number;
    for (uint32_t n = 0; n < warm_up; ++n) {
      client.call(mask, ++number);
      // A call opens for the lanes that are converged: they must not have diverged in the call before.
      target::sync_lanes(mask);
    }
    const uint64_t shared_start = machine::shared_ticks();
    const uint64_t start = machine::ticks();
    uint64_t end = start;
    uint32_t calls = 0;
    while (calls < calls_max) {
      const uint64_t before = machine::ticks();
      client.call(mask, ++number);
      end = machine::ticks();
      if (leads) mine[calls] = end - before;
      ++calls;
      // The first lane's clock decides, or the wave would diverge; and all lanes are converged again.
      if (target::broadcast(mask, end - start) > ticks_max) break;
    }
    if (leads) records[wave] = {calls, start, end, shared_start, machine::shared_ticks()};
  }

 private:
  /// No more waves than are resident together, or this would never end.
  HEDDLE_FUNCTION void wait_for_all(uint64_t mask, bool leads) const {
    using word = target::atomic_ref<uint32_t, scope::device>;
    if (leads) {
      word(*arrived).fetch_add(1, memory_order::relaxed);
      while (word(*arrived).load(memory_order::relaxed) < waves) target::pause();
    }
    target::sync_lanes(mask);
  }
};

template <typename Server>
concept has_doorbell = requires(const Server& at) { at.wait(at.rings(), uint64_t{}); };

/// What a round has brought; `add_round` adds to it.
struct round_sum {
  std::vector<double> call_ns;
  double calls = 0;
  double seconds = 0;         ///< of rounds, from the first wave's start to the last one's end
  double served_calls = 0;    ///< calls, and those to warm up
  double server_seconds = 0;  ///< of the processor
  double server_sleeps = 0;
};

template <typename Protocol>
class timed_run {
 public:
  using kernel = timed_calls<typename Protocol::client>;

  timed_run(device& on, const point& at) : on_(on), at_(at), memory_(on), protocol_(on, at) {}

  result<void> prepare() {
    const uint32_t resident = machine::resident_waves<kernel>(on_, machine::waves_per_block(at_.waves));
    if (at_.waves > resident)
      return error{
          "measure", Protocol::name, "not measured",
          std::to_string(at_.waves) + " waves are not resident together; " + std::to_string(resident) + " are"};
    if (at_.sleeps && !has_doorbell<decltype(protocol_.make_server(0))>)
      return error{"measure", Protocol::name, "not measured", "its servers have no doorbell to sleep on"};
    calls_max_ = std::clamp(samples_max / at_.waves, calls_least, calls_most);
    result<uint32_t*> arrived = memory_.of_device<uint32_t>(1, "arrived");
    if (!arrived) return arrived.why();
    result<uint64_t*> samples = memory_.of_device<uint64_t>(uint64_t{at_.waves} * calls_max_, "samples");
    if (!samples) return samples.why();
    result<wave_record*> records = memory_.of_device<wave_record>(at_.waves, "records");
    if (!records) return records.why();
    arrived_ = arrived.value();
    samples_ = samples.value();
    records_ = records.value();
    return protocol_.prepare();
  }

  /// One round: its samples and its calls are added to `sum`.
  result<void> add_round(double seconds, round_sum& sum) {
    const uint32_t none = 0;
    if (const result<void> reset = on_.try_copy(arrived_, &none, sizeof none); !reset) return reset.why();
    // Few where a call takes long: it has a large payload, or many others before it.
    const uint32_t warm_up = at_.bytes > 4096 ? 1 : std::max(1U, 64 / at_.waves);
    const kernel timed{protocol_.make_client(),
                       arrived_,
                       samples_,
                       records_,
                       at_.waves,
                       warm_up,
                       calls_max_,
                       static_cast<uint64_t>(seconds * machine::ticks_per_second(on_)),
                       first_number_};
    first_number_ += warm_up + calls_max_;
    if (const result<void> ran = run(timed, sum); !ran) return ran.why();
    return collect(sum, warm_up);
  }

 private:
  static constexpr uint32_t samples_max = 1U << 18;
  static constexpr uint32_t calls_least = 64;
  static constexpr uint32_t calls_most = 50'000;

  /// What one server's thread has taken.
  struct served {
    double seconds = 0;
    uint64_t sleeps = 0;
  };

  /// Serves until it is over. A server without a doorbell always looks again.
  template <typename Server>
  static served serve_until(const std::atomic<bool>& over, Server& server, bool sleeps) {
    served all;
    // Relaxed: what comes after it waits for the thread anyhow.
    while (!over.load(std::memory_order_relaxed)) {
      doorbell rings = 0;
      if constexpr (has_doorbell<Server>)
        if (sleeps) rings = server.rings();
      if (server.serve()) continue;
      if (!sleeps) {
        target::pause();
        continue;
      }
      ++all.sleeps;
      if constexpr (has_doorbell<Server>) server.wait(rings, server_sleep_ns);
    }
    timespec spent{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    all.seconds = static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
    return all;
  }

  result<void> run(const kernel& timed, round_sum& sum) {
    alignas(line_bytes) std::atomic<bool> over{false};
    std::vector<served> took(at_.servers);
    std::vector<decltype(on_.spawn_host("server", [] {}))> servers;
    for (uint32_t n = 0; Protocol::is_served && n < at_.servers; ++n)
      servers.push_back(
          on_.spawn_host("server", [server = protocol_.make_server(n), &over, &its = took[n],
                                    sleeps = at_.sleeps]() mutable { its = serve_until(over, server, sleeps); }));
    const uint32_t together = machine::waves_per_block(at_.waves);
    const launch_shape shape{
        .blocks = at_.waves / together, .waves = together, .lanes = machine::launched_lanes(at_.lanes)};
    const result<void> launched = on_.try_launch(shape, timed);
    // A call in progress until the kernel has ended: so the device makes progress while the servers wait for memory alone.
    const result<void> ended = launched ? on_.try_synchronize() : launched;
    over.store(true, std::memory_order_relaxed);
    for (auto& server : servers) server.join();
    for (const served& each : took) {
      sum.server_seconds += each.seconds;
      sum.server_sleeps += static_cast<double>(each.sleeps);
    }
    return ended;
  }

  result<void> collect(round_sum& sum, uint32_t warm_up) {
    std::vector<wave_record> records(at_.waves);
    std::vector<uint64_t> samples(uint64_t{at_.waves} * calls_max_);
    if (const result<void> copied = on_.try_copy(records.data(), records_, records.size() * sizeof(wave_record));
        !copied)
      return copied.why();
    if (const result<void> copied = on_.try_copy(samples.data(), samples_, samples.size() * sizeof(uint64_t)); !copied)
      return copied.why();

    const double shared_tick_ns = machine::shared_tick_ns(on_);
    uint64_t first = ~uint64_t{0};
    uint64_t last = 0;
    for (uint32_t wave = 0; wave < at_.waves; ++wave) {
      const wave_record& of = records[wave];
      first = std::min(first, of.shared_start);
      last = std::max(last, of.shared_end);
      // The clock that times a call may have any rate: the shared one tells, over all calls of the wave.
      const double tick_ns = shared_tick_ns * static_cast<double>(of.shared_end - of.shared_start) /
                             static_cast<double>(std::max<uint64_t>(of.end - of.start, 1));
      for (uint64_t n = 0; n < of.calls; ++n)
        sum.call_ns.push_back(tick_ns * static_cast<double>(samples[uint64_t{wave} * calls_max_ + n]));
      sum.calls += static_cast<double>(of.calls);
      sum.served_calls += static_cast<double>(of.calls + warm_up);
    }
    sum.seconds += 1e-9 * shared_tick_ns * static_cast<double>(last - first);
    return {};
  }

  device& on_;
  point at_;
  device_memory memory_;
  Protocol protocol_;
  uint32_t calls_max_ = 0;
  uint64_t first_number_ = 0;
  uint32_t* arrived_ = nullptr;
  uint64_t* samples_ = nullptr;
  wave_record* records_ = nullptr;
};

}  // namespace heddle::bench
