// The meter of the machine that this build selects: the one file that g++, nvcc and hipcc compile for their machines.
#include <heddle/rpc/rpc.h>

#define HEDDLE_METER_HEADER_host "machine_host.h"
#define HEDDLE_METER_HEADER_cuda "machine_cuda.h"
#define HEDDLE_METER_HEADER_hip "machine_hip.h"
#include HEDDLE_PASTE(HEDDLE_METER_HEADER_, HEDDLE_TARGET)

#include "baselines.h"
#include "fifo.h"
#include "lines.h"
#include "ports.h"
#include "timed_run.h"

#ifdef HEDDLE_LANES_ARE_THREADS
#include "queue.h"
#endif

namespace heddle::bench {
namespace {

/// The protocol's rounds and those of the bare exchange, in turns.
template <typename Protocol>
result<measured> measure_protocol(device& on, const point& at, const effort& how) {
  timed_run<Protocol> calls(on, at);
  timed_run<exchange> exchanges(on, {.protocol = exchange::name, .mailbox = at.mailbox});
  if (const result<void> ready = calls.prepare(); !ready) return ready.why();
  if (const result<void> ready = exchanges.prepare(); !ready) return ready.why();
  measured all;
  if constexpr (requires { Protocol::payload_is_of_wave(at); })
    all.payload_is_of_wave = Protocol::payload_is_of_wave(at);
  double calls_made = 0;
  double seconds = 0;
  double served_calls = 0;
  for (uint32_t round = 0; round < how.rounds; ++round) {
    round_sum of_exchanges;
    round_sum of_calls;
    if (const result<void> ran = exchanges.add_round(how.round_seconds / 4, of_exchanges); !ran) return ran.why();
    if (const result<void> ran = calls.add_round(how.round_seconds, of_calls); !ran) return ran.why();
    std::sort(of_exchanges.call_ns.begin(), of_exchanges.call_ns.end());
    std::sort(of_calls.call_ns.begin(), of_calls.call_ns.end());
    all.rounds.push_back({percentile(of_exchanges.call_ns, 0.5), percentile(of_calls.call_ns, 0.5)});
    all.exchange_ns.insert(all.exchange_ns.end(), of_exchanges.call_ns.begin(), of_exchanges.call_ns.end());
    all.call_ns.insert(all.call_ns.end(), of_calls.call_ns.begin(), of_calls.call_ns.end());
    calls_made += of_calls.calls;
    seconds += of_calls.seconds;
    served_calls += of_calls.served_calls;
    all.server_ns_per_call += 1e9 * of_calls.server_seconds;
    all.sleeps_per_call += of_calls.server_sleeps;
  }
  std::sort(all.exchange_ns.begin(), all.exchange_ns.end());
  std::sort(all.call_ns.begin(), all.call_ns.end());
  all.calls_per_second = calls_made / seconds;
  all.server_ns_per_call /= served_calls;
  all.sleeps_per_call /= served_calls;
  return all;
}

class machine_meter : public meter {
 public:
  explicit machine_meter(std::unique_ptr<device> on) : on_(std::move(on)) {}

  meter_facts facts() override {
    using kernel = timed_calls<ports<target>::client>;
    // A multiple of both sizes of a block, so that the largest point is one that can be launched.
    const uint32_t resident = machine::resident_waves<kernel>(*on_, machine::waves_per_block(1024));
    return {.machine = machine::name,
            .device = machine::device_name(*on_),
            .driver = machine::driver(),
            .lanes_max = machine::lanes_max(*on_),
            .waves_max = std::min(resident, rpc::max_ports),
            .memory_is_one = machine::memory_is_one,
            .protocols = protocols(),
            .baselines = {nothing::name, store::name, exchange::name, print::name, launch_name, copy_name}};
  }

  result<measured> measure(const point& at, const effort& how) override {
    if (!machine::has_lanes(at.lanes) || at.lanes > machine::lanes_max(*on_))
      return error{"measure", "lanes", "not measured", "this machine has no waves of that many lanes"};
    if (const auto protocol = protocols(); std::find(protocol.begin(), protocol.end(), at.protocol) != protocol.end())
      return machine::with_lanes(at.lanes, [&](auto callers) { return measure_calls_of<decltype(callers)>(at, how); });
    if (at.protocol == exchange::name) return measure_protocol<exchange>(*on_, at, how);
    if (at.protocol == nothing::name) return measure_protocol<nothing>(*on_, at, how);
    if (at.protocol == store::name) return measure_protocol<store>(*on_, at, how);
    if (at.protocol == copy_name) return measure_copies(*on_, at, how);
    if (at.protocol == launch_name) return measure_launches(*on_, at, how);
    if (at.protocol == print::name) {
      const quiet_output quiet;
      return measure_protocol<print>(*on_, at, how);
    }
    return error{"measure", at.protocol, "not measured", "there is no such protocol"};
  }

 private:
  static std::vector<std::string> protocols() {
    return {ports<target>::name,
            ports<target, road::shortest>::name,
            lines<slot_link<target>>::name,
            lines<hostcall_link<target>>::name,
            lines<offload_link<target, rpc::offload_ring>>::name,
            lines<offload_link<target, rpc::single_mailbox>>::name,
            fifo<target>::name
#ifdef HEDDLE_LANES_ARE_THREADS
            ,
            queue::name
#endif
    };
  }

  template <typename Callers>
  result<measured> measure_calls_of(const point& at, const effort& how) {
    if (at.protocol == ports<Callers>::name) return measure_protocol<ports<Callers>>(*on_, at, how);
    if (at.protocol == ports<Callers, road::shortest>::name)
      return measure_protocol<ports<Callers, road::shortest>>(*on_, at, how);
    if (at.protocol == fifo<Callers>::name) return measure_protocol<fifo<Callers>>(*on_, at, how);
#ifdef HEDDLE_LANES_ARE_THREADS
    if (at.protocol == queue::name) return measure_protocol<queue>(*on_, at, how);
#endif
    if (at.protocol == slot_link<Callers>::name) return measure_protocol<lines<slot_link<Callers>>>(*on_, at, how);
    if (at.protocol == hostcall_link<Callers>::name)
      return measure_protocol<lines<hostcall_link<Callers>>>(*on_, at, how);
    using ring = offload_link<Callers, rpc::offload_ring>;
    if (at.protocol == ring::name) return measure_protocol<lines<ring>>(*on_, at, how);
    return measure_protocol<lines<offload_link<Callers, rpc::single_mailbox>>>(*on_, at, how);
  }

  std::unique_ptr<device> on_;
};

}  // namespace

result<std::unique_ptr<meter>> open_meter(uint32_t device_index) {
  result<std::unique_ptr<device>> opened = device::open(device_index);
  if (!opened) return opened.why();
  return std::unique_ptr<meter>(std::make_unique<machine_meter>(std::move(opened.value())));
}

}  // namespace heddle::bench
