// The promises on the simulated machine, under many schedules.
#include "promises.h"

#include <heddle/tools/scenario.h>

namespace heddle::tests {
namespace {

template <void (*Promise)(device&)>
void on_device(const parameters&) {
  device on;
  Promise(on);
}

bool add(const char* name, void (*body)(const parameters&)) {
  return register_scenario({.name = name, .summary = "a promise of a device", .body = body});
}

[[maybe_unused]] const bool all_added =
    add("machine.lanes", on_device<lanes_run_once>) && add("machine.order", on_device<launches_keep_their_order>) &&
    add("machine.zeroed", on_device<memory_is_zeroed>) && add("machine.streams", on_device<streams_keep_their_order>) &&
    add("machine.events", on_device<events_order_streams>) &&
    add("machine.copies", on_device<copies_keep_their_order>) &&
    add("machine.asks", on_device<a_kernel_asks_a_host_thread>) &&
    add("machine.mapped", on_device<mapped_memory_serves_or_is_refused>) &&
    add("machine.results", on_device<results_tell_of_success>) &&
    add("machine.missing", on_device<a_device_that_is_not_there_is_an_error>);

}  // namespace
}  // namespace heddle::tests
