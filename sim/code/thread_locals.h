// Thread-local variables of the program under test, and errno. Its threads are fibers of one OS thread, and find these variables in one place: what they hold is
// exchanged when another host thread goes on. heddle's own variables stay.
#pragma once

#include <heddle/sim/base/state_reader.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::sim {

/// Where the variables of all of this program lie, from the thread pointer on; of no bytes where the program under test has none.
struct thread_local_block {
  ptrdiff_t begin = 0;
  size_t size_bytes = 0;
};
extern thread_local_block thread_locals_of_program;

/// The thread-local variables of the program alone, before anything runs: the bytes, and where they begin from the thread pointer on.
struct thread_local_image {
  const std::byte* bytes = nullptr;
  size_t initialized_bytes = 0;  ///< the others are zero
  ptrdiff_t begin = 0;
  size_t size_bytes = 0;
};
const thread_local_image& thread_locals_at_first();

/// Whether the address is that of a thread-local variable.
inline bool is_thread_local(const void* address) {
  const auto* const pointer = static_cast<const std::byte*>(__builtin_thread_pointer());
  return static_cast<size_t>(static_cast<const std::byte*>(address) - pointer - thread_locals_of_program.begin) <
         thread_locals_of_program.size_bytes;
}

/// What the variables hold for each host thread of a run.
class thread_local_values {
 public:
  /// Whether there is anything to exchange.
  bool on() const { return on_; }
  /// A run begins, with the main thread; where it begins `anew`, with the values that variables have before anything runs.
  void begin_run(bool anew);
  /// A thread has been begun, whose variables have their first values.
  void begins(uint32_t thread);
  /// From now on this thread runs.
  void enter(uint32_t thread) {
    if (thread != loaded_) exchange(thread);
  }
  /// False when the visitor needs no more.
  bool visit_state(state_reader& to) const;

 private:
  void exchange(uint32_t thread);

  bool on_ = false;
  uint32_t loaded_ = 0;  ///< 0: the main thread
  std::vector<int> errnos_;
  std::vector<std::vector<std::byte>> kept_;
};

}  // namespace heddle::sim
