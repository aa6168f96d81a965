// Where the blocks of a cooperative launch meet, and whether they can. Compiled without instrumentation: none of this is an access of the program's.
#include <heddle/sim/compat/launch.h>
#include <heddle/sim/runtime/gpu_calls.h>

#include <algorithm>

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

// The simulated device has room for what the largest have: an NVIDIA GPU of 160 multiprocessors, an MI300X of 304.
void check_meeting(const sim::grid_shape& how) {
  constexpr uint64_t most_threads = 2048, most_blocks = 32, reserved_bytes = 1024;
  constexpr size_t shared_bytes = size_t{228} * 1024;
  const uint64_t waves = (how.block.count() + how.wave_lanes - 1) / how.wave_lanes;
  const uint64_t each = std::min({most_threads / std::max<uint64_t>(waves * how.wave_lanes, 1), most_blocks,
                                  uint64_t{shared_bytes / (how.shared_bytes + reserved_bytes)}});
  const uint64_t multiprocessors = how.wave_lanes == 64 ? 304 : 160;
  if (how.grid.count() <= multiprocessors * each) return;
  sim::runtime::trap(fault::assertion,
                     "a cooperative launch with more blocks than any device has room for at once: it fails there "
                     "(cudaErrorCooperativeLaunchTooLarge); take as many as "
                     "cudaOccupancyMaxActiveBlocksPerMultiprocessor says");
}

}  // namespace heddle::compat
