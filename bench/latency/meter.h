// What is measured, and what came out: the seam between Google Benchmark and a machine, which nvcc or hipcc may have to compile.
#pragma once

#include <heddle/rpc/result.h>
#include <heddle/rpc/ringing.h>

#include <stddef.h>
#include <stdint.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace heddle::bench {

/// Where mailboxes and packets lie.
enum class placement { host, device };

/// One place on a curve.
struct point {
  std::string protocol = "ports";  ///< one of meter_facts::protocols, or a baseline
  uint32_t waves = 1;              ///< that call, each with one call at a time
  uint32_t lanes = 1;              ///< of each wave
  uint64_t bytes = 8;              ///< that each lane sends with a call; its answer has 8
  uint32_t servers = 1;            ///< host threads that serve
  placement mailbox = placement::host;
  bool sleeps =
      false;  ///< servers that find nothing sleep on the doorbell, at most server_sleep_ns; otherwise they look again
  rpc::ringing rings = 0;  ///< of the clients of servers that sleep
};

/// How long a server sleeps that is not rung for.
inline constexpr uint64_t server_sleep_ns = 1'000'000;

/// How long to measure. Rounds of calls and of bare exchanges take turns, so that both see the same machine.
struct effort {
  uint32_t rounds = 5;
  double round_seconds = 0.1;  ///< after which a wave makes no further call
};

/// The medians of one round of bare exchanges and of the round of calls behind it, in nanoseconds.
struct round_medians {
  double exchange;
  double call;
};

/// Times are in nanoseconds, of single calls as their first lanes saw them, sorted.
struct measured {
  std::vector<double> call_ns;
  std::vector<double>
      exchange_ns;  ///< of the bare exchange between one wave and one thread, in the same kind of memory
  std::vector<round_medians> rounds;  ///< empty where no exchange was measured
  bool payload_is_of_wave = false;    ///< and not of each of its lanes
  double calls_per_second = 0;        ///< calls of waves, all waves together
  double server_ns_per_call = 0;      ///< of the processor, all servers together; with the calls that are not timed
  double sleeps_per_call = 0;         ///< how often a server has gone to sleep
};

/// What stands beside the results.
struct meter_facts {
  std::string machine;  ///< host, cuda or hip
  std::string device;   ///< as its maker calls it
  std::string driver;   ///< empty on the host
  uint32_t lanes_max = 1;
  uint32_t waves_max = 1;      ///< that are resident together
  bool memory_is_one = false;  ///< whether there is no difference between the placements
  std::vector<std::string> protocols;
  std::vector<std::string> baselines;
};

/// A machine that measures.
class meter {
 public:
  virtual ~meter() = default;
  virtual meter_facts facts() = 0;
  /// An error says why this machine cannot measure there.
  virtual result<measured> measure(const point& at, const effort& how) = 0;
};

/// The meter of the machine that this program was built for.
result<std::unique_ptr<meter>> open_meter(uint32_t device);

/// The smallest sample that at least `share` of all samples do not exceed (nearest rank); share in [0, 1], `sorted` not empty.
inline double percentile(const std::vector<double>& sorted, double share) {
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  const auto index = rank < 1 ? size_t{0} : static_cast<size_t>(rank) - 1;
  return sorted[index < sorted.size() ? index : sorted.size() - 1];
}

}  // namespace heddle::bench
