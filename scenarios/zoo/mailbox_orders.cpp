// The port protocol with one memory order, or one scope, of its mailboxes too weak. Smallest: 1 wave, 1 port, 1 call.
//
// Every row of LLVM libc's hand-over (shared/rpc.h) stands for one of these: a fence before the store, one after the load, and
// system scope for both.
#include "weakened.h"

namespace heddle::tests {
namespace {

using scheduler::verdict;

void run_no_release(const parameters& set) { zoo::run_weakened_echo<zoo::no_release_before_toggle>(set); }
void run_no_acquire(const parameters& set) { zoo::run_weakened_echo<zoo::no_acquire_after_wait>(set); }
void run_device_scope(const parameters& set) { zoo::run_weakened_echo<zoo::device_scope_mailbox>(set); }
void run_plain_store(const parameters& set) { zoo::run_weakened_echo<zoo::plain_mailbox_store>(set); }

std::vector<parameter> few_calls() { return zoo::with_twin(port_parameters(2, 2, 2, 2)); }

}  // namespace

HEDDLE_ZOO(run_no_release, {.name = "zoo.no-release-before-toggle",
                            .summary = "a packet is handed over by a relaxed store",
                            .parameters = few_calls(),
                            .expected = zoo::where_memory_is_late<verdict::race, zoo::late_over_the_link::stores>});

HEDDLE_ZOO(run_no_acquire, {.name = "zoo.no-acquire-after-wait",
                            .summary = "a packet is used after a relaxed load that saw it come",
                            .parameters = few_calls(),
                            .expected = zoo::where_memory_is_late<verdict::race, zoo::late_over_the_link::loads>});

HEDDLE_ZOO(run_device_scope,
           {.name = "zoo.device-scope-mailbox",
            .summary = "mailboxes of device scope between device and host",
            .parameters = few_calls(),
            .expected = zoo::where_memory_is_late<verdict::scope_race, zoo::late_over_the_link::either>});

HEDDLE_ZOO(run_plain_store, {.name = "zoo.plain-mailbox-store",
                             .summary = "a packet is handed over by a plain store",
                             .parameters = few_calls(),
                             .expected = zoo::where_memory_is_late<verdict::race, zoo::late_over_the_link::stores>});

}  // namespace heddle::tests
