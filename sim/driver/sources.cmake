# The files of the driver; it needs nothing of the rest of the simulator, so tests take it alone where there is no simulator.
set(heddle_driver_sources
  command.cpp
  contents.cpp
  copy_instant.cpp
  copy_timed.cpp
  device_table.cpp
  dispatcher.cpp
  engine.cpp
  flush.cpp
  gpu.cpp
  gpu_driver.cpp
  gpu_driver_queues.cpp
  l2_cache.cpp
  launch.cpp
  memory_allocator.cpp
  migration.cpp
  page_table.cpp
  physical_memory.cpp
  queue_events.cpp
  request.cpp
  settings.cpp)
list(TRANSFORM heddle_driver_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
