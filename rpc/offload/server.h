// The end that runs the functions: any number of host threads. (libgomp, GOMP_OFFLOAD_run: there the thread that launched, alone.)
#pragma once

#include <heddle/rpc/lock.h>
#include <heddle/rpc/offload/memory.h>
#include <heddle/rpc/offload/ring.h>
#include <heddle/rpc/offload/single.h>

namespace heddle::rpc {

/// What a server takes. What is more is refused, by the status of the request.
struct offload_limits {
  uint64_t functions = ~uint64_t{0};      ///< functions have numbers below this
  uint64_t payload_bytes = ~uint64_t{0};  ///< of one lane
};

/// One server thread's view; each thread has its own, over the same memory and the same lock words. `Memory` is
/// mapped_entries or copied_entries. A function that runs may copy, print, allocate and wait for other requests that
/// another thread serves; it may not wait for a kernel that waits for it.
template <typename Target, typename Form, typename Memory, typename Check = unchecked>
class basic_offload_server {
 public:
  /// `locks` is shape.lock_words() zeroed words that only the servers of these entries use. Threads that start at
  /// different entries seldom meet.
  basic_offload_server(Memory memory, uint32_t* locks, offload_limits limits = {}, uint32_t start = 0)
      : memory_(memory), locks_(locks), limits_(limits), start_(start % entry_count()) {
    require<Target, Check>(memory.shape().is_valid(), "entries are no power of two, or lanes too many");
  }

  /// Serves one request if there is one, and says whether there was: `run(function, line, lane)` for each lane that
  /// asks. Looks at every entry once and begins behind the one that it served last: a request is passed over by this
  /// thread at most entries - 1 times. Does not wait.
  template <typename Run>
  bool handle(Run&& run) {
    uint32_t entry = 0;
    uint64_t posted = 0;
    if (!find(entry, posted)) return false;
    start_ = entry + 1 < entry_count() ? entry + 1 : 0;
    typename Memory::buffer held;
    offload_header& header = memory_.open(entry, held);
    serve(header, run);
    // What the functions have written, here and behind the payloads, is there before the turn is.
    memory_.close(entry, held);
    // An atomic load: no compiler would leave it out where nothing is checked.
    if constexpr (Check::enabled)
      require<Target, Check>(memory_.load_turn(entry) == posted, "a request changes while it is served");
    memory_.store_turn(entry, Form::turn_after(posted));
    locks_.unlock(entry);
    return true;
  }

  /// Copies from, or to, what a line's payload names.
  void fetch(void* to, uint64_t payload, size_t bytes) const { memory_.fetch(to, payload, bytes); }
  void put(uint64_t payload, const void* from, size_t bytes) const { memory_.put(payload, from, bytes); }

  /// Whether no entry is in use and no server holds one. To be asked when both ends are quiescent.
  bool all_idle() const {
    for (uint32_t entry = 0; entry < entry_count(); ++entry)
      if (!Form::is_idle(memory_.load_turn(entry)) || locks_.is_locked(entry)) return false;
    return true;
  }

 private:
  uint32_t entry_count() const { return Form::has_one_entry ? 1 : memory_.shape().entries; }

  bool find(uint32_t& entry, uint64_t& posted) const {
    for (uint32_t n = 0; n < entry_count(); ++n) {
      entry = start_ + n < entry_count() ? start_ + n : start_ + n - entry_count();
      // A look first: a lock taken for every idle entry would keep the other threads off.
      if (!Form::is_posted(memory_.load_turn(entry)) || !locks_.try_lock(entry)) continue;
      posted = memory_.load_turn(entry);
      if (Form::is_posted(posted)) return true;
      // Another thread has served it in between.
      locks_.unlock(entry);
    }
    return false;
  }

  template <typename Run>
  void serve(offload_header& header, Run& run) const {
    // It comes from the device, indexes lines, and may be changed under a server's hands.
    const uint64_t mask = header.mask & memory_.shape().lanes_that_exist();
    const uint64_t function = header.function;
    auto* const lines = reinterpret_cast<offload_line*>(&header + 1);
    const offload_status refused = refusal(function, mask, lines);
    if (refused == offload_status::done)
      for (uint32_t lane = 0; lane < max_lanes; ++lane)
        if ((mask >> lane & 1) != 0) run(function, lines[lane], lane);
    header.status = static_cast<uint64_t>(refused);
  }

  offload_status refusal(uint64_t function, uint64_t mask, const offload_line* lines) const {
    if (function >= limits_.functions) return offload_status::unknown_function;
    for (uint32_t lane = 0; lane < max_lanes; ++lane)
      if ((mask >> lane & 1) != 0 && lines[lane].payload_bytes > limits_.payload_bytes)
        return offload_status::too_large;
    return offload_status::done;
  }

  Memory memory_;
  lock_bits<Target, Check> locks_;
  offload_limits limits_;
  uint32_t start_;
};

}  // namespace heddle::rpc
