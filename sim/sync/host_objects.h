// All that the C library keeps for the host threads of a run: mutexes, waits for notice, and the threads themselves.
#pragma once

#include <heddle/sim/code/thread_locals.h>
#include <heddle/sim/sync/host_threads.h>
#include <heddle/sim/sync/left_open.h>
#include <heddle/sim/sync/mutex.h>
#include <heddle/sim/sync/notices.h>
#include <heddle/sim/sync/process_state.h>
#include <heddle/sim/sync/program_files.h>
#include <heddle/sim/sync/standard_streams.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace heddle::sim {

struct host_objects {
  mutex_table mutexes;
  sim::notices notices;
  host_threads threads;
  program_files files;
  sim::left_open left;
  process_state process;
  standard_streams streams;
  thread_local_values values;
  /// By thread: what a call of the C library has brought, before the thread has its turn to store it.
  std::map<uint32_t, std::vector<std::byte>> in_transfer;
  /// In a search: all that the run has changed outside of its memory, and looks at (outside_calls.h), as a hash.
  uint64_t changed_outside = 0;
  uint32_t registered_barriers = 0;  ///< commands of membarrier(2) by which the process has registered
  std::byte* bytes_in_transfer(uint32_t lane, size_t size_bytes) {
    std::vector<std::byte>& bytes = in_transfer[lane];
    bytes.resize(size_bytes);
    return bytes.data();
  }

  bool empty() const {
    return mutexes.empty() && notices.empty() && threads.empty() && files.empty() && left.empty() &&
           in_transfer.empty() && changed_outside == 0 && registered_barriers == 0;
  }
  void clear() {
    mutexes.clear();
    notices.clear();
    threads.clear();
    if (!files.empty()) files.clear();
    if (!left.empty()) left.clear();
    in_transfer.clear();
    changed_outside = 0;
    registered_barriers = 0;
  }
  bool visit_state(state_reader& to) const {
    return (registered_barriers == 0 || to.fact(registered_barriers)) && mutexes.visit_state(to) &&
           notices.visit_state(to) && threads.visit_state(to) && files.visit_state(to) && values.visit_state(to);
  }
};

}  // namespace heddle::sim
