// The scenarios that ship, under more settings than their defaults: the same protocol tests, one simulated schedule at a time.
#include <heddle/tools/gtest.h>
#include <heddle/tools/gtest_main.h>

namespace {

HEDDLE_TEST(ports_as_they_ship, "port.*", 400);
HEDDLE_TEST(ports_of_one_lane, "port.*", 400, "lanes=1");
HEDDLE_TEST(ports_of_five_lanes, "port.*", 200, "lanes=5", "calls=2");
HEDDLE_TEST(ports_of_a_whole_wave, "port.*", 200, "lanes=32", "waves=2", "calls=2");
HEDDLE_TEST(one_port_for_all, "port.*", 400, "ports=1", "calls=2");
HEDDLE_TEST(two_servers, "port.*", 500, "servers=2");
HEDDLE_TEST(two_servers_and_one_port, "port.*", 300, "servers=2", "ports=1", "lanes=1");
HEDDLE_TEST(three_servers_of_many_waves, "port.*", 200, "servers=3", "waves=6", "lanes=1", "ports=3");
HEDDLE_TEST(more_ports_than_anybody_needs, "port.*", 200, "ports=33", "calls=2");
// No wave waits for another wave's port here, so the lowest wave gets on although it alone is guaranteed a turn. Not so where a call
// has more than one packet: its server waits in the middle of it, for a wave that may get no turn, unless others can serve.
HEDDLE_TEST(a_port_for_each_lane, "port.[!s]*", 200, "progress=hsa", "waves=2", "lanes=2", "ports=4");
HEDDLE_TEST(a_port_and_a_server_for_each_lane, "port.stream", 200, "progress=hsa", "waves=2", "lanes=2", "ports=4",
            "servers=4");
HEDDLE_TEST(waves_that_go_on_once_they_have_begun, "port.*", 200, "progress=obe", "waves=3", "lanes=1", "ports=3");
HEDDLE_TEST(waits_that_end_for_no_reason, "port.*", 200, "wakes=20");
HEDDLE_TEST(services_as_they_ship, "service.*", 400);
HEDDLE_TEST(services_of_a_whole_wave, "service.*", 50, "lanes=32", "waves=2", "calls=1");
HEDDLE_TEST(services_of_one_port_and_three_servers, "service.*", 300, "ports=1", "servers=3");
HEDDLE_TEST(services_in_lockstep, "service.*", 200, "convergence=lockstep");
HEDDLE_TEST(services_over_a_link_in_device_memory, "service.*", 200, "link.pool=off", "buffer=device");
HEDDLE_TEST(services_that_stop_at_once, "service.stop", 400, "after=0", "servers=2");
HEDDLE_TEST(services_that_stop_late, "service.stop", 400, "after=300", "ports=1");
HEDDLE_TEST(slots_as_they_ship, "slot.*", 400);
HEDDLE_TEST(slots_of_one_word_each, "slot.*", 400, "mailbox=word");
HEDDLE_TEST(slots_whose_bits_are_swapped_in, "slot.*", 400, "mailbox=compare");
HEDDLE_TEST(slots_that_are_kept_until_they_are_idle, "slot.[ce]*", 400, "ending=idle");
HEDDLE_TEST(slots_of_a_whole_wave, "slot.*", 100, "lanes=32", "waves=2", "calls=1");
HEDDLE_TEST(one_slot_for_all, "slot.*", 400, "slots=1", "calls=2");
HEDDLE_TEST(three_servers_of_two_slots, "slot.[!d]*", 300, "servers=3", "slots=2");
HEDDLE_TEST(more_slots_than_a_word_has_bits, "slot.*", 200, "slots=33", "calls=2");
HEDDLE_TEST(a_thousand_calls_over_two_slots, "slot.*", 5, "waves=2", "slots=2", "calls=250");
HEDDLE_TEST(a_slot_for_each_lane, "slot.*", 200, "progress=hsa", "waves=2", "lanes=2", "slots=4");
HEDDLE_TEST(slots_over_a_link_with_the_atomics_of_pcie, "slot.*", 200, "fidelity=link", "link.rmw=pcie");
HEDDLE_TEST(slots_that_need_atomics_over_a_link_that_has_none, "slot.echo", 20, "fidelity=link", "link.rmw=refused");
HEDDLE_TEST(slots_over_a_link_without_atomics, "slot.*", 200, "fidelity=link", "link.rmw=refused", "mailbox=word");
HEDDLE_TEST(fifos_as_they_ship, "ring.*", 400);
HEDDLE_TEST(fifos_whose_flags_are_cleared, "ring.*", 400, "flag=cleared", "batch=1");
HEDDLE_TEST(fifos_whose_numbers_begin_at_zero, "ring.*", 200, "first=0");
HEDDLE_TEST(fifos_whose_numbers_change_sign, "ring.*", 200, "first=2147483646");
HEDDLE_TEST(fifos_of_one_entry, "ring.*", 400, "lanes=1", "entries=1", "waves=3");
HEDDLE_TEST(fifos_of_a_whole_wave, "ring.*", 100, "lanes=32", "entries=32", "calls=2");
HEDDLE_TEST(fifos_of_more_waves_than_entries, "ring.*", 200, "waves=6", "lanes=1", "entries=2");
HEDDLE_TEST(fifos_that_are_narrower_than_a_wave, "ring.*", 100, "lanes=3", "entries=2");
HEDDLE_TEST(fifos_that_hold_everything, "ring.*", 200, "progress=hsa", "entries=16", "calls=2");
HEDDLE_TEST(fifos_under_hsa, "ring.fifo", 400, "progress=hsa", "entries=16", "calls=2", "flush=0");
HEDDLE_TEST(fifos_of_one_program_counter, "ring.*", 200, "convergence=lockstep");
HEDDLE_TEST(fifos_over_a_link_without_atomics, "ring.*", 200, "fidelity=link", "link.rmw=refused");
HEDDLE_TEST(fifos_of_pushes_that_look_once, "ring.credits", 200, "turns=0");
HEDDLE_TEST(a_thousand_entries_over_four_places, "ring.*", 5, "calls=250");
HEDDLE_TEST(hostcalls_as_they_ship, "hostcall.*", 400);
HEDDLE_TEST(hostcalls_of_servers_that_sleep, "hostcall.*", 300, "waiting=sleeps");
HEDDLE_TEST(hostcalls_whose_rings_are_lost, "hostcall.*", 300, "waiting=sleeps", "doorbells=dropped");
HEDDLE_TEST(hostcalls_over_one_packet, "hostcall.*", 300, "packets=1", "calls=2");
HEDDLE_TEST(hostcalls_over_many_packets, "hostcall.*", 300, "packets=33", "calls=2");
HEDDLE_TEST(hostcalls_of_three_servers, "hostcall.*", 300, "servers=3");
HEDDLE_TEST(hostcalls_of_a_whole_wave, "hostcall.*", 100, "lanes=32", "calls=1", "packets=2");
HEDDLE_TEST(hostcalls_of_the_widest_wave, "hostcall.*", 50, "lanes=64", "waves=1", "calls=1");
HEDDLE_TEST(hostcalls_with_a_packet_for_each_lane, "hostcall.*", 200, "progress=hsa", "waves=2", "packets=4");
HEDDLE_TEST(hostcalls_of_one_program_counter, "hostcall.*", 100, "convergence=lockstep");
HEDDLE_TEST(hostcalls_over_a_link_with_the_atomics_of_pcie, "hostcall.*", 200, "fidelity=link", "link.rmw=pcie");
HEDDLE_TEST(hostcalls_over_a_link_without_atomics, "hostcall.*", 20, "fidelity=link", "link.rmw=refused");
HEDDLE_TEST(calls_that_look_once, "hostcall.abandoned", 300, "turns=0");
HEDDLE_TEST(a_thousand_hostcalls_over_two_packets, "hostcall.*", 5, "calls=125");
HEDDLE_TEST(offloads_as_they_ship, "offload.*", 400);
HEDDLE_TEST(offloads_of_a_whole_wave, "offload.*", 50, "lanes=32", "waves=2", "calls=2");
HEDDLE_TEST(offloads_in_lockstep, "offload.*", 200, "convergence=lockstep", "lanes=5");
HEDDLE_TEST(offloads_with_three_servers, "offload.*", 200, "servers=3");
HEDDLE_TEST(offloads_over_a_link, "offload.*", 200, "fidelity=link");
HEDDLE_TEST(offloads_over_a_link_without_atomics, "offload.*", 200, "fidelity=link", "link.rmw=refused");
HEDDLE_TEST(offloads_in_memory_of_the_device, "offload.*", 200, "buffer=device");
HEDDLE_TEST(offloads_of_waves_that_go_on_once_they_have_begun, "offload.*", 200, "progress=obe");
HEDDLE_TEST(offloads_that_the_lowest_wave_does_not_finish_alone, "offload.*", 200, "progress=hsa");
HEDDLE_TEST(an_entry_for_each_offload, "offload.ring", 200, "progress=hsa", "entries=16");
HEDDLE_TEST(a_ring_of_one_entry, "offload.ring", 200, "entries=1");
HEDDLE_TEST(a_ring_that_is_copied, "offload.ring", 200, "memory=copied");
HEDDLE_TEST(a_contended_ring_that_is_copied, "offload.contended", 200, "memory=copied", "servers=2");
HEDDLE_TEST(a_ring_whose_tickets_wrap, "offload.ring", 200, "first=4294967290");
HEDDLE_TEST(a_thousand_offloads_over_two_entries, "offload.contended", 5, "waves=2", "calls=250");
HEDDLE_TEST(waves_that_serve_waves, "device.server", 500);
HEDDLE_TEST(waves_that_serve_wider_waves, "device.server", 500, "lanes=2");

}  // namespace
