#include <heddle/sim/code/program_state.h>

#include <cstddef>
#include <cstring>
#include <vector>

// The linker defines both where the section exists.
extern "C" [[gnu::weak]] std::byte __start_heddle_device[];  // NOLINT(bugprone-reserved-identifier)
extern "C" [[gnu::weak]] std::byte __stop_heddle_device[];   // NOLINT(bugprone-reserved-identifier)

namespace heddle::sim {

void reset_device_variables() {
  std::byte* const first = __start_heddle_device;
  if (first == nullptr) return;
  static const std::vector<std::byte> initial(first, static_cast<std::byte*>(__stop_heddle_device));
  std::memcpy(first, initial.data(), initial.size());
}

bool is_device_variable(const void* address) {
  return __start_heddle_device != nullptr && address >= __start_heddle_device && address < __stop_heddle_device;
}

}  // namespace heddle::sim
