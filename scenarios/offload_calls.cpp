// Reverse offload: lanes have the host run functions for them, through one mailbox or a ring, in memory that the host maps or copies.
#include "offloads.h"

namespace heddle::tests {
namespace {

void run_offload_single(const parameters& set) { run_offload_on<rpc::single_mailbox, false>(set); }
void run_offload_copied(const parameters& set) { run_offload_on<rpc::single_mailbox, true>(set); }

void run_offload_ring(const parameters& set) {
  if (set.text("memory") == "copied")
    run_offload_on<rpc::offload_ring, true>(set);
  else
    run_offload_on<rpc::offload_ring, false>(set);
}
void run_offload_contended(const parameters& set) { run_offload_ring(set); }

std::vector<parameter> ring_parameters(int64_t waves, int64_t lanes, const char* entries, int64_t calls,
                                       int64_t first = 0) {
  std::vector<parameter> all = offload_parameters(waves, lanes, calls);
  all.push_back(entries_parameter(entries));
  all.push_back(parameter::one_of("memory", "mapped", {"mapped", "copied"},
                                  "how the host reaches the entries: at their address, or by copies"));
  all.push_back(parameter::number("first", first, 0, UINT32_MAX, "", "ticket of the first call"));
  return all;
}

}  // namespace

HEDDLE_SCENARIO(run_offload_single, {.name = "offload.single",
                                     .summary = "lanes have the host run functions, through one mailbox for all",
                                     .parameters = offload_parameters(2, 2, 4),
                                     .expected = needs_fair_requesters,
                                     .proofs = {"waves=2 lanes=1 calls=1"}});

HEDDLE_SCENARIO(run_offload_copied, {.name = "offload.copied",
                                     .summary = "the same, where the host copies the mailbox to look at it",
                                     .parameters = offload_parameters(2, 2, 4),
                                     .expected = needs_fair_requesters});

HEDDLE_SCENARIO(run_offload_ring, {.name = "offload.ring",
                                   .summary = "lanes have the host run functions, through a ring of entries",
                                   .parameters = ring_parameters(2, 2, "4", 4),
                                   .expected = needs_fair_ring,
                                   .proofs = {"waves=2 lanes=1 calls=1 entries=2"}});

HEDDLE_SCENARIO(run_offload_contended, {.name = "offload.contended",
                                        .summary = "more waves than entries, and a counter that wraps on the way",
                                        .parameters = ring_parameters(3, 2, "2", 3, int64_t{UINT32_MAX} - 3),
                                        .expected = needs_fair_ring});

}  // namespace heddle::tests
