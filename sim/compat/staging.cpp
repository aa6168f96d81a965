// The driver's buffers for copies from pageable memory. Compiled without instrumentation: none of this is an access of the program's.
#include <pthread.h>

#include <heddle/sim/compat/memory.h>
#include <heddle/sim/runtime/program_memory.h>

#include <map>
#include <memory>
#include <utility>

namespace heddle::compat {
namespace {

struct buffer {
  void* memory = nullptr;
  size_t size_bytes = 0;
};
/// Of one run, by thread and stream.
using buffers = std::map<std::pair<pthread_t, uint32_t>, buffer>;

/// As variables of the device, it is 0 when a run begins.
[[gnu::section("heddle_device")]] uint32_t is_of_this_run = 0;

// Not in the function: the guard of a variable there is an operation of the thread that comes first, in the first run of a process alone.
buffers only;  // NOLINT(cert-err58-cpp): nothing that it makes throws

buffers& here() {
  if (is_of_this_run != 0) return only;
  // Memory of an earlier run may have gone with it.
  if (sim::runtime::memory_begins_anew())
    std::construct_at(&only);
  else
    only = buffers();
  is_of_this_run = 1;
  return only;
}

}  // namespace

void* staging_buffer(size_t bytes, uint32_t stream) {
  buffer& own = here()[{pthread_self(), stream}];
  if (own.size_bytes >= bytes) return own.memory;
  if (own.memory != nullptr) sim::runtime::release(own.memory);
  own = {sim::runtime::allocate_unnamed(bytes, memory_place::host, "staging buffer"), bytes};
  return own.memory;
}

}  // namespace heddle::compat
