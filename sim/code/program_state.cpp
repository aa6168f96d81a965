#include <heddle/sim/code/program_state.h>

#include <cstddef>
#include <cstring>
#include <vector>

// The linker defines both where the section exists.
extern "C" [[gnu::weak]] std::byte __start_heddle_device[];  // NOLINT(bugprone-reserved-identifier)
extern "C" [[gnu::weak]] std::byte __stop_heddle_device[];   // NOLINT(bugprone-reserved-identifier)
extern "C" [[gnu::weak]] std::byte __start_heddle_data[];    // NOLINT(bugprone-reserved-identifier)
extern "C" [[gnu::weak]] std::byte __stop_heddle_data[];     // NOLINT(bugprone-reserved-identifier)
extern "C" [[gnu::weak]] std::byte __start_heddle_bss[];     // NOLINT(bugprone-reserved-identifier)
extern "C" [[gnu::weak]] std::byte __stop_heddle_bss[];      // NOLINT(bugprone-reserved-identifier)
using initializer = void (*)(int, char**, char**);
extern "C" [[gnu::weak]] const initializer __start_heddle_init[];  // NOLINT(bugprone-reserved-identifier)
extern "C" [[gnu::weak]] const initializer __stop_heddle_init[];   // NOLINT(bugprone-reserved-identifier)
// In the source that has main().
extern "C" [[gnu::weak]] const char heddle_is_program;

namespace heddle::sim {
namespace {

// The section as it was before any run.
const std::vector<std::byte>& initial_data() {
  static const std::vector<std::byte> initial(static_cast<std::byte*>(__start_heddle_data),
                                              static_cast<std::byte*>(__stop_heddle_data));
  return initial;
}

[[gnu::constructor]] void initialize_what_is_no_program() {
  if (!is_program()) initialize_program();
}

}  // namespace

bool is_program() { return &heddle_is_program != nullptr; }

void reset_program_variables() {
  if (!is_program()) return;
  if (const auto& initial = initial_data(); __start_heddle_data != nullptr && !initial.empty())
    std::memcpy(__start_heddle_data, initial.data(), initial.size());
  if (__start_heddle_bss != nullptr)
    std::memset(__start_heddle_bss, 0, static_cast<size_t>(__stop_heddle_bss - __start_heddle_bss));
}

void initialize_program() {
  if (__start_heddle_init == nullptr) return;
  for (const initializer* each = __start_heddle_init; each != __stop_heddle_init; ++each)
    if (*each != nullptr) (*each)(0, nullptr, nullptr);
}

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
