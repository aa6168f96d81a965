// The host loads the flag of an entry and then the entry, with nothing but the compiler held back in between: a host that is weaker than an x86
// may load the entry first.
//
// NVSHMEM, a comment in proxy.cpp. On an x86 it is a race as well, of the program and not of the machine. Smallest: 1 wave, 1 entry.
#include "../fifos.h"
#include "weakened.h"

namespace heddle::tests {
namespace {

struct pushing_kernel {
  rpc::basic_fifo_producer<target, fifo_message, rpc::lap_parity, rpc::checking> producer;
  fifo_letters letters;

  HEDDLE_FUNCTION void operator()() const {
    for (uint32_t call = 0; call < letters.who.calls; ++call) producer.push(letters.write(call));
  }
};

void run_flag_then_payload(const parameters& set) {
  device on;
  const callers who{set.count("lanes"), set.count("calls")};
  fifo_test<rpc::lap_parity> test(on, set, who.calls);
  const launch_shape shape{.blocks = 1, .waves = set.count("waves"), .lanes = who.lanes};
  const pushing_kernel kernel{test.producer(), {test.letters(), who.calls, who}};
  if (zoo::is_fixed(set)) return test.run(test.consumer(), kernel, shape, [] { return true; });
  test.run(test.consumer<zoo::no_acquire_after_wait>(), kernel, shape, [] { return true; });
}

scheduler::verdict needs_fair_pushers(const parameters& set) { return needs_fair_producers(set, false); }

}  // namespace

HEDDLE_ZOO(run_flag_then_payload,
           {.name = "zoo.flag-then-payload-loads",
            .summary = "the host loads an entry behind a flag that it has not acquired",
            .parameters = zoo::with_twin(fifo_parameters(1, 1, 2, 3)),
            .expected = zoo::where_memory_is_late<scheduler::verdict::race, zoo::late_over_the_link::nothing,
                                                  needs_fair_pushers>});

}  // namespace heddle::tests
