# The scenarios that ship, by file. Each is one source for every machine: tests/scenarios/CMakeLists.txt compiles them for the simulator,
# tests/hw/CMakeLists.txt for the machines that are there.
set(heddle_scenario_files
  hostcall_abandoned.cpp
  hostcall_echo.cpp
  lanes/contended_port.cpp
  lanes/flag.cpp
  lanes/full_mask.cpp
  lanes/spin_lock.cpp
  lanes/sunk_close.cpp
  offload_calls.cpp
  port_async.cpp
  port_divergent.cpp
  port_echo.cpp
  port_mixed_opcodes.cpp
  port_stream.cpp
  ring_credits.cpp
  ring_fifo.cpp
  service_calls.cpp
  service_stop.cpp
  slot_async.cpp
  slot_device_server.cpp
  slot_echo.cpp
  zoo/crossed_calls.cpp
  zoo/crossed_try_locks.cpp
  zoo/fifo_bugs.cpp
  zoo/hostcall_bugs.cpp
  zoo/lock_orders.cpp
  zoo/mailbox_not_broadcast.cpp
  zoo/mailbox_orders.cpp
  zoo/offload_mailbox.cpp
  zoo/offload_ring.cpp
  zoo/single_port_wait.cpp
  zoo/sleep_without_timeout.cpp
  zoo/unfair_lock.cpp)

# Those that tell the lanes of a wave apart mean nothing where every lane is a wave of its own, as on host threads.
set(heddle_scenario_files_of_wide_waves lanes/flag.cpp lanes/full_mask.cpp lanes/sunk_close.cpp)
