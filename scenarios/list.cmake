# The scenarios that ship, by file. Each is one source for every machine: scenarios/CMakeLists.txt compiles them for the simulator,
# tests/hw/CMakeLists.txt for the machines that are there.
set(heddle_scenario_files
  driver_calls.cpp
  driver_devices.cpp
  driver_streams.cpp
  hostcall_echo.cpp
  lanes/arms.cpp
  lanes/contended_port.cpp
  lanes/spin_lock.cpp
  offload_calls.cpp
  port_divergent.cpp
  port_echo.cpp
  port_stream.cpp
  ring_fifo.cpp
  rings.cpp
  sctbench/programs.cpp
  sctbench/work_steal_queue.cpp
  service_calls.cpp
  slot_device_server.cpp
  slot_echo.cpp
  stops.cpp
  zoo/all_blocks_resident.cpp
  zoo/array_changed_under_scan.cpp
  zoo/bridge_reorders_writes.cpp
  zoo/bulk_path_overtaken.cpp
  zoo/commit_bit_moved.cpp
  zoo/crossed_calls.cpp
  zoo/crossed_try_locks.cpp
  zoo/divergent_trip_count.cpp
  zoo/doorbell_overtakes_entry.cpp
  zoo/doorbells.cpp
  zoo/driver_wakeups.cpp
  zoo/early_return_skips_notify.cpp
  zoo/every_wave_posts.cpp
  zoo/exhausted_after_n_calls.cpp
  zoo/fair_spin_called_livelock.cpp
  zoo/flag_then_payload_loads.cpp
  zoo/hand_over.cpp
  zoo/handlers.cpp
  zoo/header_before_acquire.cpp
  zoo/interrupt_never_arrives.cpp
  zoo/leader_is_a_bool.cpp
  zoo/listener_teardown.cpp
  zoo/lock_held_across_callback.cpp
  zoo/lock_orders.cpp
  zoo/lock_released_by_one_lane.cpp
  zoo/lock_without_acquire.cpp
  zoo/lost_doorbell.cpp
  zoo/mailbox_orders.cpp
  zoo/no_pcie_atomics.cpp
  zoo/not_for_complement.cpp
  zoo/offload_mailbox.cpp
  zoo/offload_ring.cpp
  zoo/op_pool_exhausted.cpp
  zoo/opcode_under_peek.cpp
  zoo/per_lane_steering_load.cpp
  zoo/plain_completion_flag.cpp
  zoo/poll_before_first_post.cpp
  zoo/ports_below_occupancy.cpp
  zoo/reader_scope_too_narrow.cpp
  zoo/release_does_not_drain.cpp
  zoo/scan_from_zero.cpp
  zoo/server_is_the_waiter.cpp
  zoo/shift_by_lane_32.cpp
  zoo/single_port_wait.cpp
  zoo/sleeps_behind_its_look.cpp
  zoo/small_fifo.cpp
  zoo/speculated_flush_read.cpp
  zoo/spin_without_yield.cpp
  zoo/stack_without_tag.cpp
  zoo/stale_leader.cpp
  zoo/sunk_close.cpp
  zoo/swapped_compare.cpp
  zoo/unfair_lock.cpp
  zoo/vacuous_stress.cpp)

# Those whose fault is a kind of memory, a host, a driver, or a device, that only the simulator has on demand.
set(heddle_scenario_files_of_the_simulator
  driver_memory.cpp
  zoo/cached_token.cpp
  zoo/driver_commands.cpp
  zoo/weak_failure_taken_for_owner.cpp
  driver_pages.cpp
  evictions.cpp)

# Those that tell the lanes of a wave apart mean nothing where every lane is a wave of its own, as on host threads.
set(heddle_scenario_files_of_wide_waves
  lanes/arms.cpp
  zoo/divergent_trip_count.cpp
  zoo/leader_is_a_bool.cpp
  zoo/lock_orders.cpp
  zoo/lock_released_by_one_lane.cpp
  zoo/stale_leader.cpp
  zoo/sunk_close.cpp)

# That many are compiled as one source, on every machine: measured, eight of them take as long as one and a third alone, most of which is
# what the headers bring in.
set(heddle_scenarios_together 12)
