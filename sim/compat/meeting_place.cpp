// Where the blocks of a cooperative launch meet. Compiled without instrumentation: none of this is an access of the program's.
#include <heddle/sim/compat/launch.h>
#include <heddle/sim/runtime/gpu_calls.h>

namespace heddle::compat {
namespace {

/// In the memory of each block: the address, and its complement, which nothing that lies there before is.
uint64_t* kept() {
  static constexpr char name[] = "grid barrier";
  return static_cast<uint64_t*>(sim::runtime::shared_variable(&name, 2 * sizeof(uint64_t), name));
}

}  // namespace

void* make_meeting_place() {
  constexpr size_t bytes = 64;
  void* const words = sim::runtime::allocate_unnamed(bytes, sim::runtime::memory_place::device, "grid barrier");
  sim::runtime::fill(words, 0, bytes);
  return words;
}

void keep_meeting_place(void* words) {
  uint64_t* const own = kept();
  own[0] = reinterpret_cast<uint64_t>(words);
  own[1] = ~own[0];
}

uint64_t* meeting_place() {
  const uint64_t* const own = kept();
  if (own[0] != ~own[1])
    sim::runtime::trap(fault::assertion, "a barrier of a grid in a kernel that was not launched as a cooperative one");
  return reinterpret_cast<uint64_t*>(own[0]);
}

}  // namespace heddle::compat
