// Which variables in frames of host threads other threads know of. A thread's own accesses to them are visible from then on (lane::is_private).
#pragma once

#include <heddle/sim/base/state_reader.h>
#include <heddle/sim/machine/lane.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::sim {

struct run_core;

class frame_sharing {
 public:
  explicit frame_sharing(run_core& core) : core_(core) {}

  /// The host thread, inside the simulator, stores this value where others may read it: a variable of its own that it points to, these know of.
  [[gnu::always_inline]] void let_go(lane& self, uint64_t value) {
    if (const void* const pointer = reinterpret_cast<const void*>(value); self.is_private(pointer)) [[unlikely]]
      give(self, pointer, self.pending.private_state);
  }
  /// The same of bytes that it has stored there. `live`: the low end of its frames.
  void let_go(lane& self, const void* stored, size_t size_bytes, const void* live);
  /// The lane gives others what it has from the address on, and what that points to. Does nothing where the address is in none of its frames.
  [[gnu::cold, gnu::noinline]] void give(lane& self, const void* from, const void* live);
  /// The same of an address on a host thread's stack, be it another thread's.
  [[gnu::cold]] void give_any(lane& self, const void* address);
  /// The same of all addresses that an object holds.
  void give_captured(lane& self, const void* object, size_t size_bytes);
  /// The thread goes on looking at an atomic of its own: it expects another to know of it. `live`: likewise.
  [[gnu::cold]] static void expect(lane& self, const void* address, const void* live);
  /// Another thread accesses a variable there, or has its address. Where nothing has been seen to give it that, what the owner did there until now
  /// was no choice: a search has to begin again, and see all of it.
  [[gnu::cold]] void reach(lane& owner, const void* address);
  /// In a search: the variable has to be seen from the beginning of its thread.
  [[gnu::cold]] void want_seen(const lane& owner, const void* address);

  /// Kernels reach these bytes, where they are in frames of the lane, until they are closed. What the lane does to them is visible from now on. `live`:
  /// likewise.
  [[gnu::cold]] void open(lane& self, const void* memory, size_t size_bytes, const void* live);
  [[gnu::cold]] void close(const void* memory);
  bool are_open(const void* address) const;
  void reset() { open_.clear(); }
  /// Which bytes are open. False when the visitor needs no more.
  bool tell(state_reader& to) const;

 private:
  run_core& core_;
  struct range {
    const std::byte* first;
    size_t size_bytes;
  };
  std::vector<range> open_;
};

}  // namespace heddle::sim
