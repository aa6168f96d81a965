// State of the program under test, and of the C++ library in it, that every run must find as the first one did.
#pragma once

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace heddle::sim {

// Variables of the device that a program declares (`__device__ int count = 0;`): they begin anew with each run.

/// Gives them all the values that they had before the first run. They are in the section `heddle_device`, where tools/rewrite/ puts
/// them; a program without any has no such section.
[[gnu::hot]] void reset_device_variables();

/// Whether this is in one of them.
bool is_device_variable(const void* address);

}  // namespace heddle::sim

namespace heddle::sim {

// Programs that have a main() of their own (heddle_simulate_cuda and its relatives) begin anew with each run: their variables, which tools/rewrite/
// puts into the sections `heddle_data` and `heddle_bss`, are what the linker made them, and their initialization, in `heddle_init`, belongs to
// the run. Of sources without a main() all that happens once, before any run.

/// Whether this program begins anew with each run.
bool is_program();
/// Gives its variables the values that they had before their initialization.
[[gnu::hot]] void reset_program_variables();
/// Initializes them, in a run. Calls code under test.
void initialize_program();

// Objects of the program that heddle has not compiled, and `heddle c++` and its relatives have linked, begin anew likewise: their variables are in
// `heddle_other_data` and `heddle_other_bss`. What stores to them is not seen.

/// Variables that lie one behind the other.
struct variable_block {
  std::byte* first = nullptr;
  std::byte* end = nullptr;

  size_t size_bytes() const { return static_cast<size_t>(end - first); }
};
/// Those of these objects.
std::array<variable_block, 2> unseen_variables();
/// Files that have these objects, each once.
std::vector<std::string> unseen_files();

}  // namespace heddle::sim

// State that the C++ library keeps in variables of the program, and that must be at the start of every run as it was at the first.

// std::__detail::__waiter_pool_base::_S_for(void const*)::__w of libstdc++ 11 to 15: the waiting threads at each of 16 groups of addresses, a count
// of notifications, for std::atomic::wait, std::barrier, std::latch and std::counting_semaphore. Only programs that use these have it.
extern "C" [[gnu::weak]] char heddle_waiter_pool[] asm("_ZZNSt8__detail18__waiter_pool_base6_S_forEPKvE3__w");

namespace heddle::sim {

/// A run that ends early abandons threads that wait: the next run would count them still, and run differently. And the C library knows of no thread
/// but its own: libstdc++ would count references to what threads share without atomic operations, and give no notice (ext/atomicity.h).
inline void reset_library_state() {
#if __has_include(<sys/single_threaded.h>)
  __libc_single_threaded = 0;
#endif
  constexpr size_t group_bytes = 128;
  constexpr size_t groups = 16;
  if (heddle_waiter_pool != nullptr) std::memset(heddle_waiter_pool, 0, groups * group_bytes);
}

}  // namespace heddle::sim
