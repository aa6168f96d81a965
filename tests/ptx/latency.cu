// What the latency programs measure, as scenarios of a program that nvcc has compiled: one for each protocol, and one for each bare exchange
// that it is compared with.
#include <heddle/sim/runtime/calls.h>
#include <heddle/tools/scenario.h>

#include "../../bench/latency/measure.cpp"

namespace heddle::tests {
namespace {

/// Checks of the host's code are the run's.
[[maybe_unused]] const auto before =
    host::set_trap_handler([](fault why, const char* message) { sim::runtime::trap(why, message); });

void run_latency(const parameters& set) {
  result<std::unique_ptr<bench::meter>> opened = bench::open_meter(0);
  HEDDLE_CHECK(static_cast<bool>(opened), "the meter cannot be opened");
  const bench::point at{.protocol = set.text("protocol"),
                        .waves = set.count("waves"),
                        .lanes = set.count("lanes"),
                        .bytes = set.count("bytes"),
                        .servers = set.count("servers"),
                        .sleeps = set.text("sleeps") == "yes"};
  // The clock goes on at each look: few calls are timed, behind those to warm up.
  result<bench::measured> found = opened.value()->measure(at, {.rounds = 1, .round_seconds = 1e-9});
  if (!found) target::trap(fault::assertion, found.why().line().c_str());
  HEDDLE_CHECK(!found.value().call_ns.empty(), "no call was timed");
}

}  // namespace

HEDDLE_SCENARIO(run_latency,
                {.name = "latency",
                 .summary = "a protocol's calls, timed, with bare exchanges in turns",
                 .parameters = {
                     parameter::one_of("protocol", "ports",
                                       {"ports", "ports-shortest", "slots", "hostcalls", "offload", "mailbox", "fifo",
                                        "exchange", "store", "nothing", "printf", "launch", "copy"},
                                       "what is timed"),
                     parameter::number("waves", 2, 1, 64, "", "waves that call"),
                     parameter::number("lanes", 2, 1, 32, "", "lanes of each wave"),
                     parameter::number("bytes", 8, 8, 65536, "", "that each lane sends with a call"),
                     parameter::number("servers", 1, 1, 16, "", "host threads that serve"),
                     parameter::one_of("sleeps", "no", {"no", "yes"}, "servers sleep on the doorbell")}});

}  // namespace heddle::tests
