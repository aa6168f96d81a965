#include <heddle/sim/code/program_state.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

// The linker defines both where the section exists.
extern "C" [[gnu::weak]] std::byte __start_heddle_device[];      // NOLINT(bugprone-reserved-identifier)
extern "C" [[gnu::weak]] std::byte __stop_heddle_device[];       // NOLINT(bugprone-reserved-identifier)
extern "C" [[gnu::weak]] std::byte __start_heddle_data[];        // NOLINT(bugprone-reserved-identifier)
extern "C" [[gnu::weak]] std::byte __stop_heddle_data[];         // NOLINT(bugprone-reserved-identifier)
extern "C" [[gnu::weak]] std::byte __start_heddle_bss[];         // NOLINT(bugprone-reserved-identifier)
extern "C" [[gnu::weak]] std::byte __stop_heddle_bss[];          // NOLINT(bugprone-reserved-identifier)
extern "C" [[gnu::weak]] std::byte __start_heddle_other_data[];  // NOLINT(bugprone-reserved-identifier)
extern "C" [[gnu::weak]] std::byte __stop_heddle_other_data[];   // NOLINT(bugprone-reserved-identifier)
extern "C" [[gnu::weak]] std::byte __start_heddle_other_bss[];   // NOLINT(bugprone-reserved-identifier)
extern "C" [[gnu::weak]] std::byte __stop_heddle_other_bss[];    // NOLINT(bugprone-reserved-identifier)
extern "C" [[gnu::weak]] const char __start_heddle_unseen[];     // NOLINT(bugprone-reserved-identifier)
extern "C" [[gnu::weak]] const char __stop_heddle_unseen[];      // NOLINT(bugprone-reserved-identifier)
using initializer = void (*)(int, char**, char**);
extern "C" [[gnu::weak]] const initializer __start_heddle_init[];  // NOLINT(bugprone-reserved-identifier)
extern "C" [[gnu::weak]] const initializer __stop_heddle_init[];   // NOLINT(bugprone-reserved-identifier)
// In the source that has main().
extern "C" [[gnu::weak]] const char heddle_is_program;

namespace heddle::sim {
namespace {

/// A section as it was before any run.
class initial_data {
 public:
  explicit initial_data(const variable_block& of) : of_(of), bytes_(of.first, of.end) {}
  void put_back() const {
    if (!bytes_.empty()) std::memcpy(of_.first, bytes_.data(), bytes_.size());
  }

 private:
  variable_block of_;
  std::vector<std::byte> bytes_;
};

void clear(const variable_block& of) {
  if (of.first != nullptr) std::memset(of.first, 0, of.size_bytes());
}

[[gnu::constructor]] void initialize_what_is_no_program() {
  if (!is_program()) initialize_program();
}

}  // namespace

bool is_program() { return &heddle_is_program != nullptr; }

void reset_program_variables() {
  if (!is_program()) return;
  static const initial_data seen({__start_heddle_data, __stop_heddle_data});
  static const initial_data unseen(unseen_variables()[0]);
  seen.put_back();
  unseen.put_back();
  clear({__start_heddle_bss, __stop_heddle_bss});
  clear(unseen_variables()[1]);
}

std::array<variable_block, 2> unseen_variables() {
  return {{{__start_heddle_other_data, __stop_heddle_other_data}, {__start_heddle_other_bss, __stop_heddle_other_bss}}};
}

std::vector<std::string> unseen_files() {
  std::vector<std::string> all;
  const char* const end = __stop_heddle_unseen;
  for (const char* each = __start_heddle_unseen; each != end; each += std::strlen(each) + 1)
    if (std::find(all.begin(), all.end(), each) == all.end()) all.emplace_back(each);
  return all;
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
